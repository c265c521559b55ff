"""Fused groups to functions of loop IR: a tensor computation, the schedule of the group's master, lowering."""

from __future__ import annotations

from weft.graph_ir.graph import Graph, Node, Value, note_node
from weft.graph_ir.ops.fused import Fused
from weft.runtime.errors import WeftError
from weft.tensor_ir import Machine, lower, te
from weft.tensor_ir.ir.stmt import Function
from weft.topi.injective import schedule_injective
from weft.topi.layout import View, placeholder
from weft.topi.operator import Computation


def lower_group(node: Node, name: str, machine: Machine) -> Function:
    """The kernel of a fused node: a function over its inputs, then its outputs.

    An error tells the nodes of the group, where they came from, and their types.
    """
    assert isinstance(node.op, Fused)
    body = node.op.body
    try:
        return _lower(body, name, machine)
    except WeftError as error:
        note_group(error, node)
        raise


def note_group(error: WeftError, node: Node) -> None:
    """Add to an error the group that it is about: where its nodes came from, its inputs and outputs."""
    assert isinstance(node.op, Fused)
    note_node(error, (*node.op.body.inputs, *node.op.body.outputs), node.spans)


def _lower(body: Graph, name: str, machine: Machine) -> Function:
    views: dict[Value, View] = {
        v: placeholder(v.type.static_shape, v.type.dtype, f"input{i}", v.type.memory_layout)
        for i, v in enumerate(body.inputs)
    }
    computations: list[tuple[Node, Computation]] = []
    for node in body.nodes:
        operands = [None if v is None else views[v] for v in node.inputs]
        computation = node.op.compute(*operands, outputs=[v.type for v in node.outputs])
        computations.append((node, computation))
        views.update(zip(node.outputs, computation.outputs, strict=True))
    outputs = [views[v].tensor for v in body.outputs]
    schedule = te.create_schedule(outputs)
    last = computations[-1][1]
    scheduled = [c for _, c in computations if c.schedule is not None]
    for _, computation in computations:
        if computation.schedule is None and computation is not last:
            schedule[computation.view.tensor].compute_inline()
    if scheduled:
        (master,) = scheduled
        assert master.schedule is not None
        master.schedule(schedule, outputs[0], machine)
    else:
        schedule_injective(schedule, outputs[0], machine)
    arguments = [views[v].tensor for v in body.inputs] + outputs
    return lower(schedule, arguments, name)
