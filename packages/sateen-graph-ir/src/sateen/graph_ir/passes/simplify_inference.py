"""Simplify operators that are simpler at inference than in training."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Add, BatchNormalization, Identity, Multiply


def simplify_inference(graph: Graph) -> Graph:
    """Turn BatchNormalization with constant statistics into a multiplication and an addition; drop Identity.

        %y = batch_normalization(%x, %scale, %bias, %mean, %variance)
        =>  %n = multiply(%x, %y_scale); %y = add(%n, %y_shift)
            where y_scale = scale / sqrt(variance + epsilon), y_shift = bias - mean * y_scale, both [C, 1, …]

    Computed in float64, rounded once. A normalisation stays if one of these numbers is not finite, since infinities
    could cancel that do not cancel in its definition.
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
    """The normalised input, if the statistics are constant and their factor and shift finite."""
    data, *statistics = rewriter.values(node.inputs)
    constants = [rewriter.constant(v) for v in statistics]
    scale, bias, mean, variance = (None if c is None else c.astype(np.float64) for c in constants)
    if data is None or scale is None or bias is None or mean is None or variance is None:
        return None
    shape = (-1, *[1] * (data.type.rank - 2))
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        numbers = [a.reshape(shape).astype(data.type.dtype.numpy) for a in (factor, bias - mean * factor)]
    if not all(np.isfinite(a.astype(np.float64)).all() for a in numbers):
        return None
    name = node.outputs[0].name
    by, shift = (
        rewriter.parameter(f"{name}_{part}", a, data.device)
        for part, a in zip(("scale", "shift"), numbers, strict=True)
    )
    return rewriter.insert(Add(), rewriter.insert(Multiply(), data, by, spans=node.spans), shift, spans=node.spans)
