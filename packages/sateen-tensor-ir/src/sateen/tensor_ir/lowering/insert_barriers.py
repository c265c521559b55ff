"""Make threads wait for each other where one uses memory that another one of its block has used.

Before this pass a loop bound to threads has the meaning of a plain loop, so its iterations are independent of each
other. The accesses of two different thread loops to one buffer are not: there the threads must wait in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.arith import Analyzer, Owner, owners
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written, read_by, written_by
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
    BLOCKS,
    LANE,
    THREAD_TAGS,
    THREADS,
    Allocate,
    Barrier,
    For,
    If,
    Intrinsic,
    Let,
    LoopKind,
    Seq,
    Shuffle,
    Stmt,
    Store,
    While,
    sequence,
)
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import Rewriter, children, substitute, walk
from sateen.tensor_ir.lowering.double_buffers import COPIES


def insert_barriers(statement: Stmt) -> Stmt:
    """Put a barrier before each access that conflicts with an access of another thread since the last barrier.

        thread threadIdx.x t in [0, 8): S[t] = A[t]
        thread threadIdx.x u in [0, 8): B[u] = S[7 - u]
        =>  a `barrier shared` between the two

    Two accesses conflict if one is a store and they are not in the same iteration of a thread loop along every
    threadIdx, unless they are to different halves of a double buffer (`S[k % 2, …]` and `S[(k + 1) % 2, …]`). The back
    edge of a loop counts as well: elements must have been read before the next iteration overwrites them. There a
    store conflicts with itself, too, unless its place tells the iteration: `S[k * 8 + t]`. Barriers are put as far out
    as the conflict allows. That is so for shared memory, and for global memory that a kernel both stores and loads, or
    stores in several places.
    Accesses to global memory, and one store in two iterations, don't conflict if their places show that one thread
    makes both: `G[k, t]` and `G[k + 1, t]`. Raises LoweringError if a barrier would be needed in a place that not all
    threads reach.
    """
    return _Kernels().rewrite(statement)


class _Kernels(Rewriter):
    def rewrite_For(self, s: For) -> Stmt:
        return _Kernel(s).visit(s) if s.kind is LoopKind.THREAD else self.descend(s)


def thread_extents(kernel: Stmt) -> dict[str, int]:
    """The number of threads along each threadIdx axis: the largest extent of the loops bound to it.

    Raises LoweringError for an extent that is not constant.
    """
    extents: dict[str, int] = {}
    for loop in walk(kernel):
        if isinstance(loop, For) and loop.thread in THREADS:
            if not isinstance(loop.extent, ex.Const):
                raise LoweringError(
                    f"loop {loop.var.name!r} is bound to {loop.thread} and expects a constant extent, found "
                    f"{loop.extent}; split it first"
                )
            extents[loop.thread] = max(extents.get(loop.thread, 0), int(loop.extent.value))
    return extents


@dataclass(frozen=True, slots=True)
class _Access:
    """A load or store: in which iteration of a thread loop, per threadIdx axis, it was made.

    None stands for an iteration that has ended, or for no loop inside of the buffer's allocation. `halves` are the
    indices along dimensions of two elements which are the same for all threads, as long as their variables keep the
    values that they had. `owners` are the ways in which its place tells the thread, per axis. `carried` are the loops
    around of which another iteration made the access, to elements that this one may access again.
    """

    buffer: Buffer
    store: Stmt | None
    loops: tuple[For | None, ...]
    owners: tuple[frozenset[Owner], ...]
    halves: tuple[Expr | None, ...] = ()
    carried: frozenset[Stmt] = frozenset()

    def after(self, loop: For) -> _Access:
        """The access after the end of that loop."""
        return replace(self, loops=tuple(None if mine is loop else mine for mine in self.loops))

    def without(self, var: Var) -> _Access:
        """The access when a variable has another value."""
        return replace(self, halves=tuple(None if e is not None and var in {*walk(e)} else e for e in self.halves))

    def conflicts(self, other: _Access) -> bool:
        if self.buffer is not other.buffer or (self.store is None and other.store is None):
            return False
        is_same = self.store is other.store
        if is_same and not other.carried:
            return False
        if any(_are_apart(mine, yours) for mine, yours in zip(self.halves, other.halves, strict=False)):
            return False
        has_owners = is_same or self.buffer.scope is Scope.GLOBAL
        apart = [not has_owners or a.isdisjoint(b) for a, b in zip(self.owners, other.owners, strict=True)]
        loops = zip(self.loops, other.loops, apart, strict=True)
        return any(differ and (mine is None or mine is not yours) for mine, yours, differ in loops)


def _half(index: Expr, extent: Expr, uniform: Container[Var]) -> Expr | None:
    """The index along a dimension of two elements if it is one of these and a value for all threads."""
    if not ex.is_const(extent, COPIES) or not isinstance(index, (ex.Const, ex.FloorMod)):
        return None
    return index if all(n in uniform for n in walk(index) if isinstance(n, (Var, Load))) else None


def _are_apart(a: Expr | None, b: Expr | None) -> bool:
    """Whether two indices of halves differ."""
    match a, b:
        case ex.Const(), ex.Const():
            return bool(a.value != b.value)
        case ex.FloorMod(), ex.FloorMod() if ex.is_const(a.b, COPIES) and ex.is_const(b.b, COPIES):
            distance = Analyzer().constant(a.a - b.a)
            return distance is not None and distance % COPIES != 0
    return False


class _Kernel:
    """One kernel: everything inside of an outermost thread loop."""

    def __init__(self, kernel: For) -> None:
        self.extents = thread_extents(kernel)
        self.axes = [tag for tag, extent in self.extents.items() if extent > 1]
        self.written = all_written(kernel)
        stores = Counter(b for n in walk(kernel) if isinstance(n, Stmt) for b in written_by(n))
        read = all_read(kernel)
        self.shuffles = {n for n in walk(kernel) if isinstance(n, Shuffle)}
        self.exchanged = {b for b in self.written if b.scope is Scope.GLOBAL and (b in read or stores[b] > 1)}
        """Global memory that threads may not access in any order."""
        self.places = _Places(kernel, self.extents)
        self.open: list[For] = []
        self.allocated_at: dict[Buffer, int] = {}
        """How many thread loops are around the allocation of each shared buffer."""
        self.pending: frozenset[_Access] = frozenset()
        """Accesses since the last barrier."""
        self.varying: set[Var] = set()
        """Variables whose value differs between threads."""
        self.uniform: set[Var] = set()
        """Variables of the serial loops around, which all threads run alike."""
        self.divergence: str | None = None
        """The reason why not all threads reach this place, if so."""

    def visit(self, s: Stmt) -> Stmt:
        """The statement with its barriers; updates `pending` to the accesses that are pending after it."""
        match s:
            case Seq():
                return sequence(*map(self.visit, s.body))
            case Allocate():
                self.allocated_at[s.buffer] = len(self.open)
                return replace(s, body=self.visit(s.body))
            case Barrier():
                self.pending = frozenset(a for a in self.pending if a.buffer.scope is not s.scope)
                return s
            case Let():
                barrier = self._before(frozenset(self._loads(s.value, self.open)))
                if self._varies(s.value):
                    self.varying.add(s.var)
                return sequence(*barrier, replace(s, body=self.visit(s.body)))
        if isinstance(s, Intrinsic) and s.instruction.by_warp and self.divergence is not None:
            raise LoweringError(
                f"intrinsic {s.instruction.name!r} is executed by all threads of a warp together, and stands inside of "
                f"{self.divergence}, which not all of them execute; put it outside"
            )
        if isinstance(s, Shuffle):
            self._check_shuffle(s)
        accesses = frozenset(self._accesses(s, self.open))
        if not accesses and not (self.shuffles and any(n in self.shuffles for n in walk(s))):
            return s
        barrier = self._before(accesses)
        match s:
            case For(kind=LoopKind.THREAD):
                inside: Stmt = self._thread_loop(s)
            case For():
                inside = self._loop(s, [s.start, s.extent], f"loop {s.var.name!r}")
            case While():
                inside = self._loop(s, [s.condition], "a while loop")
            case If():
                inside = self._branches(s)
            case _:
                self.pending |= accesses
                inside = s
        return sequence(*barrier, inside)

    def _check_shuffle(self, s: Shuffle) -> None:
        what = str(s).splitlines()[0].strip()
        if self.divergence is not None:
            raise LoweringError(
                f"{what!r} is executed by all threads of a block together, and stands inside of {self.divergence}, "
                "which not all of them execute; put it outside"
            )
        if (count := self.extents.get(LANE, 1)) % s.width:
            raise LoweringError(f"{what!r} expects whole warps of {s.width} threads along {LANE}, found {count}")

    def _before(self, accesses: frozenset[_Access]) -> tuple[Stmt, ...]:
        """The barrier that these accesses need before them, if any."""
        conflicting = [a for a in accesses if any(a.conflicts(earlier) for earlier in self.pending)]
        if not conflicting:
            return ()
        if self.divergence is not None:
            names = ", ".join(sorted({repr(a.buffer.name) for a in conflicting}))
            raise LoweringError(
                f"threads have to wait for each other before they use memory {names} inside of "
                f"{self.divergence}, which not all of them execute; compute what it holds outside"
            )
        scopes = [scope for scope in (Scope.SHARED, Scope.GLOBAL) if any(a.buffer.scope is scope for a in conflicting)]
        self.pending = frozenset(a for a in self.pending if a.buffer.scope not in scopes)
        return tuple(map(Barrier, scopes))

    # Control flow.

    def _thread_loop(self, s: For) -> Stmt:
        partial = None
        if s.thread in self.extents:
            self.varying.add(s.var)
            if not ex.is_const(s.extent, self.extents[s.thread]):
                partial = f"loop {s.var.name!r}, bound to {s.extent} of {self.extents[s.thread]} threads,"
        self.open.append(s)
        with self._divergent(partial):
            body = self.visit(s.body)
        self.open.pop()
        self.pending = frozenset(a.after(s) for a in self.pending)
        return replace(s, body=body)

    def _loop(self, s: For | While, controls: Sequence[Expr], what: str) -> Stmt:
        """A loop: accesses pending at its end are also pending at its start."""
        uneven = any(map(self._varies, controls))
        if uneven and isinstance(s, For):
            self.varying.add(s.var)
        for e in controls:
            self.pending |= frozenset(self._loads(e, self.open))
        outside = self.pending
        with self._uniform(s, uneven):
            while True:
                start = self.pending
                with self._divergent(what if uneven else None):
                    body = self.visit(s.body)
                    if isinstance(s, While):
                        self._before(frozenset(self._loads(s.condition, self.open)))
                if isinstance(s, For):
                    self.pending = frozenset(a.without(s.var) for a in self.pending)
                self.pending = frozenset(self._carried(a, s) for a in self.pending)
                if self.pending <= start:
                    break
                self.pending |= start
        self.pending = frozenset(replace(a, carried=a.carried - {s}) for a in self.pending) | outside
        return replace(s, body=body)

    def _carried(self, access: _Access, s: For | While) -> _Access:
        """An access as the next iteration of a loop finds it."""
        store = access.store
        if isinstance(store, Store) and isinstance(s, For) and self.places.tells(store, s, self.uniform - {s.var}):
            return access
        return replace(access, carried=access.carried | {s})

    @contextmanager
    def _uniform(self, s: For | While, uneven: bool) -> Iterator[None]:
        """In a block the variable of a loop has one value for all threads, unless the loop is uneven."""
        if isinstance(s, While) or uneven:
            yield
            return
        self.uniform.add(s.var)
        yield
        self.uniform.discard(s.var)

    def _branches(self, s: If) -> Stmt:
        self.pending |= frozenset(self._loads(s.condition, self.open))
        start = self.pending
        with self._divergent(f"condition {s.condition}" if self._varies(s.condition) else None):
            then = self.visit(s.then)
            after, self.pending = self.pending, start
            otherwise = None if s.otherwise is None else self.visit(s.otherwise)
        self.pending |= after
        return replace(s, then=then, otherwise=otherwise)

    @contextmanager
    def _divergent(self, reason: str | None) -> Iterator[None]:
        outer = self.divergence
        self.divergence = outer or reason
        yield
        self.divergence = outer

    def _varies(self, e: Expr) -> bool:
        """Whether threads of one block may see different values."""
        return any(n in self.varying or (isinstance(n, Load) and n.buffer in self.written) for n in walk(e))

    # Accesses.

    def _accesses(self, s: Stmt, loops: Sequence[For]) -> Iterator[_Access]:
        """All accesses to memory of several threads in a statement that is inside of these thread loops."""
        if isinstance(s, Allocate):
            self.allocated_at[s.buffer] = len(loops)
        for buffers, store in ((written_by(s), s), (read_by(s), None)):
            indices = s.indices if isinstance(s, Store) else ()
            yield from (self._access(b, store, indices, loops) for b in buffers if self._is_common(b))
        for child in children(s):
            if isinstance(child, Expr):
                yield from self._loads(child, loops)
        inside = [*loops, s] if isinstance(s, For) and s.kind is LoopKind.THREAD else loops
        for child in children(s):
            if isinstance(child, Stmt):
                yield from self._accesses(child, inside)

    def _loads(self, e: Expr, loops: Sequence[For]) -> Iterator[_Access]:
        return (
            self._access(n.buffer, None, n.indices, loops)
            for n in walk(e)
            if isinstance(n, Load) and self._is_common(n.buffer)
        )

    def _is_common(self, buffer: Buffer) -> bool:
        """Whether threads may give values to each other through a buffer."""
        return buffer.scope is Scope.SHARED or buffer in self.exchanged

    def _access(self, buffer: Buffer, store: Stmt | None, indices: Sequence[Expr], loops: Sequence[For]) -> _Access:
        within = loops[self.allocated_at.get(buffer, 0) :]
        innermost = {loop.thread: loop for loop in within}
        halves = (_half(i, extent, self.uniform) for i, extent in zip(indices, buffer.shape, strict=False))
        told = tuple(self.places.owners(buffer, indices, axis) for axis in self.axes)
        return _Access(buffer, store, tuple(innermost.get(axis) for axis in self.axes), told, tuple(halves))


class _Places:
    """The places of elements in a kernel, as expressions of hardware's axes."""

    def __init__(self, kernel: For, extents: Mapping[str, int]) -> None:
        self.axes = {tag: Var(tag) for tag in THREAD_TAGS}
        self.extents = extents
        self.analyzer = Analyzer()
        for tag, extent in extents.items():
            self.analyzer.bind(self.axes[tag], 0, extent)
        self.values: dict[Var, Expr] = {}
        self.blocks: list[Var] = []
        for loop in walk(kernel):
            if isinstance(loop, For) and loop.thread is not None:
                self.values[loop.var] = loop.start + self.axes[loop.thread]
                self.analyzer.bind(loop.var, loop.start, loop.extent)
                if loop.thread in BLOCKS:
                    self.blocks.append(loop.var)
            elif isinstance(loop, For) and loop.extent.dtype == loop.start.dtype == INDEX:
                self.analyzer.bind(loop.var, loop.start, substitute(loop.extent, self.values))

    def owners(self, buffer: Buffer, indices: Sequence[Expr], axis: str) -> frozenset[Owner]:
        """The ways in which indices tell the thread along an axis."""
        blocks = [self.axes[tag] for tag in BLOCKS]
        places = [substitute(i, self.values) for i in _with_offset(buffer, indices)]
        return owners(places, self.axes[axis], self.extents[axis], blocks, self.analyzer)

    def tells(self, store: Store, loop: For, fixed: Iterable[Var]) -> bool:
        """Whether the place of a store tells the iteration of a loop around it, for equal values of the variables in
        `fixed`: no two iterations store to one element."""
        count = int(loop.extent.value) if isinstance(loop.extent, ex.Const) else None
        places = _with_offset(store.buffer, store.indices)
        return bool(owners(places, loop.var, count, [*self.blocks, *fixed], self.analyzer))


def _with_offset(buffer: Buffer, indices: Sequence[Expr]) -> list[Expr]:
    """The indices of an element and its place in memory, which tells a thread that goes through several dimensions."""
    return [*indices, buffer.offset(tuple(indices))] if indices else []
