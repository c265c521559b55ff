"""The page of figures: each benchmark writes its own part of docs/benchmarks.md, between two marks."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from weft import runtime

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def write_part(name: str, lines: Sequence[str]) -> None:
    """Replace what lies between the marks of a benchmark, and say where it was measured."""
    mark = f"<!-- {name} -->"
    head, _, rest = PAGE.read_text().partition(mark)
    _, _, tail = rest.partition(mark)
    PAGE.write_text(f"{head}{mark}\n{chr(10).join(lines)}\n\nMeasured on {processor()}.\n{mark}{tail}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def processor() -> str:
    """The processor's name and flags that matter."""
    target = runtime.Target.host()
    return f"{platform.machine()}, {target.cpu or 'generic'}, Python {platform.python_version()}"
