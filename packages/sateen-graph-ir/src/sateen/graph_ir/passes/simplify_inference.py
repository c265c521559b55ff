"""Take apart what is simple once a network only infers."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.graph import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops.broadcast import Add, Multiply
from sateen.graph_ir.ops.element_wise import Identity
from sateen.graph_ir.ops.norm import BatchNormalization


def simplify_inference(graph: Graph) -> Graph:
    """Turn BatchNormalization with constant statistics into a multiplication and an addition; drop Identity.

        %y = batch_normalization(%x, %scale, %bias, %mean, %variance)
        =>  %n = multiply(%x, %y_scale); %y = add(%n, %y_shift)
            where y_scale = scale / sqrt(variance + epsilon), y_shift = bias - mean * y_scale, both [C, 1, …]

    Computed in float64, rounded once.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        match node.op:
            case Identity():
                rewriter.replace(node, *(v for v in rewriter.values(node.inputs) if v is not None))
            case BatchNormalization(epsilon=epsilon):
                value = _affine(rewriter, node, epsilon)
                if value is None:
                    rewriter.keep(node)
                else:
                    rewriter.replace(node, value)
            case _:
                rewriter.keep(node)
    return rewriter.finish()


def _affine(rewriter: GraphRewriter, node: Node, epsilon: float) -> Value | None:
    """The normalised input, where the statistics are constant."""
    data, *statistics = rewriter.values(node.inputs)
    constants = [rewriter.constant(v) for v in statistics]
    scale, bias, mean, variance = (None if c is None else c.astype(np.float64) for c in constants)
    if data is None or scale is None or bias is None or mean is None or variance is None:
        return None
    factor = scale / np.sqrt(variance + epsilon)
    shape = (-1, *[1] * (data.type.rank - 2))
    dtype = data.type.dtype.numpy
    name = node.outputs[0].name
    by = rewriter.parameter(f"{name}_scale", factor.reshape(shape).astype(dtype))
    shift = rewriter.parameter(f"{name}_shift", (bias - mean * factor).reshape(shape).astype(dtype))
    return rewriter.insert(Add(), rewriter.insert(Multiply(), data, by, spans=node.spans), shift, spans=node.spans)
