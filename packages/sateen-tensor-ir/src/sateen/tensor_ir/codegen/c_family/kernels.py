"""Kernels as source text, which a device's driver or another compiler compiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import Template

from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.c_family.identifiers import check_public
from sateen.tensor_ir.codegen.c_family.kernel_dialects import KernelDialect
from sateen.tensor_ir.codegen.c_family.literals import array, stored_as
from sateen.tensor_ir.codegen.c_family.statements import Statements
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.functions.function import FLOAT64
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Const, Expr, Var, const
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import BLOCKS, THREAD_TAGS, Allocate, Barrier, For, LoopKind, Shuffle
from sateen.tensor_ir.ir.visit import substitute, walk
from sateen.tensor_ir.lowering.join_accesses import moved
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram

MOST_LANES = 4
"""The most elements of a vector that all languages name by the type of elements; more are moved as words."""


def emit_kernel_text(programs: Sequence[DeviceProgram], language: KernelDialect) -> str:
    """The text of all kernels of programs.

    An argument is a buffer of global memory, or after those a scalar of 64 bits. Raises CodegenError for a type,
    function or name that the language does not have, and for more parameters than it allows.
    """
    unit = TranslationUnit(language)
    kernels = [kernel for program in programs for kernel in program.kernels]
    for program in programs:
        check_public(program.host.name, of_kernels=True)
    for kernel in kernels:
        KernelText(unit, kernel, language).define()
    parts = [
        language.float64_header if any(_has(FLOAT64, kernel) for kernel in kernels) else "",
        "\n".join([*unit.headers, language.header]),
        *unit.routine_definitions(),
        *(array(language.constant, name, buffer, language.types) for buffer, name in unit.constants.items()),
        *unit.functions,
    ]
    return "\n\n".join(text for part in parts if (text := part.strip("\n"))) + "\n"


class KernelText(Statements):
    """One kernel."""

    def __init__(self, unit: TranslationUnit, kernel: Kernel, language: KernelDialect) -> None:
        super().__init__(unit, frozenset(), kernel.name)
        self.kernel = kernel
        self.language = language
        self.nonnegative.update(kernel.axes.values(), kernel.scalars)
        self.index = DType(TypeCode.INT, kernel.index_bits)
        self.multiples: dict[Buffer, int] = {}
        """The bytes of which an array in the kernel begins at a multiple, since vectors are moved from and to it."""

    def define(self) -> None:
        """Add the kernel to the functions of the unit."""
        kernel, language = self.kernel, self.language
        arguments = len(kernel.buffers) + len(kernel.scalars)
        if language.most_parameters is not None and arguments > language.most_parameters:
            raise CodegenError(
                f"{kernel.name}: expected at most {language.most_parameters} buffers and numbers of a kernel in "
                f"{language.name}, found {arguments}"
            )
        pointers = [self._pointer(b, place) for place, b in enumerate(kernel.buffers)]
        scalars = [self._scalar(v, place) for place, v in enumerate(kernel.scalars, start=len(pointers))]
        with self.captured() as body:
            self.statement(kernel.body)
        shared = [self._shared(buffer) for buffer in kernel.shared_buffers]
        axes = [self._position(tag, var) for tag, var in kernel.axes.items() if var in self.mentioned]
        head = Template(language.kernel).substitute(
            dict(zip("xyz", kernel.block, strict=True)),
            threads=prod(kernel.block),
            name=kernel.name,
            parameters=", ".join([*pointers, *scalars, *language.positions]),
        )
        self.unit.functions.append("\n".join([f"{head} {{", *shared, *axes, *body, "}"]))

    def _pointer(self, buffer: Buffer, place: int) -> str:
        access = "" if buffer in self.kernel.outputs else "const "
        return Template(self.language.pointer).substitute(
            type=f"{access}{self.storage_type(buffer.dtype)}",
            restrict="" if buffer in self.kernel.aliased else self.language.restrict,
            name=self.identifiers.of(buffer),
            place=place,
        )

    def _scalar(self, var: Var, place: int) -> str:
        type_, name = self.value_type(var.dtype), self.identifiers.of(var)
        return Template(self.language.scalar).substitute(type=type_, name=name, place=place)

    def _shared(self, buffer: Buffer) -> str:
        """Shared memory belongs to the block: its declaration is outside of all control flow (OpenCL 1.2, 6.5.2)."""
        type_, name = self.storage_type(buffer.dtype), self.identifiers.of(buffer)
        size = self.constant_size(buffer)
        head = Template(self.language.shared).substitute(type=type_, name=name, size=size)
        return f"  {head}{self._aligned(buffer)};"

    def _aligned(self, buffer: Buffer) -> str:
        """The attribute of an array from or to which vectors are moved."""
        multiple = self.multiples.get(buffer)
        return "" if multiple is None else Template(self.language.aligned).substitute(bytes=multiple)

    def array(self, name: str, buffer: Buffer) -> None:
        self.line(f"{self.storage_type(buffer.dtype)} {name}[{self.constant_size(buffer)}]{self._aligned(buffer)};")

    def _position(self, tag: str, var: Var) -> str:
        axis = THREAD_TAGS.index(tag) % 3
        position = self.language.block if tag in BLOCKS else self.language.thread
        value = Template(position).substitute(number=axis, letter="xyz"[axis])
        return f"  const {self.value_type(var.dtype)} {self.name(var)} = {value};"

    def serial_loop(self, s: For) -> None:
        if s.kind is LoopKind.VECTORIZED:
            self._move(s)
            return
        # PoCL 3.1 compiles barriers of an unrolled loop in a branch wrongly; waiting takes longer than counting anyway
        if s.kind is LoopKind.UNROLLED and not any(isinstance(n, Barrier) for n in walk(s.body)):
            self.line("#pragma unroll")
        super().serial_loop(s)

    def _move(self, s: For) -> None:
        """Neighbours in memory as one vector, whose bits stay as they are."""
        assert isinstance(s.extent, Const)
        store, load = moved(s)
        count = int(s.extent.value)
        to = self._vector(store.buffer, store.indices, s.var, count)
        self.line(f"{to} = {self._vector(load.buffer, load.indices, s.var, count)};")

    def _vector(self, buffer: Buffer, indices: Sequence[Expr], lane: Var, count: int) -> str:
        """The elements from lane 0 on, as an lvalue."""
        first = tuple(substitute(i, {lane: const(0)}) for i in indices)
        self.begin(*first)
        size = count * buffer.dtype.bytes
        self.multiples[buffer] = max(size, self.multiples.get(buffer, 0))
        type_ = self._vector_type(buffer.dtype, count)
        written = "" if buffer.scope is not Scope.GLOBAL or buffer in self.kernel.outputs else "const "
        space = self.language.spaces[buffer.scope]
        return f"*({space}{written}{type_} *)&{self.element(buffer, first)}"

    def _vector_type(self, dtype: DType, count: int) -> str:
        """The type of a vector of so many elements; of words where the language has no name for one."""
        size, names = count * dtype.bytes, self.language.vectors
        if count > MOST_LANES or str(stored_as(dtype)) not in names:
            return f"{names['uint32']}{size // 4}"
        return f"{names[str(stored_as(dtype))]}{count}"

    def allocate(self, s: Allocate) -> None:
        if s.scope is Scope.SHARED:
            self.statement(s.body)
        else:
            super().allocate(s)

    def shuffle(self, s: Shuffle) -> None:
        template = self.language.shuffle
        if template is None:
            super().shuffle(s)
            return
        self.begin(*s.indices, s.value, s.lane)
        taken = Template(template).substitute(value=self.text(s.value), lane=self.text(s.lane))
        self.line(f"{self.element(s.buffer, s.indices)} = {taken};")

    def barrier(self, s: Barrier) -> None:
        self.line(self.language.barriers[s.scope])


def _has(dtype: DType, kernel: Kernel) -> bool:
    """Whether a kernel has elements or values of a type."""
    nodes = walk(kernel.body)
    return any(b.dtype == dtype for b in kernel.buffers) or any(
        (isinstance(n, Expr) and n.dtype == dtype) or (isinstance(n, Allocate) and n.buffer.dtype == dtype)
        for n in nodes
    )
