"""Attention by tiles of queries: lanes are queries, and elements of keys and values are broadcast.

So keys and values are read where they are, in any order of axes, and a row's maximum and sum are those of a lane.
Only queries and the result are transposed, a tile at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, prod

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Buffer, Expr, Scope, Stmt
from sateen.tensor_ir.te import ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.attention.methods import QueryTiles
from sateen.topi.computations.attention.operands import Operands, Reader
from sateen.topi.schedules import largest_divisor, loop_kind, loops, unflattened
from sateen.topi.types import Layout, View

Element = Callable[[Expr, Expr], Expr]
"""An element of a block of keys or values: (row, column)."""
UNROLLED_TERMS = 4
"""The terms of a score that are added without a jump."""


def query_tiles(operands: Operands, layout: Layout, method: QueryTiles, ins: Sequence[Buffer], out: Buffer) -> Stmt:
    """The loops over the tiles of all matrices, each of which a thread computes alone."""
    method = _within(method, operands.queries)
    ib = ir_builder.create()
    reader = Reader(operands, list(map(ib.buffer_ptr, ins)))
    result = ib.buffer_ptr(out)
    whole, rest = divmod(operands.queries, method.queries)
    tiles = whole + (rest > 0)
    work = prod(operands.stack) * operands.queries * operands.keys
    with ib.for_range(0, prod(operands.stack) * tiles, "part", loop_kind(work)) as part:
        stack = [ib.let("matrix", i) for i in unflattened(part // tiles, operands.stack)]
        number = ib.let("tile", part % tiles)
        if not rest:
            _Tile(ib, reader, layout, method, result, stack, method.queries).run(number * method.queries)
        else:
            with ib.if_scope(number < whole):
                _Tile(ib, reader, layout, method, result, stack, method.queries).run(number * method.queries)
            with ib.else_scope():
                last = -(-rest // method.last) * method.last
                narrow = replace(method, lanes=method.last)
                _Tile(ib, reader, layout, narrow, result, stack, last).run(te.const(operands.queries - last))
    return ib.get()


def _within(method: QueryTiles, queries: int) -> QueryTiles:
    """The method with no more lanes and vectors than there are queries."""
    lanes = min(method.lanes, queries)
    return replace(method, lanes=lanes, last=min(method.last, lanes), vectors=min(method.vectors, queries // lanes))


class _Tile:
    """The loops for some queries of a matrix: those of a tile, or those that end with the last query."""

    def __init__(
        self, ib: IRBuilder, reader: Reader, layout: Layout, method: QueryTiles, result: BufferPointer,
        stack: Sequence[Expr], queries: int,
    ) -> None:  # fmt: skip
        self.ib, self.reader, self.layout, self.method = ib, reader, layout, method
        self.result, self.stack, self.queries = result, stack, queries
        self.operands = operands = reader.operands
        self.kind = reader.kind
        self.block = min(operands.keys, -(-method.block // method.keys) * method.keys)
        self.is_one_block = self.block == operands.keys

    def run(self, start: Expr) -> None:
        """Compute the rows of the result from query `start` on."""
        ib, operands = self.ib, self.operands
        self.start = ib.let("start", start)
        self.transposed = self._local("transposed", operands.depth)
        self.scores = self._local("scores", self.block)
        self.sums = self._local("sums", operands.columns)
        self.largest, self.total = self._local("largest"), self._local("total")
        self._load_queries()
        end: Expr = te.const(operands.keys)
        if operands.masking.reach is not None:
            reached = te.maximum(self.start + (self.queries + operands.masking.reach), 0)
            end = ib.let("end", te.minimum(reached, operands.keys))
        if self.is_one_block:
            self._take(te.const(0), end)
        else:
            for i in self._lanes():
                self.largest[i], self.total[i] = te.const(-inf, self.kind), te.const(0, self.kind)
            with ib.for_range(0, operands.columns, "column") as c:
                for i in self._lanes():
                    self.sums[c, i] = te.const(0, self.kind)
            with ib.for_range(0, (end + (self.block - 1)) // self.block, "block") as block:
                begin = ib.let("begin", block * self.block)
                self._take(begin, ib.let("count", te.minimum(end - begin, self.block)))
        self._store()

    def _local(self, name: str, *extents: int, scope: Scope = Scope.LOCAL) -> BufferPointer:
        """Memory of a thread with a lane for each query."""
        return self.ib.allocate(self.kind, (*extents, self.queries), scope, name)

    def _lanes(self) -> Iterator[Expr]:
        """The queries of the tile, as the lanes of unrolled vectors."""
        lanes = min(self.method.lanes, self.queries)
        with (
            self.ib.for_range(0, self.queries // lanes, "v", "unrolled") as v,
            self.ib.for_range(0, lanes, "lane", "vectorized") as lane,
        ):
            yield v * lanes + lane

    def _tile(self, rows: int) -> Iterator[tuple[Expr, Expr]]:
        """The elements of a register tile: row and query."""
        with self.ib.for_range(0, rows, "row", "unrolled") as row:
            for i in self._lanes():
                yield row, i

    def _load_queries(self) -> None:
        """Transpose and scale the queries: squares of as many of their elements as lanes, then the rest."""
        ib = self.ib
        lanes = min(self.method.lanes, self.queries)
        whole = self.operands.depth // lanes * lanes

        def element(d: Expr, i: Expr) -> None:
            value = self.reader.element("q", self.stack, self.start + i, d)
            self.transposed[d, i] = value * te.const(self.operands.masking.scale, self.kind)

        with ib.for_range(0, whole // lanes, "square") as square, ib.for_range(0, lanes, "d", "unrolled") as d:
            for i in self._lanes():
                element(square * lanes + d, i)
        with ib.for_range(whole, self.operands.depth, "d") as d:
            for i in self._lanes():
                element(d, i)

    def _take(self, begin: Expr, count: Expr) -> None:
        """Take `count` keys from `begin` on."""
        operands = self.operands
        keys = self._matrix("k", operands.k, begin, count)
        values = self._matrix("v", operands.v, begin, count)
        self._score(keys, begin, count)
        self._weigh(count)
        whole, rest = divmod(operands.columns, self.method.values)
        with self.ib.for_range(0, whole, "columns") as tile:
            self._sum(values, tile * self.method.values, self.method.values, count)
        if rest:
            self._sum(values, te.const(whole * self.method.values), rest, count)

    def _matrix(self, name: str, view: View, begin: Expr, count: Expr) -> Element:
        """The elements of a block of keys or values: (row in the block, column). Narrow ones are converted once."""
        ib, place = self.ib, [self.ib.let("place", i) for i in self.operands.place_of(view, self.stack)]
        if view.dtype == self.kind:
            return lambda row, column: self.reader.element(name, place, begin + row, column)
        width = view.shape[-1]
        converted = ib.allocate(self.kind, (self.block, width), name=name)
        with ib.for_range(0, count, "row") as row, loops(ib, (width,), self.method.lanes) as (column,):
            converted[row, column] = self.reader.element(name, place, begin + row, column)
        return lambda row, column: converted[row, column]

    def _score(self, keys: Element, begin: Expr, count: Expr) -> None:
        """The masked scores of a block of keys."""
        ib, rows = self.ib, self.method.keys
        rest = self.operands.keys % rows
        with ib.for_range(0, (count + (rows - 1)) // rows, "tile") as tile:
            first = ib.let("first", tile * rows)
            if not rest:
                self._score_tile(keys, begin, first, rows)
            elif self.operands.keys < rows:
                self._score_tile(keys, begin, first, rest)
            else:
                with ib.if_scope(begin + first + rows <= self.operands.keys):
                    self._score_tile(keys, begin, first, rows)
                with ib.else_scope():
                    self._score_tile(keys, begin, first, rest)

    def _score_tile(self, keys: Element, begin: Expr, first: Expr, rows: int) -> None:
        ib, depth = self.ib, self.operands.depth
        products = self._local("products", rows, scope=Scope.REGISTER)
        for row, i in self._tile(rows):
            products[row, i] = te.const(0, self.kind)
        step = largest_divisor(depth, UNROLLED_TERMS)
        with ib.for_range(0, depth // step, "d") as d, ib.for_range(0, step, "term", "unrolled") as term:
            for row, i in self._tile(rows):
                k = d * step + term
                products[row, i] = products[row, i] + keys(first + row, k) * self.transposed[k, i]
        for row, i in self._tile(rows):
            key = begin + first + row
            self.scores[first + row, i] = self.reader.masked(products[row, i], self.stack, self.start + i, key)

    def _weigh(self, count: Expr) -> None:
        """Powers of the scores less the largest so far, and the total; what was summed before is scaled to that."""
        ib = self.ib
        peak = self._local("peak")
        self._find_largest(count, peak)
        if not self.is_one_block:
            self._rescale(peak)
        added = self._local("added", scope=Scope.REGISTER)
        for i in self._lanes():
            added[i] = te.const(0, self.kind)
        with ib.for_range(0, count, "key") as key:
            for i in self._lanes():
                power = ib.let("power", te.exp(self.scores[key, i] - peak[i]))
                self.scores[key, i] = power
                added[i] = added[i] + power
        for i in self._lanes():
            self.total[i] = added[i] if self.is_one_block else self.total[i] + added[i]

    def _find_largest(self, count: Expr, peak: BufferPointer) -> None:
        """The largest score, which a NaN leaves as it is: its power is NaN."""
        ib, least = self.ib, te.const(-inf, self.kind)
        largest = self._local("largest", scope=Scope.REGISTER)
        for i in self._lanes():
            largest[i] = least if self.is_one_block else self.largest[i]
        with ib.for_range(0, count, "key") as key:
            for i in self._lanes():
                score = ib.let("score", self.scores[key, i])
                largest[i] = te.select(score > largest[i], score, largest[i])
        is_zero = self.is_one_block and self.operands.masking.empty_is_zero
        for i in self._lanes():
            peak[i] = self.reader.finite(largest[i]) if is_zero else largest[i]

    def _rescale(self, peak: BufferPointer) -> None:
        """Scale what was summed before to the largest score of now."""
        factor = self._local("factor")
        for i in self._lanes():
            largest = self.ib.let("largest", peak[i])
            peak[i] = self.reader.finite(largest)
            factor[i] = te.exp(self.largest[i] - peak[i])
            self.largest[i] = largest
            self.total[i] = self.total[i] * factor[i]
        with self.ib.for_range(0, self.operands.columns, "column") as c:
            for i in self._lanes():
                self.sums[c, i] = self.sums[c, i] * factor[i]

    def _sum(self, values: Element, first: Expr, columns: int, count: Expr) -> None:
        """Add the weighted values of some columns."""
        ib = self.ib
        sums = self._local("weighted", columns, scope=Scope.REGISTER)
        for row, i in self._tile(columns):
            sums[row, i] = te.const(0, self.kind) if self.is_one_block else self.sums[first + row, i]
        with ib.for_range(0, count, "key") as key:
            for row, i in self._tile(columns):
                sums[row, i] = sums[row, i] + values(key, first + row) * self.scores[key, i]
        for row, i in self._tile(columns):
            self.sums[first + row, i] = sums[row, i]

    def _store(self) -> None:
        """Divide by the totals, and transpose into the result."""
        ib, columns = self.ib, self.operands.columns
        inverse = self._local("inverse")
        for i in self._lanes():
            inverse[i] = self.reader.inverse(self.total[i])
        lanes = min(self.method.lanes, columns)
        starts = [(0, columns // lanes, lanes)]
        if columns % lanes:
            starts.append((columns // lanes * lanes, 1, columns % lanes))
        square = min(self.method.lanes, self.queries)
        for begin, count, width in starts:
            with (
                ib.for_range(0, count, "c") as c,
                ib.for_range(0, self.queries // square, "v", "unrolled") as v,
                ib.for_range(0, square, "row", "unrolled") as row,
                ib.for_range(0, width, "lane", "vectorized") as lane,
            ):
                i, column = v * square + row, begin + c * width + lane
                value = self.sums[column, i] * inverse[i]
                place = self.layout.physical_index([*self.stack, self.start + i, column])
                self.result[place] = value.astype(self.result.dtype)
