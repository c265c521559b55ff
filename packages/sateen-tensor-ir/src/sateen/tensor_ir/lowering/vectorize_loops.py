"""Vectorize plain loops: independent iterations on neighbours in memory, of which the schedule says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.functions import function_of, library_function
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
    For,
    Function,
    If,
    LoopKind,
    Seq,
    Stmt,
    Store,
    sequence,
)
from sateen.tensor_ir.ir.visit import StatementRewriter, rename_bound, substitute, walk
from sateen.tensor_ir.lowering.independent_iterations import DependentError, LoopBody
from sateen.tensor_ir.lowering.keep_loops import KEEP
from sateen.tensor_ir.lowering.registers import RegisterFile, has_vectors
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.lowering.simplify import simplify
from sateen.tensor_ir.targets import Machine

ROWS = 4
"""The iterations that run side by side: rows of vectors that share what they load, and sums of scalars."""
SUMS = 4
"""The vectors of a loop around a reduction: so many sums hide the latency of an addition."""
LEAST_MASKED = 4
"""The bytes of the narrowest elements that masked loads take on all processors with masks."""
MOST_COPIED = 256
"""The most nodes of a body that is written for every width of the remainder; a longer one is written for one width and
for single iterations."""


def vectorize_loops(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """Each plain loop whose iterations store neighbours becomes a loop over vectors, and loops over the rest.

        for j in [0, 40):                 for j in [0, 2):
          C[j] = A[j] * 2.0      =>         vectorized lane in [0, 16):
                                              C[j * 16 + lane] = A[j * 16 + lane] * 2.0
                                          vectorized lane in [0, 8):
                                            C[lane + 32] = A[lane + 32] * 2.0

    The loop nearest to the statements is taken, or the one around a loop that sums up. A loop stays if the schedule
    says how it or a loop within it runs, if it has the pragma `keep`, if iterations depend on each other, and if
    lanes would not lie side by side. Where that would help sums, or loops across lines of memory, four such iterations
    run side by side, statement by statement. No sum is reassociated. Keeps: each variable bound once.
    """
    if not has_vectors(machine):
        return function
    body = _Vectorizer(function, machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """`count` vectors of `lanes` iterations, from the iteration `first` on."""

    first: Expr
    count: Expr
    lanes: int


class _Vectorizer(StatementRewriter):
    def __init__(self, function: Function, machine: Machine, listener: Listener) -> None:
        self.aliased = function.aliased
        self.machine = machine
        self.listener = listener
        self.analyzer = Analyzer.of(function.parameters)

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL):
            return s
        tile = self._tile(s)
        if tile is not None:
            return tile
        with self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
        loop = s if body is s.body else replace(s, body=body)
        if s.kind is LoopKind.PARALLEL or any(isinstance(n, For) and n.kind is not LoopKind.SERIAL for n in walk(body)):
            return loop
        if KEEP in s.pragmas:
            return self._refused(s, "its pragma keeps it")
        try:
            found = LoopBody.of(s, self.analyzer, self.aliased)
        except DependentError as reason:
            return self._refused(s, str(reason))
        if reason_of_lanes := self._reason(found):
            is_across = found.has_loop and any(found.stride(place) == 1 for place in found.loads)
            gain = "sums" if found.sums else "neighbours in memory" if is_across else ""
            return self._side_by_side(s, found, gain) if gain else self._refused(s, reason_of_lanes)
        pieces = self._pieces(s, found, SUMS)
        if not pieces:
            return self._refused(s, f"{s.extent} iterations fill no vector of {self._lanes(found)} lanes")
        return self._vectors(s, pieces)

    def _lanes(self, found: LoopBody) -> int:
        return self.machine.vector_bytes // max(place.access.buffer.dtype.bytes for place in found.places)

    def _vectors(self, s: For, pieces: Sequence[_Piece]) -> Stmt:
        widths = " and ".join(dict.fromkeys(f"{p.lanes}" for p in pieces if p.lanes > 1))
        self.listener(Remark(f"loop {s.var.name}", f"vectorized, {widths} lanes", is_done=True))
        return simplify(sequence(*(_piece(s, p, is_first=p is pieces[0]) for p in pieces)), self.analyzer)

    def _tile(self, s: For) -> Stmt | None:
        """Sums in four rows of vectors, which share what they load; None if the loop is not one over such rows."""
        inner = s.body
        loops = [n for n in walk(s) if isinstance(n, For)]
        if not isinstance(inner, For) or any(n.kind is not LoopKind.SERIAL or KEEP in n.pragmas for n in loops):
            return None
        try:
            rows = LoopBody.of(s, self.analyzer, self.aliased)
            with self.analyzer.bound(s.var, s.start, s.extent):
                columns = LoopBody.of(inner, self.analyzer, self.aliased)
        except DependentError:
            return None
        is_shared = any(rows.stride(place) == 0 for place in rows.loads)
        if not columns.sums or not is_shared or self._reason(columns) or ROWS * columns.nodes > MOST_COPIED:
            return None
        counts = self._parts(s.extent, ROWS)
        free = RegisterFile(self.machine).most
        vectors = next((v for v in (4, 2, 1) if ROWS * v * len(columns.sums) + v <= free), 0)
        pieces = self._pieces(inner, columns, vectors) if vectors else []
        if counts is None or not pieces:
            return None
        wide, *rest = counts
        row, copy = Var(s.var.name), rename_bound(inner)
        assert isinstance(copy, For)
        copy = replace(copy, body=_distributed(copy.body, s.var, s.start + wide.first + row * ROWS))
        self.listener(
            Remark(f"loop {s.var.name}", f"{ROWS} iterations side by side, for what they share", is_done=True)
        )
        with self.analyzer.bound(row, 0, wide.count):
            parts: list[Stmt] = [For(row, ex.const(0), wide.count, LoopKind.SERIAL, self._vectors(copy, pieces))]
        parts += [self.rewrite(_piece(s, piece, is_first=False)) for piece in rest]
        return simplify(sequence(*parts), self.analyzer)

    def _refused(self, s: For, reason: str) -> For:
        self.listener(Remark(f"loop {s.var.name}", f"not vectorized: {reason}", is_done=False))
        return s

    def _reason(self, found: LoopBody) -> str:
        """Why lanes can't be those of vectors; '' if they can."""
        for place in found.places:
            does = "stores" if isinstance(place.access, Store) else "loads"
            stride = found.stride(place)
            if stride is None:
                return f"the places of {place} in lanes are no neighbours"
            if stride != 1 and (does == "stores" or stride != 0):
                return f"it {does} {place} in steps of {stride} elements"
            if place.is_optional and not (self.machine.masks and place.access.buffer.dtype.bytes >= LEAST_MASKED):
                return f"whether {place} is loaded differs between lanes"
        for call in found.calls:
            function = function_of(call.name)
            is_formula = function is not None and (call.dtype in function.formulas or call.dtype.bits < 64)
            if library_function(call.name) or (function is not None and function.library and not is_formula):
                return f"{call.name} of {call.dtype} is a call of the C library for each lane"
        return ""

    def _side_by_side(self, s: For, found: LoopBody, gain: str) -> Stmt:
        """Four iterations, statement by statement: their sums do not wait for each other, and lines of memory that a
        loop inside goes across are read for all of them."""
        pieces = self._parts(s.extent, ROWS)
        if found.nodes > MOST_COPIED or pieces is None:
            return s
        self.listener(Remark(f"loop {s.var.name}", f"{ROWS} iterations side by side, for their {gain}", is_done=True))
        wide, *rest = pieces
        outer = Var(s.var.name)
        value = s.start + wide.first + outer * ROWS
        inner = _distributed(s.body, s.var, value)
        parts: list[Stmt] = [For(outer, ex.const(0), wide.count, LoopKind.SERIAL, inner, span=s.span)]
        parts += [_piece(s, piece, is_first=False) for piece in rest]
        return simplify(sequence(*parts), self.analyzer)

    # The loops in place of one.

    def _parts(self, extent: Expr, width: int) -> list[_Piece] | None:
        """The iterations by `width`, and the rest one by one; None if they are fewer."""
        count = self.analyzer.constant(extent)
        if count is None:
            return self._symbolic_pieces(extent, (width,))
        if count < width:
            return None
        whole = _Piece(ex.const(0), ex.const(count // width), width)
        rest = _Piece(ex.const(count - count % width), ex.const(count % width), 1)
        return [whole, rest] if count % width else [whole]

    def _pieces(self, s: For, found: LoopBody, vectors: int) -> list[_Piece]:
        """The iterations in parts of different widths, the widest first, of several vectors around a loop; none if they
        fill no vector."""
        lanes = self._lanes(found)
        widest = lanes * vectors if found.has_loop else lanes
        count = self.analyzer.constant(s.extent)
        if count is None:
            return self._symbolic_pieces(s.extent, list(dict.fromkeys((widest, lanes))))
        least = min(lanes, max(4, lanes // 4))
        if count <= lanes * vectors and count % lanes == 0 and count & (count - 1) == 0:
            return [_Piece(ex.const(0), ex.const(1), count)]
        widths = [w for w in (widest >> i for i in range(widest.bit_length())) if least <= w <= count]
        if not widths or lanes < 2:
            return []
        if found.nodes > MOST_COPIED:
            widths = widths[:1]
        pieces, done = [], 0
        for width in (*widths, 1):
            times = (count - done) // width
            if times:
                pieces.append(_Piece(ex.const(done), ex.const(times), width))
            done += times * width
        return pieces

    def _symbolic_pieces(self, extent: Expr, widths: Sequence[int]) -> list[_Piece]:
        """Parts of these widths and of single iterations; all are empty for an extent that is not positive."""
        low = self.analyzer.lower(self.analyzer.form(extent))
        count = extent if low is not None and low >= 0 else ex.maximum(extent, 0)
        pieces, rest, done = [], count, ex.as_expr(0)
        for width in (*widths, 1):
            pieces.append(_Piece(done, rest // width, width))
            rest, done = count % width, count // width * width
        return pieces


def _piece(s: For, piece: _Piece, *, is_first: bool) -> Stmt:
    """The loop over a part of the iterations; the first one has the variables of the body."""
    body = s.body if is_first else rename_bound(s.body)
    outer, lane = Var(s.var.name), Var(f"{s.var.name}_lane")
    first = s.start + piece.first
    if piece.lanes == 1:
        inner = substitute(body, {s.var: first + outer})
    else:
        inner = substitute(body, {s.var: first + outer * piece.lanes + lane})
        inner = For(lane, ex.const(0), ex.const(piece.lanes), LoopKind.VECTORIZED, inner, span=s.span)
    return For(outer, ex.const(0), piece.count, LoopKind.SERIAL, inner, span=s.span)


def _distributed(s: Stmt, var: Var, first: Expr) -> Stmt:
    """A statement for ROWS values of a variable, `first` and those after it, each store right after the other."""
    match s:
        case Seq():
            return sequence(*(_distributed(child, var, first) for child in s.body))
        case For():
            return replace(s, body=_distributed(s.body, var, first))
        case If():
            otherwise = None if s.otherwise is None else _distributed(s.otherwise, var, first)
            return If(s.condition, _distributed(s.then, var, first), otherwise, s.span)
    own = Var(var.name)
    inner = substitute(rename_bound(s), {var: first + own})
    return For(own, ex.const(0), ex.const(ROWS), LoopKind.UNROLLED, inner, span=s.span)
