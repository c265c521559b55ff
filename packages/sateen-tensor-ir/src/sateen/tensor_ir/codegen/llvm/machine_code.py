"""LLVM text to object code, through llvmlite. No IR pass runs: the emitter writes final code."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import MappingProxyType

import llvmlite.binding as llvm

from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import CodegenError, TargetError
from sateen.runtime.isolation import isolated_program
from sateen.runtime.processor import host_architecture, host_features
from sateen.tensor_ir.codegen.llvm.imported_text import import_text
from sateen.tensor_ir.codegen.llvm.process import initialise, without_hoisting
from sateen.tensor_ir.functions import Lack
from sateen.tensor_ir.targets import Architecture, System, architecture_named

_PROBE = """
import sys, llvmlite.binding as llvm
llvm.initialize_all_targets(); llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2], features=sys.argv[3])
machine.emit_object(llvm.parse_assembly(sys.argv[4]))
"""

_ARITHMETIC = """
declare float @llvm.fma.f32(float, float, float)
define float @fused(float %a, float %b, float %c) {
  %d = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %d
}
define double @product(double %a, double %b) {
  %c = fmul double %a, %b
  ret double %c
}
"""

_SYSTEMS = frozenset({"android", "darwin", "linux", "macos", "none", "wasi", "windows"})
"""The words for systems that stand second in triples without a vendor."""

_LISTING = """
import sys, llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""


@cache
def check_processor(triple: str, cpu: str, features: str) -> None:
    """Raise TargetError for a processor or feature that LLVM does not know, and for one without the register of the
    floating-point mode.

    LLVM ends a process that requests an unknown processor or an instruction that it lacks, and only warns about an
    unknown feature. So names that are not in our tables are tried in a child process first.
    """
    architecture = architecture_named(triple)
    known_cpus, known_features = set(architecture.cpus), {feature[1:] for feature in architecture.tuning}
    known_features = known_features.union(*(row.features for row in architecture.rows))
    if triple.partition("-")[0] == architecture.triple.partition("-")[0]:
        known_cpus |= {"", "generic", *(row.name for row in architecture.levels)}
    if architecture.name == host_architecture():
        known_cpus |= {llvm.get_host_cpu_name()}
        known_features |= host_features()
    if cpu in known_cpus and {feature[1:] for feature in features.split(",") if feature} <= known_features:
        return
    command = isolated_program(_PROBE, [triple, cpu, features, _text_of_mode(architecture)])
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    given = ",".join(feature for feature in features.split(",") if feature not in architecture.tuning)
    machine = " ".join(part for part in (triple, cpu, given) if part)
    if unknown := re.search(r"'(.*?)' is not a recognized (\w+)", result.stderr):
        name, what = unknown.groups()
        close = did_you_mean(name.lstrip("+-"), _names(triple, what))
        raise TargetError(f"LLVM knows no {what} {name!r} for {triple.partition('-')[0]}{close}")
    if "Cannot select" in result.stderr:
        raise TargetError(
            f"expected a processor with registers for floating-point numbers, found {machine}; name one by -mcpu, such "
            f"as {' or '.join([*architecture.cpus][-2:])}"
        )
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or [f"it ended with status {result.returncode}"]
        raise TargetError(f"LLVM does not accept {machine}: {reason[0]}")


def _text_of_mode(architecture: Architecture) -> str:
    """LLVM text that sets the mode, where an architecture has one."""
    mode = architecture.float_mode
    lines = [] if mode is None else mode.load("%place")
    declarations = [] if mode is None else mode.declarations
    return "\n".join([*declarations, "define void @f(ptr %place) {", *lines, "  ret void", "}"])


@cache
def processors_of(triple: str) -> frozenset[str]:
    """The processors that LLVM has for a triple."""
    return frozenset(_names(triple, "processor"))


def _names(triple: str, what: str) -> list[str]:
    """The processors or features that LLVM has for a triple; LLVM lists them only on the error output."""
    listed = subprocess.run(isolated_program(_LISTING, [triple]), capture_output=True, text=True, check=False).stderr
    processors, _, features = listed.partition("Available features for this target:")
    return re.findall(r"^  (\S+) +- ", processors if what == "processor" else features, re.MULTILINE)


def with_vendor(triple: str) -> str:
    """The triple with its second part, which many leave out: LLVM takes the parts by place, so that the system, its
    calls and its functions would be unknown ones.
    """
    architecture, *rest = triple.split("-")
    if rest and rest[0] in _SYSTEMS:
        return "-".join([architecture, "unknown", *rest])
    return triple


def target_machine(
    triple: str, cpu: str, features: str, *, abi: str = "", jit: bool = False, optimised: bool = True
) -> llvm.TargetMachine:
    """LLVM's description of a machine; unless it makes `optimised` code, it takes a tenth of the time and makes code of
    twice the size. Raises TargetError for a triple that sateen or LLVM does not support."""
    architecture_named(triple)
    initialise()
    try:
        target = llvm.Target.from_triple(with_vendor(triple))
    except RuntimeError as error:
        raise TargetError(f"LLVM knows no target {triple!r}: {error}") from error
    check_processor(triple, cpu, features)
    return target.create_target_machine(
        cpu=cpu,
        features=features,
        opt=2 if optimised else 0,
        reloc=_relocation_model(triple),
        codemodel="jitdefault" if jit else "default",
        abiname=abi,
    )


@cache
def lacks(triple: str, cpu: str, features: str, abi: str) -> frozenset[Lack]:
    """What functions of numbers do without: instructions that LLVM replaces by calls, and the library for these.

    The names of calls are those of compiler-rt and of the run-time ABI for ARM (RTABI32, 4.1.2).
    """
    text = compile_text(_ARITHMETIC, target_machine(triple, cpu, features, abi=abi)).assembly()
    found = {Lack.FLOAT64} if re.search(r"\b__(muldf3|aeabi_dmul)\b", text) else set()
    if System.of(triple) in (System.WEBASSEMBLY, System.NONE):
        found |= {Lack.LIBRARY}
        found |= {Lack.FMA} if re.search(r"\bfmaf\b", text) else set()
    return frozenset(found)


def _relocation_model(triple: str) -> str:
    """How LLVM forms addresses: programs of machines without a system lie where their linker has put them."""
    return "static" if System.of(triple) is System.NONE else architecture_named(triple).relocation_model


class ParsedModule:
    """A verified LLVM module for one machine.

    In a module with a register tile LLVM moves no code out of loops: otherwise it would keep the constants of an
    epilogue in registers that the tile needs, and the tile in memory.
    """

    def __init__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine, *, has_register_tile: bool) -> None:
        self._module = module
        self._machine = machine
        self._has_register_tile = has_register_tile

    def object_code(self) -> bytes:
        with self._options():
            return bytes(self._machine.emit_object(self._module))

    def assembly(self) -> str:
        with self._options():
            return str(self._machine.emit_assembly(self._module))

    def _options(self) -> AbstractContextManager[None]:
        return without_hoisting() if self._has_register_tile else nullcontext()


def compile_text(
    text: str,
    machine: llvm.TargetMachine,
    *,
    has_register_tile: bool = False,
    intrinsics: Iterable[str] = (),
    imports: Mapping[str, str] = MappingProxyType({}),
) -> ParsedModule:
    """The module that the text describes. Raises CodegenError if LLVM refuses it: a fault of ours, unless a call of the
    user's is to blame, which may also be one of `intrinsics` that LLVM lacks. `imports` are texts of the user's, which
    become part of the module, and where errors say that they are from."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        told = "\n".join(dict.fromkeys(str(error).strip().splitlines()))  # LLVM repeats a fault for each call
        names = ", ".join(intrinsics)
        called = f"; it calls {names}, whose operands may be at fault" if names else ""
        raise CodegenError(f"generated LLVM text is not valid{called}: {told}") from error
    known = {f.name for f in module.functions if list(f.attributes)}  # LLVM knows those of its intrinsics
    for name in intrinsics:
        if name not in known:
            raise CodegenError(f"expected an intrinsic of LLVM by its full name, with its types, found {name!r}")
    module.triple = machine.triple
    for imported, where in imports.items():
        import_text(module, imported, where)
    return ParsedModule(module, machine, has_register_tile=has_register_tile)
