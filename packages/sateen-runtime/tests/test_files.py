from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sateen import runtime
from sateen.runtime import Artifact, ArtifactError, LocalSession, Target, artifact, library_files
from sateen.runtime.files import WRITE_BYTES, open_regular, read_regular, replacing, write_in_pieces

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and modes of POSIX")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_what_is_no_regular_file_is_not_opened(pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(pipe)
    monkeypatch.chdir(tmp_path)  # the address of a socket has 107 bytes at most, fewer than some folders' paths
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path, found in (
            (pipe, "a pipe"),
            (tmp_path / "link", "a pipe"),
            (Path("/dev/zero"), "a device"),
            (tmp_path, "a folder"),
            (tmp_path / "socket", "a socket"),
        ):
            with pytest.raises(OSError, match=f"it is no regular file but {found}"):
                open_regular(path)


def test_a_name_with_a_nul_is_refused() -> None:
    with pytest.raises(OSError, match="its name has a NUL"):
        open_regular(Path("a\0b"))
    with pytest.raises(OSError, match="its name has a NUL"), replacing(Path("a\0b")):
        pass
    with pytest.raises(OSError, match="it names no file"), replacing(Path("/")):
        pass


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, more than 4"):
        read_regular(tmp_path / "file", 4)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(4 << 40)
    with pytest.raises(OSError, match="it has 4398046511104 bytes, more than"):
        read_regular(tmp_path / "sparse", 1 << 36)


@pytest.mark.parametrize("read", [runtime.read_artifact, runtime.load, runtime.load_module])
def test_readers_of_artifacts_and_libraries_wait_for_no_pipe(read, pipe: Path) -> None:
    for path, found in ((pipe, "no regular file but a pipe"), (Path("/dev/zero"), "no regular file but a device")):
        with pytest.raises(ArtifactError, match=f"expected an? (artifact|library) to read: it is {found}"):
            read(path)
    with pytest.raises(ArtifactError, match="to read: its name has a NUL"):
        read("a\0b")


def test_a_session_loads_no_pipe(pipe: Path) -> None:
    with LocalSession() as session, pytest.raises(ArtifactError, match="to read: it is no regular file but a pipe"):
        session.load(pipe)


def test_a_file_is_replaced_whole_with_the_mode_that_the_user_gives_new_files(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")
    place.chmod(0o600)
    before = os.umask(0o027)
    try:
        with place.open("rb") as reader, replacing(place) as file:
            file.write(b"new")
            assert place.read_bytes() == b"old"
            assert reader.read() == b"old"
    finally:
        os.umask(before)
    assert place.read_bytes() == b"new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt, SystemExit])
def test_what_fails_leaves_the_old_file_and_nothing_beside_it(failure: type[BaseException], tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")
    with pytest.raises(failure), replacing(place) as file:  # noqa: PT012  # it fails after it has written
        file.write(b"new")
        raise failure
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def test_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    with replacing(tmp_path / ("n" * 255)) as file:
        file.write(b"new")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"new"


def test_a_device_is_not_replaced(pipe: Path) -> None:
    with pytest.raises(OSError, match="it is no regular file but a pipe"), replacing(pipe):
        pass
    assert pipe.is_fifo()


def test_a_symbolic_link_is_replaced_and_what_it_names_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert not (tmp_path / "link").is_symlink()


class Recorded(BytesIO):
    """A file that tells the sizes of what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, data: Any, /) -> int:
        self.sizes.append(len(data))
        return super().write(data)

    def writelines(self, lines: Iterable[Any], /) -> None:
        written = list(lines)
        self.sizes += map(len, written)
        super().writelines(written)


@pytest.mark.parametrize("size", [0, 1, WRITE_BYTES, 3 * WRITE_BYTES + 5])
def test_a_large_content_is_written_in_pieces(size: int) -> None:
    content, file = os.urandom(size), Recorded()
    write_in_pieces(file, content)
    assert file.getvalue() == content
    assert max(file.sizes, default=0) <= WRITE_BYTES


@pytest.mark.parametrize(("module", "suffix"), [(artifact, ""), (library_files, ".so")])
def test_artifacts_and_libraries_are_written_in_pieces(
    module: ModuleType, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[Recorded] = []

    def recorded(_place: Path) -> AbstractContextManager[Recorded]:
        files.append(Recorded())
        return nullcontext(files[-1])

    monkeypatch.setattr(module, "replacing", recorded)
    if suffix:
        library_files.write_library(tmp_path / "large.so", bytes(5 * WRITE_BYTES), "")
    else:
        Artifact("test", str(Target.of("llvm")), (), (), 0, b"library", bytes(5 * WRITE_BYTES)).save(tmp_path / "large")
    assert max(files[0].sizes) == WRITE_BYTES
