"""Evaluate what depends on parameters only."""

from __future__ import annotations

from collections.abc import Callable

from sateen.graph_ir.graph import Graph, GraphRewriter, Node
from sateen.graph_ir.native import NativeEvaluator, work_of
from sateen.graph_ir.ops.control import Control
from sateen.graph_ir.types import TensorType

MOST_GROWTH = 1 << 16
"""Bytes by which the results of a folded node may exceed its inputs."""
MOST_TIMES = 16
"""All results of folding take at most so many times the memory of the parameters."""
MOST_BYTES = 1 << 26
"""More than that, for models of few parameters."""
MOST_POINTS_PER_BYTE = 64
"""Evaluations of an expression (`work_of`) per byte of parameters and of `MOST_BYTES`: some seconds."""


def fold_constants(graph: Graph) -> Graph:
    """Replace nodes on parameters by their results, but for those that would make the model much larger.

        parameter %w: float32[2] = [1.0, -1.0]; %r: float32[2] = relu(%w); %y = add(%x, %r)
        =>  parameter %r: float32[2] = [1.0, 0.0]; %y = add(%x, %r)

    Nodes that compute an output of the graph stay, as do the parameters that nothing reads any more.
    """
    return fold_where(graph, _is_small)


def fold_where(graph: Graph, is_worth: Callable[[Node], bool]) -> Graph:
    """Replace pure nodes of static types, whose inputs are parameters and which are worth it, by their results.

    Whatever a model asks for, the results together are bounded by a multiple of its parameters, and so is the work.
    Control flow stays: how long it takes is known at run time only.
    """
    rewriter = GraphRewriter(graph)
    evaluator = NativeEvaluator()
    given = _bytes(tuple(v.type for v in graph.parameters))
    room, points = MOST_TIMES * given + MOST_BYTES, MOST_POINTS_PER_BYTE * (given + MOST_BYTES)
    for node in graph.nodes:
        inputs = [rewriter.constant(v) for v in rewriter.values(node.inputs)]
        present = [v for v in node.inputs if v is not None]
        constant = all(v is None or a is not None for v, a in zip(node.inputs, inputs, strict=True))
        static = all(v.type.is_static for v in (*present, *node.outputs))
        calm = node.op.is_pure and not isinstance(node.op, Control)
        foldable = constant and static and calm and not any(v in graph.outputs for v in node.outputs)
        size = _bytes(tuple(v.type for v in node.outputs)) if foldable else 0
        if foldable and is_worth(node) and size <= room and (work := work_of(node)) <= points:
            room, points = room - size, points - work
            rewriter.fold(node, evaluator.evaluate(node, inputs))
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _is_small(node: Node) -> bool:
    return _bytes(node.input_types) + MOST_GROWTH >= _bytes(tuple(v.type for v in node.outputs))


def _bytes(types: tuple[TensorType, ...]) -> int:
    return sum(t.bytes for t in types)
