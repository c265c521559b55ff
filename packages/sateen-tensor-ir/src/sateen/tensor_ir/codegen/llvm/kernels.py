"""Kernels of a device in LLVM text: each thread runs the function, whose memory is in address spaces.

What graphics processors have in common is here; a `KernelLanguage` says what one family calls it (NVPTX usage guide and
AMDGPU usage guide of LLVM).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer, constant
from sateen.tensor_ir.codegen.kernel_limits import check_limits, check_thread_memory, size_of
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.expressions import Nothing
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.module import constant_text
from sateen.tensor_ir.codegen.llvm.module_state import ModuleState
from sateen.tensor_ir.codegen.llvm.statements import Statements
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, pointer_type
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter, flatten
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Call, Expr
from sateen.tensor_ir.ir.external import LLVM, function_name, is_external
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import BLOCKS, THREAD_TAGS
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.lowering.split_tasks import HostProgram
from sateen.tensor_ir.targets import AMDGPU, NVPTX, Architecture, Gpu

GLOBAL_SPACE, SHARED_SPACE = 1, 3
"""The address spaces of global and shared memory, which both families number alike."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelLanguage:
    """How one family of graphics processors says what kernels need.

    `block` and `thread` are the intrinsics that read an index, to which x, y or z is added; `attributes` are those of a
    function, in which `{x}`, `{y}`, `{z}` and `{threads}` stand for the extents of a block. `shuffle` takes a value of
    another lane of the warp; the type is added to it.
    """

    architecture: Architecture
    convention: str
    block: str
    thread: str
    barrier: tuple[str, ...]
    declarations: tuple[str, ...]
    attributes: str
    constant_space: int
    private_space: int
    flags: tuple[str, ...] = ()
    """Lines of metadata of a module."""
    shuffle: str | None = None


PTX = KernelLanguage(
    NVPTX,
    convention="ptx_kernel",
    block="llvm.nvvm.read.ptx.sreg.ctaid.",
    thread="llvm.nvvm.read.ptx.sreg.tid.",
    barrier=("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",),
    declarations=("declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",),
    attributes='"nvvm.reqntid"="{x},{y},{z}"',
    constant_space=GLOBAL_SPACE,  # in space 4 threads that read different places would wait for each other
    private_space=0,
    shuffle="llvm.nvvm.shfl.sync.idx.",
)
GCN = KernelLanguage(
    AMDGPU,
    convention="amdgpu_kernel",
    block="llvm.amdgcn.workgroup.id.",
    thread="llvm.amdgcn.workitem.id.",
    barrier=(
        'fence syncscope("workgroup") release',
        "call void @llvm.amdgcn.s.barrier()",
        'fence syncscope("workgroup") acquire',
    ),
    declarations=("declare void @llvm.amdgcn.s.barrier()",),
    attributes='"amdgpu-flat-work-group-size"="{threads},{threads}" "uniform-work-group-size"="true" '
    '"amdgpu-implicitarg-num-bytes"="0"',
    constant_space=4,
    private_space=5,
    flags=("!llvm.module.flags = !{!0}", '!0 = !{i32 1, !"amdhsa_code_object_version", i32 400}'),
)
"""In the fourth version of code objects: ROCm and lld have known it the longest of those that LLVM makes."""


def emit_kernels(
    programs: Sequence[DeviceProgram], language: KernelLanguage, gpu: Gpu, features: frozenset[str] = frozenset()
) -> str:
    """LLVM text of all kernels of programs for a device whose processor has these features.

    An argument is a pointer to global memory, or after those a scalar of 64 bits. Raises CodegenError for what a kernel
    can't do, LoweringError for a block that needs more threads or shared memory than there are.
    """
    module = ModuleState(
        language.architecture,
        language.architecture.triple,
        features,
        constant_space=language.constant_space,
        freezes_addresses=False,  # frozen ones hide what they point into, whose loads are then not known to be constant
    )
    kernels = [kernel for program in programs for kernel in program.kernels]
    for kernel in kernels:
        check_limits(kernel, gpu)
        check_thread_memory(kernel, gpu)
        _check(kernel)
    text = [_kernel(module, language, kernel) for kernel in kernels]
    constants = [constant_text(b, name, language.constant_space) for b, name in module.constants.items()]
    return "\n".join(
        [
            *language.declarations,
            *module.declarations,
            *constants,
            *module.routines,
            *module.functions,
            *text,
            *language.flags,
            "",
        ]
    )


class KernelFrame(Frame):
    """The storage and the end of a kernel: shared memory belongs to the block, all other to the thread, which has its
    part of what is of scope warp."""

    def __init__(self, writer: FunctionWriter, language: KernelLanguage) -> None:
        super().__init__(writer)
        self.language = language
        self.barrier = language.barrier
        self.shuffle = language.shuffle

    def place(self, buffer: Buffer) -> LlvmValue:
        """Storage of constant size, one place per buffer."""
        if buffer not in self.places:
            shared = buffer.scope is Scope.SHARED
            self.places[buffer] = self._shared(buffer) if shared else self._private(buffer)
        return self.places[buffer]

    def _shared(self, buffer: Buffer) -> LlvmValue:
        functions = self.writer.module.functions
        name = f"@{self.writer.name}.shared{len(functions)}"
        space = f"internal addrspace({SHARED_SPACE})"
        functions.append(f"{name} = {space} global [{size_of(buffer)} x i8] poison, align {buffer.alignment}")
        return LlvmValue(name, pointer_type(SHARED_SPACE), is_global=True)

    def _private(self, buffer: Buffer) -> LlvmValue:
        name, space = self.writer.fresh("local"), self.language.private_space
        where = f", addrspace({space})" if space else ""
        self.stack.append(f"  {name} = alloca [{size_of(buffer)} x i8], align {buffer.alignment}{where}")
        return LlvmValue(name, pointer_type(space))

    def take(self, size: LlvmValue) -> LlvmValue:
        raise CodegenError(
            f"{self.writer.name}: expected storage of constant size in a kernel, found one of {size.text}"
        )

    def define_kernel(self, kernel: Kernel, parameters: Sequence[str]) -> str:
        """The finished kernel."""
        x, y, z = kernel.block
        attributes = self.language.attributes.format(x=x, y=y, z=z, threads=x * y * z)
        head = (
            f"define {self.language.convention} void @{kernel.name}({', '.join(parameters)}) nounwind {attributes} {{"
        )
        body = flatten([self.stack, self.writer.entry, self.writer.lines])
        return "\n".join([head, "work:", *body, "  ret void", "}", ""])


def _kernel(module: ModuleState, language: KernelLanguage, kernel: Kernel) -> str:
    index = f"i{kernel.index_bits}"
    writer, environment = FunctionWriter(module, kernel.name, index), Environment(Analyzer())
    frame = KernelFrame(writer, language)
    statements = Statements(writer, environment, Nothing(), frame, HostProgram(kernel.function, {}, kernel.index_bits))
    parameters = []
    for i, b in enumerate(kernel.buffers):
        statements.addresses.base[b] = LlvmValue(f"%a{i}", pointer_type(GLOBAL_SPACE))
        alias = "" if b in kernel.aliased else "noalias "
        access = "" if b in kernel.outputs else "readonly "
        parameters.append(f"{pointer_type(GLOBAL_SPACE)} {alias}{access}align {b.alignment} %a{i}")
    for i, v in enumerate(kernel.scalars):
        parameters.append(f"i64 %n{i}")
        environment.variables[v] = _scalar(writer, LlvmValue(f"%n{i}", "i64"), writer.value_type(v.dtype))
        environment.analyzer.bind_form(v, constant(0), None)
    extents: tuple[Expr, ...] = (*kernel.grid, *map(ex.const, kernel.block))
    for tag, var in kernel.axes.items():
        extent = extents[THREAD_TAGS.index(tag)]
        environment.analyzer.bind(var, 0, extent)
        environment.variables[var] = _axis(writer, language, tag, environment.analyzer.constant(extent))
    statements.statement(kernel.body)
    return frame.define_kernel(kernel, parameters)


def _scalar(writer: FunctionWriter, given: LlvmValue, kind: str) -> LlvmValue:
    """An argument in the type in which the kernel computes with it."""
    if kind == given.kind:
        return given
    name = writer.fresh("n")
    writer.entry.append(f"  {name} = trunc {given.typed} to {kind}")
    return LlvmValue(name, kind)


def _axis(writer: FunctionWriter, language: KernelLanguage, tag: str, extent: int | None) -> LlvmValue:
    """This thread's index along an axis, which the kernel reads where it begins."""
    intrinsic = f"{language.block if tag in BLOCKS else language.thread}{tag[-1]}"
    writer.module.declarations[f"declare i32 @{intrinsic}()"] = None
    name = writer.fresh("axis")
    below = "" if extent is None else f" range(i32 0, {max(extent, 1)})"
    writer.entry.append(f"  {name} = call{below} i32 @{intrinsic}()")
    if writer.index == "i32":
        return LlvmValue(name, "i32")
    wide = writer.fresh("axis")
    writer.entry.append(f"  {wide} = zext nneg i32 {name} to {writer.index}")
    return LlvmValue(wide, writer.index)


def _check(kernel: Kernel) -> None:
    for n in walk(kernel.body):
        if isinstance(n, Call) and is_external(n.name) and not n.name.startswith(LLVM):
            raise CodegenError(
                f"{kernel.name}: kernels call no functions of a host, found a call of {function_name(n.name)!r}"
            )
