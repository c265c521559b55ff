"""The compile driver: a graph in, an artifact out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from weft.graph_ir.entry import build_entry
from weft.graph_ir.graph import Graph, Node, Value
from weft.graph_ir.kernel_compiler import KernelCompiler
from weft.graph_ir.kernels import lower_group
from weft.graph_ir.memory import MemoryPlan, plan_memory
from weft.graph_ir.ops.fused import Fused
from weft.graph_ir.passes.choose_layouts import choose_layouts
from weft.graph_ir.passes.fold_constants import fold_constants
from weft.graph_ir.passes.fold_scale_axis import fold_scale_axis
from weft.graph_ir.passes.fuse import fuse
from weft.graph_ir.passes.infer_types import infer_types
from weft.graph_ir.passes.move_strides_up import move_strides_up
from weft.graph_ir.passes.precompute_parameters import precompute_parameters
from weft.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from weft.graph_ir.passes.share_equal_nodes import share_equal_nodes
from weft.graph_ir.passes.simplify import simplify
from weft.graph_ir.passes.simplify_inference import simplify_inference
from weft.graph_ir.passes.use_winograd import use_winograd
from weft.graph_ir.pipeline import Pipeline, run_pipeline
from weft.graph_ir.text import canonical_text
from weft.runtime import Artifact, Parameter, Target, TargetError
from weft.runtime.signature import Metadata
from weft.tensor_ir import Machine, ObjectCache
from weft.tensor_ir.codegen.llvm import companion_text
from weft.tensor_ir.codegen.object_code import compile_for, compile_functions
from weft.tensor_ir.codegen.signature import signature_of
from weft.tensor_ir.codegen.workers import CompilerPool
from weft.tensor_ir.ir.digest import digest
from weft.tensor_ir.ir.stmt import Function
from weft.tensor_ir.link import link

EXPORTS = ("run", "weft_abi_version", "weft_default_host", "weft_status_message", "weft_metadata")


NUMERICS = ("default", "strict")


def default_pipeline(target: Target, numerics: str = "default") -> Pipeline:
    """The passes that `build` runs before fusion; with `numerics` strict, only methods that keep each sum as it is.

    Raises TargetError for other numerics.
    """
    if numerics not in NUMERICS:
        raise TargetError(f"expected numerics {' or '.join(NUMERICS)}, found {numerics!r}")
    lanes = Machine.of(target).lanes()
    fast: Pipeline = (partial(use_winograd, lanes=lanes),) if numerics == "default" else ()
    return (
        infer_types,
        simplify_inference,
        fold_constants,
        simplify,
        fold_scale_axis,
        move_strides_up,
        share_equal_nodes,
        remove_dead_nodes,
        *fast,
        partial(choose_layouts, lanes=lanes),
        precompute_parameters,
        remove_dead_nodes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class LoweredNetwork:
    """A network as functions of loop IR: one per distinct group, and the entry that calls them."""

    graph: Graph
    plan: MemoryPlan
    kernels: tuple[Function, ...]
    calls: Mapping[Node, str]
    """The kernel of each node; a node that only renames memory has none."""
    entry: Function


def lower_network(
    graph: Graph, target: Target, begin: Callable[[Function, Node], None] = lambda function, node: None
) -> LoweredNetwork:
    """Fuse, plan memory, and lower every distinct group of an optimised graph once.

    `begin` is told each kernel as soon as it is lowered, and the first fused node that it computes.
    """
    fused = fuse(graph)
    plan = plan_memory(fused)
    machine = Machine.of(target)
    kernels: dict[str, Function] = {}
    names: dict[str, str] = {}
    calls: dict[Node, str] = {}
    for node in fused.nodes:
        assert isinstance(node.op, Fused)
        if node.outputs[0] in plan.views:
            continue
        text = canonical_text(node.op.body)
        if text not in names:
            function = lower_group(node, "kernel", machine)
            key = digest(function)
            if key not in kernels:
                kernels[key] = replace(function, name=f"k{len(kernels)}_{node.op.body.name}")
                begin(kernels[key], node)
            names[text] = kernels[key].name
        calls[node] = names[text]
    return LoweredNetwork(fused, plan, tuple(kernels.values()), calls, build_entry(fused, calls, plan))


def build(
    graph: Graph,
    target: Target | str = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    numerics: str = "default",
    pipeline: Pipeline | None = None,
    workers: CompilerPool | None = None,
    cache: ObjectCache | None = None,
) -> Artifact:
    """Compile a graph into an artifact.

    `params` gives data to inputs of the graph by name: they become constants. `numerics` strict keeps to direct
    methods: no Winograd. `pipeline` replaces the passes that optimise the graph. `workers` compile kernels beside each
    other, `cache` keeps their object code; neither changes the result. Raises InferenceError, LoweringError,
    CodegenError, LinkError, each telling the node.
    """
    complete = Target.of(target)
    bound = bind_parameters(graph, params or {})
    optimised = run_pipeline(bound, default_pipeline(complete, numerics) if pipeline is None else pipeline)
    compiler = KernelCompiler(complete, workers, cache)
    network = lower_network(optimised, complete, compiler.begin)
    codes = [*compiler.finish(), compile_functions([network.entry], complete).code]
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


def parameter_block(graph: Graph, plan: MemoryPlan) -> memoryview:
    """All parameters in the memory that the plan gives them, read-only."""
    block = np.zeros(max(plan.parameter_bytes, 64), np.uint8)
    for value, offset in plan.parameters.items():
        data = np.ascontiguousarray(graph.parameters[value]).reshape(-1).view(np.uint8)
        block[offset : offset + data.size] = data
    return block.data.toreadonly()


def _parameter(value: Value, is_output: bool) -> Parameter:
    t = value.type
    return Parameter(value.name, t.dtype, t.physical_shape, None, t.dtype.bytes, is_output=is_output)


def _producer() -> str:
    return f"weft-graph-ir {version('weft-graph-ir')}"
