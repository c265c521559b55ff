"""The options that say how to read and compile a MODEL on the command line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sateen.frontends.command.arguments import FILE, by_name, named, named_extent, named_shape
from sateen.graph_ir.compile import network_target
from sateen.graph_ir.tune import Records
from sateen.runtime import TargetError
from sateen.tensor_ir.ir import DENORMALS
from sateen.topi.methods import NUMERICS


@dataclass(frozen=True, slots=True)
class Compilation:
    """How to read and compile a model, as the command line says."""

    target: str
    shapes: Mapping[str, tuple[int, ...]]
    dims: Mapping[str, int]
    bindings: Mapping[str, str]
    weights: Path | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    use_cache: bool
    numerics: str
    denormals: str
    records: Path | None = None

    @property
    def is_default(self) -> bool:
        read_as_it_is = not (self.shapes or self.dims or self.bindings or self.weights or self.is_cut)
        plain = (self.target, self.numerics, self.denormals, self.records) == ("llvm", "default", "keep", None)
        return read_as_it_is and plain

    @property
    def is_cut(self) -> bool:
        """Whether the network begins or ends at inner values."""
        return bool(self.inputs or self.outputs)


def compilation_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `Compilation` to a verb, which gets them as `compilation`."""

    @click.option("--weights", type=FILE, metavar="FILE", help="The second file of a model of two.")
    @click.option("--from", "begin", multiple=True, metavar="NAME", help="An inner value at which the network begins.")
    @click.option("--to", "end", multiple=True, metavar="NAME", help="An inner value at which the network ends.")
    @click.option(
        "--target",
        default="llvm",
        metavar="TARGET",
        show_default="this machine",
        help="What to compile for: a name that sateen doctor --targets lists, or the text of a target.",
    )
    @click.option("--shape", multiple=True, type=named_shape, metavar="NAME=1x3x224x224", help="The shape of an input.")
    @click.option(
        "--dim",
        multiple=True,
        type=named_extent,
        metavar="NAME=N",
        help="The extent of a dimension that the model names.",
    )
    @click.option(
        "--bind", multiple=True, type=named, metavar="NAME=VALUE", help="Make an input constant: numbers or a file."
    )
    @click.option(
        "--numerics",
        type=click.Choice(NUMERICS),
        default="default",
        show_default=True,
        help="strict: each sum as it is; default: Winograd's method too; fast: Strassen's, which mixes rows, as well.",
    )
    @click.option(
        "--denormals",
        type=click.Choice(DENORMALS),
        default="keep",
        show_default=True,
        help="flush: subnormal numbers may count as zeros, which is faster where data have many.",
    )
    @click.option("--records", type=FILE, metavar="LOG", help="Measurements of `sateen tune` to choose by.")
    @click.option("--cache/--no-cache", default=True, help="Keep compiled kernels for the next time.")
    @functools.wraps(verb)
    def collected(
        weights: Path | None,
        begin: tuple[str, ...],
        end: tuple[str, ...],
        target: str,
        shape: tuple[tuple[str, tuple[int, ...]], ...],
        dim: tuple[tuple[str, int], ...],
        bind: tuple[tuple[str, str], ...],
        cache: bool,
        numerics: str,
        denormals: str,
        records: Path | None,
        **others: Any,
    ) -> Any:
        given = Compilation(
            target,
            by_name("--shape", shape),
            by_name("--dim", dim),
            by_name("--bind", bind),
            weights,
            begin,
            end,
            cache,
            numerics,
            denormals,
            records,
        )
        return verb(compilation=given, **others)

    return collected


def check_target(compilation: Compilation) -> None:
    """Raises UsageError for a target that networks can't be compiled for, before a model is read."""
    try:
        network_target(compilation.target)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="--target") from None


def records_of(compilation: Compilation) -> Records | None:
    """The records that the command line names. Raises ArgumentError for a file that has other lines."""
    return None if compilation.records is None else Records.read(compilation.records)
