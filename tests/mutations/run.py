"""Puts the faults of faults.toml into a copy of the project, one at a time, and runs the tests that should fail.

`python run.py` takes all of them, `python run.py 3 17` some, by number. The tests of the module that has the fault come
first, with those that the fault names; where they pass, all tests follow, unless `--own` says that the first have to
do. A fault whose text is not found exactly once is out of date, which is an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
MOST_SURVIVORS = 5
SECONDS = 1800
"""Until tests that do not end count as failed: a fault may be an endless loop."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A text in a file, once, and what stands for it; `breaks` says what is wrong then."""

    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return Path("packages", self.file)

    def own_tests(self) -> list[str]:
        """The files of tests beside the faulty file's package that are named after it, and those that are given."""
        folder = ROOT / "packages" / Path(self.file).parts[0] / "tests"
        names = {f"test_{self.path.stem}", f"test_{self.path.parent.name}_{self.path.stem}", *self.tests}
        return sorted(str(path.relative_to(ROOT)) for path in folder.rglob("test_*.py") if path.stem in names)


def read_faults() -> list[Fault]:
    """Raises ValueError for one whose text is not in its file exactly once, or that has no tests of its own."""
    entries = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    faults = [Fault(**entry | {"tests": tuple(entry.get("tests", ()))}) for entry in entries]
    for number, fault in enumerate(faults, 1):
        count = (ROOT / fault.path).read_text(encoding="utf-8").count(fault.find)
        if count != 1:
            raise ValueError(f"fault {number}: expected its text once in {fault.path}, found {count}: {fault.find!r}")
        if not fault.own_tests():
            raise ValueError(f"fault {number}: expected tests of {fault.path}, found none; name some")
    return faults


def copy_project(folder: Path) -> None:
    """What git knows of, and is not left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def caught_by(fault: Fault, folder: Path, *, own: bool) -> str:
    """What failed with the fault in the copy of the project; '' where nothing did."""
    place = folder / fault.path
    sound = place.read_text(encoding="utf-8")
    place.write_text(sound.replace(fault.find, fault.replace), encoding="utf-8")
    try:
        return _failure(folder, fault.own_tests()) or ("" if own else _failure(folder, ["packages", "tests"]))
    finally:
        place.write_text(sound, encoding="utf-8")


def _failure(folder: Path, tests: Sequence[str]) -> str:
    """The first test that fails, or how else they end; '' where they pass."""
    sources = [str(path) for path in sorted((folder / "packages").glob("*/src"))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        result = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "tests that do not end"
    failed = [line.split(" - ")[0] for line in result.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if result.returncode == 0 else failed[0] if failed else f"pytest, which ended with {result.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", help="of the faults to try, all of them where none is given")
    parser.add_argument("--own", action="store_true", help="only the tests of the faulty module and those named")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    faults = dict(enumerate(read_faults(), 1))
    chosen = options.numbers or list(faults)
    with TemporaryDirectory() as place:
        free: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            copy_project(Path(place, str(job)))
            free.put(Path(place, str(job)))

        def examine(number: int) -> bool:
            folder = free.get()
            try:
                by = caught_by(faults[number], folder, own=options.own)
            finally:
                free.put(folder)
            say(f"{number:3} {faults[number].path.stem}: {faults[number].breaks}: {by or 'SURVIVED'}")
            return bool(by)

        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = Counter(pool.map(examine, chosen))
    say(f"{len(chosen)} faults, {outcomes[True]} caught, {outcomes[False]} survived")
    return 1 if outcomes[False] > MOST_SURVIVORS else 0


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
