"""Choose the layout in which each node runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from weft.graph_ir.graph import Graph, GraphRewriter, Node, Value
from weft.graph_ir.op import LayoutChoice
from weft.graph_ir.ops.layout import ConvertLayout
from weft.graph_ir.types import TensorType
from weft.topi.layout import Layout

Choices = Mapping[Node, LayoutChoice]

BYTES_PER_CYCLE = 8.0
"""What a conversion, or an operator that only moves data, reads or writes."""
CONVERSION_CYCLES = 500.0
"""What a conversion takes beside the bytes it moves."""
CLEARLY = 0.99
"""Of the greedy choice's estimate, what is better than that."""


def choose_layouts(graph: Graph, lanes: int) -> Graph:
    """Run every node in a layout such that nodes and conversions together are estimated to take the least time.

        %a: float32[1, 64, 8, 8] = conv(%x, %w); %y: float32[1, 64, 8, 8] = relu(%a)
        =>  %x.1: float32[1, 32, 8, 8]@aBcd16b = convert_layout(%x) {layout=@aBcd16b}
            %a: float32[1, 64, 8, 8]@aBcd16b = conv(%x.1, %w.1)
            %y.1: float32[1, 64, 8, 8]@aBcd16b = relu(%a)
            %y: float32[1, 64, 8, 8] = convert_layout(%y.1)

    By dynamic programming over nodes and edges, first to last, then back: what a value costs in a layout is what its
    node and the node's inputs cost in the best layouts for that, shared equally among readers. That is exact for trees.
    A graph is none, and the estimate does not know what will be fused; so the result is taken only where it is clearly
    better than the greedy one, in which each node takes the first of its choices for what its inputs are in by then. A
    value is converted once for each layout that it is needed in, always from the one that its node gives, so that no
    conversion undoes another. `lanes` are the float32 elements of a vector. Requires: row-major values of static types.
    Guarantees: inputs and outputs of the graph are row-major.
    """
    costs, greedy = _Costs(graph, lanes), _greedy(graph, lanes)
    least = _least(graph, costs)
    return _Rewriter(graph, least if costs.total(least) < CLEARLY * costs.total(greedy) else greedy).run()


def _layouts(node: Node, layouts: Sequence[Layout | None], lanes: int) -> Iterable[LayoutChoice]:
    """The choices of a node whose inputs have some layouts, best first."""
    present = [v for v in node.inputs if v is not None]
    types = [_in_layout(v.type, layout) for v, layout in zip(present, layouts, strict=True)]
    return node.op.layouts(types, [v.type for v in node.outputs], lanes)


def _in_layout(given: TensorType, layout: Layout | None) -> TensorType:
    return given if given.layout == layout else TensorType.of(given.dtype, given.shape, layout)


def _greedy(graph: Graph, lanes: int) -> Choices:
    """The first choice of each node for what its inputs are in by then."""
    found: dict[Node, LayoutChoice] = {}
    given: dict[Value, Layout | None] = {}
    for node in graph.nodes:
        present = [v for v in node.inputs if v is not None]
        choice = next(iter(_layouts(node, [given.get(v) for v in present], lanes)))
        found[node] = choice
        given.update(zip(node.outputs, choice.outputs, strict=True))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Costs:
    """Estimates in cycles of one core."""

    graph: Graph
    lanes: int

    def node(self, node: Node, choice: LayoutChoice) -> float:
        """Of an operator: its arithmetic, or the bytes that it moves."""
        types = [v.type for v in node.inputs if v is not None]
        results = [v.type for v in node.outputs]
        moved = sum(_bytes(v) for v in node.outputs)
        work = max(node.op.operations(types, results) / (2 * self.lanes), moved / BYTES_PER_CYCLE)
        return work * choice.slowdown

    def conversion(self, value: Value, given: Layout | None, needed: Layout | None) -> float:
        """Of bringing a value from one layout into another; parameters are converted beforehand."""
        if given == needed or value in self.graph.parameters:
            return 0.0
        return 2 * _bytes(value) / BYTES_PER_CYCLE + CONVERSION_CYCLES

    def total(self, choices: Choices) -> float:
        """Of the whole graph."""
        given = {v: layout for n, c in choices.items() for v, layout in zip(n.outputs, c.outputs, strict=True)}
        needed: dict[tuple[Value, Layout | None], None] = {(v, None): None for v in self.graph.outputs}
        for node, choice in choices.items():
            needed.update(dict.fromkeys(_needs(node, choice)))
        conversions = sum(self.conversion(v, given.get(v), layout) for v, layout in needed)
        return sum(self.node(n, c) for n, c in choices.items()) + conversions


def _bytes(value: Value) -> int:
    return prod(value.type.static_shape) * value.type.dtype.bytes


def _needs(node: Node, choice: LayoutChoice) -> Iterable[tuple[Value, Layout | None]]:
    """The values that a node reads, and the layouts that it reads them in."""
    return zip((v for v in node.inputs if v is not None), choice.inputs, strict=True)


def _least(graph: Graph, costs: _Costs) -> Choices:
    """Choices by dynamic programming."""
    readers = {v: len(nodes) for v, nodes in graph.consumers().items()}
    ways: dict[Node, dict[LayoutChoice, float]] = {}
    values: dict[Value, dict[Layout | None, float]] = {}
    row_major: dict[Layout | None, float] = {None: 0.0}

    def cost(value: Value, needed: Layout | None) -> float:
        share = readers.get(value, 1)
        given = values.get(value, row_major).items()
        return min(spent / share + costs.conversion(value, layout, needed) for layout, spent in given)

    for node in graph.nodes:
        present = [values.get(v, row_major) for v in node.inputs if v is not None]
        ways[node] = spent_by = {}
        for common in dict.fromkeys((None, *(layout for v in present for layout in v))):
            for choice in _layouts(node, [common if common in v else None for v in present], costs.lanes):
                spent_by[choice] = costs.node(node, choice) + sum(cost(*need) for need in _needs(node, choice))
        for i, value in enumerate(node.outputs):
            table: dict[Layout | None, float] = {}
            for choice, spent in spent_by.items():
                table[choice.outputs[i]] = min(spent, table.get(choice.outputs[i], spent))
            values[value] = table
    found: dict[Node, LayoutChoice] = {}
    needed: dict[Value, dict[Layout | None, None]] = {v: {None: None} for v in graph.outputs}
    for node in reversed(graph.nodes):

        def behind(choice: LayoutChoice, node: Node = node) -> float:
            pairs = zip(node.outputs, choice.outputs, strict=True)
            return sum(costs.conversion(v, layout, other) for v, layout in pairs for other in needed.get(v, ()))

        found[node] = choice = min(ways[node], key=lambda c: ways[node][c] + behind(c))
        for value, layout in _needs(node, choice):
            needed.setdefault(value, {})[layout] = None
    return {node: found[node] for node in graph.nodes}


class _Rewriter:
    """Puts the nodes into a new graph, with conversions where layouts differ."""

    def __init__(self, graph: Graph, choices: Choices) -> None:
        self.graph, self.choices = graph, choices
        self.rewriter = GraphRewriter(graph)
        self.converted: dict[tuple[Value, Layout | None], Value] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            self.place(node)
        for v in self.graph.outputs:
            value = self.rewriter.value(v)
            if value.type.layout is not None:
                self.rewriter.stand_for(v, self.in_layout(value, None))
        return self.rewriter.finish()

    def place(self, node: Node) -> None:
        choice = self.choices[node]
        layouts = iter(choice.inputs)
        operands = self.rewriter.values(node.inputs)
        inputs = tuple(None if v is None else self.in_layout(v, next(layouts)) for v in operands)
        outputs = tuple(self.output(v, layout) for v, layout in zip(node.outputs, choice.outputs, strict=True))
        if inputs == node.inputs and outputs == node.outputs:
            self.rewriter.keep(node)
        else:
            self.rewriter.put(node, inputs, outputs)

    def output(self, value: Value, layout: Layout | None) -> Value:
        """A value in a layout. The name of an output of the graph is left for what is row-major."""
        if layout is None:
            return value
        name = self.rewriter.builder.unique(value.name) if value in self.graph.outputs else value.name
        return Value(name, _in_layout(value.type, layout))

    def in_layout(self, value: Value, layout: Layout | None) -> Value:
        """The value, converted where its layout is another."""
        if value.type.layout == layout:
            return value
        key = value, layout
        if key not in self.converted:
            producer = self.rewriter.producer(value)
            spans = () if producer is None else producer.spans
            self.converted[key] = self.rewriter.insert(ConvertLayout(layout), value, name=value.name, spans=spans)
        return self.converted[key]
