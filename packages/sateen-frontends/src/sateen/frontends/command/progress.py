"""Shows on a terminal the current work and its duration; stays silent in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sateen.runtime.errors import printable

MEMORY_SECONDS = 120.0
"""The seconds whose speed says how long the rest takes."""


@contextmanager
def step(text: str, console: Console | None = None) -> Iterator[None]:
    """Show `text`, a spinner and the seconds so far on stderr while the block runs, if stderr is a terminal."""
    shown = Console(stderr=True) if console is None else console
    if not shown.is_terminal:
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=shown, transient=True) as progress:
        progress.add_task(printable(text), total=None)
        yield


@contextmanager
def work(
    console: Console | None = None, clock: Callable[[], float] | None = None
) -> Iterator[Callable[[str, float], None]]:
    """As `step`, for work of which a part is done, with a bar and the remaining time.

    The block gets a function to report its current work and the part that is done, 0 to 1.
    """
    shown = Console(stderr=True) if console is None else console
    if not shown.is_terminal:
        yield lambda text, part: None
        return
    columns = BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    with Progress(
        *columns, console=shown, transient=True, get_time=clock, speed_estimate_period=MEMORY_SECONDS
    ) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda text, part: progress.update(task, description=printable(text), completed=part)


@contextmanager
def steps(total: int, console: Console | None = None) -> Iterator[Callable[[str, int], None]]:
    """As `step`, for work of `total` parts, with a bar and the remaining time.

    The block gets a function to report its current work and the number of finished parts.
    """
    shown = Console(stderr=True) if console is None else console
    if not shown.is_terminal:
        yield lambda text, done: None
        return
    columns = BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=shown, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda text, done: progress.update(task, description=printable(text), completed=done)
