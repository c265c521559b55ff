"""Join the accesses of vectorized loops: neighbours in memory, which a thread moves at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, If, Let, LoopKind, Seq, Stmt, Store, lets, sequence
from sateen.tensor_ir.ir.visit import Node, SharingRewriter, StatementRewriter, children, substitute, walk
from sateen.tensor_ir.lowering.independent_iterations import is_in_bounds


def join_accesses(function: Function, most_bytes: int) -> Function:
    """Each vectorized loop becomes moves of neighbours, of up to `most_bytes` at once, around what its lanes compute.

        vectorized j in [0, 4):                      allocate A_lanes: local float32[4]
          C[4*i + j] = A[4*i + j] * 2.0              allocate C_lanes: local float32[4]
                                             =>        vectorized j in [0, 4):
                                                         A_lanes[j] = A[4*i + j]
                                                       unrolled j in [0, 4):
                                                         C_lanes[j] = A_lanes[j] * 2.0
                                                       vectorized j in [0, 4):
                                                         C[4*i + j] = C_lanes[j]

    A move is of 2 to 16 elements at a place that is known to be a multiple of their bytes. Other accesses stay those of
    single elements: in other steps, at places that are not known to be multiples, under conditions of a lane, of
    constants, and of a thread's own memory. Lanes are independent (semantics, 8.2), so each store is done in all of
    them before the next. Guarantees: a vectorized loop that is left is a move (`moved`).
    """
    body = _Joining(Analyzer.of(function.parameters), most_bytes).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


def moved(s: For) -> tuple[Store, Load]:
    """The store and the load of a loop that is a move."""
    assert s.kind is LoopKind.VECTORIZED
    assert isinstance(s.body, Store)
    assert isinstance(s.body.value, Load)
    return s.body, s.body.value


class _Joining(StatementRewriter):
    def __init__(self, analyzer: Analyzer, most_bytes: int) -> None:
        self.analyzer = analyzer
        self.most_bytes = most_bytes

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is LoopKind.VECTORIZED:
            return self._joined(s)
        with self.analyzer.bound(s.var, s.start, s.extent):
            return self.descend(s)

    def _joined(self, s: For) -> Stmt:
        match s.body:
            case If(otherwise=None) as branch if s.var not in set(walk(branch.condition)):
                return replace(branch, then=self._joined(replace(s, body=branch.then)))
        parts = s.body.body if isinstance(s.body, Seq) else (s.body,)
        is_known = ex.is_const(s.start, 0) and isinstance(s.extent, ex.Const)
        if not is_known or not all(isinstance(lets(part)[1], Store) for part in parts):
            return replace(s, kind=LoopKind.UNROLLED)
        return sequence(*(self._of_store(_with_own_variable(s, part)) for part in parts))

    def _of_store(self, s: For) -> Stmt:
        """A loop over one store, perhaps in lets."""
        chain, store = lets(s.body)
        assert isinstance(store, Store)
        with self.analyzer.bound(s.var, s.start, s.extent):
            lanes = _Lanes(s, chain, self.analyzer, self.most_bytes)
            width, value = lanes.width(store), store.value
            if not chain and isinstance(value, Load) and value.dtype == store.buffer.dtype:
                both = min(width, lanes.width(value))
                if both > 1:
                    return lanes.moves(store.buffer, store.indices, value, both)
            copies, parts = self._copies(lanes, store)
        body = _Copied(s.var, copies, lanes.copy(store.buffer, width) if width > 1 else None).rewrite(s.body)
        parts.append(replace(s, kind=LoopKind.UNROLLED, body=body))
        allocated = [*dict.fromkeys(copies.values())]
        if width > 1:
            kept = lets(body)[1]
            assert isinstance(kept, Store)
            own = kept.buffer
            parts.append(lanes.moves(store.buffer, store.indices, Load(own, (s.var,), own.dtype), width))
            allocated.append(own)
        joined = sequence(*parts)
        for buffer in reversed(allocated):
            joined = Allocate(buffer, joined)
        return joined

    def _copies(self, lanes: _Lanes, store: Store) -> tuple[dict[Load, Buffer], list[Stmt]]:
        """The copies of loads that are moves, one for each place, and the moves; of loads that all lanes need, and of
        those in conditions that are within their buffers anyway."""
        values = [*(let.value for let in lanes.chain), *store.indices, store.value]
        optional = {n for root in values for n in _optional(root)}
        places: dict[tuple[object, ...], Buffer] = {}
        copies: dict[Load, Buffer] = {}
        moves: list[Stmt] = []
        for load in dict.fromkeys(n for root in values for n in walk(root) if isinstance(n, Load)):
            width = 1 if load in optional and not is_in_bounds(load, self.analyzer) else lanes.width(load)
            if width > 1:
                key = load.buffer, self.analyzer.form(load.buffer.offset(load.indices)).key
                if key not in places:
                    places[key] = lanes.copy(load.buffer, width)
                    moves.append(lanes.moves(places[key], (lanes.loop.var,), load, width))
                copies[load] = places[key]
        return copies, moves


@dataclass(frozen=True, slots=True, eq=False)
class _Lanes:
    """A vectorized loop over a store in a chain of lets."""

    loop: For
    chain: Sequence[Let]
    analyzer: Analyzer
    most_bytes: int

    @property
    def count(self) -> int:
        assert isinstance(self.loop.extent, ex.Const)
        return int(self.loop.extent.value)

    def width(self, access: Load | Store) -> int:
        """The most elements that are moved at once; 1 if lanes are no neighbours at a multiple of their bytes."""
        b, lane = access.buffer, self.loop.var
        if b.scope.rank < Scope.SHARED.rank or b.data is not None:
            return 1
        form = self.analyzer.form(b.offset(access.indices))
        others = form.without(lane)
        inner = {lane, *(let.var for let in self.chain)}
        if form.terms.get(lane, 0) != 1 or any(not inner.isdisjoint(walk(atom)) for atom in others.terms):
            return 1
        steps = gcd(self.analyzer.divisor(others), self.count)
        size = gcd(b.alignment, self.most_bytes, steps * b.dtype.bytes)
        return max(1, (size & -size) // b.dtype.bytes)

    def copy(self, b: Buffer, width: int) -> Buffer:
        """A thread's own memory for an element of each lane."""
        alignment = width * b.dtype.bytes
        return Buffer(f"{b.name}_lanes", (ex.const(self.count),), b.dtype, Scope.LOCAL, alignment=alignment)

    def moves(self, target: Buffer, indices: tuple[Expr, ...], value: Load, width: int) -> Stmt:
        """The elements of all lanes, `width` at once."""
        s, times = self.loop, self.count // width
        lane, outer = Var(s.var.name), Var(s.var.name)
        place = substitute(Store(target, indices, value, s.span), {s.var: outer * width + lane if times > 1 else lane})
        one = For(lane, ex.const(0), ex.const(width), LoopKind.VECTORIZED, place, span=s.span)
        return one if times == 1 else For(outer, ex.const(0), ex.const(times), LoopKind.UNROLLED, one, span=s.span)


def _with_own_variable(s: For, part: Stmt) -> For:
    """The loop over a part of its body."""
    if part is s.body:
        return s
    lane = Var(s.var.name)
    return replace(s, var=lane, body=substitute(part, {s.var: lane}))


def _optional(root: Expr) -> Iterator[Node]:
    """The nodes of operands that may stay unevaluated."""
    for choice in walk(root):
        if isinstance(choice, (ex.Select, ex.And, ex.Or)):
            operands = children(choice)[1:]
        elif isinstance(choice, ex.Piecewise):
            operands = choice.branches
        else:
            continue
        yield from (n for operand in operands for n in walk(operand))


class _Copied(SharingRewriter):
    """The body of a loop with a thread's copies in the place of memory."""

    def __init__(self, lane: Var, copies: Mapping[Load, Buffer], stored: Buffer | None) -> None:
        super().__init__()
        self.lane = lane
        self.copies = copies
        self.stored = stored

    def rewrite_Load(self, e: Load) -> Expr:
        own = self.copies.get(e)
        return self.descend(e) if own is None else Load(own, (self.lane,), e.dtype)

    def rewrite_Store(self, s: Store) -> Stmt:
        store = self.descend(s)
        return store if self.stored is None else replace(store, buffer=self.stored, indices=(self.lane,))
