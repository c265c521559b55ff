"""Choose the way in which each convolution is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weft.graph_ir.graph import Graph, GraphRewriter, Node, Value
from weft.graph_ir.ops.conv import Conv, WinogradConv
from weft.graph_ir.ops.window import window_of
from weft.tensor_ir import Machine
from weft.topi import winograd
from weft.topi.convolution import Direct, Method, Problem, candidates

Chooser = Callable[[Problem], Method | None]
"""What is known of a convolution beforehand, by measurement; None where nothing is."""


def choose_convolutions(
    graph: Graph, machine: Machine, *, strict: bool = False, known: Chooser = lambda problem: None
) -> Graph:
    """Give each convolution its tile, or turn it into WinogradConv, as is known or else estimated to be fastest.

        parameter %w: float32[64, 64, 3, 3]; %y = conv(%x, %w, %b) {pads=(1, 1, 1, 1)}
        =>  parameter %w.1: float32[64, 64, 6, 6]
            %y = winograd_conv(%x, %w.1, %b) {tile=4, pads=(1, 1, 1, 1), block=(2, 14), vectors=2}

    Winograd's method takes constant weights. Its errors grow from 1e-6 to about 2e-5 of the largest output, so `strict`
    numerics leave it out. Requires: static types. Runs before choose_layouts. Source: weft.topi.convolution.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        problem = problem_of(node)
        method = None
        if problem is not None:
            _, weight, *_ = rewriter.values(node.inputs)
            direct = strict or rewriter.constant(weight) is None
            method = known(problem) or best_method(problem, machine, direct)
        if isinstance(node.op, Conv) and method is not None:
            rewriter.replace(node, _computed(rewriter, node, node.op, method))
        else:
            rewriter.keep(node)
    return rewriter.finish()


def best_method(problem: Problem, machine: Machine, direct: bool) -> Method | None:
    """The method of the least estimate; with `direct`, of the direct ones."""
    return next((c.method for c in candidates(problem, machine) if not direct or isinstance(c.method, Direct)), None)


def problem_of(node: Node) -> Problem | None:
    """The convolution that a node computes, if there is a choice of ways."""
    op = node.op
    if not isinstance(op, Conv) or op.groups != 1:
        return None
    data, weight = (v.type for v in node.inputs[:2] if v is not None)
    if str(data.dtype) != "float32":
        return None
    window = window_of(op, weight.static_shape[2:], op.strides, op.pads, op.dilations)
    return Problem(data.static_shape, weight.static_shape, window)


def _computed(rewriter: GraphRewriter, node: Node, op: Conv, method: Method) -> Value:
    """The result of a convolution, computed by a method."""
    data, weight, *bias = rewriter.values(node.inputs)
    name, spans = node.outputs[0].name, node.spans
    constant = rewriter.constant(weight)
    if isinstance(method, Direct) or constant is None or weight is None:
        tile = (method.rows, method.columns, method.vectors) if isinstance(method, Direct) else ()
        return rewriter.insert(replace(op, tile=tile), data, weight, *bias, name=name, spans=spans)
    stride = op.strides[0] if op.strides else 1
    packed = rewriter.parameter(weight.name, winograd.transformed(constant, winograd.TRANSFORMS[method.tile, stride]))
    operator = WinogradConv(method.tile, stride, op.pads, (method.rows, method.columns), method.vectors)
    return rewriter.insert(operator, data, packed, *bias, name=name, spans=spans)
