from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sateen.runtime.cache_folder import CacheFolder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and processes of POSIX")


def key(word: object) -> str:
    return hashlib.sha256(str(word).encode()).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "a" / "cache", 100, 10)
    assert folder.read(key("one")) is None
    folder.write(key("one"), b"content")
    assert folder.read(key("one")) == b"content"
    assert names(tmp_path / "a" / "cache") == [key("one")]
    folder.discard(key("one"))
    folder.discard(key("one"))
    assert folder.read(key("one")) is None


@pytest.mark.parametrize(("most_bytes", "most_entries"), [(80, 100), (10_000, 8)])
def test_beyond_its_bound_what_was_not_used_for_the_longest_time_goes(
    most_bytes: int, most_entries: int, tmp_path: Path
) -> None:
    folder = CacheFolder(tmp_path, most_bytes, most_entries)
    for number in range(9):
        CacheFolder(tmp_path, 10_000, 100).write(key(number), bytes(10))
        os.utime(tmp_path / key(number), (number, number))
    assert folder.read(key(0)) == bytes(10)  # now it was used last
    folder.write(key("new"), bytes(10))
    assert names(tmp_path) == sorted(map(key, [0, 5, 6, 7, 8, "new"]))


def test_a_folder_stays_within_its_bound_while_one_process_writes(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 1600, 1000)
    for number in range(100):
        folder.write(key(number), bytes(100))
        assert sum(entry.stat().st_size for entry in tmp_path.iterdir()) <= 1600 + 200
    assert folder.read(key("99")) == bytes(100)


def test_what_dead_processes_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    program = "import os; print(os.getpid())"
    dead = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    for name in (f".{dead}-0abc", f".{os.getpid()}-0abc", f".{os.getppid()}-0abc", f".{1 << 70}-0abc"):
        (tmp_path / name).touch()
    os.utime(tmp_path / f".{os.getppid()}-0abc", (0, 0))  # its number belongs to another process by now
    CacheFolder(tmp_path, 100, 10).write(key("one"), b"")
    assert names(tmp_path) == [f".{os.getpid()}-0abc", key("one")]


def test_files_of_the_user_stay_whatever_the_bound(tmp_path: Path) -> None:
    for name in ("thesis.txt", "0" * 63, "A" * 64, ".notes"):
        (tmp_path / name).write_bytes(bytes(1000))
    kept = names(tmp_path)
    CacheFolder(tmp_path, 0, 0).write(key("one"), b"content")
    assert names(tmp_path) == kept


def test_a_full_disk_costs_what_would_have_been_kept_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 1 << 20, 10)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        folder.write(key("large"), bytes(5000))
        folder.write(key("small"), b"no longer tried")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert folder.refusal == "File too large"
    assert names(tmp_path) == []


def test_a_folder_that_goes_away_or_turns_into_something_else_costs_what_was_in_it(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "cache", 100, 10)
    folder.write(key("one"), b"content")
    shutil.rmtree(tmp_path / "cache")
    assert folder.read(key("one")) is None
    (tmp_path / "cache").write_bytes(b"in the way")
    assert folder.read(key("one")) is None
    folder.write(key("one"), b"content")
    assert folder.refusal == "Not a directory"
    folder.discard(key("one"))


def test_an_entry_that_is_no_file_counts_as_absent(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 100, 10)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(bytes(101))
    assert [folder.read(name) for name in ("pipe", "folder", "large")] == [None, None, None]
    folder.write("folder", b"content")
    assert folder.refusal == "Is a directory"
    assert names(tmp_path) == ["folder", "large", "pipe"]


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(OSError, match=r"only its owner, you, may write to; .* mode 777; chmod go-w makes it so"):
        CacheFolder(tmp_path, 100, 10)
