"""If, Loop and Scan: those that are decided while the network runs become operators whose bodies are graphs.

A Scan is a Loop whose body takes slices of what it scans. If a body can't be compiled by itself, for example because
the number of the iteration decides shapes, a Loop of few iterations is unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from sateen.frontends.core.bodies import Bodies, Body, Subgraph
from sateen.frontends.core.control import (
    MOST_UNROLLED,
    choice,
    counted_loop,
    is_true,
    nothing,
    open_loop,
    require_state,
    scalar,
    stacked,
)
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.loading import subgraphs, text
from sateen.frontends.onnx.node import OnnxNode
from sateen.frontends.onnx.structure import nodes_in_order, reads
from sateen.graph_ir.ir import Array, TensorType, Value
from sateen.graph_ir.ops import NUMBER, Gather, Reshape, Slice, Subtract, Transpose
from sateen.runtime.errors import FrontendError

UNLIMITED = (1 << 63) - 1
"""The most iterations of a Loop without a trip count."""
MOST_ITERATIONS = 1 << 32
"""The most iterations of a Loop that no condition ends."""


@dataclass(frozen=True, slots=True)
class GraphReader:
    """Reads the graphs in attributes of a node; `data_of` gives the constants of one."""

    bodies: Bodies[onnx.NodeProto]
    data_of: Callable[[onnx.GraphProto], dict[str, Array]]

    def open(self, graph: onnx.GraphProto) -> Body[onnx.NodeProto]:
        return self.bodies.open(self._subgraph(graph))

    def read(
        self, body: Body[onnx.NodeProto], given: Mapping[str, Operand], *, is_trial: bool = False, remedy: str = ""
    ) -> list[Operand] | None:
        return self.bodies.read(body, given, is_trial=is_trial, remedy=remedy)

    def take(self, graph: onnx.GraphProto) -> list[Operand] | None:
        return self.bodies.take(self._subgraph(graph))

    def inline(self, graph: onnx.GraphProto, given: Mapping[str, Operand], name: str) -> list[Operand] | None:
        return self.bodies.inline(self._subgraph(graph), given, name)

    def _subgraph(self, graph: onnx.GraphProto) -> Subgraph[onnx.NodeProto]:
        name = text(graph.name, "a graph")
        inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
        made = [name for node in graph.node for name in node.output]
        return Subgraph(
            name=name,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            nodes=nodes_in_order(graph.node, self.bodies.call.heading.name),
            names=[*inputs, *(tensor.name for tensor in graph.initializer), *made],
            reads=[*(name for node in graph.node for name in reads(node)), *outputs],
            data=lambda: self.data_of(graph),
        )


def choose(node: OnnxNode, graphs: GraphReader) -> Sequence[Operand] | None:
    """The outputs of an If; None behind a gap."""
    branches = {name: node.attribute(name) for name in ("then_branch", "else_branch")}
    if not node.is_value(0):
        taken = branches["then_branch" if node.scalar(0) else "else_branch"]
        require_branch(node, taken)
        return graphs.take(taken)
    remedy = node.binding(0)
    for graph in branches.values():
        require_branch(node, graph)
    bodies = [graphs.open(graph) for graph in branches.values()]
    one, other = (graphs.read(body, {}, remedy=remedy) for body in bodies)
    if one is None or other is None:
        return None
    then, otherwise = zip(branches, bodies, (one, other), strict=True)
    return choice(node, scalar(node, 0), then, otherwise, remedy)


def require_branch(node: OnnxNode, branch: onnx.GraphProto) -> None:
    """Raises FrontendError if a graph is no branch of an If."""
    if len(branch.output) != len(node.outputs) or branch.input:
        raise FrontendError(
            f"expected branches of no inputs and {len(node.outputs)} outputs, "
            f"found one of {len(branch.input)} and {len(branch.output)}"
        )


def loop(node: OnnxNode, graphs: GraphReader) -> Sequence[Operand] | None:
    """The outputs of a Loop; None behind a gap.

    Even without an input cond iterations end when the body says so. The standard's page ignores the body's condition
    then; onnxruntime does not, and models are made with it.
    """
    graph, states = node.attribute("body"), len(node.inputs) - 2
    if len(graph.input) != 2 + states or len(graph.output) <= max(states, len(node.outputs)):
        raise FrontendError(
            f"expected a body of {2 + states} inputs and more than {max(states, len(node.outputs))} outputs, "
            f"found {len(graph.input)} and {len(graph.output)}"
        )
    most, start = _limit(node), _start(node)
    if start is not True or not isinstance(most, int) or most * _size(graph) > MOST_UNROLLED:
        return _looped(node, graphs, most, start, is_trial=False)
    try:
        return _looped(node, graphs, most, start, is_trial=True)
    except UnsupportedError as refusal:
        return _unrolled(node, graphs, most, refusal)


def _size(graph: onnx.GraphProto) -> int:
    """The number of nodes of a graph and of those within it; 1 at least."""
    pending, size = [graph], 1
    while pending:
        nodes = pending.pop().node
        size += len(nodes)
        pending += [inner for node in nodes for inner in subgraphs(node)]
    return size


def _limit(node: OnnxNode) -> int | Value:
    if not node.has(0):
        return UNLIMITED
    return scalar(node, 0) if node.is_value(0) else max(int(node.scalar(0)), 0)


def _start(node: OnnxNode) -> bool | Value:
    """Whether there is a first iteration."""
    if not node.has(1):
        return True
    return scalar(node, 1) if node.is_value(1) else bool(node.scalar(1))


def _looped(
    node: OnnxNode, graphs: GraphReader, most: int | Value, start: bool | Value, *, is_trial: bool
) -> Sequence[Operand] | None:
    """As an operator whose body is a graph."""
    body = graphs.open(node.attribute("body"))
    number, condition, *states = node.attribute("body").input
    initial = [node.value(2 + i) for i in range(len(states))]
    iteration = _as_declared(body, number, body.input(number.name, NUMBER))
    given: dict[str, Operand] = {number.name: iteration, condition.name: np.array(True)}
    given |= {state.name: body.input(state.name, v.type) for state, v in zip(states, initial, strict=True)}
    results = graphs.read(body, given, is_trial=is_trial)
    if results is None:
        return None
    goes_on, *results = results
    require_state([v.name for v in states], initial, results)
    is_endless = is_true(goes_on)
    if start is False or most == 0:
        return [*(node.operand(2 + i) for i in range(len(states))), *map(nothing, results[len(states) :])]
    if is_endless and start is True and isinstance(most, int):
        if most > MOST_ITERATIONS:
            raise FrontendError(f"expected a condition or at most {MOST_ITERATIONS} iterations, found neither")
        op, inputs = counted_loop(body, most, initial, results)
        return node.results(op, *inputs, count=len(results))
    counted = [name for name in node.outputs[len(states) :] if name]
    if counted:
        raise UnsupportedError(
            f"how many iterations output {counted[0]!r} has the results of is known at run time only",
            node.binding(0, 1) or "end the model before this node and do what follows outside",
        )
    return open_loop(node, body, most, start, initial, goes_on, results[: len(states)])


def _unrolled(node: OnnxNode, graphs: GraphReader, most: int, refusal: UnsupportedError) -> Sequence[Operand] | None:
    """As the nodes of all iterations. Raises `refusal` if an iteration can't be compiled this way either."""
    graph = node.attribute("body")
    number, condition, *names = (v.name for v in graph.input)
    states: list[Operand] = [node.operand(2 + i) for i in range(len(names))]
    others: list[list[Operand]] = [[] for _ in graph.output[1 + len(names) :]]
    for iteration in range(most):
        given = {number: np.array(iteration), condition: np.array(True), **dict(zip(names, states, strict=True))}
        try:
            results = graphs.inline(graph, given, str(iteration))
        except UnsupportedError:
            raise refusal from None
        if results is None:
            return None
        goes_on, *results = results
        if isinstance(goes_on, Value):
            raise refusal
        states = results[: len(names)]
        for all_, one in zip(others, results[len(names) :], strict=True):
            all_.append(one)
        if not is_true(goes_on):
            break
    if not most:
        raise refusal
    return [*states, *(stacked(node, len(names) + i, all_) for i, all_ in enumerate(others))]


def scan(node: OnnxNode, graphs: GraphReader) -> Sequence[Operand] | None:
    """The outputs of a Scan; None behind a gap."""
    if node.version < 9:
        raise UnsupportedError("Scan has a batch before operator set 9", "export with operator set 9 or above")
    graph, scanned = node.attribute("body"), node.integer("num_scan_inputs")
    states = len(node.inputs) - scanned
    others, least = len(graph.output) - states, max(states, len(node.outputs))
    if not 0 < scanned <= len(node.inputs) == len(graph.input) or len(graph.output) < least:
        raise FrontendError(
            f"expected a body of {len(node.inputs)} inputs, {scanned} of them scanned, and {least} outputs or more, "
            f"found {len(graph.input)} and {len(graph.output)}"
        )
    axes = [
        normal_axis(axis, node.rank(states + i)) for i, axis in enumerate(_per_value(node, "scan_input_axes", scanned))
    ]
    lengths = {static_extents(node.shape(states + i), f"input {states + i}")[axis] for i, axis in enumerate(axes)}
    if len(lengths) > 1:
        raise FrontendError(f"expected scanned inputs of one length, found {sorted(lengths)}")
    (count,) = lengths
    body = graphs.open(graph)
    number = body.input("iteration", NUMBER)
    initial = [node.value(i) for i in range(states)]
    given: dict[str, Operand] = {
        state.name: body.input(state.name, v.type) for state, v in zip(graph.input, initial, strict=False)
    }
    for i, is_reversed in enumerate(_per_value(node, "scan_input_directions", scanned)):
        place = body.add(Subtract(), body.constant(np.array(count - 1)), number) if is_reversed else number
        given[graph.input[states + i].name] = body.add(Gather(axes[i]), body.capture(node.value(states + i)), place)
    results = graphs.read(body, given)
    if results is None:
        return None
    require_state([v.name for v in graph.input], initial, results)
    if count == 0:
        return [*(node.operand(i) for i in range(states)), *map(nothing, results[states:])]
    directions = _per_value(node, "scan_output_directions", others)
    moved = _per_value(node, "scan_output_axes", others)
    op, inputs = counted_loop(body, count, initial, results)
    if not any(directions) and not any(moved):
        return node.results(op, *inputs, count=len(results))
    values = list(node.steps(op, *inputs, count=len(results)))
    for i, (is_reversed, axis) in enumerate(zip(directions, moved, strict=True), start=states):
        if is_reversed:
            values[i] = node.step(_reversed(values[i].type), values[i])
        if axis:
            order = [*range(1, values[i].type.rank)]
            order.insert(normal_axis(axis, values[i].type.rank), 0)
            values[i] = node.step(Transpose(tuple(order)), values[i])
    return values


def _per_value(node: OnnxNode, name: str, count: int) -> tuple[int, ...]:
    """An attribute with a value for each scanned input or output, by default 0."""
    given = node.optional_integers(name)
    if given is not None and len(given) != count:
        raise FrontendError(f"expected {count} integers as {name}, found {list(given)}")
    return given or (0,) * count


def _reversed(type_: TensorType) -> Slice:
    """Reverses the order along axis 0."""
    first, *rest = type_.static_shape
    return Slice((first - 1, *[0] * len(rest)), (-1, *rest), (-1, *[1] * len(rest)))


def _as_declared(body: Body[Any], declared: onnx.ValueInfoProto, number: Value) -> Value:
    """The number of the iteration, with an axis if the body declares one."""
    rank = len(declared.type.tensor_type.shape.dim)
    return body.add(Reshape((1,) * rank), number) if rank else number


CONTROL_FLOW: Mapping[str, Callable[[OnnxNode, GraphReader], Sequence[Operand] | None]] = {
    "If": choose,
    "Loop": loop,
    "Scan": scan,
}
