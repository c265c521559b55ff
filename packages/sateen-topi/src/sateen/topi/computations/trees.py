"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.arguments import require, require_one_of, require_views
from sateen.topi.schedules import (
    Computation,
    blocks,
    each_thread,
    largest_power_of_two,
    loop_kind,
    shared_out,
    threads_for,
    vector_of,
    written,
)
from sateen.topi.types import View

AGGREGATES = ("sum", "min", "max")
CHECKED = 4
"""Levels after which a vector looks whether all of its lanes have reached a leaf."""
_USUAL_DEPTH = 8
"""The depth by which the work of a tree is estimated, since depths are data."""


def words_of(dtype: DType) -> int:
    """The int32 words of a node for data of this type: its feature, its children and its threshold."""
    return 3 + dtype.bytes // 4


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees of an ensemble. Nodes before `leaves` decide; the others are leaves, and their own children.

    roots, depths and targets [trees]: a tree's first node, its longest way, and the output that the first of its values
    belongs to. nodes [nodes, words]: the element that a node looks at, the child where that exceeds the threshold, the
    other child, and the bits of the threshold, the lower ones first. values [leaves, width]. tracks [nodes], if given:
    where it is not 0, NaN leads to the other child, too.
    """

    roots: View
    depths: View
    targets: View
    nodes: View
    values: View
    tracks: View | None = None

    @property
    def all(self) -> dict[str, View]:
        names = ("roots", "depths", "targets", "nodes", "values", "tracks")
        return {name: view for name in names if (view := getattr(self, name)) is not None}

    @property
    def leaves(self) -> int:
        """The first leaf."""
        return self.nodes.shape[0] - self.values.shape[0]


def tree_ensemble(data: View, trees: Trees, outputs: int, aggregate: str = "sum") -> Computation:
    """The sum (or min, or max) of what all trees give for each row of data [rows, features]: [rows, outputs].

    A vector of rows walks down a tree together, without branches: each step gathers features, thresholds and children
    (the layout and method of QuickScorer's successors: Asadi, Lin, de Vries, Runtime Optimizations for Tree-based
    Machine Learning Models, 2014, section 4, VPred). For few rows it is a vector of trees.
    """
    require_views("tree_ensemble", data=data, **trees.all)
    require_one_of("tree_ensemble", "aggregate", aggregate, AGGREGATES)
    rows, count = data.shape[0], trees.roots.shape[0]
    fits = 0 < trees.values.shape[1] <= outputs and trees.leaves >= 0
    require(fits, "tree_ensemble", f"values of at most {outputs} outputs", list(trees.values.shape))
    lanes = 2 * vector_of(data)
    names = list(trees.all)

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        given = dict(zip(names, map(ib.buffer_ptr, ins[1:]), strict=True))
        walk = _Walk(ib, ib.buffer_ptr(ins[0]), given, ib.buffer_ptr(outs[0]), trees, aggregate)
        work = rows * count * _USUAL_DEPTH
        if rows >= lanes // 2:
            walk.over(rows, lanes, loop_kind(work), lambda first, n: walk.rows(first, n, count))
        else:
            with ib.for_range(0, rows, "row") as row:
                walk.clear(row, 1)
                walk.over(count, lanes, "serial", lambda first, n: walk.trees(row, first, n))
        return ib.get()

    def body_of_blocks(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        ib = ir_builder.create()
        given = dict(zip(names, map(ib.buffer_ptr, ins[1:]), strict=True))
        walk = _Walk(ib, ib.buffer_ptr(ins[0]), given, ib.buffer_ptr(outs[0]), trees, aggregate)
        if rows > 0:
            walk.by_blocks(rows, count, outputs, gpu)
        return ib.get()

    inputs = [data, *trees.all.values()]
    return written("tree_ensemble", [((rows, outputs), trees.values.dtype)], inputs, body, body_of_blocks)


@dataclass(frozen=True, slots=True)
class _Walk:
    """The code that walks down trees."""

    ib: IRBuilder
    data: BufferPointer
    given: dict[str, BufferPointer]
    result: BufferPointer
    ensemble: Trees
    aggregate: str

    def over(self, count: int, lanes: int, kind: str, block: Callable[[Expr, int], None]) -> None:
        """A block for each `lanes` of `count`, and one for the rest."""
        with self.ib.for_range(0, count // lanes, "block", kind) as index:
            block(index * lanes, lanes)
        if count % lanes:
            block(te.const(count // lanes * lanes), count % lanes)

    def clear(self, first: Expr, rows: int) -> None:
        """Start the result of rows with what changes no aggregate."""
        with self.ib.for_range(0, rows, "r") as r, self.ib.for_range(0, self.result.shape[1], "output") as output:
            self.result[first + r, output] = self._start

    def rows(self, first: Expr, rows: int, count: int) -> None:
        """All trees for some rows, which walk together."""
        self.clear(first, rows)
        with self.ib.for_range(0, count, "tree") as tree:
            node = self._descend(rows, lambda lane: tree, lambda lane: first + lane, self.given["depths"][tree])
            with self.ib.for_range(0, rows, "r") as r:
                self._add(first + r, tree, node[r])

    def trees(self, row: Expr, first: Expr, count: int) -> None:
        """Some trees for a row, which they walk together."""
        ib = self.ib
        longest = ib.allocate("int32", (1,), "register", "longest")
        longest[0] = te.const(0, "int32")
        with ib.for_range(0, count, "t") as t:
            longest[0] = te.maximum(longest[0], self.given["depths"][first + t])
        node = self._descend(count, lambda lane: first + lane, lambda lane: row, longest[0])
        with ib.for_range(0, count, "t") as t:
            self._add(row, first + t, node[t])

    def _descend(
        self, lanes: int, tree: Callable[[Expr], Expr], row: Callable[[Expr], Expr], depth: Expr
    ) -> BufferPointer:
        """The leaves that lanes reach, each down its tree with its row."""
        ib, given = self.ib, self.given
        node = ib.allocate("int32", (lanes,), "local", "node")
        with ib.for_range(0, lanes, "lane", "vectorized") as lane:
            node[lane] = _within(given["roots"][tree(lane)], given["nodes"].shape[0])
        level, stop = (ib.allocate("int32", (1,), "register", name) for name in ("level", "stop"))
        level[0] = te.const(0, "int32")
        most = ib.allocate("int32", (1,), "register", "most")
        most[0] = depth
        with ib.while_scope(level[0] < most[0]):
            stop[0] = te.minimum(level[0] + CHECKED, most[0])
            with ib.while_scope(level[0] < stop[0]):
                level[0] = level[0] + 1
                with ib.for_range(0, lanes, "lane", "vectorized") as lane:
                    node[lane] = self._child(node[lane], row(lane))
            with ib.if_scope(level[0] < most[0]):
                first = ib.allocate("int32", (1,), "register", "first")
                first[0] = node[0]
                with ib.for_range(1, lanes, "lane") as lane:
                    first[0] = te.minimum(first[0], node[lane])
                with ib.if_scope(first[0] >= self.ensemble.leaves):
                    most[0] = te.const(0, "int32")
        return node

    def _child(self, node: Expr, row: Expr) -> Expr:
        """The node that follows a node for a row."""
        nodes, data = self.given["nodes"], self.data
        element = data[row, _within(nodes[node, 0], data.shape[1])]
        is_other = element <= _threshold(nodes, node, data.dtype)
        if "tracks" in self.given:
            is_other = te.any(is_other, te.all(te.isnan(element), self.given["tracks"][node] != 0))
        side = te.select(is_other, te.const(2, "int32"), te.const(1, "int32"))
        return _within(nodes[node, side], nodes.shape[0])

    def _add(self, row: Expr, tree: Expr, node: Expr) -> None:
        """The values of a leaf into the result of a row."""
        ib, values = self.ib, self.given["values"]
        leaf, target = self._leaf(node), self._target(tree)
        with ib.for_range(0, values.shape[1], "value") as value:
            place = row, target + value
            self.result[place] = self._both(self.result[place], values[leaf, value])

    def by_blocks(self, rows: int, count: int, outputs: int, gpu: Gpu) -> None:
        """A thread for each row and tree finds the leaf, neighbours for neighbouring rows, which begin at one node.
        Then each output of a row adds up its leaves, by threads of a block where there are too few outputs."""
        ib = self.ib
        leaves = ib.allocate("int32", (max(count, 1), rows), "global", "leaves")
        if count > 0:
            with each_thread(ib, rows * count, gpu) as e:
                tree, row = ib.let("tree", e // rows), ib.let("row", e % rows)
                leaves[tree, row] = self._descend_alone(tree, row)
        is_many = rows * outputs >= gpu.units * gpu.block_threads
        parts = 1 if is_many else min(gpu.block_threads, largest_power_of_two(max(count, 1)))
        together = max(1, gpu.block_threads // parts)
        threads = threads_for(together * parts, gpu)
        with blocks(ib, -(-rows * outputs // together)) as block:
            sums = ib.allocate(self.result.dtype, (together, parts), "shared", "sums")
            with shared_out(ib, together * parts, threads) as e:
                own, part = e // parts, e % parts
                place = ib.let("place", te.minimum(block * together + own, rows * outputs - 1))
                sums[own, part] = self._part(leaves, place // outputs, place % outputs, part, parts, count)
            half = parts // 2
            while half > 0:
                with shared_out(ib, together * half, threads) as e:
                    own, part = e // half, e % half
                    sums[own, part] = self._both(sums[own, part], sums[own, part + half])
                half //= 2
            with shared_out(ib, together, threads) as own, ib.if_scope(block * together + own < rows * outputs):
                first = block * together + own
                self.result[first // outputs, first % outputs] = sums[own, 0]

    def _descend_alone(self, tree: Expr, row: Expr) -> Expr:
        """The leaf that a row reaches down a tree."""
        ib, given = self.ib, self.given
        node, level = (ib.allocate("int32", (1,), "register", name) for name in ("node", "level"))
        node[0] = _within(given["roots"][tree], given["nodes"].shape[0])
        level[0] = te.const(0, "int32")
        with ib.while_scope(te.all(level[0] < given["depths"][tree], node[0] < self.ensemble.leaves)):
            node[0] = self._child(node[0], row)
            level[0] = level[0] + 1
        return node[0]

    def _part(self, leaves: BufferPointer, row: Expr, output: Expr, part: Expr, parts: int, count: int) -> Expr:
        """What every `parts`-th tree gives for an output of a row, in order."""
        ib, values = self.ib, self.given["values"]
        total = ib.allocate(self.result.dtype, (1,), "register", "total")
        total[0] = self._start
        width = self.ensemble.values.shape[1]
        with ib.for_range(0, -(-count // parts), "turn") as turn, ib.if_scope(turn * parts + part < count):
            tree = turn * parts + part
            value = ib.let("value", output - self._target(tree))
            with ib.if_scope(te.all(value >= 0, value < width)):
                total[0] = self._both(total[0], values[self._leaf(leaves[tree, row]), value])
        return total[0]

    @property
    def _start(self) -> Expr:
        """What changes no aggregate."""
        dtype = self.result.dtype
        return {"sum": te.const(0, dtype), "min": te.max_value(dtype), "max": te.min_value(dtype)}[self.aggregate]

    def _both(self, old: Expr, new: Expr) -> Expr:
        kinds = {"sum": lambda: old + new, "min": lambda: te.minimum(old, new), "max": lambda: te.maximum(old, new)}
        return kinds[self.aggregate]()

    def _leaf(self, node: Expr) -> Expr:
        """The row of values of a leaf."""
        return self.ib.let("leaf", te.maximum(node - self.ensemble.leaves, te.const(0, "int32"))).astype("index")

    def _target(self, tree: Expr) -> Expr:
        """The output of the first value of a tree."""
        room = self.result.shape[1] - self.given["values"].shape[1] + 1
        return self.ib.let("target", _within(self.given["targets"][tree], room).astype("index"))


def _threshold(nodes: BufferPointer, node: Expr, dtype: DType) -> Expr:
    """The threshold of a node, which is kept as bits beside its children: one line of memory has all of a node."""
    if dtype.bytes == 4:
        return te.reinterpret(dtype, nodes[node, 3])
    low, high = te.reinterpret("uint32", nodes[node, 3]).astype("int64"), nodes[node, 4].astype("int64")
    return te.reinterpret(dtype, high * (1 << 32) + low)


def _within(place: Expr, extent: Expr) -> Expr:
    """The nearest index of an axis: places are data, which nobody has checked."""
    last = (extent - 1).astype("int32")
    return te.minimum(te.maximum(place, te.const(0, "int32")), last)
