"""The kinds of targets with code generators: what each gives, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sateen.runtime.errors import CodegenError, TargetError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.c_family import emit_c, emit_opencl
from sateen.tensor_ir.codegen.c_family.dialects import C99, OPENCL_C
from sateen.tensor_ir.codegen.device_code import gcn_object, ptx
from sateen.tensor_ir.codegen.object_code import ObjectCode, compile_functions
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules
from sateen.tensor_ir.lowering.pipelines import OPENCL, C, Observer, Setting
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.targets import Machine
from sateen.tensor_ir.version import __version__

PRODUCER = f"sateen-tensor-ir {__version__}"
"""The producer of code in its metadata."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceCode:
    """The text of functions for another compiler, and the kernels that a host launches if it is for a device."""

    text: str
    program: DeviceProgram | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KernelCode:
    """Object code of the kernels of a device, and what a host launches."""

    code: bytes
    program: DeviceProgram


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target: its name in texts of targets, and the function that makes its code.

    The observer, or None, sees the passes for the target. `has_libraries` if that is object code, which sateen links;
    `has_networks` if networks are compiled to it. `network` gives the code of all kernels of a network for a device,
    and for each function what a host launches; None for processors.
    """

    name: str
    gives: str
    make: Callable[[Sequence[Function], Target, IntrinsicRules, Observer | None], ObjectCode | SourceCode | KernelCode]
    has_libraries: bool = False
    has_networks: bool = False
    network: Callable[[Sequence[Function], Target], tuple[bytes, tuple[DeviceProgram, ...]]] | None = None


def _c(functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None) -> SourceCode:
    """C for the architecture of a target; the C compiler decides which of its processors run the library."""
    setting = Setting(C99.calls(rules), Machine.of(target), spells=C99.spells)
    programs = [C.run(function, setting, observe) for function in functions]
    return SourceCode(emit_c(programs, str(replace(target, cpu="", features=())), PRODUCER))


def c_network(kernels: Sequence[Function], entry: Function, target: str, producer: str) -> str:
    """C99 of a network: its kernels, and the entry that calls them, which is the only public function."""
    setting = Setting(C99.calls(DEFAULT_RULES), Machine.of(target), spells=C99.spells)
    called = [C.run(function, setting) for function in kernels]
    return emit_c([C.run(entry, setting)], target, producer, called)


def _opencl(
    functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None
) -> SourceCode:
    setting = Setting(OPENCL_C.calls(rules), Machine.of(target), spells=OPENCL_C.spells)
    program = OPENCL.run(_only(functions, "OpenCL C"), setting, observe)
    return SourceCode(emit_opencl([program]), program)


def _opencl_network(kernels: Sequence[Function], target: Target) -> tuple[bytes, tuple[DeviceProgram, ...]]:
    setting = Setting(OPENCL_C.calls(DEFAULT_RULES), Machine.of(target))
    programs = tuple(OPENCL.run(function, setting) for function in kernels)
    return emit_opencl(programs).encode(), programs


def _cuda(functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None) -> SourceCode:
    text, (program,) = ptx([_only(functions, "PTX")], target, rules, observe)
    return SourceCode(text, program)


def _cuda_network(kernels: Sequence[Function], target: Target) -> tuple[bytes, tuple[DeviceProgram, ...]]:
    text, programs = ptx(kernels, target, DEFAULT_RULES)
    return text.encode(), programs


def _rocm(functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None) -> KernelCode:
    code, (program,) = gcn_object([_only(functions, "AMDGPU objects")], target, rules, observe)
    return KernelCode(code, program)


def _only(functions: Sequence[Function], language: str) -> Function:
    """The function of a module whose host launches one function's kernels."""
    if len(functions) != 1:
        raise CodegenError(f"expected one function for {language}, found {', '.join(f.name for f in functions)}")
    return functions[0]


TARGET_KINDS = {
    kind.name: kind
    for kind in (
        TargetKind("llvm", "object code", compile_functions, has_libraries=True, has_networks=True),
        TargetKind("c", "C99", _c, has_networks=True),
        TargetKind("opencl", "OpenCL C", _opencl, has_networks=True, network=_opencl_network),
        TargetKind("cuda", "PTX", _cuda, has_networks=True, network=_cuda_network),
        TargetKind("rocm", "object code of kernels", _rocm),
    )
}
"""The kinds by the name in `Target.kind`."""


def kind_of(target: Target) -> TargetKind:
    """The kind of a target. Raises TargetError for a kind without a code generator."""
    if target.kind not in TARGET_KINDS:
        raise TargetError(
            f"expected a target of kind {', '.join(TARGET_KINDS)}, for which code is made, found {target.kind!r}"
        )
    return TARGET_KINDS[target.kind]
