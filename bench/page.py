"""The page of figures: each benchmark writes its own part of docs/benchmarks.md, between two marks."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen import runtime

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Figure:
    """One line of a table. `value` is met where it is at least (or, with `at_most`, at most) `asked`."""

    name: str
    asked: float
    value: float
    spread: float
    unit: str
    detail: str = ""
    at_most: bool = False

    @property
    def verdict(self) -> str:
        miss = self.value - self.asked if self.at_most else self.asked - self.value
        return "met" if miss <= 0 else "not resolved" if miss < self.spread else "missed"

    def cells(self) -> list[str]:
        sign = "≤" if self.at_most else "≥"
        return [
            self.name, f"{sign} {self.asked:g} {self.unit}".rstrip(), f"{self.value:.3g} {self.unit}".rstrip(),
            f"{self.spread:.2g}", self.verdict, self.detail,
        ]  # fmt: skip

    def row(self) -> str:
        return f"| {' | '.join(self.cells())} |"


def write_figures(name: str, figures: Sequence[Figure]) -> None:
    """Replace the figures of a benchmark."""
    write_part(name, table(["figure", "asked", "measured", "spread", "verdict", ""], [f.cells() for f in figures]))


def write_part(name: str, lines: Sequence[str]) -> None:
    """Replace what lies between the marks of a benchmark, and say where it was measured."""
    mark = f"<!-- {name} -->"
    head, _, rest = PAGE.read_text().partition(mark)
    _, _, tail = rest.partition(mark)
    PAGE.write_text(f"{head}{mark}\n{chr(10).join(lines)}\n\nMeasured on {processor()}.\n{mark}{tail}")


def update_table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Replace the rows of a table that tell of what `rows` tell of: the first cell, up to a comma."""
    kept = PAGE.read_text().partition(f"<!-- {name} -->")[2].partition(f"<!-- {name} -->")[0].splitlines()
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in kept if line.startswith("|")][2:]
    new = {_subject(row) for row in rows}
    write_part(name, table(head, sorted([*(row for row in told if _subject(row) not in new), *rows], key=_subject)))


def _subject(row: Sequence[str]) -> str:
    return row[0].partition(",")[0]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def processor() -> str:
    """The processor's architecture and name, and the version of Python."""
    target = runtime.Target.host()
    return f"{platform.machine()}, {target.cpu or 'generic'}, Python {platform.python_version()}"
