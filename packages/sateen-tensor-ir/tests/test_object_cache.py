from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from sateen.runtime import CodegenError, Target
from sateen.tensor_ir import ObjectCache, build, te
from sateen.tensor_ir.codegen import object_cache
from sateen.tensor_ir.codegen.object_cache import cache_key
from sateen.tensor_ir.lowering import lower


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "objects")


def _compile(cache: ObjectCache) -> str:
    """The key of a function, compiled with a cache."""
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    build(te.create_schedule(B), [A, B], cache=cache)
    return cache_key([lower(te.create_schedule(B), [A, B], "run")], Target.of("llvm"))


def test_what_was_compiled_once_is_not_compiled_again(cache: ObjectCache) -> None:
    key = _compile(cache)
    assert (cache.hits, cache.misses) == (0, 1)
    _compile(cache)
    assert (cache.hits, cache.misses) == (1, 1)
    assert [entry.name for entry in cache.folder.iterdir()] == [key]


@pytest.mark.parametrize("damage", [b"", b"other", b"sateen object 1\n", b"sateen object 1\n" + bytes(64)])
def test_a_damaged_entry_is_thrown_away_and_made_again(cache: ObjectCache, damage: bytes) -> None:
    key = _compile(cache)
    (cache.folder / key).write_bytes(damage)
    assert cache.read(key) is None
    assert list(cache.folder.iterdir()) == []
    _compile(cache)
    assert cache.read(key) is not None


def test_a_folder_that_takes_nothing_costs_time_alone_and_tells_why(cache: ObjectCache) -> None:
    cache.folder.rmdir()
    cache.folder.write_bytes(b"in the way")
    _compile(cache)
    _compile(cache)
    assert (cache.hits, cache.misses) == (0, 2)
    assert cache.refusal == "Not a directory"


def test_a_folder_that_is_not_the_users_own_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    with pytest.raises(CodegenError, match=r"cache folder .*: expected a folder that only its owner, you, may write"):
        ObjectCache(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(CodegenError, match=r"cache folder .*file/objects: Not a directory"):
        ObjectCache(tmp_path / "file" / "objects")


@pytest.mark.parametrize(
    ("changed", "name"), [("sateen.runtime", "abi.py"), ("sateen.tensor_ir", "codegen/signature.py")]
)
def test_a_changed_abi_or_compiler_finds_no_entry_of_the_old_one(
    changed: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("sateen.runtime", "sateen.tensor_ir"):
        shutil.copytree(str(files(package)), tmp_path / package)
    monkeypatch.setattr(object_cache, "files", tmp_path.joinpath)
    monkeypatch.setattr(object_cache, "source_digest", object_cache.source_digest.__wrapped__)
    before = cache_key([], Target.of("llvm"))
    assert cache_key([], Target.of("llvm")) == before
    with (tmp_path / changed / name).open("a") as source:
        source.write("ABI_VERSION = 2\n")
    assert cache_key([], Target.of("llvm")) != before
