"""Loops and choices: those that are decided while the network runs become operators whose bodies are graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sateen.frontends.core.bodies import Bodies, Body, Subgraph
from sateen.frontends.core.control import choice, counted_loop, is_true, open_loop, require_state, scalar
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.order import in_order
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.converters.recurrent import lstm_layer
from sateen.frontends.tensorflow.loop_plans import UNLIMITED, Plan, planned
from sateen.frontends.tensorflow.node import TensorflowNode
from sateen.frontends.tensorflow.operation import Operation, Region, gives, needed, reads
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import NUMBER, Cast, Slice
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, printable

MOST_ITERATIONS = 1 << 32
"""The most iterations of a loop that no condition ends."""


def _graph(region: Region) -> Subgraph[Operation]:
    nodes = in_order(region.operations, reads, gives, lambda one: f"node {printable(one.name)!r}")
    return Subgraph(
        name=region.name,
        inputs=region.inputs,
        outputs=region.outputs,
        nodes=nodes,
        names=[*region.inputs, *(name for one in nodes for name in one.outputs)],
        reads=region.captures,
        data=dict,
    )


def _given(body: Body[Operation], names: Sequence[str], operands: Sequence[Operand]) -> dict[str, Operand]:
    """What the inputs of a body are: data, or values around it."""
    captured = [body.capture(operand) if isinstance(operand, Value) else operand for operand in operands]
    return dict(zip(names, captured, strict=True))


def choose(node: TensorflowNode, bodies: Bodies[Operation]) -> Sequence[Operand] | None:
    """The outputs of an If or a Case; None behind a gap."""
    regions = node.operation.bodies
    operands = [node.operand(index) for index in range(1, len(node.inputs))]
    for region in regions:
        if len(region.inputs) > len(operands) or len(region.outputs) < len(node.outputs):
            raise FrontendError(
                f"expected branches of {len(operands)} inputs and {len(node.outputs)} outputs, found one of "
                f"{len(region.inputs)} and {len(region.outputs)}"
            )
    is_case = node.operator.endswith("Case")
    if not node.is_value(0):
        number = node.scalar(0)
        taken = regions[_branch(int(number), len(regions))] if is_case else regions[0 if number else 1]
        given = dict(zip(taken.inputs, operands, strict=False))
        return bodies.inline(_graph(taken), given, taken.name)
    if len(regions) != 2:
        raise UnsupportedError(f"a choice of {len(regions)} branches that is decided at run time is not supported")
    remedy = node.binding(0)
    opened = [bodies.open(_graph(region)) for region in regions]
    results = [
        bodies.read(body, _given(body, body.graph.inputs, operands[: len(body.graph.inputs)]), remedy=remedy)
        for body in opened
    ]
    one, other = results
    if one is None or other is None:
        return None
    condition = scalar(node, 0)
    if not condition.type.dtype.is_bool:
        condition = node.step(Cast(dtype=DType.of("bool")), condition)
    first, second = (opened[0], one), (opened[1], other)
    if is_case:  # branch 0 is the one of 0, and 1 that of anything else
        first, second = second, first
    wanted = len(node.outputs)
    return choice(
        node, condition, ("one branch", *_first(first, wanted)), ("the other", *_first(second, wanted)), remedy
    )


def _first(branch: tuple[Body[Operation], Sequence[Operand]], count: int) -> tuple[Body[Operation], Sequence[Operand]]:
    """A branch with its first results."""
    body, results = branch
    return replace(body, graph=replace(body.graph, outputs=body.graph.outputs[:count])), results[:count]


def _branch(number: int, count: int) -> int:
    """The branch of a Case; beyond the branches it is the last one (functional_ops.cc)."""
    return number if 0 <= number < count else count - 1


def loop(node: TensorflowNode, bodies: Bodies[Operation]) -> Sequence[Operand] | None:
    """The outputs of a While; None behind a gap."""
    test, body = node.operation.bodies
    count = len(node.inputs)
    if not len(test.inputs) == len(body.inputs) == len(body.outputs) == count or len(test.outputs) != 1:
        raise FrontendError(
            f"expected a condition and a body of {count} inputs, found {len(test.inputs)} and {len(body.inputs)}"
        )
    plan = planned(node, test, body)
    operands = [node.operand(index) for index in range(count)]
    start = bodies.inline(_graph(test), dict(zip(test.inputs, operands, strict=True)), "start")
    if start is None:
        return None
    first = start[0] if isinstance(start[0], Value) else is_true(start[0])
    if first is False:
        return operands
    if plan.times is None:
        return _open(node, bodies, _joined(body, test, plan), plan, first)
    return _counted(node, bodies, body, plan, plan.times)


def _counted(
    node: TensorflowNode, bodies: Bodies[Operation], body: Region, plan: Plan, times: int
) -> Sequence[Operand] | None:
    """As a loop of known length, which also stacks the elements of lists."""
    if times > MOST_ITERATIONS:
        raise FrontendError(f"expected at most {MOST_ITERATIONS} iterations, found {times}")
    opened, initial, found = _opened(node, bodies, body, plan, ())
    if found is None:
        return None
    require_state([value.name for value in initial], initial, found)
    op, inputs = counted_loop(opened, times, initial, found)
    return _outputs(node, plan, node.steps(op, *inputs, count=len(found)))


def _open(
    node: TensorflowNode, bodies: Bodies[Operation], joined: Region, plan: Plan, first: bool | Value
) -> Sequence[Operand] | None:
    """As a loop whose body, the last result of which is the condition, decides whether there is another iteration."""
    opened, initial, found = _opened(node, bodies, joined, plan, joined.outputs[-1:])
    if found is None:
        return None
    goes_on, *states = found
    require_state([value.name for value in initial], initial, states)
    if is_true(goes_on):
        raise UnsupportedError("the loop does not end")
    values = open_loop(_unnamed(node, len(states)), opened, UNLIMITED, first, initial, goes_on, states)
    return _outputs(node, plan, values)


def _opened(
    node: TensorflowNode, bodies: Bodies[Operation], body: Region, plan: Plan, first: tuple[str, ...]
) -> tuple[Body[Operation], list[Value], list[Operand] | None]:
    """A body with the first values of its states, and its results: `first`, the next states, and elements of lists."""
    handed = plan.handed(len(node.inputs))
    wanted = (*first, *(body.outputs[i] for i in handed), *plan.lists.values())
    opened = bodies.open(_graph(replace(body, operations=needed(body.operations, wanted), outputs=wanted)))
    opened.input("iteration", NUMBER)
    initial = [node.value(i) for i in handed]
    names = [body.inputs[i] for i in handed]
    given: dict[str, Operand] = {
        name: opened.input(name, value.type) for name, value in zip(names, initial, strict=True)
    }
    for index in plan.kept:
        given |= _given(opened, [body.inputs[index]], [node.operand(index)])
    for index in plan.lists:
        given[body.inputs[index]] = np.zeros(0, np.float32)  # which nothing reads
    return opened, initial, bodies.read(opened, given)


def _unnamed(node: TensorflowNode, count: int) -> TensorflowNode:
    """The node with as many outputs without names: the loop gives the node's in another order."""
    changed = node.copied()
    changed.outputs = ("",) * count
    return changed


def _outputs(node: TensorflowNode, plan: Plan, values: Sequence[Value]) -> list[Operand]:
    """The states in the node's order."""
    by_index: dict[int, Operand] = dict(zip([*plan.handed(len(node.inputs)), *plan.lists], values, strict=True))
    by_index.update((i, node.operand(i)) for i in plan.kept)
    by_index.update((i, _last(node, by_index[i])) for i in plan.latest)
    return [by_index[i] for i in range(len(node.inputs))]


def _last(node: TensorflowNode, stacked: Operand) -> Value:
    """The result of the last iteration, as a list of one element."""
    assert isinstance(stacked, Value)
    count, *extents = stacked.type.static_shape
    starts, ends = (count - 1, *(0 for _ in extents)), (count, *extents)
    return node.step(Slice(starts=starts, ends=ends, steps=(1,) * len(ends)), stacked)


def _joined(body: Region, test: Region, plan: Plan) -> Region:
    """The body followed by the condition, which reads the states that the body gives; its result is the last one."""
    names = {name: body.inputs[i] if i in plan.kept else body.outputs[i] for i, name in enumerate(test.inputs)}
    own = {one.name for one in body.operations}
    added = [
        replace(one, inputs=tuple(names.get(name, name) for name in one.inputs))
        for one in test.operations
        if one.name not in own
    ]
    result = names.get(test.outputs[0], test.outputs[0])
    captures = tuple(dict.fromkeys([*body.captures, *test.captures]))
    return replace(body, operations=[*body.operations, *added], outputs=(*body.outputs, result), captures=captures)


CONTROL_FLOW: Mapping[str, Callable[[TensorflowNode, Bodies[Operation]], Sequence[Operand] | None]] = {
    "BlockLSTM": lstm_layer,
    "BlockLSTMV2": lstm_layer,
    "Case": choose,
    "If": choose,
    "StatelessCase": choose,
    "StatelessIf": choose,
    "StatelessWhile": loop,
    "While": loop,
}
