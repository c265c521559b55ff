"""Writes loop IR by hand: loops, branches, memory. It makes the body of a `te.extern`.

    ib = ir_builder.create()
    source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, n, "i") as i:
        with ib.if_scope(source[i] > 0):
            result[i] = source[i]
        with ib.else_scope():
            result[i] = 0
    return ib.get()

`source[i]` is an expression: its load happens where the expression is used, each time. `ib.let` keeps a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import LANES, Address, Buffer, Load, Scope, VectorStore
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Call, Expr, Var, as_expr
from sateen.tensor_ir.ir.span import Span, caller_span
from sateen.tensor_ir.ir.stmt import (
    ALTERNATE,
    THREAD_TAGS,
    Allocate,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    Region,
    Stmt,
    Store,
    While,
    intrinsic,
    sequence,
)
from sateen.tensor_ir.ir.types import INDEX, INT64, element_type
from sateen.tensor_ir.ir.visit import substitute, walk
from sateen.tensor_ir.te.threads import ThreadAxis

if TYPE_CHECKING:
    from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic

_KINDS = {kind.name.lower(): kind for kind in LoopKind if kind is not LoopKind.THREAD}
_Wrapper = Callable[[Stmt], Stmt]
"""Makes a statement from the rest of its block, which is the scope of a `let` or an `allocate`."""


class BufferPointer:
    """A buffer under a builder: `p[i, j]` loads an element, `p[i, j] = value` stores one."""

    __slots__ = ("_builder", "buffer")

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.buffer.shape

    def __getitem__(self, indices: Any) -> Expr:
        return Load(self.buffer, _indices(self.buffer, indices), self.buffer.dtype)

    def region(self, indices: Any, extents: Sequence[int]) -> Region:
        """The region that begins at `indices` and has `extents` elements along each dimension: an operand of an
        intrinsic.

        Raises ExpressionError for another number of indices or extents than dimensions, and for extents below 1.
        """
        counts = tuple(extents)
        if len(counts) != len(self.shape) or not all(isinstance(n, int) and n >= 1 for n in counts):
            expected = f"{len(self.shape)} extents of at least 1"
            raise ExpressionError(f"a region of {self.buffer.name!r} expects {expected}, found {counts!r:.80}")
        return Region(self.buffer, _indices(self.buffer, indices), counts)

    def vload(self, begin: Any, dtype: DType | str) -> Expr:
        """Elements as lanes, as `Buffer.vload` gives."""
        return self.buffer.vload(begin, dtype)

    def vstore(self, begin: Any, value: Any, lanes: int | None = None) -> VectorStore:
        """A store of lanes for `ib.emit`, as `Buffer.vstore` gives."""
        return self.buffer.vstore(begin, value, lanes)

    def access_ptr(self, access_mask: str | int, offset: Any = 0) -> Address:
        """An address in the buffer, as `Buffer.access_ptr` gives."""
        return self.buffer.access_ptr(access_mask, offset=offset)

    def __setitem__(self, indices: Any, value: Any) -> None:
        self._builder.store(self.buffer, indices, value)


class IRBuilder:
    """Collects statements into the innermost open block; `get` returns them as one.

    `place` gives the line of the user's program that a statement is of. Every method raises ExpressionError for a value
    of the wrong type or a wrong number of indices.
    """

    def __init__(self, place: Callable[[], Span | None] = caller_span) -> None:
        self._blocks: list[list[Stmt | _Wrapper]] = [[]]
        self._place = place

    def emit(self, statement: Stmt | Call | VectorStore) -> None:
        """Add a statement that was made elsewhere, a call for its effect, or a store of a vector.

        Raises ExpressionError for anything else, and for a vector of several numbers of lanes, or of none.
        """
        if isinstance(statement, Call):
            statement = Evaluate(statement, self._place())
        if isinstance(statement, VectorStore):
            statement = _lanes_stored(statement)
        if not isinstance(statement, Stmt):
            raise ExpressionError(f"emit expects a statement, found {type(statement).__name__}: {statement!r}")
        self._blocks[-1].append(statement)

    @contextmanager
    def for_range(
        self, begin: Any, end: Any, name: str = "i", kind: LoopKind | ThreadAxis | str = LoopKind.SERIAL,
        alternate: bool = False,
    ) -> Iterator[Var]:  # fmt: skip
        """A loop of an index over [begin, end).

        `kind` is a LoopKind or its name (serial, parallel, unrolled, vectorized, vthread), or a thread axis: one of
        `te.thread_axis`, or its tag, such as `threadIdx.x`. With `alternate`, threads that share a parallel loop go
        through their parts backwards in odd iterations of the serial loop around it: what they read last they read
        first in the next, while their caches hold it. Raises ExpressionError for an axis of another extent, and for
        `alternate` with another `kind` than parallel.
        """
        loop_kind, thread = _loop_kind(kind)
        if alternate and loop_kind is not LoopKind.PARALLEL:
            raise ExpressionError(f"for_range expects kind='parallel' of a loop that alternates, found {kind!r}")
        start, stop = _index(begin, "the begin of a loop"), _index(end, "the end of a loop")
        if isinstance(kind, ThreadAxis):
            _check_extent(kind, stop - start)
        variable, span = Var(name), self._place()
        with self._block() as body:
            yield variable
        pragmas = (ALTERNATE,) if alternate else ()
        self.emit(For(variable, start, stop - start, loop_kind, _joined(body), thread, pragmas, span))

    @contextmanager
    def if_scope(self, condition: Any) -> Iterator[None]:
        """Statements that run if `condition` holds."""
        condition, span = ex.as_condition(condition, "if_scope"), self._place()
        with self._block() as body:
            yield
        self.emit(If(condition, _joined(body), None, span))

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Statements that run if the condition of the `if_scope` just before does not hold.

        Raises ExpressionError without one.
        """
        block = self._blocks[-1]
        last = block[-1] if block else None
        if not isinstance(last, If) or last.otherwise is not None:
            raise ExpressionError("else_scope expects an if_scope directly before it, found none")
        with self._block() as body:
            yield
        block[-1] = If(last.condition, last.then, _joined(body), last.span)

    @contextmanager
    def while_scope(self, condition: Any) -> Iterator[None]:
        """Statements that are repeated as long as `condition` holds, which is evaluated before each iteration."""
        condition, span = ex.as_condition(condition, "while_scope"), self._place()
        with self._block() as body:
            yield
        self.emit(While(condition, _joined(body), span))

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """Statements whose lets and allocations end with them."""
        with self._block() as body:
            yield
        self.emit(_joined(body))

    def let(self, name: str, value: Any) -> Var:
        """A variable with the present value of `value`, to the end of the block."""
        value, span = as_expr(value), self._place()
        variable = Var(name, value.dtype)
        self._blocks[-1].append(lambda body: Let(variable, value, body, span))
        return variable

    def allocate(
        self, dtype: DType | str, shape: Any, scope: Scope | str = Scope.LOCAL, name: str = "buffer"
    ) -> BufferPointer:
        """Memory of `shape` elements, undefined at first, to the end of the block."""
        extents = shape if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(_index(extent, f"the shape of {name!r}") for extent in extents)
        where = Scope.of(scope, f"allocate of {name!r}")
        buffer, span = Buffer(name, sizes, element_type(dtype), where), self._place()
        self._blocks[-1].append(lambda body: Allocate(buffer, body, span))
        return BufferPointer(self, buffer)

    def buffer_ptr(self, buffer: Buffer) -> BufferPointer:
        """The elements of a buffer."""
        if not isinstance(buffer, Buffer):
            raise ExpressionError(f"buffer_ptr expects a buffer, found {type(buffer).__name__}: {buffer!r}")
        return BufferPointer(self, buffer)

    def store(self, buffer: Buffer | BufferPointer, indices: Any, value: Any) -> None:
        """buffer[indices] = value; a Python number takes the buffer's type."""
        target = buffer.buffer if isinstance(buffer, BufferPointer) else buffer
        value = as_expr(value, target.dtype)
        value = ex.as_data(value) if target.dtype == INT64 else value
        if value.dtype != target.dtype:
            raise ExpressionError(
                f"buffer {target.name!r} holds {target.dtype}, found a value of {value.dtype}; "
                "convert with .astype(...)"
            )
        self.emit(Store(target, _indices(target, indices), value, self._place()))

    def intrinsic(self, instruction: TensorIntrinsic, outputs: Sequence[Region], inputs: Sequence[Region]) -> None:
        """An instruction on regions (`pointer.region`): it reads all of its inputs, then writes its outputs."""
        self.emit(intrinsic(instruction, outputs, inputs, self._place()))

    def call(self, name: str, *args: Any, dtype: DType | str = "int32") -> None:
        """Call a function for its effect."""
        self.emit(Evaluate(ex.call(name, args, DType.of(dtype)), self._place()))

    def get(self) -> Stmt:
        """Everything that was written, as one statement. Raises ExpressionError inside an open scope."""
        if len(self._blocks) > 1:
            raise ExpressionError(f"get expects all scopes to be closed, found {len(self._blocks) - 1} open")
        return _joined(self._blocks[0])

    @contextmanager
    def _block(self) -> Iterator[list[Stmt | _Wrapper]]:
        block: list[Stmt | _Wrapper] = []
        self._blocks.append(block)
        try:
            yield block
        finally:
            self._blocks.pop()


def create() -> IRBuilder:
    """An empty builder."""
    return IRBuilder()


def _lanes_stored(s: VectorStore) -> Stmt:
    """A vectorized loop over the lanes, or the store of one element."""
    used = set(walk(s.value))
    counts = {n for n, lane in LANES.items() if lane in used} | ({s.lanes} if s.lanes is not None else set())
    if len(counts) != 1 or not counts <= {1, *LANES}:
        found = ", ".join(map(str, sorted(counts))) or "none; lanes= gives it"
        raise ExpressionError(f"vstore to {s.buffer.name!r} expects a value of one number of lanes, found {found}")
    (count,) = counts
    lane, span = Var("lane"), caller_span()
    *outer, last = s.indices
    value = substitute(s.value, {} if count == 1 else {LANES[count]: lane})
    if value.dtype != s.buffer.dtype:
        raise ExpressionError(f"vstore to {s.buffer.name!r} expects {s.buffer.dtype}, found {value.dtype}")
    if count == 1:
        return Store(s.buffer, s.indices, value, span)
    store = Store(s.buffer, (*outer, last + lane), value, span)
    return For(lane, ex.const(0), ex.const(count), LoopKind.VECTORIZED, store, span=span)


def _joined(block: Sequence[Stmt | _Wrapper]) -> Stmt:
    """The statements of a block; those after a let or an allocation are inside it."""
    rest: list[Stmt] = []
    for item in reversed(block):
        if isinstance(item, Stmt):
            rest.append(item)
        else:
            rest = [item(sequence(*reversed(rest)))]
    return sequence(*reversed(rest))


def _check_extent(axis: ThreadAxis, count: Expr) -> None:
    if axis.extent is not None and Analyzer().constant(count - axis.extent) != 0:
        raise ExpressionError(f"for_range over {axis} expects {axis.extent} iterations, found {count}")


def _loop_kind(kind: LoopKind | ThreadAxis | str) -> tuple[LoopKind, str | None]:
    if isinstance(kind, ThreadAxis):
        kind = kind.tag
    if kind in THREAD_TAGS:
        return LoopKind.THREAD, str(kind)
    if isinstance(kind, LoopKind) and kind is not LoopKind.THREAD:
        return kind, None
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind], None
    raise ExpressionError(f"for_range expects a kind of {', '.join((*_KINDS, *THREAD_TAGS))}; found {kind!r}")


def _index(value: Any, what: str) -> Expr:
    e = as_expr(value, INDEX)
    if not e.dtype.is_int:
        raise ExpressionError(f"{what} expects an integer, found {e.dtype}")
    return subscript(e)


def _indices(buffer: Buffer, indices: Any) -> tuple[Expr, ...]:
    listed = indices if isinstance(indices, tuple) else (indices,)
    if len(listed) != len(buffer.shape):
        raise ExpressionError(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, found {len(listed)} indices")
    return tuple(_index(i, f"an index of buffer {buffer.name!r}") for i in listed)
