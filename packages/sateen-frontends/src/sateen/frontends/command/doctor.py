"""`sateen doctor`: what works on this machine, and the command that enables each thing that does not."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
import llvmlite.binding as llvm

from sateen.frontends.command.arguments import NEW_FILE, allowed_processors, json_option
from sateen.frontends.command.measured_machine import rates_text, show_measured
from sateen.frontends.command.output import say, show_json, show_table
from sateen.frontends.command.pictures import PILLOW
from sateen.frontends.command.target_support import built_for, computes, support_of
from sateen.frontends.core.packages import is_installed
from sateen.frontends.core.peers import Peer
from sateen.frontends.readers import PEERS
from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import installed_operators
from sateen.runtime import ArgumentError, LinkError, SateenError, Target
from sateen.runtime.devices import PROCESS_DEVICES, DevicesOfKind
from sateen.runtime.processor import host_features
from sateen.runtime.target_names import TARGET_NAMES
from sateen.tensor_ir import Machine
from sateen.tensor_ir.host import has_host, has_pool
from sateen.tensor_ir.link import linker_remedy
from sateen.tensor_ir.targets import ARCHITECTURES, Architecture, System, architecture_of, features_of

PACKAGES = (
    "sateen-runtime",
    "sateen-tensor-ir",
    "sateen-topi",
    "sateen-graph-ir",
    "sateen-frontends",
    "numpy",
    "llvmlite",
    "onnx",
)
NO_POOL = (
    "object code of kernels; no libraries, whose thread pool is for Linux on "
    f"{', '.join(a.title for a in ARCHITECTURES.values() if has_pool(a.triple))}"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `remedy` enables what was checked; it is '' if that works."""

    subject: str
    works: bool
    found: str
    remedy: str = ""


@click.command(short_help="What works on this machine, and what enables the rest.")
@click.option("--targets", is_flag=True, help="List the names of targets, and what works here for each.")
@click.option("--measure", "is_measured", is_flag=True, help="Measure this machine's processor, in some seconds.")
@click.option(
    "-o", "--output", type=NEW_FILE, metavar="FILE", help="With --measure: a file for --machine of other verbs."
)
@json_option
def doctor(targets: bool, is_measured: bool, output: Path | None, as_json: bool) -> int:
    """Tell which targets work here, what the processor has, and what would enable the rest.

    `--measure` shows caches and rates of the processor beside those that choices are made for, and writes them to -o.
    """
    if output is not None and not is_measured:
        raise click.UsageError("-o is for --measure")
    if targets and is_measured:
        raise click.UsageError("expected --targets or --measure, found both")
    if targets:
        _show_targets(as_json)
        return 0
    if is_measured:
        show_measured(output, as_json)
        return 0
    machine, findings = _machine(), [check() for check in _CHECKS]
    findings += map(_devices, PROCESS_DEVICES.found())
    if as_json:
        show_json({"machine": machine, "findings": [asdict(f) for f in findings]})
    else:
        for name, value in machine.items():
            say(f"{name:<12}{value}")
        say("")
        rows = [(f.subject, "yes" if f.works else "no", f.found, f.remedy) for f in findings]
        show_table(("", "works", "found", "to enable"), rows)
    return 0 if findings[0].works else 1


def _show_targets(as_json: bool) -> None:
    """Show each name of a target with its text, and what works here for it."""
    supported = [(name, support_of(name)) for name in TARGET_NAMES.values()]
    if as_json:
        show_json({"targets": [asdict(name) | asdict(support) for name, support in supported]})
        return
    rows = [(n.name, s.compiles, s.links, s.runs, s.remedy, n.text) for n, s in supported]
    show_table(("", "compiles", "links", "runs", "to enable", "target"), rows)


def _machine() -> dict[str, str]:
    """The facts that every report of a fault should contain."""
    machine = Machine.of("llvm")
    caches = ", ".join(f"{size >> 10} KB" for size in (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes))
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "LLVM": ".".join(map(str, llvm.llvm_version_info)),
        "target": str(Target.host()),
        "vectors": _vectors(Target.host()),
        "machine": f"{machine.processor}; rates: {machine.source or 'those of a typical one'}",
        "rates": rates_text(machine),
        "caches": f"{caches} (levels 1 to 3)",
        "processors": f"{allowed_processors()} allowed of {os.cpu_count()}",
        "features": " ".join(sorted(host_features())) or "not told by the system",
    }


def _vectors(target: Target) -> str:
    vectors = architecture_of(target).vectors_of(features_of(target))
    if vectors.in_scalars:
        return "none: several scalars stand for each vector of a schedule"
    return f"{vectors.registers} registers of {vectors.bytes} bytes"


def _target(subject: str, text: str) -> Callable[[], Finding]:
    def look() -> Finding:
        """Compile and link a function; what is for this machine is run as well."""
        try:
            module = built_for(text)
            if not has_host(module.target.triple):
                return Finding(subject, False, NO_POOL)
            module.library()
            right = text != "llvm" or computes(module)
        except LinkError:
            return Finding(
                subject, False, "compiles, but no linker for it was found", linker_remedy(module.target.triple)
            )
        except SateenError as error:
            return Finding(subject, False, f"{type(error).__name__}: {error}")
        if text != "llvm":
            return Finding(subject, True, f"compiles and links: {text}")
        return Finding(subject, right, "compiles, links and runs" if right else "computes wrong numbers")

    return look


def _devices(found: DevicesOfKind) -> Finding:
    """The devices of one kind that kernels and networks may run on."""
    subject = f"devices of {found.kind}"
    if found.devices:
        return Finding(subject, True, ", ".join(map(str, found.devices)))
    return Finding(subject, False, found.missing, found.remedy)


def _operators() -> Finding:
    """The operators that installed packages offer."""
    subject = "operators of packages"
    try:
        offered = installed_operators(OpSet.of()).ops
    except ArgumentError as error:
        return Finding(subject, False, str(error), "repair or uninstall that package")
    return Finding(subject, True, ", ".join(offered) or "none installed")


def _package(subject: str, module: str, distribution: str, install: str) -> Callable[[], Finding]:
    def look() -> Finding:
        if is_installed(module):
            return Finding(subject, True, f"{distribution} {_version(distribution)}")
        return Finding(subject, False, f"{distribution} is not installed", install)

    return look


def _peer(name: str, peer: Peer) -> Callable[[], Finding]:
    def look() -> Finding:
        subject, installed = f"bench against {name}", [p for p in peer.packages if is_installed(p)]
        if len(installed) == len(peer.packages):
            return Finding(subject, True, ", ".join(f"{package} {_version(package)}" for package in installed))
        missing = " and ".join(p for p in peer.packages if p not in installed)
        return Finding(subject, False, f"not installed: {missing}", peer.install)

    return look


def _name(architecture: Architecture) -> str:
    """The common name of an architecture with its usual system."""
    return f"{architecture.title} Linux" if System.of(architecture.triple) is System.LINUX else architecture.title


_CHECKS: tuple[Callable[[], Finding], ...] = (
    _target("this machine", "llvm"),
    *(_target(_name(architecture), f"llvm -mtriple={architecture.triple}") for architecture in ARCHITECTURES.values()),
    _operators,
    _package("pictures as inputs", "PIL", "pillow", PILLOW),
    *(_peer(name, peer) for name, peer in PEERS.items()),
)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
