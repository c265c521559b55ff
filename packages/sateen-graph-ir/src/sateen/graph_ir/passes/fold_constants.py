"""Evaluate nodes that depend on parameters only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sateen.graph_ir.evaluate import NativeEvaluator, work_of
from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Control

MOST_GROWTH = 1 << 16
"""The bytes by which a result may exceed the smallest values from which it can be computed."""
MOST_TIMES = 16
"""All results of folding take at most this many times the memory of the parameters."""
MOST_BYTES = 1 << 26
"""The bytes that all results may take in addition, for models of few parameters."""
MOST_POINTS_PER_BYTE = 64
"""Evaluations of an expression (`work_of`) per byte of parameters and of `MOST_BYTES`: some seconds."""

Worth = Callable[[Node, int], bool]
"""Whether the results of a node are better stored than computed at run time from so many bytes."""


def fold_constants(graph: Graph) -> Graph:
    """Replace nodes on parameters by their results, except those that would make the model much larger.

        parameter %w: float32[2] = [1.0, -1.0]; %r: float32[2] = relu(%w); %y = add(%x, %r)
        =>  parameter %r: float32[2] = [1.0, 0.0]; %y = add(%x, %r)

    Nodes that compute an output of the graph stay, as do the parameters that nothing reads any more.
    """
    return fold_where(graph, lambda node, source: bytes_of(node.outputs) <= source + MOST_GROWTH)


def fold_where(graph: Graph, is_worth: Worth) -> Graph:
    """Replace pure nodes of static types that depend on parameters only, and are worth it, by their results.

    Other nodes stay, but may be evaluated on the way to those. For any model, the memory and the work of evaluation are
    bounded by a multiple of its parameters. Control flow stays, since its duration is known only at run time.
    """
    choice = choose_folded(graph, is_worth)
    data = _evaluate(choice, graph.parameters)
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        if node in choice.folded:
            rewriter.fold(node, [data[v] for v in node.outputs])
        elif node in choice.staying:
            rewriter.keep(node)
    return rewriter.finish()


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """The decision about nodes: those to evaluate, in order; those whose results become parameters; those that stay.

    No node that stays reads any of the others.
    """

    evaluated: Sequence[Node]
    folded: frozenset[Node]
    staying: frozenset[Node]


def choose_folded(graph: Graph, is_worth: Worth) -> FoldChoice:
    """What `fold_where` evaluates."""
    given = bytes_of(graph.parameters)
    room, points = MOST_TIMES * given + MOST_BYTES, MOST_POINTS_PER_BYTE * (given + MOST_BYTES)
    sources = _sources(graph, room)
    choice = _choose(graph, sources, is_worth)
    affordable = _affordable(choice.evaluated, room, points)
    if len(affordable) < len(choice.evaluated):
        choice = _choose(graph, {node: sources[node] for node in affordable}, is_worth)
    return choice


def _sources(graph: Graph, most: int) -> dict[Node, int]:
    """The nodes that can be evaluated, with results of `most` bytes, and an upper bound of the bytes that their inputs
    can be made from."""
    least = {v: v.type.bytes for v in graph.parameters}
    sources: dict[Node, int] = {}
    for node in graph.nodes:
        inputs = {v for v in node.inputs if v is not None}
        static = all(v.type.is_static for v in (*inputs, *node.outputs))
        calm = node.op.is_pure and not isinstance(node.op, Control)
        if static and calm and inputs <= least.keys() and bytes_of(node.outputs) <= most:
            source = sources[node] = sum(least[v] for v in inputs)
            least |= {v: min(source, v.type.bytes) for v in node.outputs}
    return sources


def _choose(graph: Graph, sources: Mapping[Node, int], is_worth: Worth) -> FoldChoice:
    read: set[Value | None] = set(graph.outputs)
    used: set[Value | None] = set()
    evaluated: list[Node] = []
    folded: set[Node] = set()
    staying: set[Node] = set()
    for node in reversed(graph.nodes):
        is_read = not read.isdisjoint(node.outputs)
        is_output = any(v in graph.outputs for v in node.outputs)
        if node not in sources or is_output or (is_read and not is_worth(node, sources[node])):
            staying.add(node)
            read.update(node.inputs)
        elif is_read:
            folded.add(node)
        if node in folded or (node in sources and not used.isdisjoint(node.outputs)):
            evaluated.append(node)
            used.update(node.inputs)
    return FoldChoice(evaluated[::-1], frozenset(folded), frozenset(staying))


def _affordable(nodes: Iterable[Node], room: int, points: int) -> list[Node]:
    """The nodes whose results together fit into so many bytes and evaluations, without readers of a result that does
    not."""
    affordable = []
    missing: set[Value | None] = set()
    known: dict[object, int] = {}
    for node in nodes:
        key = node.computation_key
        if key not in known:
            known[key] = work_of(node)
        size, work = bytes_of(node.outputs), known[key]
        if missing.isdisjoint(node.inputs) and size <= room and work <= points:
            room, points = room - size, points - work
            affordable.append(node)
        else:
            missing.update(node.outputs)
    return affordable


def _evaluate(choice: FoldChoice, parameters: Mapping[Value, Array]) -> dict[Value, Array]:
    """The results that become parameters; values between are dropped after their last reader."""
    data = dict(parameters)
    kept = {*parameters, *(v for node in choice.folded for v in node.outputs)}
    readers = Counter(v for node in choice.evaluated for v in {*node.inputs} if v is not None)
    evaluator = NativeEvaluator()
    for node in choice.evaluated:
        inputs = [None if v is None else data[v] for v in node.inputs]
        data.update(zip(node.outputs, evaluator.evaluate(node, inputs), strict=True))
        readers.subtract(v for v in {*node.inputs} if v is not None)
        for v in {*node.inputs, *node.outputs}:
            if v is not None and v not in kept and not readers[v]:
                del data[v]
    return data


def bytes_of(values: Iterable[Value]) -> int:
    """The bytes of all these values."""
    return sum(v.type.bytes for v in values)
