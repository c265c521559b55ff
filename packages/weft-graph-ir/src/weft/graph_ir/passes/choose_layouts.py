"""Choose the layout in which each node runs."""

from __future__ import annotations

from weft.graph_ir.graph import Graph, GraphRewriter, Node, Value
from weft.graph_ir.ops.layout import ConvertLayout
from weft.graph_ir.types import TensorType
from weft.topi.layout import Layout


def choose_layouts(graph: Graph, lanes: int) -> Graph:
    """Run every node in the layouts that it likes best, and convert values where they differ.

        %a: float32[1, 64, 8, 8] = conv(%x, %w); %y: float32[1, 64, 8, 8] = relu(%a)
        =>  %x.1: float32[1, 32, 8, 8]@aBcd16b = convert_layout(%x) {layout=@aBcd16b}
            %a: float32[1, 64, 8, 8]@aBcd16b = conv(%x.1, %w.1)
            %y.1: float32[1, 64, 8, 8]@aBcd16b = relu(%a)
            %y: float32[1, 64, 8, 8] = convert_layout(%y.1)

    Greedy, first node to last: an operator sees the layouts that its inputs have by then and names its choices, best
    first. A value is converted once for each layout that it is needed in, always from the one that its node gives, so
    that no conversion undoes another. `lanes` are the float32 elements of a vector. Requires: row-major values of
    static types. Guarantees: inputs and outputs of the graph are row-major.
    """
    return _Chooser(graph, lanes).run()


class _Chooser:
    def __init__(self, graph: Graph, lanes: int) -> None:
        self.graph = graph
        self.lanes = lanes
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
        """Put a node into the new graph, in the first of its layouts."""
        operands = self.rewriter.values(node.inputs)
        types = [v.type for v in operands if v is not None]
        choice = next(iter(node.op.layouts(types, [v.type for v in node.outputs], self.lanes)))
        layouts = iter(choice.inputs)
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
        return Value(name, TensorType.of(value.type.dtype, value.type.shape, layout))

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
