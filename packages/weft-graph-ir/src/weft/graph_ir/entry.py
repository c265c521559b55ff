"""The entry of a network: a host function that runs its kernels in order over planned memory."""

from __future__ import annotations

from collections.abc import Mapping

from weft.graph_ir.graph import Graph, Node, Value
from weft.graph_ir.memory import MemoryPlan
from weft.runtime.dtype import DType
from weft.tensor_ir.ir.buffer import Buffer
from weft.tensor_ir.ir.expr import const
from weft.tensor_ir.ir.stmt import Function, Invoke, Stmt, sequence

UINT8 = DType.of("uint8")


def build_entry(graph: Graph, kernels: Mapping[Node, str], plan: MemoryPlan, name: str = "run") -> Function:
    """`name`(inputs…, outputs…, parameters, workspace): parameters and workspace are blocks of bytes, aligned to 64."""
    outside: dict[Value, Buffer] = {}
    for v in (*graph.inputs, *graph.outputs):
        if v not in outside:
            outside[v] = Buffer(
                v.name, tuple(map(const, v.type.physical_shape)), v.type.dtype, alignment=v.type.dtype.bytes
            )
    parameters = _block("parameters", plan.parameter_bytes)
    workspace = _block("workspace", plan.workspace_bytes)

    def place(v: Value) -> tuple[Buffer, int]:
        v = plan.views.get(v, v)
        if v in outside:
            return outside[v], 0
        if v in plan.parameters:
            return parameters, plan.parameters[v]
        return workspace, plan.workspace[v]

    calls: list[Stmt] = []
    for node in graph.nodes:
        if node.outputs[0] in plan.views:
            continue
        values = [v for v in (*node.inputs, *node.outputs) if v is not None]
        calls.append(Invoke(kernels[node], tuple(place(v) for v in values)))
    outputs = frozenset({*(outside[v] for v in graph.outputs), workspace})
    return Function(name, (*outside.values(), parameters, workspace), outputs, sequence(*calls))


def _block(name: str, size: int) -> Buffer:
    return Buffer(name, (const(max(size, 64)),), UINT8, alignment=64)
