"""The floating-point operations of a network: those of its convolutions and matrix products, by their definitions."""

from __future__ import annotations

from math import prod

from weft.graph_ir.graph import Graph, Node
from weft.graph_ir.ops.conv import Conv, ConvTranspose
from weft.graph_ir.ops.matmul import MatMul


def operations(graph: Graph) -> int:
    """Multiplications and additions, counted singly; what else a network computes is not counted."""
    return sum(_operations(node) for node in graph.nodes)


def _operations(node: Node) -> int:
    """Twice the multiply-adds: each output of a convolution takes one per weight of its filter."""
    match node.op:
        case Conv():
            return 2 * prod(node.outputs[0].type.static_shape) * prod(node.input_types[1].static_shape[1:])
        case ConvTranspose():
            return 2 * prod(node.input_types[0].static_shape) * prod(node.input_types[1].static_shape[1:])
        case MatMul():
            return 2 * prod(node.outputs[0].type.static_shape) * node.input_types[0].static_shape[-1]
    return 0
