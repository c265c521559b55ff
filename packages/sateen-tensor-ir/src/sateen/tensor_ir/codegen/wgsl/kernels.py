"""Kernels of a device's program as one text of WGSL.

The text begins with what kernels share. Then each kernel has a part of its own, whose first line is `// kernel NAME`;
the second says how many iterations its loops have, if that is known.
Group 0 has its bindings: 0 is a struct of numbers, which are 0, the first word of each buffer in its binding, and the
scalars; the others are its buffers in their order. Each binding is declared in one line (docs/design/kernels.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.dtype import DType, TypeCode
from sateen.tensor_ir.codegen.c_family.identifiers import PREFIX
from sateen.tensor_ir.codegen.c_family.literals import UNARY, Code
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.codegen.wgsl import long_integers
from sateen.tensor_ir.codegen.wgsl.iterations import Iterations, most_iterations
from sateen.tensor_ir.codegen.wgsl.memory import Memory, constant_array
from sateen.tensor_ir.codegen.wgsl.values import WGSL
from sateen.tensor_ir.codegen.wgsl.words import check_kernel
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import BLOCKS, THREAD_TAGS, Allocate, Barrier
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram

_ZERO = f"{PREFIX}zero"
_INT32, _UINT32 = map(DType.of, ("int32", "uint32"))
_PLACE_OF_THREAD = ", ".join(
    f"@builtin({builtin}) {PREFIX}{name}: vec3<u32>"
    for builtin, name in (("workgroup_id", "block"), ("local_invocation_id", "thread"))
)


def emit_wgsl(programs: Sequence[DeviceProgram]) -> str:
    """WGSL of all kernels of programs.

    Raises CodegenError for what WGSL does not have: float64, a name.
    """
    unit = TranslationUnit(WGSL)
    for number, kernel in enumerate(kernel for program in programs for kernel in program.kernels):
        WgslKernel(unit, kernel, f"{PREFIX}{number}").define()
    parts = [
        *unit.routine_definitions(),
        *(constant_array(name, buffer) for buffer, name in unit.constants.items()),
        *unit.functions,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _told(iterations: Iterations) -> str:
    """What loaders find in the text of a kernel."""
    unrolled = f"{iterations.unrolled} with short ones unrolled"
    return f"// a thread has at most {iterations.all} iterations of loops, {unrolled}"


class WgslKernel(Memory):
    """One kernel."""

    def __init__(self, unit: TranslationUnit, kernel: Kernel, prefix: str) -> None:
        super().__init__(unit, kernel, prefix)
        check_kernel(kernel.name)
        self.nonnegative.update(kernel.axes.values(), kernel.scalars)
        self.index = DType(TypeCode.INT, kernel.index_bits)

    def define(self) -> None:
        """Add the kernel to the functions of the unit."""
        kernel = self.kernel
        bindings = [f"@group(0) @binding(0) var<uniform> {self.prefix}: {self._type_of_numbers};"]
        bindings += [self._binding(number, buffer) for number, buffer in enumerate(kernel.buffers, start=1)]
        shared = [f"var<workgroup> {self._of_block(b)}: {self.array_type(b)};" for b in kernel.shared_buffers]
        with self.captured() as body:
            self.statement(kernel.body)
        with self.captured() as numbers:
            for tag, var in kernel.axes.items():
                self._axis(tag, var)
            for scalar in kernel.scalars:
                self._number(scalar)
        iterations = most_iterations(kernel)
        head = [
            f"// kernel {kernel.name}",
            *([] if iterations is None else [_told(iterations)]),
            self._numbers(),
            *bindings,
            *shared,
            f"@compute @workgroup_size({', '.join(map(str, kernel.block))})",
            f"fn {kernel.name}({_PLACE_OF_THREAD}) {{",
        ]
        self.unit.functions.append("\n".join([*head, *numbers, *body, "}"]))

    def _numbers(self) -> str:
        arguments: tuple[Var | Buffer, ...] = (*self.kernel.buffers, *self.kernel.scalars)
        names = [_ZERO, *map(self.identifiers.of, arguments)]
        return f"struct {self._type_of_numbers} {{ {', '.join(f'{name}: i32' for name in names)} }}"

    @property
    def _type_of_numbers(self) -> str:
        return self.prefix.replace(PREFIX, f"{PREFIX}numbers_")

    def _binding(self, number: int, buffer: Buffer) -> str:
        access = "read_write" if self.is_atomic or buffer in self.kernel.outputs else "read"
        words = "array<atomic<u32>>" if self.is_atomic else "array<u32>"
        return f"@group(0) @binding({number}) var<storage, {access}> {self._of_block(buffer)}: {words};"

    def _of_block(self, buffer: Buffer) -> str:
        """The name of memory that more than one thread sees, which WGSL declares outside of functions."""
        return f"{self.prefix}_{self.identifiers.of(buffer)}"

    def name(self, node: Var | Buffer) -> str:
        plain = super().name(node)
        is_outside = isinstance(node, Buffer) and node.data is None and node in self._outside
        return self._of_block(node) if is_outside and isinstance(node, Buffer) else plain

    @property
    def _outside(self) -> tuple[Buffer, ...]:
        return (*self.kernel.buffers, *self.kernel.shared_buffers)

    def opaque(self, value: str) -> str:
        return f"bitcast<f32>(bitcast<i32>({value}) ^ {self.prefix}.{_ZERO})"

    def _axis(self, tag: str, var: Var) -> None:
        if var in self.mentioned:
            builtin = "block" if tag in BLOCKS else "thread"
            place = Code(f"{PREFIX}{builtin}.{'xyz'[THREAD_TAGS.index(tag) % 3]}")
            self.fixed(self.value_type(INDEX), self.name(var), self.converted(place, _UINT32, self.index).text)

    def _number(self, var: Var) -> None:
        if var in self.mentioned:
            number = Code(f"{self.prefix}.{self.identifiers.of(var)}")
            value = self.converted(number, _INT32, self.computed(var.dtype))
            self.fixed(self.value_type(var.dtype), self.name(var), value.text)

    # Statements that differ from those of C.

    def counting(self, type_: str, var: str, start: str, stop: str) -> str:
        if self.index.bits == 64:
            less, add = map(self.unit.require, (long_integers.is_less(self.index), long_integers.ARITHMETIC["+"]))
            return f"for (var {var} = {start}; {less}({var}, {stop}); {var} = {add}({var}, {long_integers.literal(1)}))"
        return f"for (var {var}: {type_} = {start}; {var} < {stop}; {var}++)"

    def leave_unless(self, condition: Code) -> None:
        self.line(f"if (!{condition.within(UNARY)}) {{ break; }}")

    def discard(self, value: Code) -> None:
        self.line(f"_ = {value.text};")

    def allocate(self, s: Allocate) -> None:
        if s.scope is Scope.SHARED:
            self.statement(s.body)
        else:
            super().allocate(s)

    def barrier(self, s: Barrier) -> None:
        self.line("storageBarrier();" if s.scope is Scope.GLOBAL else "workgroupBarrier();")
