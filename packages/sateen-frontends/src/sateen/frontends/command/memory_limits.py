"""The memory of a machine without a system on the command line, and whether a network fits into it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from sateen.runtime import Artifact, CodeForm, TargetError
from sateen.runtime.display import size
from sateen.runtime.static_archive import Footprint

_UNITS = {"": 1, "K": 1 << 10, "KIB": 1 << 10, "KB": 1000, "M": 1 << 20, "MIB": 1 << 20, "MB": 1_000_000}


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """The bytes of flash and memory that a network may take; None where the command line gives none."""

    flash: int | None = None
    memory: int | None = None

    @property
    def is_given(self) -> bool:
        return self.flash is not None or self.memory is not None

    def check(self, artifact: Artifact) -> None:
        """Raises TargetError for a network that takes more, and UsageError for one that is loaded, not linked."""
        if not self.is_given:
            return
        if artifact.form is not CodeForm.ARCHIVE:
            raise click.UsageError(
                "--flash and --ram are for code that programs link: a target without a system, or --as static"
            )
        found = artifact.footprint
        for option, limit, needed, parts in (
            ("--flash", self.flash, found.flash, flash_text(found)),
            ("--ram", self.memory, found.memory, memory_text(found)),
        ):
            if limit is not None and needed > limit:
                raise TargetError(f"{option}: expected a network of at most {limit} bytes, found {needed}: {parts}")


def is_without_system(target: str) -> bool:
    """Whether the text of a target says that its machine has no system; other triples may leave out theirs."""
    return re.search(r"-none-|-(elf|eabi|eabihf)\b", target) is not None


def flash_text(footprint: Footprint) -> str:
    return f"code {size(footprint.code)}, parameters {size(footprint.parameters)}"


def memory_text(footprint: Footprint) -> str:
    data = f"data {size(footprint.data)}, " if footprint.data else ""
    stack = (
        "; the stack, which isn't known, is beside that"
        if footprint.stack is None
        else f", stack {size(footprint.stack)}"
    )
    return f"{data}workspace {size(footprint.workspace)}, inputs and outputs {size(footprint.arrays)}{stack}"


def byte_count(text: str) -> int:
    """512K, 1.5M, 64KB or 4096: a number of bytes, rounded down. K and KiB are 1024, KB is 1000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(|[KM](?:I?B)?)", text, re.IGNORECASE)
    if found is None or not int(count := float(found[1]) * _UNITS[found[2].upper()]):
        raise click.BadParameter(
            f"expected a size such as 512K, 1.5M or 64KB (K is 1024 bytes, KB 1000), found {text!r}"
        )
    return int(count)


def memory_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `MemoryLimits` to a verb, which gets them as `limits`."""

    @click.option("--flash", type=byte_count, metavar="512K", help="Refuse code and parameters beyond this size.")
    @click.option(
        "--ram", type=byte_count, metavar="128K", help="Refuse workspace, inputs, outputs and stack beyond this size."
    )
    @functools.wraps(verb)
    def collected(flash: int | None, ram: int | None, **others: Any) -> Any:
        return verb(limits=MemoryLimits(flash, ram), **others)

    return collected
