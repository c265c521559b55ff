"""Attention of one query at a time: lanes are elements of keys and values, which are read once and in order.

So it takes few queries, as a step of a language model has: the bytes of keys and values are what it costs. The scores
of a row are all kept, in its thread's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, prod

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Buffer, Expr, Scope, Stmt
from sateen.tensor_ir.te import ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.topi.computations.attention.methods import KeyTiles
from sateen.topi.computations.attention.operands import Operands, Reader
from sateen.topi.schedules import loop_kind, loops, unflattened
from sateen.topi.types import Layout


def key_tiles(operands: Operands, layout: Layout, method: KeyTiles, ins: Sequence[Buffer], out: Buffer) -> Stmt:
    """The loops over the queries of all matrices, each of which a thread computes alone."""
    ib = ir_builder.create()
    reader = Reader(operands, list(map(ib.buffer_ptr, ins)))
    result = ib.buffer_ptr(out)
    rows = prod(operands.stack) * operands.queries
    with ib.for_range(0, rows, "row", loop_kind(rows * operands.keys)) as row:
        stack = [ib.let("matrix", i) for i in unflattened(row // operands.queries, operands.stack)]
        query = ib.let("query", row % operands.queries)
        _Row(ib, reader, method, stack, query).run(
            lambda column: layout.physical_index([*stack, query, column]), result
        )
    return ib.get()


class _Row:
    """The loops for one query."""

    def __init__(
        self, ib: ir_builder.IRBuilder, reader: Reader, method: KeyTiles, stack: Sequence[Expr], query: Expr
    ) -> None:
        self.ib, self.reader, self.operands = ib, reader, reader.operands
        self.lanes, self.vectors = method.lanes, method.vectors
        self.stack, self.query = stack, query
        self.kind = reader.kind
        self.tiles = -(-self.operands.keys // self.lanes)

    def run(self, place: Callable[[Expr], Sequence[Expr]], result: BufferPointer) -> None:
        """Compute a row of the result, whose elements are at the places of columns."""
        ib, operands = self.ib, self.operands
        scaled = ib.allocate(self.kind, (max(operands.depth, 1),), name="scaled")
        with loops(ib, (operands.depth,), self.lanes) as (d,):
            value = self.reader.element("q", self.stack, self.query, d)
            scaled[d] = value * te.const(operands.masking.scale, self.kind)
        self.scores = ib.allocate(self.kind, (self.tiles * self.lanes,), name="scores")
        count: Expr = te.const(operands.keys)
        if operands.masking.reach is not None:
            reached = te.maximum(self.query + (operands.masking.reach + 1), 0)
            count = ib.let("count", te.minimum(reached, operands.keys))
        self._score(scaled, count)
        total = self._weigh(count)
        inverse = ib.let("inverse", self.reader.inverse(total))
        width = self.lanes * self.vectors
        with ib.for_range(0, operands.columns // width, "part") as part:
            self._sum(part * width, self.vectors, self.lanes, count, place, result, inverse)
        first = operands.columns // width * width
        vectors, rest = divmod(operands.columns - first, self.lanes)
        if vectors:
            self._sum(te.const(first), vectors, self.lanes, count, place, result, inverse)
        if rest:
            self._sum(te.const(operands.columns - rest), 1, rest, count, place, result, inverse)

    def _score(self, scaled: BufferPointer, count: Expr) -> None:
        """The masked scores of all keys, and -inf to the end of the last tile."""
        ib, keys = self.ib, self.operands.keys
        place = [ib.let("place", i) for i in self.operands.place_of(self.operands.k, self.stack)]
        rest = keys % self.lanes
        with ib.for_range(0, (count + (self.lanes - 1)) // self.lanes, "tile") as tile:
            first = ib.let("first", tile * self.lanes)
            if not rest:
                self._score_tile(scaled, place, first, self.lanes)
            elif keys < self.lanes:
                self._score_tile(scaled, place, first, rest)
            else:
                with ib.if_scope(first + self.lanes <= keys):
                    self._score_tile(scaled, place, first, self.lanes)
                with ib.else_scope():
                    self._score_tile(scaled, place, first, rest)

    def _score_tile(self, scaled: BufferPointer, place: Sequence[Expr], first: Expr, rows: int) -> None:
        """Products by vectors of a key, a key for each register, whose lanes are added up after they are transposed."""
        ib, lanes, depth = self.ib, self.lanes, self.operands.depth
        whole = depth // lanes
        sums = ib.allocate(self.kind, (rows,), Scope.REGISTER, "sums")
        with ib.for_range(0, rows, "key", "vectorized") as key:
            sums[key] = te.const(0, self.kind)
        if whole:
            products = ib.allocate(self.kind, (rows, lanes), Scope.REGISTER, "products")
            square = ib.allocate(self.kind, (rows, lanes), name="square")
            for row, lane in self._elements(rows, lanes):
                products[row, lane] = te.const(0, self.kind)
            with ib.for_range(0, whole, "step") as step:
                for row, lane in self._elements(rows, lanes):
                    d = step * lanes + lane
                    product = self.reader.element("k", place, first + row, d) * scaled[d]
                    products[row, lane] = products[row, lane] + product
            for row, lane in self._elements(rows, lanes):
                square[row, lane] = products[row, lane]
            for lane, row in self._elements(lanes, rows):
                sums[row] = sums[row] + square[row, lane]
        with ib.for_range(whole * lanes, depth, "d") as d, ib.for_range(0, rows, "key", "vectorized") as key:
            sums[key] = sums[key] + self.reader.element("k", place, first + key, d) * scaled[d]
        with ib.for_range(0, rows, "key", "vectorized") as key:
            self.scores[first + key] = self.reader.masked(sums[key], self.stack, self.query, first + key)
        if rows < lanes:
            with ib.for_range(0, lanes - rows, "key", "vectorized") as key:
                self.scores[first + rows + key] = te.const(-inf, self.kind)

    def _elements(self, rows: int, lanes: int) -> Iterator[tuple[Expr, Expr]]:
        with (
            self.ib.for_range(0, rows, "row", "unrolled") as row,
            self.ib.for_range(0, lanes, "lane", "vectorized") as lane,
        ):
            yield row, lane

    def _weigh(self, count: Expr) -> Expr:
        """Powers of the scores less the largest, in their place; gives the total."""
        ib = self.ib
        tiles = (count + (self.lanes - 1)) // self.lanes

        def largest(before: Expr, score: Expr) -> Expr:
            """A NaN is left out: its power is NaN."""
            return te.select(score > before, score, before)

        peak = self._folded(tiles, te.const(-inf, self.kind), largest, lambda _, score: score)
        if self.operands.masking.empty_is_zero:
            peak = ib.let("peak", self.reader.finite(peak))

        def power(i: Expr, score: Expr) -> Expr:
            value = ib.let("power", te.exp(score - peak))
            self.scores[i] = value
            return value

        return self._folded(tiles, te.const(0, self.kind), lambda a, b: a + b, power)

    def _folded(
        self, tiles: Expr, identity: Expr, combine: Callable[[Expr, Expr], Expr], term: Callable[[Expr, Expr], Expr]
    ) -> Expr:
        """All terms of scores combined, lane by lane and then the lanes."""
        ib, lanes = self.ib, self.lanes
        register = ib.allocate(self.kind, (lanes,), Scope.REGISTER, "lanes")
        memory, result = ib.allocate(self.kind, (lanes,), name="ends"), ib.allocate(self.kind, (1,), name="all")
        with ib.for_range(0, lanes, "lane", "vectorized") as lane:
            register[lane] = identity
        with ib.for_range(0, tiles, "tile") as tile, ib.for_range(0, lanes, "lane", "vectorized") as lane:
            value = ib.let("value", term(tile * lanes + lane, self.scores[tile * lanes + lane]))
            register[lane] = combine(register[lane], value)
        with ib.for_range(0, lanes, "lane", "vectorized") as lane:
            memory[lane] = register[lane]
        result[0] = identity
        with ib.for_range(0, lanes, "lane") as lane:
            value = ib.let("value", memory[lane])
            result[0] = combine(result[0], value)
        return ib.let("result", result[0])

    def _sum(
        self, first: Expr, vectors: int, lanes: int, count: Expr, place: Callable[[Expr], Sequence[Expr]],
        result: BufferPointer, inverse: Expr,
    ) -> None:  # fmt: skip
        """The weighted values of some columns, divided by the total."""
        ib, operands = self.ib, self.operands
        matrix = [ib.let("place", i) for i in operands.place_of(operands.v, self.stack)]
        sums = ib.allocate(self.kind, (vectors, lanes), Scope.REGISTER, "weighted")
        for v, lane in self._elements(vectors, lanes):
            sums[v, lane] = te.const(0, self.kind)
        with ib.for_range(0, count, "key") as key:
            for v, lane in self._elements(vectors, lanes):
                value = self.reader.element("v", matrix, key, first + v * lanes + lane)
                sums[v, lane] = sums[v, lane] + value * self.scores[key]
        for v, lane in self._elements(vectors, lanes):
            result[tuple(place(first + v * lanes + lane))] = (sums[v, lane] * inverse).astype(result.dtype)
