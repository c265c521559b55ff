"""Fused groups become functions of loop IR: a tensor computation, the schedule of the group's master, lowering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import ByFunction, Graph, Node, Value, canonical_text, note_node
from sateen.graph_ir.kernels.facts import KernelFacts
from sateen.graph_ir.memory import DEVICE_ALIGNMENT, allow_overwriting, hoist_scratch
from sateen.graph_ir.ops import Fused
from sateen.runtime import DeviceKind
from sateen.tensor_ir import Machine, lower, te
from sateen.tensor_ir.ir import Buffer, Function, digest
from sateen.tensor_ir.lowering import serialize_loops, spread_over_threads
from sateen.topi.methods import Method
from sateen.topi.operators import Operator
from sateen.topi.schedules import Computation
from sateen.topi.types import View, placeholder

BLOCK_THREADS = 256
"""The threads of a block where a schedule says nothing: every device has as many."""

GroupKey = tuple[str, tuple[tuple[Operator, Method | None], ...]]


def group_key(body: Graph) -> GroupKey:
    """The key that groups with one kernel share: their text, and users' operators and functions, which text does not
    determine.

    Two packages may use one name for different operators, and functions have no name.
    """
    of_users = (n for n in body.nodes if n.op.name is not None or isinstance(n.method, ByFunction))
    return canonical_text(body), tuple((n.op, n.method) for n in of_users)


@dataclass(frozen=True, slots=True, eq=False)
class LoweredGroup:
    """A function over the inputs of a group, its outputs, and storage that its caller provides."""

    function: Function
    facts: KernelFacts


def lower_kernel(node: Node, name: str, machine: Machine) -> LoweredGroup:
    """The kernel of a fused node, for a caller that plans memory. Errors name the group, as in `lower_group`."""
    function, outputs = _lower_noting(node, name, machine)
    overwritable: tuple[int, ...] = ()
    if all(tensor.op.body for tensor in outputs):
        function, overwritable = allow_overwriting(function)
    if machine.kind is not DeviceKind.CPU:
        function = spread_over_threads(function, BLOCK_THREADS)
    elif machine.cores == 1:
        function = serialize_loops(function)
    function, scratch = hoist_scratch(function, is_on_device=machine.kind is not DeviceKind.CPU)
    return LoweredGroup(function, KernelFacts(digest(function), scratch, overwritable))


def lower_group(node: Node, name: str, machine: Machine) -> Function:
    """A fused node as a function over its inputs, then its outputs.

    Errors name the nodes of the group, their origins and their types.
    """
    return _lower_noting(node, name, machine)[0]


def _lower_noting(node: Node, name: str, machine: Machine) -> tuple[Function, list[te.Tensor]]:
    assert isinstance(node.op, Fused)
    try:
        return _lower(node.op.body, name, machine)
    except Exception as error:
        note_group(error, node)
        raise


def note_group(error: Exception, node: Node) -> None:
    """Add the group to its error: the origins of its nodes, its inputs and outputs."""
    assert isinstance(node.op, Fused)
    note_node(error, (*node.op.body.inputs, *node.op.body.outputs), node.spans)


def _lower(body: Graph, name: str, machine: Machine) -> tuple[Function, list[te.Tensor]]:
    views: dict[Value, View] = {
        v: placeholder(v.type.static_shape, v.type.dtype, f"input{i}", v.type.memory_layout)
        for i, v in enumerate(body.inputs)
    }
    computations: list[tuple[Node, Computation]] = []
    for node in body.nodes:
        operands = [None if v is None else views[v] for v in node.inputs]
        computation = node.computation(operands).on(machine)
        computations.append((node, computation))
        views.update(zip(node.outputs, computation.outputs, strict=True))
    outputs = [views[v].tensor for v in body.outputs]
    schedule = te.create_schedule(outputs)
    last = computations[-1][1]
    masters = [c for _, c in computations if c.schedule is not None]
    for _, computation in computations:
        if computation.schedule is None and computation is not last:
            schedule[computation.view.tensor].compute_inline()
    if all(0 in v.type.static_shape for v in body.outputs):
        pass  # no loop runs, and tiles of nothing have no size
    else:
        assert len(masters) <= 1
        (masters or [last])[0].schedule_on(machine)(schedule, outputs[0], machine)
    arguments = [views[v].tensor for v in body.inputs] + outputs
    return lower(schedule, arguments, name, buffers=_places(arguments, machine)), outputs


def _places(arguments: Sequence[te.Tensor], machine: Machine) -> dict[te.Tensor, Buffer]:
    """Memory at the places that a device's plan gives values; a processor's callers may give any."""
    if machine.kind is DeviceKind.CPU:
        return {}
    return {t: Buffer(t.name, t.shape, t.dtype, alignment=DEVICE_ALIGNMENT) for t in arguments}
