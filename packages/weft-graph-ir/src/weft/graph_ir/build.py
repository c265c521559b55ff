"""The compile driver: a graph in, an artifact out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.graph_ir.entry import build_entry
from weft.graph_ir.graph import Graph, Node
from weft.graph_ir.kernels import lower_group
from weft.graph_ir.memory import MemoryPlan, plan_memory
from weft.graph_ir.passes.fuse import fuse
from weft.runtime.target import Target
from weft.tensor_ir import Machine
from weft.tensor_ir.codegen.object_code import ObjectCode, compile_functions
from weft.tensor_ir.ir.stmt import Function


@dataclass(frozen=True, slots=True, eq=False)
class CompiledNetwork:
    """The kernels and the entry of a network as object code, its memory plan and its parameter block."""

    graph: Graph
    plan: MemoryPlan
    entry: Function
    objects: tuple[ObjectCode, ...]
    parameters: bytes
    target: Target


def compile_network(graph: Graph, target: Target) -> CompiledNetwork:
    """Lower and compile every distinct group of an optimised graph, and the entry that calls them."""
    fused = fuse(graph)
    machine = Machine.of(target)
    plan = plan_memory(fused)
    names: dict[Node, str] = {}
    known: dict[str, str] = {}
    functions: list[Function] = []
    for node in fused.nodes:
        if node.outputs[0] in plan.views:
            continue
        function = lower_group(node, "kernel", machine)
        text = str(function)
        if text not in known:
            known[text] = f"k{len(known)}_{node.op.body.name}"  # type: ignore[attr-defined]
            functions.append(Function(known[text], function.parameters, function.outputs, function.body, function.aliased))
        names[node] = known[text]
    entry = build_entry(fused, names, plan)
    objects = tuple(compile_functions([f], target) for f in functions)
    entry_object = compile_functions([entry], target)
    return CompiledNetwork(fused, plan, entry, (*objects, entry_object), parameter_block(fused, plan), target)


def parameter_block(graph: Graph, plan: MemoryPlan) -> bytes:
    """All parameters in the memory that the plan gives them."""
    block = bytearray(max(plan.parameter_bytes, 64))
    for value, offset in plan.parameters.items():
        data = np.ascontiguousarray(graph.parameters[value]).tobytes()
        block[offset : offset + len(data)] = data
    return bytes(block)


