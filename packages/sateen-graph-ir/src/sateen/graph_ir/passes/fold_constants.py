"""Evaluate what depends on parameters only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sateen.graph_ir.graph import Array, Graph, GraphRewriter, Node, Value
from sateen.graph_ir.native import NativeEvaluator, work_of
from sateen.graph_ir.ops.control import Control

MOST_GROWTH = 1 << 16
"""Bytes by which a result may exceed the least from which it can be made."""
MOST_TIMES = 16
"""All results of folding take at most so many times the memory of the parameters."""
MOST_BYTES = 1 << 26
"""More than that, for models of few parameters."""
MOST_POINTS_PER_BYTE = 64
"""Evaluations of an expression (`work_of`) per byte of parameters and of `MOST_BYTES`: some seconds."""

Worth = Callable[[int, int], bool]
"""Whether results of so many bytes are better kept than made, at run time, from so many others."""


def fold_constants(graph: Graph) -> Graph:
    """Replace nodes on parameters by their results, but for those that would make the model much larger.

        parameter %w: float32[2] = [1.0, -1.0]; %r: float32[2] = relu(%w); %y = add(%x, %r)
        =>  parameter %r: float32[2] = [1.0, 0.0]; %y = add(%x, %r)

    Nodes that compute an output of the graph stay, as do
    the parameters that nothing reads any more.
    """
    return fold_where(graph, lambda result, source: result <= source + MOST_GROWTH)


def fold_where(graph: Graph, is_worth: Worth) -> Graph:
    """Replace pure nodes of static types that depend on parameters only, and are worth it, by their results.

    What is not worth it stays, though it may be evaluated on the way to what is. Whatever a model asks for, all that is
    evaluated is bounded by a multiple of its parameters, and so is the work.
    Control flow stays: how long it takes is known at run time only.
    """
    given = _bytes(graph.parameters)
    room, points = MOST_TIMES * given + MOST_BYTES, MOST_POINTS_PER_BYTE * (given + MOST_BYTES)
    sources = {node: source for node, source in _sources(graph).items() if _bytes(node.outputs) <= room}
    needed, staying = _choose(graph, sources, is_worth)
    affordable = _affordable(needed, room, points)
    if len(affordable) < len(needed):
        needed, staying = _choose(graph, {node: sources[node] for node in affordable}, is_worth)

    data: dict[Value, Array] = dict(graph.parameters)
    evaluator = NativeEvaluator()
    for node in needed:
        inputs = [None if v is None else data[v] for v in node.inputs]
        data.update(zip(node.outputs, evaluator.evaluate(node, inputs), strict=True))
    rewriter = GraphRewriter(graph)
    folded = set(needed) - staying
    for node in graph.nodes:
        if node in folded:
            rewriter.fold(node, [data[v] for v in node.outputs])
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _sources(graph: Graph) -> dict[Node, int]:
    """The nodes that can be evaluated, with the least bytes that their inputs can be made from."""
    least = {v: v.type.bytes for v in graph.parameters}
    sources: dict[Node, int] = {}
    for node in graph.nodes:
        inputs = {v for v in node.inputs if v is not None}
        static = all(v.type.is_static for v in (*inputs, *node.outputs))
        if static and inputs <= least.keys() and node.op.is_pure and not isinstance(node.op, Control):
            source = sources[node] = sum(least[v] for v in inputs)
            least |= {v: min(source, v.type.bytes) for v in node.outputs}
    return sources


def _choose(graph: Graph, sources: Mapping[Node, int], is_worth: Worth) -> tuple[list[Node], set[Node]]:
    """The nodes to evaluate, in order, and those that stay because the graph needs what is not worth keeping."""
    read: set[Value | None] = set(graph.outputs)
    evaluated: set[Value | None] = set()
    needed: list[Node] = []
    staying: set[Node] = set()
    for node in reversed(graph.nodes):
        is_read = not read.isdisjoint(node.outputs)
        is_output = any(v in graph.outputs for v in node.outputs)
        folds = node in sources and not is_output and (not is_read or is_worth(_bytes(node.outputs), sources[node]))
        if not folds:
            staying.add(node)
            read.update(node.inputs)
        if node in sources and ((folds and is_read) or not evaluated.isdisjoint(node.outputs)):
            needed.append(node)
            evaluated.update(node.inputs)
    return needed[::-1], staying


def _affordable(needed: Iterable[Node], room: int, points: int) -> list[Node]:
    """The first of the nodes, up to where their results have more bytes, or evaluating them takes more points."""
    affordable = []
    for node in needed:
        room, points = room - _bytes(node.outputs), points - work_of(node)
        if room < 0 or points < 0:
            break
        affordable.append(node)
    return affordable


def _bytes(values: Iterable[Value]) -> int:
    return sum(v.type.bytes for v in values)
