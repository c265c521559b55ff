"""Arguments of verbs: kinds of values (NAME=1x3x224x224, NAME=8, NAME=TEXT, 104,117,123, files), and shared options."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click

from sateen.runtime import ArgumentError, Device
from sateen.runtime.display import did_you_mean

V = TypeVar("V")

MOST_NEIGHBOURS = 10_000
"""The most names of a folder in which a mistyped one is looked for."""


class OneOf(click.Choice[str]):
    """One of several words. The error for another one suggests the closest."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:  # noqa: ARG002
        *others, last = self.choices
        return f"expected {', '.join(others)} or {last}, found {value!r}{did_you_mean(str(value), self.choices)}"


class Count(click.IntRange):
    """An integer within bounds. The error for another text tells them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            bounds = f"of {self.min} or more" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"expected an integer {bounds}, found {value!r}", param, ctx)


class GivenFile(click.Path):
    """A file to read. The error for one that does not exist suggests the closest name in its folder."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not os.path.exists(value):
            place = os.fspath(value)
            self.fail(f"expected a file to read, found none at {place!r}{_close_name(Path(place))}", param, ctx)
        super().convert(value, param, ctx)
        return Path(value)


def _close_name(path: Path) -> str:
    """The end of a message about a missing file: the closest name in its folder, or why that can't be read."""
    try:
        names = [found.name for found in islice(path.parent.iterdir(), MOST_NEIGHBOURS)]
    except FileNotFoundError:
        return f": there is no folder {path.parent}"
    except OSError as error:
        return f": {path.parent}: {error.strerror}"
    return did_you_mean(path.name, names)


FILE = GivenFile(exists=True, dir_okay=False, path_type=Path)
"""A file to read."""


MODEL = GivenFile(exists=True, path_type=Path)
"""A model or an artifact; its content decides which it is, or that it is neither."""


class NewFile(click.Path):
    """A file to write, new or regular, in an existing writable folder.

    A symbolic link is refused, since the link would be replaced, not its target.
    """

    def __init__(self, *, is_replaced: bool) -> None:
        super().__init__(path_type=Path)
        self._is_replaced = is_replaced

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent} to write {path.name} to", param, ctx)
        if path.is_dir():
            self.fail(f"expected a file to write, found folder {path}", param, ctx)
        is_link = self._is_replaced and path.is_symlink()
        if is_link or (path.exists() and not path.is_file()):
            found = "a symbolic link" if is_link else "no regular file"
            self.fail(f"expected a new or a regular file, found {path}, {found}", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"folder {path.parent} may not be written to", param, ctx)
        return path


NEW_FILE = NewFile(is_replaced=True)
"""A file to write."""
LOG_FILE = NewFile(is_replaced=False)
"""A file to append to."""
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
"""A folder to write to."""
MOST_THREADS = 1024
"""The most threads that a verb takes."""
json_option = click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON, for a program.")
threads_option = click.option(
    "--threads", type=Count(0, MOST_THREADS), default=0, show_default="all", help="Most threads to use."
)


def allowed_processors() -> int:
    """The number of processors that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def named(text: str) -> tuple[str, str]:
    """NAME=TEXT, split at the first `=`."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise click.BadParameter(f"expected NAME=VALUE, found {text!r}")
    return name, value


def named_file(text: str) -> tuple[str, str]:
    """NAME=FILE, or FILE alone, whose name is ''."""
    return named(text) if "=" in text else ("", text)


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME=1x3x224x224, split at the last `=`; extents are one or more."""
    name, _, shape = text.rpartition("=")
    if not name or not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", shape):
        like = "x".join(re.findall(r"\d+", shape))
        meant = (
            f"; did you mean {name}={like}?" if name and re.fullmatch(r"[\[(]?\d+([\s,*×X]+\d+)*[\])]?", shape) else ""
        )
        raise click.BadParameter(f"expected a shape such as NAME=1x3x224x224, found {text!r}{meant}")
    return name, tuple(int(extent) for extent in shape.split("x"))


def named_extent(text: str) -> tuple[str, int]:
    """NAME=8, split at the last `=`; the extent is one or more."""
    name, _, extent = text.rpartition("=")
    if not name or not re.fullmatch(r"[1-9]\d*", extent):
        raise click.BadParameter(f"expected a dimension and its extent such as batch=1, found {text!r}")
    return name, int(extent)


def named_device(text: str) -> tuple[str, str]:
    """NODE=cpu, split at the last `=`; what follows is a device."""
    name, _, device = text.rpartition("=")
    try:
        place = Device.of(device)
    except ArgumentError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None
    if not name:
        raise click.BadParameter(f"expected a node and its device such as conv1=cpu, found {text!r}")
    return name, str(place)


def duration(text: str) -> float:
    """90, 90s, 10m or 1h30m in seconds."""
    match = re.fullmatch(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s?)?", text)
    hours, minutes, seconds = (0, 0, 0) if match is None else (int(part or 0) for part in match.groups())
    whole = 3600 * hours + 60 * minutes + seconds
    if not whole:
        raise click.BadParameter(f"expected a time such as 90s, 10m or 1h30m, found {text!r}")
    return float(whole)


def numbers(text: str) -> tuple[float, ...]:
    """104,117,123: a number per channel, or one for all."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise click.BadParameter(f"expected numbers such as 104,117,123, found {text!r}") from None


def by_name(option: str, pairs: Sequence[tuple[str, V]]) -> dict[str, V]:
    """The values of a repeated option by name. Raises UsageError for a name that is given twice."""
    values: dict[str, V] = {}
    for name, value in pairs:
        if name in values:
            raise click.UsageError(
                f"{option} {name} is given twice" if name else f"{option} is given twice without NAME"
            )
        values[name] = value
    return values
