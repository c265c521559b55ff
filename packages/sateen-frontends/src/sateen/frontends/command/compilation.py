"""The options that say how to read and compile a MODEL on the command line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from sateen.frontends.command.arguments import FILE, OneOf, by_name, named, named_device, named_extent, named_shape
from sateen.graph_ir.compile import PARAMETER_FORMS, host_of, network_target
from sateen.graph_ir.passes import Known, nothing_known
from sateen.graph_ir.tune import Records, ShippedRecords
from sateen.runtime import DeviceKind, Target, TargetError
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import DENORMALS
from sateen.tensor_ir.targets import read_machine
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
    shipped: bool = True
    """Whether the records that come with sateen count where others say nothing."""
    placed: Mapping[str, str] = field(default_factory=dict)
    """The devices of nodes that are not on that of the target."""
    target_host: str = "llvm"
    machine: Path | None = None
    """The file of the machine that choices are made for."""
    parameters: str | None = None
    """The form of parameters in the file; None where the verb decides."""

    @property
    def given(self) -> list[str]:
        """The options that say something other than by default, the cache aside."""
        says = {
            "--weights": self.weights is not None,
            "--from": bool(self.inputs),
            "--to": bool(self.outputs),
            "--target": self.target != "llvm",
            "--place": bool(self.placed),
            "--target-host": self.target_host != "llvm",
            "--shape": bool(self.shapes),
            "--dim": bool(self.dims),
            "--bind": bool(self.bindings),
            "--numerics": self.numerics != "default",
            "--denormals": self.denormals != "keep",
            "--machine": self.machine is not None,
            "--parameters": self.parameters is not None,
            "--records": self.records is not None,
            "--no-shipped-records": not self.shipped,
        }
        return [option for option, is_given in says.items() if is_given]

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
    @click.option(
        "--place",
        "elsewhere",
        multiple=True,
        type=named_device,
        metavar="NODE=cpu",
        help="Compute a node of a network for a device elsewhere: on the host, or on another device of the kind.",
    )
    @click.option(
        "--target-host",
        default="llvm",
        metavar="TARGET",
        show_default="this machine",
        help="The processor beside a device, for nodes that are there.",
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
        type=OneOf(NUMERICS),
        default="default",
        show_default=True,
        help="strict: each sum as it is; default: Winograd's too; fast: bfloat16, and Strassen's, which mixes rows.",
    )
    @click.option(
        "--denormals",
        type=OneOf(DENORMALS),
        default="keep",
        show_default=True,
        help="flush: subnormal numbers may count as zeros, which is faster where data have many.",
    )
    @click.option(
        "--machine",
        type=FILE,
        metavar="FILE",
        help="The machine that methods are chosen for, as `sateen doctor --measure -o FILE` writes it.",
    )
    @click.option(
        "--parameters",
        type=OneOf(PARAMETER_FORMS),
        show_default="trained; packed for what export writes but npm",
        help="trained: a small file, whose first load packs them; packed: as kernels read them, which loads only map.",
    )
    @click.option("--records", type=FILE, metavar="LOG", help="Measurements of `sateen tune` to choose by.")
    @click.option(
        "--shipped-records/--no-shipped-records",
        "shipped",
        default=True,
        help="Choose by measurements that come with sateen, where it has them for this target and machine.",
    )
    @click.option("--cache/--no-cache", default=True, help="Keep compiled kernels for the next time.")
    @functools.wraps(verb)
    def collected(
        weights: Path | None,
        begin: tuple[str, ...],
        end: tuple[str, ...],
        target: str,
        elsewhere: tuple[tuple[str, str], ...],
        target_host: str,
        shape: tuple[tuple[str, tuple[int, ...]], ...],
        dim: tuple[tuple[str, int], ...],
        bind: tuple[tuple[str, str], ...],
        cache: bool,
        numerics: str,
        denormals: str,
        parameters: str | None,
        records: Path | None,
        machine: Path | None,
        shipped: bool,
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
            shipped,
            by_name("--place", elsewhere),
            target_host,
            machine,
            parameters,
        )
        return verb(compilation=given, **others)

    return collected


def check_target(compilation: Compilation) -> None:
    """Raises UsageError for a target that networks can't be compiled for, before a model is read."""
    try:
        target = network_target(compilation.target)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="--target") from None
    try:
        host_of(target, compilation.target_host)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="--target-host") from None
    if compilation.placed and target.device_kind is DeviceKind.CPU:
        raise click.BadParameter(
            f"expected the --target of a device, whose network may have parts elsewhere, found {target}",
            param_hint="--place",
        )


def records_of(compilation: Compilation) -> Records | None:
    """The records that the command line names. Raises ArgumentError for a file that has other lines."""
    return None if compilation.records is None else Records.read(compilation.records)


def known_methods(compilation: Compilation, target: Target) -> Known:
    """What records say, those that the command line names and those that come with sateen, as `build` asks them."""
    records = records_of(compilation)
    known = nothing_known if records is None else records.best(target)
    return ShippedRecords(target, machine_of(compilation)).after(known) if compilation.shipped else known


def machine_of(compilation: Compilation) -> Machine | None:
    """The machine that the command line names. Raises ArgumentError for a file that is none, or not the target's."""
    return None if compilation.machine is None else read_machine(compilation.machine, compilation.target)
