"""If, Loop and Scan that are decided while the network runs become operators whose bodies are graphs.

A Scan is a Loop whose body takes slices of what it scans. Where a body can't be compiled by itself, as when the number
of the iteration decides shapes, a Loop of few iterations is unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
import onnx

from sateen.frontends.onnx.emitter import Emitter, Operand, symbols_of, type_of
from sateen.frontends.onnx.loading import subgraphs
from sateen.frontends.onnx.node import ImportedNode, UnsupportedError, normal_axis, require_bound, static_extents
from sateen.frontends.onnx.tensors import Array
from sateen.graph_ir.graph import Graph, NodeSpan, Value
from sateen.graph_ir.ops.broadcast import Subtract
from sateen.graph_ir.ops.control import NUMBER, If, Loop, While
from sateen.graph_ir.ops.element_wise import Identity
from sateen.graph_ir.ops.gather import Gather
from sateen.graph_ir.ops.shape import Concat, Reshape, Slice, Transpose
from sateen.graph_ir.types import TensorType
from sateen.runtime.errors import FrontendError
from sateen.topi.operator import Operator

MOST_UNROLLED = 1024
"""Nodes that a Loop may become by unrolling."""
UNLIMITED = (1 << 63) - 1
"""Iterations of a Loop without a trip count."""
MOST_ITERATIONS = 1 << 32
"""Of a Loop that no condition ends."""


@dataclass(slots=True, eq=False)
class Body:
    """A graph within a node while it is read. `inputs` are those that the node itself gives, `captured` maps values
    around the node to the inputs that stand for them."""

    proto: onnx.GraphProto
    emitter: Emitter
    outer: Emitter
    spans: tuple[NodeSpan, ...]
    inputs: list[Value] = field(default_factory=list)
    captured: dict[Value, Value] = field(default_factory=dict)

    def input(self, name: str, type_: TensorType) -> Value:
        self.inputs.append(self.emitter.inner_input(name, type_))
        return self.inputs[-1]

    def capture(self, value: Value) -> Value:
        if value not in self.captured:
            decided_by = partial(self.outer.decided_by, value)
            self.captured[value] = self.emitter.inner_input(value.name, value.type, decided_by)
        return self.captured[value]

    def constant(self, data: Array) -> Value:
        return self.emitter.value(data, "constant")

    def add(self, op: Operator, *inputs: Value) -> Value:
        """A node of ours."""
        return self.emitter.add(op, inputs, (self.emitter.beside(op.op_name()),), self.spans)[0]

    def read_with(self, results: Sequence[Operand]) -> list[Value]:
        """The values around the node that its body reads, or that are among the results."""
        read = {v for node in self.emitter.finish().nodes for v in node.inputs}
        read.update(result for result in results if isinstance(result, Value))
        return [outer for outer, inner in self.captured.items() if inner in read]

    def finish(self, results: Sequence[Operand], captured: Sequence[Value]) -> Graph:
        """The graph that gives the results, each by a node of its own, and captures these values in this order."""
        computed = set(self.emitter.finish().producers())
        for result in results:
            value = result if isinstance(result, Value) else self.constant(result)
            if value not in computed:
                value = self.add(Identity(), value)
            computed.discard(value)
            self.emitter.output(value)
        inputs = (*self.inputs, *map(self.capture, captured))
        return replace(self.emitter.finish(), inputs=inputs)


class Bodies(Protocol):
    """Reads the graphs within one node."""

    def open(self, graph: onnx.GraphProto) -> Body:
        """A body of which nothing is read yet."""

    def read(
        self, body: Body, given: Mapping[str, Operand], *, is_trial: bool = False, remedy: str = ""
    ) -> list[Operand] | None:
        """The outputs of a body whose inputs are `given`; None behind a gap. A trial raises a gap instead. `remedy` is
        what else would help with a gap."""

    def inline(self, graph: onnx.GraphProto, given: Mapping[str, Operand], name: str) -> list[Operand] | None:
        """The outputs of a graph whose nodes become nodes of the graph around it, below `name`; None behind a gap."""


def choose(node: ImportedNode, bodies: Bodies) -> Sequence[Operand] | None:
    """The outputs of an If whose condition is computed at run time; None behind a gap."""
    then, otherwise = bodies.open(node.attribute("then_branch")), bodies.open(node.attribute("else_branch"))
    remedy = node.binding(0)
    for branch in (then.proto, otherwise.proto):
        require_branch(node, branch)
    one, other = (bodies.read(body, {}, remedy=remedy) for body in (then, otherwise))
    if one is None or other is None:
        return None
    for declared, a, b in zip(then.proto.output, one, other, strict=True):
        require_bound(symbols_of(a) | symbols_of(b), f"output {declared.name!r} of a branch")
        if type_of(a) != type_of(b):
            raise UnsupportedError(
                f"the condition is computed at run time, but then_branch gives {declared.name!r} as {type_of(a)}, "
                f"else_branch as {type_of(b)}",
                remedy,
            )
    captured = list(dict.fromkeys([*then.read_with(one), *otherwise.read_with(other)]))
    op = If(then.finish(one, captured), otherwise.finish(other, captured))
    return node.results(op, _scalar(node, 0), *captured, count=len(one))


def require_branch(node: ImportedNode, branch: onnx.GraphProto) -> None:
    """Raises FrontendError where a graph is no branch of an If."""
    if len(branch.output) != len(node.outputs) or branch.input:
        raise FrontendError(
            f"expected branches of no inputs and {len(node.outputs)} outputs, "
            f"found one of {len(branch.input)} and {len(branch.output)}"
        )


def loop(node: ImportedNode, bodies: Bodies) -> Sequence[Operand] | None:
    """The outputs of a Loop; None behind a gap.

    Iterations end where the body says so also without an input cond. The standard's page ignores what the body computes
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
        return _looped(node, bodies, most, start, is_trial=False)
    try:
        return _looped(node, bodies, most, start, is_trial=True)
    except UnsupportedError as refusal:
        return _unrolled(node, bodies, most, refusal)


def _size(graph: onnx.GraphProto) -> int:
    """The number of nodes of a graph and of those within it; 1 at least."""
    pending, size = [graph], 1
    while pending:
        nodes = pending.pop().node
        size += len(nodes)
        pending += [inner for node in nodes for inner in subgraphs(node)]
    return size


def _limit(node: ImportedNode) -> int | Value:
    if not node.has(0):
        return UNLIMITED
    return _scalar(node, 0) if node.is_value(0) else max(int(node.scalar(0)), 0)


def _start(node: ImportedNode) -> bool | Value:
    """Whether there is a first iteration."""
    if not node.has(1):
        return True
    return _scalar(node, 1) if node.is_value(1) else bool(node.scalar(1))


def _looped(
    node: ImportedNode, bodies: Bodies, most: int | Value, start: bool | Value, *, is_trial: bool
) -> Sequence[Operand] | None:
    """As an operator whose body is a graph."""
    body = bodies.open(node.attribute("body"))
    number, condition, *states = body.proto.input
    initial = [node.value(2 + i) for i in range(len(states))]
    iteration = _as_declared(body, number, body.input(number.name, NUMBER))
    given: dict[str, Operand] = {number.name: iteration, condition.name: np.array(True)}
    given |= {state.name: body.input(state.name, v.type) for state, v in zip(states, initial, strict=True)}
    results = bodies.read(body, given, is_trial=is_trial)
    if results is None:
        return None
    goes_on, *results = results
    _require_state([v.name for v in states], initial, results)
    is_endless = _is_true(goes_on)
    if start is False or most == 0:
        return [*(node.operand(2 + i) for i in range(len(states))), *map(_nothing, results[len(states) :])]
    if is_endless and start is True and isinstance(most, int):
        if most > MOST_ITERATIONS:
            raise FrontendError(f"expected a condition or at most {MOST_ITERATIONS} iterations, found neither")
        return _counted(node, body, most, initial, results)
    stacked = [name for name in node.outputs[len(states) :] if name]
    if stacked:
        raise UnsupportedError(
            f"how many iterations output {stacked[0]!r} has the results of is known at run time only",
            node.binding(0, 1) or "end the model before this node and do what follows outside",
        )
    results = [_as_scalar(body, goes_on), *results[: len(states)]]
    captured = body.read_with(results)
    deciding = [_deciding(node, most, "limit"), _deciding(node, start, "condition")]
    return node.results(While(body.finish(results, captured)), *deciding, *initial, *captured, count=len(states))


def _counted(
    node: ImportedNode, body: Body, count: int, initial: Sequence[Value], results: Sequence[Operand]
) -> Sequence[Value]:
    """A known number of iterations."""
    captured = body.read_with(results)
    op = Loop(body.finish(results, captured), count, len(initial))
    return node.results(op, *initial, *captured, count=len(results))


def _unrolled(node: ImportedNode, bodies: Bodies, most: int, refusal: UnsupportedError) -> Sequence[Operand] | None:
    """As the nodes of all iterations. Raises `refusal` where an iteration can't be compiled so either."""
    graph = node.attribute("body")
    number, condition, *names = (v.name for v in graph.input)
    states: list[Operand] = [node.operand(2 + i) for i in range(len(names))]
    others: list[list[Operand]] = [[] for _ in graph.output[1 + len(names) :]]
    for iteration in range(most):
        given = {number: np.array(iteration), condition: np.array(True), **dict(zip(names, states, strict=True))}
        try:
            results = bodies.inline(graph, given, str(iteration))
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
        if not _is_true(goes_on):
            break
    if not most:
        raise refusal
    return [*states, *(_stacked(node, len(names) + i, all_) for i, all_ in enumerate(others))]


def scan(node: ImportedNode, bodies: Bodies) -> Sequence[Operand] | None:
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
    body = bodies.open(graph)
    number = body.input("iteration", NUMBER)
    initial = [node.value(i) for i in range(states)]
    given: dict[str, Operand] = {
        state.name: body.input(state.name, v.type) for state, v in zip(graph.input, initial, strict=False)
    }
    for i, is_reversed in enumerate(_per_value(node, "scan_input_directions", scanned)):
        place = body.add(Subtract(), body.constant(np.array(count - 1)), number) if is_reversed else number
        given[graph.input[states + i].name] = body.add(Gather(axes[i]), body.capture(node.value(states + i)), place)
    results = bodies.read(body, given)
    if results is None:
        return None
    _require_state([v.name for v in graph.input], initial, results)
    if count == 0:
        return [*(node.operand(i) for i in range(states)), *map(_nothing, results[states:])]
    directions = _per_value(node, "scan_output_directions", others)
    moved = _per_value(node, "scan_output_axes", others)
    if not any(directions) and not any(moved):
        return _counted(node, body, count, initial, results)
    captured = body.read_with(results)
    op = Loop(body.finish(results, captured), count, states)
    values = list(node.steps(op, *initial, *captured, count=len(results)))
    for i, (is_reversed, axis) in enumerate(zip(directions, moved, strict=True), start=states):
        if is_reversed:
            values[i] = node.step(_reversed(values[i].type), values[i])
        if axis:
            order = [*range(1, values[i].type.rank)]
            order.insert(normal_axis(axis, values[i].type.rank), 0)
            values[i] = node.step(Transpose(tuple(order)), values[i])
    return values


def _per_value(node: ImportedNode, name: str, count: int) -> tuple[int, ...]:
    """An attribute that says something of each scanned input or output, by default 0."""
    given = node.optional_integers(name)
    if given is not None and len(given) != count:
        raise FrontendError(f"expected {count} integers as {name}, found {list(given)}")
    return given or (0,) * count


def _reversed(type_: TensorType) -> Slice:
    """Takes what lies along axis 0 in reverse order."""
    first, *rest = type_.static_shape
    return Slice((first - 1, *[0] * len(rest)), (-1, *rest), (-1, *[1] * len(rest)))


def _require_state(names: Sequence[str], initial: Sequence[Value], results: Sequence[Operand]) -> None:
    """Raises UnsupportedError where iterations hand on values of other types than they take."""
    for name, before, after in zip(names, initial, results, strict=False):
        require_bound(symbols_of(after), f"what iterations hand on as {name!r}")
        if type_of(after) != before.type:
            raise UnsupportedError(f"iterations take {name!r} as {before.type}, but hand it on as {type_of(after)}")
    for result in results[len(initial) :]:
        require_bound(symbols_of(result), "what iterations give")


def _stacked(node: ImportedNode, output: int, results: Sequence[Operand]) -> Operand:
    """The results of all iterations along a new axis."""
    types = {type_of(result) for result in results}
    if len(types) > 1:
        raise FrontendError(f"expected results of one type in all iterations, found {', '.join(map(str, types))}")
    known = [result for result in results if not isinstance(result, Value)]
    if len(known) == len(results):
        return np.stack(known)
    (type_,) = types
    slices = [
        node.step(Reshape((1, *type_.static_shape)), r if isinstance(r, Value) else node.parameter(r, "result"))
        for r in results
    ]
    return node.result(Concat(0), *slices, output=output)


def _nothing(result: Operand) -> Operand:
    """The results of no iteration."""
    type_ = type_of(result)
    return np.empty((0, *static_extents(type_.shape, "what iterations give")), type_.dtype.numpy)


def _scalar(node: ImportedNode, index: int) -> Value:
    """An input that holds one element, without axes."""
    value = node.value(index)
    if any(extent != 1 for extent in value.type.shape):
        raise FrontendError(f"expected one element as {node.proto.input[index]!r}, found {value.type}")
    return value if value.type.rank == 0 else node.step(Reshape(()), value)


def _is_true(goes_on: Operand) -> bool:
    """Whether it is known that there is a next iteration. Raises FrontendError for what is no condition."""
    type_ = type_of(goes_on)
    if not type_.dtype.is_bool or any(extent != 1 for extent in type_.shape):
        raise FrontendError(f"expected one bool as the condition that the body computes, found {type_}")
    return not isinstance(goes_on, Value) and bool(goes_on)


def _as_scalar(body: Body, goes_on: Operand) -> Value:
    value = goes_on if isinstance(goes_on, Value) else body.constant(goes_on)
    return value if value.type.rank == 0 else body.add(Reshape(()), value)


def _as_declared(body: Body, declared: onnx.ValueInfoProto, number: Value) -> Value:
    """The number of the iteration, with an axis where the body declares one."""
    rank = len(declared.type.tensor_type.shape.dim)
    return body.add(Reshape((1,) * rank), number) if rank else number


def _deciding(node: ImportedNode, known: int | bool | Value, role: str) -> Value:
    return known if isinstance(known, Value) else node.parameter(np.array(known), role)
