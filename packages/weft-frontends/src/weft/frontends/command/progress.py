"""Says on a terminal what is being done and for how long; stays silent in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def step(text: str, console: Console | None = None) -> Iterator[None]:
    """Show `text`, a spinner and the seconds so far on stderr while the block runs, if stderr is a terminal."""
    shown = Console(stderr=True) if console is None else console
    if not shown.is_terminal:
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=shown, transient=True) as progress:
        progress.add_task(text, total=None)
        yield
