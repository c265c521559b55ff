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
    """Replace the figures of a benchmark on a machine of this generation; those of others stay."""
    head = ("figure", "asked", "measured", "spread", "verdict", "")
    update_table(name, head, [f.cells() for f in figures], [f.name for f in figures])


def write_part(name: str, lines: Sequence[str]) -> None:
    """Replace the part of a benchmark that was measured on a machine of this generation; those of others stay."""
    mark = f"<!-- {name}, {generation()} -->"
    page = PAGE.read_text()
    if mark not in page:
        last = page.rindex(f"<!-- {name}, ")
        end = page.index("-->", last) + len("-->")
        page = f"{page[:end]}\n\n{mark}\n{mark}{page[end:]}"
    head, _, rest = page.partition(mark)
    _, _, tail = rest.partition(mark)
    PAGE.write_text(
        f"{head}{mark}\n### On {generation()}\n{chr(10).join(lines)}\n\nMeasured on {processor()}.\n{mark}{tail}"
    )


def update_table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], order: Sequence[str] = ()) -> None:
    """Replace the rows of a table with the same subjects as `rows`, on a machine of this generation.

    The first cell of a row says what was measured, the second names the generation. The subject is both: the first
    cell as it is, if there is an `order` of them, otherwise up to a comma, sorted.
    """
    mark = _mark(name)
    before, kept, after = PAGE.read_text().split(mark)
    told = _rows(kept)[1:]
    own = [[row[0], generation(), *row[1:]] for row in rows]

    def subject(row: Sequence[str]) -> tuple[int, str, str]:
        if not order:
            return 0, row[0].partition(",")[0], row[1]
        return order.index(row[0]) if row[0] in order else len(order), row[0], row[1]

    new = {subject(row) for row in own}
    merged = sorted([*(row for row in told if subject(row) not in new), *own], key=subject)
    text = "\n".join(table([head[0], "machine", *head[1:]], merged))
    PAGE.write_text(f"{before}{mark}\n{text}\n{mark}{after}")


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table of the page, each cell by the head of its column."""
    head, *rows = _rows(PAGE.read_text().split(_mark(name))[1])
    return [dict(zip(head, row, strict=True)) for row in rows]


def _mark(name: str) -> str:
    """What stands on the page before a table and after it."""
    return f"<!-- {name} -->"


def _rows(text: str) -> list[list[str]]:
    """The cells of the rows of a table, the head's first."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return rows[:1] + rows[2:]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def processor() -> str:
    """The processor's generation, architecture and level, and the version of Python."""
    target = runtime.Target.host()
    return f"{generation()}, {platform.machine()}, {target.cpu or 'generic'}, Python {platform.python_version()}"


INTEL = "GenuineIntel"
GENERATIONS = {
    ("AuthenticAMD", 25): {range(0x10): "Zen 3", range(0x10, 0x20): "Zen 4", range(0x60, 0xB0): "Zen 4"},
    ("AuthenticAMD", 26): {range(0x30): "Zen 5", range(0x40, 0x50): "Zen 5", range(0x60, 0x80): "Zen 5"},
    (INTEL, 6): {range(0x8F, 0x90): "Sapphire Rapids", range(0xCF, 0xD0): "Emerald Rapids"},
}
"""Generations by maker and family, as ranges of models; the first range with the model counts."""


def maker() -> str:
    """The maker of the processor as it names itself; '' where Linux doesn't tell."""
    return _told_by_linux().get("vendor_id", "")


def generation() -> str:
    """The maker's name of the processor's generation, otherwise its name on Linux, otherwise its architecture."""
    told = _told_by_linux()
    family, model = told.get("cpu family", ""), told.get("model", "")
    if family.isdigit() and model.isdigit():
        for models, name in GENERATIONS.get((maker(), int(family)), {}).items():
            if int(model) in models:
                return name
    return told.get("model name", platform.machine())


def _told_by_linux() -> dict[str, str]:
    """What Linux tells about the first processor."""
    path = Path("/proc/cpuinfo")
    first = path.read_text().partition("\n\n")[0] if path.exists() else ""
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
