"""Choose the way in which each convolution is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from sateen.graph_ir.graph import Array, Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops.conv import Conv, WinogradConv
from sateen.graph_ir.ops.window import window_of
from sateen.tensor_ir import Machine
from sateen.topi import winograd
from sateen.topi.convolution import Direct, Method, Problem, Winograd, candidates
from sateen.topi.operator import Operator

MOST_LOSS = 1e-5
"""Of Σ|w| times the largest input of its tile: what an element may lose with default numerics (semantics 4.8)."""

Chooser = Callable[[Problem], Sequence[Method]]
"""The methods of a convolution that were measured, fastest first."""


def nothing_known(problem: Problem) -> Sequence[Method]:  # noqa: ARG001  # the signature is that of a Chooser
    """Where nothing was measured."""
    return ()


def choose_convolutions(
    graph: Graph, machine: Machine, *, strict: bool = False, known: Chooser = nothing_known
) -> Graph:
    """Give each convolution its tile, or turn it into WinogradConv, as is known or else estimated to be fastest.

        parameter %w: float32[64, 64, 3, 3]; %y = conv(%x, %w, %b) {pads=(1, 1, 1, 1)}
        =>  parameter %w.1: float32[64, 64, 8, 8]
            %y = winograd_conv(%x, %w.1, %b) {tile=6, pads=(1, 1, 1, 1), block=(1, 10), vectors=2}

    Winograd's method takes constant weights, and tiles with which these lose no more than MOST_LOSS; `strict` numerics
    leave it out. Of the methods that are known, those that are no candidates of the problem do not count. Requires:
    static types. Runs before choose_layouts. Source: sateen.topi.convolution.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        problem = problem_of(node)
        method = None
        if problem is not None:
            _, weight, *_ = rewriter.values(node.inputs)
            constant = None if strict else rewriter.constant(weight)
            possible = [c.method for c in candidates(problem, machine)]
            preferred = [m for m in known(problem) if m in possible]
            method = next(_precise((*preferred, *possible), constant, problem.window.strides[0]), None)
        if isinstance(node.op, Conv) and method is not None:
            rewriter.replace(node, _computed(rewriter, node, node.op, method))
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _precise(methods: Iterable[Method], weight: Array | None, stride: int) -> Iterator[Method]:
    """The methods that lose no more than is allowed; without a weight those that keep each sum as it is."""
    losses: dict[int, float] = {}
    for method in methods:
        if isinstance(method, Winograd):
            if weight is None:
                continue
            if method.tile not in losses:
                losses[method.tile] = winograd.loss(weight, winograd.TRANSFORMS[method.tile, stride])
            if losses[method.tile] > MOST_LOSS:
                continue
        yield method


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


def operator_of(op: Conv, method: Method) -> Conv | WinogradConv:
    """The operator that computes a convolution by a method."""
    if isinstance(method, Direct):
        return replace(op, tile=(method.rows, method.columns, method.vectors))
    stride = op.strides[0] if op.strides else 1
    return WinogradConv(method.tile, stride, op.pads, (method.rows, method.columns), method.vectors)


def method_of(op: Operator) -> Method | None:
    """The method that an operator was given by this pass, if it was."""
    match op:
        case Conv(tile=(rows, columns, vectors)):
            return Direct(rows, columns, vectors)
        case WinogradConv(block=(rows, columns)):
            return Winograd(op.tile, rows, columns, op.vectors)
        case _:
            return None


def _computed(rewriter: GraphRewriter, node: Node, op: Conv, method: Method) -> Value:
    """The result of a convolution, computed by a method."""
    data, weight, *bias = rewriter.values(node.inputs)
    operator = operator_of(op, method)
    if isinstance(operator, WinogradConv):
        constant = rewriter.constant(weight)
        assert weight is not None
        assert constant is not None
        weight = rewriter.parameter(weight.name, winograd.transformed(constant, operator.transform))
    return rewriter.insert(operator, data, weight, *bias, name=node.outputs[0].name, spans=node.spans)
