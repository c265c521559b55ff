"""The compile driver: a graph in, an artifact out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from weft.graph_ir.entry import build_entry
from weft.graph_ir.graph import Graph, Node, Value
from weft.graph_ir.kernels import lower_group
from weft.graph_ir.memory import MemoryPlan, plan_memory
from weft.graph_ir.ops.fused import Fused
from weft.graph_ir.passes.fuse import fuse
from weft.runtime import Artifact, Parameter, Target
from weft.runtime.signature import Metadata
from weft.tensor_ir import Machine
from weft.tensor_ir.codegen.llvm import companion_text
from weft.tensor_ir.codegen.object_code import compile_for, compile_functions
from weft.tensor_ir.codegen.signature import signature_of
from weft.tensor_ir.ir.digest import digest
from weft.tensor_ir.ir.stmt import Function
from weft.tensor_ir.link import link

EXPORTS = ("run", "weft_abi_version", "weft_default_host", "weft_status_message", "weft_metadata")


@dataclass(frozen=True, slots=True, eq=False)
class LoweredNetwork:
    """A network as functions of loop IR: one per distinct group, and the entry that calls them."""

    graph: Graph
    plan: MemoryPlan
    kernels: tuple[Function, ...]
    calls: Mapping[Node, str]
    """The kernel of each node; a node that only renames memory has none."""
    entry: Function


def lower_network(graph: Graph, target: Target) -> LoweredNetwork:
    """Fuse, plan memory, and lower every distinct group of an optimised graph once."""
    fused = fuse(graph)
    plan = plan_memory(fused)
    machine = Machine.of(target)
    kernels: dict[str, Function] = {}
    calls: dict[Node, str] = {}
    for node in fused.nodes:
        assert isinstance(node.op, Fused)
        if node.outputs[0] in plan.views:
            continue
        function = lower_group(node, "kernel", machine)
        key = digest(function)
        if key not in kernels:
            kernels[key] = replace(function, name=f"k{len(kernels)}_{node.op.body.name}")
        calls[node] = kernels[key].name
    return LoweredNetwork(fused, plan, tuple(kernels.values()), calls, build_entry(fused, calls, plan))


def build(graph: Graph, target: Target | str = "llvm", params: Mapping[str, Any] | None = None) -> Artifact:
    """Compile a graph into an artifact.

    `params` gives data to inputs of the graph by name: they become constants. Raises InferenceError, LoweringError,
    CodegenError, LinkError, each telling the node.
    """
    complete = Target.of(target)
    network = lower_network(bind_parameters(graph, params or {}), complete)
    codes = [compile_functions([f], complete).code for f in (*network.kernels, network.entry)]
    metadata = Metadata(_producer(), str(complete), (signature_of(network.entry),))
    companion = compile_for(companion_text(complete.triple, metadata), complete)
    library = link([*codes, companion], complete.triple, EXPORTS, f"{graph.name}.so")
    return Artifact(
        _producer(),
        str(complete),
        tuple(_parameter(v, False) for v in network.graph.inputs),
        tuple(_parameter(v, True) for v in network.graph.outputs),
        network.plan.workspace_bytes,
        library,
        parameter_block(network.graph, network.plan),
    )


def bind_parameters(graph: Graph, params: Mapping[str, Any]) -> Graph:
    """Inputs that `params` names, as constants."""
    data = {v: np.asarray(params[v.name]) for v in graph.inputs if v.name in params}
    if not data:
        return graph
    inputs = tuple(v for v in graph.inputs if v not in data)
    return replace(graph, inputs=inputs, parameters={**graph.parameters, **data})


def parameter_block(graph: Graph, plan: MemoryPlan) -> bytes:
    """All parameters in the memory that the plan gives them."""
    block = bytearray(max(plan.parameter_bytes, 64))
    for value, offset in plan.parameters.items():
        data = np.ascontiguousarray(graph.parameters[value]).tobytes()
        block[offset : offset + len(data)] = data
    return bytes(block)


def _parameter(value: Value, is_output: bool) -> Parameter:
    t = value.type
    return Parameter(value.name, t.dtype, t.physical_shape, None, t.dtype.bytes, is_output=is_output)


def _producer() -> str:
    return f"weft-graph-ir {version('weft-graph-ir')}"
