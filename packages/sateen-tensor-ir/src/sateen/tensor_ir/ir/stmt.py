"""Statements of loop IR: a computation after scheduling.

    s = For(var, start, extent, kind, s) | If(e, s, s?) | While(e, s) | Let(var, e, s) | Allocate(buffer, s)
      | Store(buffer, e..., value) | Evaluate(e) | Invoke(callee, buffer+offset...) | Intrinsic(instruction, region...)
      | Prefetch(buffer, e...) | Timestamp(buffer, i) | Barrier(scope) | Shuffle(buffer, e..., value, lane, width)
      | Seq(s...)

Loops stay loops to the end: `UNROLLED` and `VECTORIZED` are kinds that code generators expand. Only loops over virtual
threads (`VTHREAD`) are rewritten, by the pass `interleave_threads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic

from sateen.runtime.display import named, shortened
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Expr, Var, as_expr
from sateen.tensor_ir.ir.instruction import InstructionType
from sateen.tensor_ir.ir.span import Span


class LoopKind(Enum):
    """The way in which the iterations of a loop are executed."""

    SERIAL = "for"
    PARALLEL = "parallel"
    UNROLLED = "unrolled"
    VECTORIZED = "vectorized"
    THREAD = "thread"
    VTHREAD = "vthread"


BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
"""The hardware axes over blocks of threads."""
THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
"""The hardware axes over the threads of a block."""
LANE = "threadIdx.x"
"""The axis over the threads of a warp."""
THREAD_TAGS = (*BLOCKS, *THREADS)
ALTERNATE = ("alternate", True)
"""The pragma of a parallel loop whose threads go through their parts backwards in odd iterations of the serial loop
around it. What is read last in one of them is read first in the next, while caches still hold it."""
VTHREADS = 64
"""The most virtual threads of a loop: each statement inside is written out for all of them."""


class Stmt:
    """Base of all statements."""

    __slots__ = ()
    span: Span | None

    def __str__(self) -> str:
        from sateen.tensor_ir.ir.printer import format_stmt  # the printer knows every node, so it imports this module

        return format_stmt(self)

    def __repr__(self) -> str:
        first, _, _ = str(self).partition("\n")
        return f"{type(self).__name__}({shortened(first)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class For(Stmt):
    """`body` for `var` in [start, start + extent). `thread` names the hardware axis of a THREAD loop.

    `pragmas` are (key, value) pairs for passes and code generators: `partition` requests to cut the loop where
    conditions in it change, `keep` to leave it as it is.
    """

    var: Var
    start: Expr
    extent: Expr
    kind: LoopKind
    body: Stmt
    thread: str | None = None
    pragmas: tuple[tuple[str, object], ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(Stmt):
    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class While(Stmt):
    condition: Expr
    body: Stmt
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Let(Stmt):
    """`body` with `var` standing for `value`, evaluated once."""

    var: Var
    value: Expr
    body: Stmt
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocate(Stmt):
    """`body` with storage for `buffer`, whose elements are undefined at first."""

    buffer: Buffer
    body: Stmt
    span: Span | None = None

    @property
    def scope(self) -> Scope:
        return self.buffer.scope


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Store(Stmt):
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluate(Stmt):
    """A call for its effect."""

    value: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Invoke(Stmt):
    """A call of another kernel, compiled apart, by the name of its function; the kernel's failure ends this function.

    Each argument is a buffer and the byte offset at which the kernel's own buffer begins. Raises LoweringError for
    another number of offsets.
    """

    callee: str
    buffers: tuple[Buffer, ...]
    offsets: tuple[Expr, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.buffers):
            found = f"{len(self.offsets)} offsets for {len(self.buffers)} buffers"
            raise LoweringError(f"a call of {self.callee!r} expects an offset for each buffer, found {found}")

    @property
    def arguments(self) -> Iterable[tuple[Buffer, Expr]]:
        """Each buffer with its offset."""
        return zip(self.buffers, self.offsets, strict=True)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A block of a buffer: the indices of its first element, and its extents."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intrinsic(Stmt, Generic[InstructionType]):
    """An instruction on regions of buffers: reads all of its inputs, then writes its outputs.

    `buffers` are those of the outputs, then those of the inputs. `indices` and `extents` are those of their regions,
    concatenated. A region has the elements of its operand in order: its extents other than 1 are the operand's. Raises
    LoweringError for another number of buffers, indices or extents.
    """

    instruction: InstructionType
    buffers: tuple[Buffer, ...]
    indices: tuple[Expr, ...]
    extents: tuple[int, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        expected, found = len(self.instruction.operands), len(self.buffers)
        if found != expected:
            raise LoweringError(f"intrinsic {self.instruction.name!r} expects {expected} regions, found {found}")
        rank = sum(len(b.shape) for b in self.buffers)
        for what, given in (("indices", self.indices), ("extents", self.extents)):
            if len(given) != rank:
                raise LoweringError(
                    f"intrinsic {self.instruction.name!r} expects {rank} {what} of its regions, found {len(given)}"
                )

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the outputs, then those of the inputs."""
        found, start = [], 0
        for buffer in self.buffers:
            end = start + len(buffer.shape)
            found.append(Region(buffer, self.indices[start:end], self.extents[start:end]))
            start = end
        return tuple(found)

    @property
    def outputs(self) -> tuple[Region, ...]:
        return self.regions[: len(self.instruction.outputs)]

    @property
    def inputs(self) -> tuple[Region, ...]:
        return self.regions[len(self.instruction.outputs) :]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Timestamp(Stmt):
    """buffer[index] = the processor's clock: ticks at a constant rate, of which only differences are meaningful.

    The buffer is a vector of int64.
    """

    buffer: Buffer
    index: int
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prefetch(Stmt):
    """A hint that the cache line of this element will be read soon; it never faults."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Barrier(Stmt):
    """Every thread that shares memory of `scope` waits here for the others."""

    scope: Scope = Scope.SHARED
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shuffle(Stmt):
    """buffer[indices] = the value that another thread of the same warp has: the one at `lane` of the `width` threads
    along threadIdx.x that begin at a multiple of it.

    All threads of a block execute it together. The value has 4 bytes, the buffer is a thread's own memory.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    lane: Expr
    width: int
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Seq(Stmt):
    body: tuple[Stmt, ...]
    span: Span | None = field(default=None)


EMPTY = Seq(())


def invoke(callee: str, *arguments: tuple[Buffer, Expr | int]) -> Invoke:
    """A call of a kernel with each buffer from its byte offset on."""
    return Invoke(callee, tuple(b for b, _ in arguments), tuple(as_expr(offset) for _, offset in arguments))


def intrinsic(
    instruction: InstructionType, outputs: Sequence[Region], inputs: Sequence[Region], span: Span | None = None
) -> Intrinsic[InstructionType]:
    """An instruction on these regions."""
    regions = (*outputs, *inputs)
    indices = tuple(i for region in regions for i in region.indices)
    extents = tuple(e for region in regions for e in region.extents)
    return Intrinsic(instruction, tuple(region.buffer for region in regions), indices, extents, span)


def sequence(*statements: Stmt) -> Stmt:
    """The statements in order, flattened; a single one stays as it is."""
    flat: list[Stmt] = []
    for statement in statements:
        flat.extend(statement.body if isinstance(statement, Seq) else (statement,))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def lets(statement: Stmt) -> tuple[list[Let], Stmt]:
    """The lets at the beginning of a statement, each directly in the one before, and the body of the last.

    Deep expressions are cut into very many lets, so visitors use this function instead of recursion.
    """
    chain: list[Let] = []
    while isinstance(statement, Let):
        chain.append(statement)
        statement = statement.body
    return chain, statement


MOST_NUMBER = (1 << 31) - 1
"""The greatest symbol that an argument holds: extents of two of them, and their multiples, are exact in 64 bits."""

DENORMALS = ("keep", "flush")
"""The choices for subnormal numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """What a call must give at least 0: the elements that accesses leave before the first or beyond the last one that
    they reach along a dimension of a parameter."""

    parameter: Buffer
    dimension: int
    slack: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function:
    """A kernel: a body over parameters.

    `parameters` are the buffers in the order of the public arguments; symbolic extents in their shapes are bound from
    the arguments. `numbers` are symbols that parameters without dimensions hold instead, in memory of the host: int64
    in [0, MOST_NUMBER]. `outputs` are the parameters that the body writes. `aliased` ones may overlap each other, so
    they are emitted without `noalias`. `denormals`, one of DENORMALS, says how everything that the public function runs
    treats subnormal numbers: with flush they may count as zeros (docs/semantics.md, 4.10). The public function refuses
    a call that does not meet its `requirements`, expressions of its symbols.
    """

    name: str
    parameters: tuple[Buffer, ...]
    outputs: frozenset[Buffer]
    body: Stmt
    aliased: frozenset[Buffer] = frozenset()
    denormals: str = "keep"
    numbers: tuple[tuple[Var, Buffer], ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def __str__(self) -> str:
        from sateen.tensor_ir.ir.printer import format_function

        return format_function(self)

    def __repr__(self) -> str:
        parameters = [f"{b.name}: {b.type}" for b in self.parameters]
        return f"Function({self.name}({named(parameters)}))"
