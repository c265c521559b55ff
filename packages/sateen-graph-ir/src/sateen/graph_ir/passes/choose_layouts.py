"""Choose the layout in which each node runs."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import ConvertLayout
from sateen.graph_ir.passes.layout_search import Choices, Costs, greedy, in_layout, least
from sateen.tensor_ir import Machine
from sateen.topi.types import Layout

CLEARLY = 0.99
"""An estimate below this part of the greedy choice's counts as clearly better."""


def choose_layouts(graph: Graph, machine: Machine) -> Graph:
    """Run every node in a layout such that nodes and conversions together are estimated to take the least time.

        %a: float32[1, 64, 8, 8] = conv(%x, %w); %y: float32[1, 64, 8, 8] = relu(%a)
        =>  %x.1: float32[1, 32, 8, 8]@aBcd16b = convert_layout(%x) {layout=@aBcd16b}
            %a: float32[1, 64, 8, 8]@aBcd16b = conv(%x.1, %w.1)
            %y.1: float32[1, 64, 8, 8]@aBcd16b = relu(%a)
            %y: float32[1, 64, 8, 8] = convert_layout(%y.1)

    By dynamic programming over nodes and edges, first to last, then back: the cost of a value in a layout is the cost
    of its node and the node's inputs in the best layouts for that, shared equally among readers. That is exact for
    trees. A graph is no tree, and the estimate does not know what will be fused. So the result is taken only if it is
    clearly better than the greedy choice, in which each node takes its first choice for the layouts of its inputs. Axes
    stay in their order, except where transposes that move them cost less. A value is converted once for each layout in
    which it is needed, always from the layout that its node gives, so that no conversion undoes another. Requires:
    row-major values of static types. Guarantees: inputs and outputs of the graph are row-major.
    """
    costs = Costs(graph, machine)
    first, ordered = greedy(graph, costs, in_order=True), least(graph, costs, in_order=True)
    best = ordered if costs.total(ordered) < CLEARLY * costs.total(first) else first
    permuted = least(graph, costs, in_order=False)
    takes_less = permuted != ordered and costs.total(permuted) < costs.total(best)
    return _Rewriter(graph, permuted if takes_less else best).run()


def first_layouts(graph: Graph, machine: Machine) -> Graph:
    """Run every node in its first choice for the layouts of its inputs, whatever the conversions cost."""
    return _Rewriter(graph, greedy(graph, Costs(graph, machine), in_order=True)).run()


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
        """A value in a layout. The name of a graph's output is left for the row-major value."""
        if layout is None:
            return value
        name = self.rewriter.builder.unique(value.name) if value in self.graph.outputs else value.name
        return Value(name, in_layout(value.type, layout), value.device)

    def in_layout(self, value: Value, layout: Layout | None) -> Value:
        """The value, converted if it has another layout."""
        if value.type.layout == layout:
            return value
        key = value, layout
        if key not in self.converted:
            producer = self.rewriter.producer(value)
            spans = () if producer is None else producer.spans
            self.converted[key] = self.rewriter.insert(ConvertLayout(layout), value, name=value.name, spans=spans)
        return self.converted[key]
