"""OpenCL C 1.2: kernels as source text, which a device's driver compiles."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.dtype import DType, TypeCode
from sateen.tensor_ir.codegen.c_family.dialects import OPENCL_C
from sateen.tensor_ir.codegen.c_family.identifiers import check_public
from sateen.tensor_ir.codegen.c_family.literals import array
from sateen.tensor_ir.codegen.c_family.statements import Statements
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.functions.function import FLOAT64
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import BLOCKS, THREAD_TAGS, Allocate, Barrier, For, LoopKind
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram


def emit_opencl(programs: Sequence[DeviceProgram]) -> str:
    """OpenCL C of all kernels of programs.

    An argument is a buffer of global memory, or after those a scalar of 64 bits. Raises CodegenError for a type,
    function or name that OpenCL C does not have.
    """
    unit = TranslationUnit()
    kernels = [kernel for program in programs for kernel in program.kernels]
    for program in programs:
        check_public(program.host.name, opencl=True)
    for kernel in kernels:
        OpenCLKernel(unit, kernel).define()
    parts = [
        *(routine.definition(OPENCL_C.types) for routine in unit.routines),
        *(array("__constant", name, buffer, OPENCL_C.types) for buffer, name in unit.constants.items()),
        *unit.functions,
    ]
    if any(_has(FLOAT64, kernel) for kernel in kernels):
        parts.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


class OpenCLKernel(Statements):
    """One kernel."""

    dialect = OPENCL_C

    def __init__(self, unit: TranslationUnit, kernel: Kernel) -> None:
        super().__init__(unit, frozenset(), kernel.name)
        self.kernel = kernel
        self.nonnegative.update(kernel.axes.values(), kernel.scalars)
        self.index = DType(TypeCode.INT, kernel.index_bits)

    def define(self) -> None:
        """Add the kernel to the functions of the unit."""
        kernel = self.kernel
        parameters = ", ".join([*map(self._pointer, kernel.buffers), *map(self._scalar, kernel.scalars)])
        shared = [self._shared(buffer) for buffer in kernel.shared_buffers]
        with self.captured() as body:
            self.statement(kernel.body)
        axes = [self._index(tag, var) for tag, var in kernel.axes.items() if var in self.mentioned]
        block = f"__attribute__((reqd_work_group_size({', '.join(map(str, kernel.block))})))"
        head = f"__kernel {block}\nvoid {kernel.name}({parameters}) {{"
        self.unit.functions.append("\n".join([head, *shared, *axes, *body, "}"]))

    def _pointer(self, buffer: Buffer) -> str:
        access = "" if buffer in self.kernel.outputs else "const "
        alias = "" if buffer in self.kernel.aliased else "restrict "
        return f"__global {access}{self.storage_type(buffer.dtype)} *{alias}{self.identifiers.of(buffer)}"

    def _scalar(self, var: Var) -> str:
        return f"const {self.value_type(var.dtype)} {self.identifiers.of(var)}"

    def _shared(self, buffer: Buffer) -> str:
        """Shared memory belongs to the block: OpenCL requires its declaration outside of all control flow (6.5.2)."""
        name, size = self.identifiers.of(buffer), self.constant_size(buffer)
        return f"  __local {self.storage_type(buffer.dtype)} {name}[{size}];"

    def _index(self, tag: str, var: Var) -> str:
        function = "get_group_id" if tag in BLOCKS else "get_local_id"
        return f"  const {self.value_type(var.dtype)} {self.name(var)} = {function}({THREAD_TAGS.index(tag) % 3});"

    def serial_loop(self, s: For) -> None:
        # PoCL 3.1 compiles barriers of an unrolled loop in a branch wrongly; waiting takes longer than counting anyway
        if s.kind is LoopKind.UNROLLED and not any(isinstance(n, Barrier) for n in walk(s.body)):
            self.line("#pragma unroll")
        super().serial_loop(s)

    def allocate(self, s: Allocate) -> None:
        if s.scope is Scope.SHARED:
            self.statement(s.body)
        else:
            super().allocate(s)

    def barrier(self, s: Barrier) -> None:
        fence = "CLK_GLOBAL_MEM_FENCE" if s.scope is Scope.GLOBAL else "CLK_LOCAL_MEM_FENCE"
        self.line(f"barrier({fence});")


def _has(dtype: DType, kernel: Kernel) -> bool:
    """Whether a kernel has elements or values of a type."""
    nodes = walk(kernel.body)
    return any(b.dtype == dtype for b in kernel.buffers) or any(
        (isinstance(n, Expr) and n.dtype == dtype) or (isinstance(n, Allocate) and n.buffer.dtype == dtype)
        for n in nodes
    )
