"""Convolve by Winograd's method where that is faster."""

from __future__ import annotations

from weft.graph_ir.graph import Graph, GraphRewriter, Node, Value
from weft.graph_ir.ops.conv import Conv, WinogradConv
from weft.graph_ir.ops.window import window_of
from weft.topi import winograd


def use_winograd(graph: Graph, lanes: int) -> Graph:
    """Turn 3x3 convolutions with a constant weight into WinogradConv where that is estimated to be faster.

        parameter %w: float32[64, 64, 3, 3]; %y = conv(%x, %w, %b) {pads=(1, 1, 1, 1)}
        =>  parameter %w.1: float32[64, 64, 6, 6]; %y = winograd_conv(%x, %w.1, %b) {tile=4, pads=(1, 1, 1, 1)}

    Errors grow from 1e-6 to about 2e-5 of the largest output, so strict numerics leave this pass out. `lanes` are the
    float32 elements of a vector. Requires: static types. Runs before choose_layouts.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        value = _by_winograd(rewriter, node, node.op, lanes) if isinstance(node.op, Conv) else None
        if value is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, value)
    return rewriter.finish()


def _by_winograd(rewriter: GraphRewriter, node: Node, op: Conv, lanes: int) -> Value | None:
    data, weight, *bias = rewriter.values(node.inputs)
    constant = rewriter.constant(weight)
    if data is None or constant is None or str(data.type.dtype) != "float32" or data.type.rank != 4:
        return None
    window = window_of(op, constant.shape[2:], op.strides, op.pads, op.dilations)
    tile = winograd.best_tile(data.type.static_shape, constant.shape, window, op.groups, lanes)
    if tile is None:
        return None
    assert weight is not None
    stride = window.strides[0]
    packed = rewriter.parameter(weight.name, winograd.transformed(constant, winograd.TRANSFORMS[tile, stride]))
    operator = WinogradConv(tile, stride, op.pads)
    return rewriter.insert(operator, data, packed, *bias, name=node.outputs[0].name, spans=node.spans)
