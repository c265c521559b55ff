"""What verbs take: kinds of values (NAME=1x3x224x224, NAME=8, NAME=TEXT, 104,117,123, files), and shared options."""

from __future__ import annotations

import re
from pathlib import Path

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file to read."""
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
"""A file to write."""
json_option = click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON, for a program.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=0), default=0, show_default="all", help="Most threads to use."
)


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
        raise click.BadParameter(f"expected a shape such as NAME=1x3x224x224, found {text!r}")
    return name, tuple(int(extent) for extent in shape.split("x"))


def named_extent(text: str) -> tuple[str, int]:
    """NAME=8, split at the last `=`; the extent is one or more."""
    name, _, extent = text.rpartition("=")
    if not name or not re.fullmatch(r"[1-9]\d*", extent):
        raise click.BadParameter(f"expected a dimension and its extent such as batch=1, found {text!r}")
    return name, int(extent)


def numbers(text: str) -> tuple[float, ...]:
    """104,117,123: a number per channel, or one for all."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise click.BadParameter(f"expected numbers such as 104,117,123, found {text!r}") from None
