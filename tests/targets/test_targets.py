"""The tables of docs/targets.md are those of the code, as far as this machine shows it; wrong results are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "targets.md"
PROGRAM = Path(__file__).with_name("run.py")
PACKAGES = ROOT / "packages"
FOLDERS = [
    PROGRAM.parent, ROOT / "tests" / "fuzz", PACKAGES / "sateen-graph-ir" / "tests" / "ops",
    PACKAGES / "sateen-tensor-ir" / "tests" / "devices",
]  # fmt: skip

NAMES = """
from cases import CASES
from columns import COLUMNS

print(*COLUMNS, sep="|")
print(*dict.fromkeys(case.row for case in CASES), sep="|")
"""
WRONG = """
from cases import CASES
from columns import Here
from emulator import EmulatorError
from run import examine

class WithoutMemory(Here):
    def run(self, program, arrays):
        super().run(program, [array.copy() for array in arrays])

class Failing(Here):
    def run(self, program, arrays):
        raise OSError("no such machine\\n  at all")

class Faulty(Here):
    def run(self, program, arrays):
        raise EmulatorError("a fault of qemu")

case = next(case for case in CASES if case.name == "bind")
print(examine(case, Here("llvm")))
case = next(case for case in CASES if case.name == "tile")
for place in (Here, WithoutMemory, Failing, Faulty):
    print(examine(case, place("llvm")))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, FOLDERS))}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def tables() -> list[list[list[str]]]:
    """The cells of the page's tables, the head of each first."""
    text = PAGE.read_text(encoding="utf-8").split("<!-- matrix -->")[1]
    found: list[list[list[str]]] = []
    for line, following in pairwise([*map(cells, re.findall(r"^\|.*\|$", text, re.MULTILINE)), [""]]):
        if following[0] == "---":
            found.append([])
        if line[0] != "---":
            found[-1].append(line)
    return found


def test_the_tables_have_every_target_and_row_and_no_others() -> None:
    done = run("-c", NAMES)
    assert done.returncode == 0, done.stderr
    targets, rows = map(cells, done.stdout.splitlines())
    assert [head[1:] for head, *_ in tables()] == [targets, targets]
    assert [line[0] for _, *lines in tables() for line in lines] == rows


@pytest.mark.timeout(600)  # 10 s of a core, which a busy machine may not give
def test_the_column_of_this_machine_is_what_the_code_does() -> None:
    (_, *primitives), _ = tables()
    rows = [name for name, *_ in primitives] + ["control", "trees"]  # test_every_operator.py has all operators
    done = run(str(PROGRAM), "--target", "host", *(f"--row={row}" for row in rows), "--check", str(PAGE))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_that_says_something_else_is_told(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("| tile | yes ", "| tile | no ", 1), encoding="utf-8")
    done = run(str(PROGRAM), "--target", "host", "--row", "tile", "--check", str(page))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "tile on host: expected 'yes' on the page, found 'no'"


REMEDY = (
    "processors have no such threads: build for a device, such as opencl, or call parallel or vectorize instead of bind"
)


def test_what_is_refused_wrong_or_fails_is_told_apart() -> None:
    done = run("-c", WRONG)
    assert done.returncode == 0, done.stderr
    assert [line.replace("Verdict.", "") for line in done.stdout.splitlines()] == [
        f"(<REFUSED: 'refused'>, \"loop 'io' is bound to blockIdx.y; {REMEDY}\")",
        "(<RIGHT: 'as defined'>, '')",
        "(<WRONG: 'wrong'>, '')",
        "(<FAILED: 'failed'>, 'no such machine')",
        "(<NOT_RUN: 'not run'>, 'a fault of qemu')",
    ]
