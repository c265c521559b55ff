"""The kinds of targets with code generators: what each gives, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.c_family import (
    C99,
    CUDA_C,
    METAL,
    OPENCL_C,
    Dialect,
    emit_c,
    emit_kernel_text,
)
from sateen.tensor_ir.codegen.device_code import gcn_object, processor_of, ptx
from sateen.tensor_ir.codegen.kernel_limits import check_limits, check_thread_memory
from sateen.tensor_ir.codegen.object_code import ObjectCode, compile_functions, machine_of
from sateen.tensor_ir.codegen.wgsl import WGSL, emit_wgsl
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering import pipelines
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules
from sateen.tensor_ir.lowering.pipelines import C, Observer, Pipeline, Setting
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.targets import Gpu, Machine
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
    and for each function what a host launches; None for processors. `check` raises TargetError for a processor of a
    target that there is no code for.
    """

    name: str
    gives: str
    make: Callable[[Sequence[Function], Target, IntrinsicRules, Observer | None], ObjectCode | SourceCode | KernelCode]
    has_libraries: bool = False
    has_networks: bool = False
    network: Callable[[Sequence[Function], Target], tuple[bytes, tuple[DeviceProgram, ...]]] | None = None
    check: Callable[[Target], object] = str


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


@dataclass(frozen=True, slots=True, eq=False)
class _KernelText:
    """Kernels as text of a language. With `is_known` the target says what its blocks may have; otherwise the device
    that is there does when it loads the text. `check` raises TargetError for a processor of a target."""

    dialect: Dialect
    emit: Callable[[Sequence[DeviceProgram]], str]
    pipeline: Pipeline[DeviceProgram]
    is_known: bool = True
    check: Callable[[Target], object] = str

    def make(
        self, functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None
    ) -> SourceCode:
        """The code of a module's only function."""
        text, (program,) = self._text([_only(functions, self.dialect.name)], target, rules, observe)
        return SourceCode(text, program)

    def network(self, kernels: Sequence[Function], target: Target) -> tuple[bytes, tuple[DeviceProgram, ...]]:
        """The code of a network."""
        text, programs = self._text(kernels, target, DEFAULT_RULES, None)
        return text.encode(), programs

    def _text(
        self, functions: Sequence[Function], target: Target, rules: IntrinsicRules, observe: Observer | None
    ) -> tuple[str, tuple[DeviceProgram, ...]]:
        self.check(target)
        setting = Setting(self.dialect.calls(rules), Machine.of(target), spells=self.dialect.spells)
        programs = tuple(self.pipeline.run(function, setting, observe) for function in functions)
        gpu = Gpu.of(target)
        assert gpu is not None
        for kernel in (kernel for program in programs for kernel in program.kernels):
            check_thread_memory(kernel, gpu)
            if self.is_known:
                check_limits(kernel, gpu)
        return self.emit(programs), programs


_OPENCL = _KernelText(OPENCL_C, partial(emit_kernel_text, language=OPENCL_C), pipelines.OPENCL, is_known=False)
_CUDA_C = _KernelText(CUDA_C, partial(emit_kernel_text, language=CUDA_C), pipelines.CUDA_C, check=processor_of)
_METAL = _KernelText(METAL, partial(emit_kernel_text, language=METAL), pipelines.METAL)
_WGSL = _KernelText(WGSL, emit_wgsl, pipelines.WEBGPU, is_known=False)


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
        TargetKind("llvm", "object code", compile_functions, has_libraries=True, has_networks=True, check=machine_of),
        TargetKind("c", "C99", _c, has_networks=True, check=machine_of),
        TargetKind("opencl", "OpenCL C", _OPENCL.make, has_networks=True, network=_OPENCL.network),
        TargetKind("cuda", "PTX", _cuda, has_networks=True, network=_cuda_network, check=processor_of),
        TargetKind("cuda-c", "CUDA C", _CUDA_C.make, has_networks=True, network=_CUDA_C.network, check=processor_of),
        TargetKind("rocm", "object code of kernels", _rocm),
        TargetKind("metal", "Metal's text", _METAL.make, has_networks=True, network=_METAL.network),
        TargetKind("webgpu", "WGSL", _WGSL.make, has_networks=True, network=_WGSL.network),
    )
}
"""The kinds by the name in `Target.kind`."""


def kind_of(target: Target) -> TargetKind:
    """The kind of a target."""
    return TARGET_KINDS[target.kind]
