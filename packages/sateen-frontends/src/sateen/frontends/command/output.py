"""The output of verbs: text and tables for people, JSON for programs. Nothing else in the command writes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from sateen.runtime.errors import printable

_UNBOUNDED = 10_000  # columns; a pipe has no width to wrap at


def say(text: str, *, err: bool = False) -> None:
    """Write text, to stderr with `err`. Unprintable characters are escaped, except tabs and line ends: the text may
    contain names of a user's model or files, and a terminal obeys control characters.
    """
    click.echo(re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text), err=err)


def show_json(value: object) -> None:
    """Write a value that JSON has; numbers in it must be finite."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Write rows under their header; columns that `right` names are aligned to the right.

    Unprintable characters are escaped, since cells may contain names of a user's model.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    for row in rows:
        table.add_row(*map(printable, row))
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    with console.capture() as capture:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def finite(value: float) -> float | None:
    """The number, or None if JSON can't express it."""
    return value if math.isfinite(value) else None


def decimal(value: float, places: int) -> str:
    """A number of 0 or more with the given number of decimal places, or with enough to show three digits."""
    wanted = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{max(places, wanted)}f}"
