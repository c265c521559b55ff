"""Move per-channel factors and terms into the weights and biases of the operators around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from weft.graph_ir.graph import Array, Graph, GraphRewriter, Node, NodeSpan, Value
from weft.graph_ir.op import Op
from weft.graph_ir.ops.broadcast import Add, Divide, Multiply, Subtract
from weft.graph_ir.ops.conv import Conv, ConvTranspose
from weft.graph_ir.ops.element_wise import Relu
from weft.graph_ir.ops.matmul import MatMul


def fold_scale_axis(graph: Graph) -> Graph:
    """Fold constants that multiply or are added per channel into the constant weights of convolutions and products.

        %c = conv(%x, %w, %b); %m = multiply(%c, %scale); %y = add(%m, %shift)
        =>  %y = conv(%x, %w_scaled, %b_scaled)

        %m = multiply(%x, %scale); %y = conv(%m, %w)
        =>  %y = conv(%x, %w_scaled)

    A factor also moves up through a relu where it is positive, and through an addition of a constant; a term in front of
    a convolution folds into its bias where there is no padding. A value that has other readers stays as it is. Computed
    in float64, rounded once; where a folded weight would overflow, nothing is folded. The nodes and weights that are no
    longer read stay: remove_dead_nodes takes those.
    """
    return _Folder(graph).run()


@dataclass(frozen=True, slots=True)
class _Affine:
    """A node that computes data * factor + term, by constants that broadcast to the data."""

    data: Value
    factor: Array | None
    term: Array | None


class _Folder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rewriter = GraphRewriter(graph)
        self.producers: dict[Value, Node] = {}
        """Of values of the new graph."""
        self.readers: dict[Value, int] = {}

    def run(self) -> Graph:
        readers = {v: len(nodes) for v, nodes in self.graph.consumers().items()}
        for v in self.graph.outputs:
            readers[v] = readers.get(v, 0) + 1
        for node in self.graph.nodes:
            value = self.folded(node)
            if value is None:
                self.rewriter.keep(node)
            else:
                self.rewriter.replace(node, value)
            for old in node.outputs:
                new = self.rewriter.value(old)
                self.readers[new] = readers.get(old, 0)
            self.remember()
        return self.rewriter.finish()

    def remember(self) -> None:
        node = self.rewriter.builder.last_node
        self.producers.update((v, node) for v in node.outputs)

    def insert(self, op: Op, inputs: Sequence[Value | None], spans: tuple[NodeSpan, ...]) -> Value:
        value = self.rewriter.insert(op, *inputs, spans=spans)
        self.remember()
        self.readers[value] = 1
        return value
