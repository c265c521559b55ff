"""Higher-order operators: graphs that are chosen, or repeated, as operators whose bodies are graphs.

Such graphs read their own inputs alone. Source: torch/_higher_order_ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sateen.frontends.core.bodies import Bodies, Body, Subgraph
from sateen.frontends.core.control import choice, counted_loop, is_true, nothing, open_loop, require_state
from sateen.frontends.core.operands import Operand, static_extents, type_of
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import TorchNode
from sateen.frontends.torch.program import Argument, ProgramGraph, ProgramNode, Reference
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import NUMBER, Gather, Reshape
from sateen.runtime.errors import FrontendError

Graphs = Bodies[ProgramNode]
TOKEN: Operand = np.zeros((), np.int64)
"""What stands for a token, which no operator reads as data."""
_CHECKS = frozenset({"torch.ops.aten._linalg_check_errors.default"})
"""Operators that raise errors and give nothing."""
UNLIMITED = (1 << 63) - 1
"""The most iterations of a while_loop."""


def choose(node: TorchNode, graphs: Graphs) -> Sequence[Operand] | None:
    """cond: a predicate, two graphs, and what both read."""
    predicate, then, otherwise, operands = _arguments(node, 4)
    branches = [_subgraph(node.graph(branch)) for branch in (then, otherwise)]
    values = _operands(node, operands)
    if isinstance(predicate, bool):
        return _inlined(graphs, branches[not predicate], values)
    condition = node.operand_of(predicate, "the predicate")
    if not isinstance(condition, Value):
        return _inlined(graphs, branches[not bool(condition.reshape(()))], values)
    if len(branches[0].outputs) != len(branches[1].outputs):
        raise FrontendError("expected branches with as many results as each other")
    bodies = [graphs.open(branch) for branch in branches]
    remedy = node.binding(node.position(predicate.name)) if isinstance(predicate, Reference) else ""
    one, other = (graphs.read(body, _captured(body, values), remedy=remedy) for body in bodies)
    if one is None or other is None:
        return None
    scalar = node.reshaped(node.value_of(predicate, "the predicate"), ())
    first, second = bodies
    return choice(node, scalar, (branches[0].name, first, one), (branches[1].name, second, other), remedy)


def repeat(node: TorchNode, graphs: Graphs) -> Sequence[Operand] | None:
    """while_loop: whether there is a next iteration, an iteration, its state, and what both graphs read besides."""
    condition, body_graph, states, others = _arguments(node, 4)
    test, step = _subgraph(node.graph(condition), ".condition"), _subgraph(node.graph(body_graph))
    given, captured = _operands(node, states), _operands(node, others)
    start = _inlined(graphs, test, [*given, *captured])
    if start is None:
        return None
    initial = [v if isinstance(v, Value) else node.parameter(v, "initial") for v in given]
    body = graphs.open(step)
    body.input("iteration", NUMBER)
    inner = [body.input(name, v.type) for name, v in zip(step.inputs, initial, strict=False)]
    results = graphs.read(body, _bound(step, [*inner, *_captures(body, captured)]))
    if results is None:
        return None
    require_state(step.inputs, initial, results)
    goes_on = graphs.read(replace(body, graph=test), _bound(test, [*results, *_captures(body, captured)]))
    if goes_on is None:
        return None
    first = start[0] if isinstance(start[0], Value) else is_true(start[0])
    if not isinstance(first, bool):
        first = first if first.type.rank == 0 else node.step(Reshape(()), first)
    if is_true(goes_on[0]):
        raise FrontendError("expected a condition that ends the loop")
    return open_loop(node, body, UNLIMITED, first, initial, goes_on[0], results)


def scan(node: TorchNode, graphs: Graphs) -> Sequence[Operand] | None:
    """scan: an iteration takes its state and slices along axis 0, and gives its state and slices of results."""
    combine, states, scanned, *others = _arguments(node, 3)
    return _scanned(node, graphs, node.graph(combine), states, scanned, others)


def over_slices(node: TorchNode, graphs: Graphs) -> Sequence[Operand] | None:
    """map: a graph of each slice along axis 0, and of values that all read."""
    function, scanned, *others = _arguments(node, 2)
    return _scanned(node, graphs, node.graph(function), (), scanned, others)


def without_gradient(node: TorchNode, graphs: Graphs) -> Sequence[Operand] | None:
    """wrap_with_set_grad_enabled: a graph under torch.no_grad, which concerns training."""
    _, graph, *operands = _arguments(node, 2)
    return _inlined(graphs, _subgraph(node.graph(graph)), [v for given in operands for v in _operands(node, given)])


def checked(node: TorchNode, graphs: Graphs) -> Sequence[Operand]:
    """with_effects: an operator with an effect, in the order of tokens. Only checks of data have none on results."""
    del graphs  # the operator has none
    _, effect, *_ = _arguments(node, 2)
    if effect not in _CHECKS:
        raise UnsupportedError(f"the effect of {effect} is not supported")
    return [TOKEN]


def _scanned(
    node: TorchNode,
    graphs: Graphs,
    graph: ProgramGraph,
    states: Argument,
    scanned: Argument,
    others: Sequence[Argument],
) -> Sequence[Operand] | None:
    step = _subgraph(graph)
    initial = [v if isinstance(v, Value) else node.parameter(v, "initial") for v in _operands(node, states)]
    sliced = _operands(node, scanned)
    captured = [v for argument in others for v in _operands(node, argument)]
    (count,) = static_extents({type_of(v).shape[0] for v in sliced}, "what is scanned")  # type: ignore[arg-type]
    body = graphs.open(step)
    number = body.input("iteration", NUMBER)
    inner: list[Operand] = [body.input(name, v.type) for name, v in zip(step.inputs, initial, strict=False)]
    inner += [body.add(Gather(0), value, number) for value in _as_values(body, sliced)]
    results = graphs.read(body, _bound(step, [*inner, *_captures(body, captured)]))
    if results is None:
        return None
    require_state(step.inputs, initial, results)
    if count == 0:
        return [*initial, *map(nothing, results[len(initial) :])]
    op, inputs = counted_loop(body, count, initial, results)
    return node.results(op, *inputs, count=len(results))


def _arguments(node: TorchNode, least: int) -> list[Argument]:
    found = list(node.positional)
    if len(found) < least:
        raise FrontendError(f"expected {least} arguments or more, found {len(found)}")
    return found


def _operands(node: TorchNode, argument: Argument) -> list[Operand]:
    items = argument if isinstance(argument, tuple) else (argument,)
    return [item if item is None else node.operand_of(item, "an operand") for item in items if item is not None]


def _subgraph(graph: ProgramGraph, suffix: str = "") -> Subgraph[ProgramNode]:
    """A graph in the form that the core reads; `suffix` is put behind all names."""
    if suffix:
        graph = _renamed(graph, suffix)
    if any(name is None for name in graph.outputs):
        raise UnsupportedError("a graph that gives None or a number is not supported")
    outputs = tuple(name for name in graph.outputs if name is not None)
    names = [*graph.inputs, *(name for node in graph.nodes for name in node.outputs if name)]
    return Subgraph(graph.name, graph.inputs, outputs, graph.nodes, names, (), dict)


def _renamed(graph: ProgramGraph, suffix: str) -> ProgramGraph:
    def named(argument: Argument) -> Argument:
        if isinstance(argument, tuple):
            return tuple(map(named, argument))
        return replace(argument, name=argument.name + suffix) if isinstance(argument, Reference) else argument

    nodes = [
        replace(
            node,
            arguments=tuple((name, named(argument)) for name, argument in node.arguments),
            outputs=tuple(name and name + suffix for name in node.outputs),
        )
        for node in graph.nodes
    ]
    inputs = tuple(name + suffix for name in graph.inputs)
    return replace(graph, inputs=inputs, outputs=tuple(name and name + suffix for name in graph.outputs), nodes=nodes)


def _inlined(graphs: Graphs, graph: Subgraph[ProgramNode], values: Sequence[Operand]) -> list[Operand] | None:
    return graphs.inline(graph, _bound(graph, values), graph.name)


def _bound(graph: Subgraph[ProgramNode], values: Sequence[Operand]) -> dict[str, Operand]:
    if len(values) != len(graph.inputs):
        raise FrontendError(f"graph {graph.name!r} has {len(graph.inputs)} inputs, but is given {len(values)}")
    return dict(zip(graph.inputs, values, strict=True))


def _captures(body: Body[ProgramNode], values: Sequence[Operand]) -> list[Operand]:
    return [body.capture(value) if isinstance(value, Value) else value for value in values]


def _captured(body: Body[ProgramNode], values: Sequence[Operand]) -> dict[str, Operand]:
    return _bound(body.graph, _captures(body, values))


def _as_values(body: Body[ProgramNode], values: Sequence[Operand]) -> list[Value]:
    return [body.capture(v) if isinstance(v, Value) else body.constant(np.asarray(v)) for v in values]


CONTROL_FLOW: Mapping[str, Callable[[TorchNode, Graphs], Sequence[Operand] | None]] = {
    "higher_order.cond": choose,
    "higher_order.map_impl": over_slices,
    "higher_order.scan": scan,
    "higher_order.while_loop": repeat,
    "higher_order.with_effects": checked,
    "higher_order.wrap_with_set_grad_enabled": without_gradient,
}
