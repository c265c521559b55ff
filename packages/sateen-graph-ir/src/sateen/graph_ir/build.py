"""The compile driver: a graph in, an artifact out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from sateen.graph_ir.entry import build_entry
from sateen.graph_ir.graph import Graph, Node, Value
from sateen.graph_ir.kernel_compiler import KernelCompiler
from sateen.graph_ir.kernels import Kernel, copying, group_key, lower_kernel
from sateen.graph_ir.memory import MemoryPlan, plan_memory
from sateen.graph_ir.op import Op
from sateen.graph_ir.op_set import OpSet
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.ops.control import Control
from sateen.graph_ir.ops.fused import Fused
from sateen.graph_ir.parameter_block import parameter_block
from sateen.graph_ir.passes.choose_convolutions import Chooser, choose_convolutions, nothing_known
from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.graph_ir.passes.choose_products import choose_products
from sateen.graph_ir.passes.fold_constants import fold_constants
from sateen.graph_ir.passes.fold_scale_axis import fold_scale_axis
from sateen.graph_ir.passes.fuse import fuse
from sateen.graph_ir.passes.infer_types import infer_types
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.graph_ir.passes.move_pools_up import move_pools_up
from sateen.graph_ir.passes.move_strides_up import move_strides_up
from sateen.graph_ir.passes.optimise_bodies import optimise_bodies
from sateen.graph_ir.passes.pool_in_convolutions import pool_in_convolutions
from sateen.graph_ir.passes.precompute_parameters import precompute_parameters
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.graph_ir.passes.separate_concat_inputs import separate_concat_inputs
from sateen.graph_ir.passes.share_equal_nodes import share_equal_nodes
from sateen.graph_ir.passes.simplify import simplify
from sateen.graph_ir.passes.simplify_inference import simplify_inference
from sateen.graph_ir.passes.use_lowerings import use_lowerings
from sateen.graph_ir.pipeline import Observer, Pipeline, run_pipeline
from sateen.graph_ir.records import Records
from sateen.graph_ir.steps import steps_of
from sateen.graph_ir.views import find_views
from sateen.runtime import ArgumentError, Artifact, Parameter, Target, TargetError
from sateen.runtime.signature import Metadata
from sateen.tensor_ir import Machine, ObjectCache
from sateen.tensor_ir.codegen.llvm import companion_text
from sateen.tensor_ir.codegen.llvm.parameters import PARAMETER_SYMBOLS, PARAMETERS_TEXT
from sateen.tensor_ir.codegen.object_code import compile_for, compile_functions
from sateen.tensor_ir.codegen.signature import signature_of
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.ir.digest import digest
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.link import link

EXPORTS = (
    "run",
    "sateen_abi_version",
    "sateen_default_host",
    "sateen_status_message",
    "sateen_metadata",
    *PARAMETER_SYMBOLS,
)


NUMERICS = ("default", "strict")


def default_pipeline(target: Target, numerics: str = "default", known: Chooser = nothing_known) -> Pipeline:
    """The passes that `build` runs before fusion; with `numerics` strict, only methods that keep each sum as it is.

    `known` tells the convolutions that were measured (Records.best). Raises TargetError for other numerics.
    """
    if numerics not in NUMERICS:
        raise TargetError(f"expected numerics {' or '.join(NUMERICS)}, found {numerics!r}")
    machine = Machine.of(target)
    strict = numerics == "strict"
    before: Pipeline = (
        infer_types,
        simplify_inference,
        fold_constants,
        simplify,
        fold_scale_axis,
        move_strides_up,
        *(() if strict else (move_pools_up,)),
        share_equal_nodes,
        remove_dead_nodes,
        partial(choose_convolutions, machine=machine, strict=strict, known=known),
        pool_in_convolutions,
        *(() if strict else (partial(choose_products, machine=machine),)),
    )
    after: Pipeline = (
        partial(choose_layouts, lanes=machine.lanes()),
        precompute_parameters,
        remove_dead_nodes,
        separate_concat_inputs,
    )
    return (*before, partial(optimise_bodies, before=before, after=after), *after)


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
    graph: Graph,
    target: Target,
    begin: Callable[[Function, Node], None] = lambda function, node: None,
    *,
    timed: bool = False,
) -> LoweredNetwork:
    """Fuse, lower every distinct group of an optimised graph and of bodies in it once, and plan memory.

    `begin` is told each kernel as soon as it is lowered, and the first fused node that it computes. With `timed` the
    entry writes a clock after each step.
    """
    fused = fuse(lift_parameters(graph))
    machine = Machine.of(target)
    functions: dict[str, Function] = {}
    kernels: dict[tuple[str, tuple[Op, ...]], Kernel] = {}

    def kernel_of(node: Node) -> Kernel:
        assert isinstance(node.op, Fused)
        group = group_key(node.op.body)
        if group not in kernels:
            kernel = lower_kernel(node, "kernel", machine)
            key = digest(kernel.function)
            if key not in functions:
                name = re.sub(r"\W", "_", node.op.body.name, flags=re.ASCII)
                functions[key] = replace(kernel.function, name=f"k{len(functions)}_{name}")
                begin(functions[key], node)
            kernels[group] = replace(kernel, function=functions[key])
        return kernels[group]

    nodes = list(_nodes_to_run(fused))
    calls = {node: kernel_of(node) for node in nodes if not isinstance(node.op, Control)}
    copied = {t: None for node in nodes if isinstance(node.op, Control) for t in node.op.copied(node.inputs)}
    copies = {type_: kernel_of(copying(type_)).function.name for type_ in copied}
    plan = plan_memory(
        fused,
        {node: kernel.scratch for node, kernel in calls.items()},
        {node: [v for i in kernel.overwritable if (v := node.inputs[i])] for node, kernel in calls.items()},
    )
    names = {node: kernel.function.name for node, kernel in calls.items()}
    entry = build_entry(fused, names, copies, plan, timed=timed)
    return LoweredNetwork(fused, plan, tuple(functions.values()), names, entry)


def _nodes_to_run(graph: Graph) -> Iterator[Node]:
    """The nodes with something to do, those of bodies behind the node that has them."""
    free = find_views(graph).free
    for node in graph.nodes:
        if node not in free:
            yield node
        if isinstance(node.op, Control):
            for body in node.op.bodies:
                yield from _nodes_to_run(body)


def network_target(value: Target | str) -> Target:
    """The complete target of a network. Raises TargetError for a kind that networks can't be compiled for."""
    target = Target.of(value)
    if target.kind != "llvm":
        raise TargetError(f"expected a target of kind llvm, for which networks are compiled, found {target.kind!r}")
    return target


def build(
    graph: Graph,
    target: Target | str = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    numerics: str = "default",
    records: Records | None = None,
    pipeline: Pipeline | None = None,
    operators: OpSet = OPS,
    observer: Observer | None = None,
    timed: bool = False,
    workers: CompilerPool | None = None,
    cache: ObjectCache | None = None,
) -> Artifact:
    """Compile a graph into an artifact.

    `params` gives data by name, to inputs of the graph, which become constants, and to parameters in place of theirs.
    `numerics` strict keeps to methods that leave each sum as it is: no Winograd, no Strassen. `records` are
    measurements by which convolutions are chosen; the artifact's options name their digest. `pipeline` replaces the
    passes that optimise the graph, `operators` has lowerings in place of ours (OpSet.with_lowering), `observer` is told
    each pass. `timed` makes the network write a clock after each of its steps, for `runtime.time_steps`. `workers`
    compile kernels beside each other, `cache` keeps their object code; neither changes the result. Raises
    InferenceError, LoweringError, CodegenError, LinkError, each telling the node, TargetError for a kind of target
    other than llvm, and ArgumentError for `params` of another type and for records beside a pipeline.
    """
    complete = network_target(target)
    bound = bind_parameters(graph, {} if params is None else params)
    if records is not None and pipeline is not None:
        raise ArgumentError("expected records or a pipeline, found both: the pipeline's choose_convolutions takes them")
    known = nothing_known if records is None else records.best(complete)
    passes = default_pipeline(complete, numerics, known) if pipeline is None else pipeline
    last = partial(use_lowerings, operators=operators, kind=complete.kind)
    optimised = run_pipeline(bound, (*passes, last), observer)
    compiler = KernelCompiler(complete, workers, cache)
    network = lower_network(optimised, complete, compiler.begin, timed=timed)
    codes = [*compiler.finish(), compile_functions([network.entry], complete).code]
    metadata = Metadata(_producer(), str(complete), (signature_of(network.entry),))
    companion = compile_for(companion_text(complete.triple, metadata) + PARAMETERS_TEXT, complete)
    library = link([*codes, companion], complete.triple, EXPORTS, f"{graph.name}.so")
    return Artifact(
        _producer(),
        str(complete),
        tuple(_parameter(v, False) for v in network.graph.inputs),
        tuple(_parameter(v, True) for v in network.graph.outputs),
        network.plan.workspace_bytes,
        library,
        parameter_block(network.graph, network.plan, lift_parameters(bound).parameters.values()),
        options={} if records is None else {"records": records.digest},
        steps=steps_of(network.graph, network.plan.free, network.calls) if timed else (),
    )


def bind_parameters(graph: Graph, params: Mapping[str, Any]) -> Graph:
    """Inputs that `params` names, as constants, and parameters that it names with its data.

    Raises ArgumentError for data of another type, and for a name that is neither's.
    """
    named = [v for v in (*graph.inputs, *graph.parameters) if v.name in params]
    unknown = params.keys() - {v.name for v in named}
    if unknown:
        known = ", ".join(str(v) for v in graph.inputs) or "none"
        raise ArgumentError(f"params: {', '.join(sorted(unknown))} are not in the graph, whose inputs are {known}")
    data = {v: np.asarray(params[v.name]) for v in named}
    for v, array in data.items():
        if array.dtype != v.type.dtype.numpy or array.shape != v.type.physical_shape:
            raise ArgumentError(f"params: {v} expects {v.type}, found {array.dtype}{list(array.shape)}")
    if all(graph.parameters.get(v) is array for v, array in data.items()):
        return graph
    inputs = tuple(v for v in graph.inputs if v not in data)
    return replace(graph, inputs=inputs, parameters={**graph.parameters, **data})


def _parameter(value: Value, is_output: bool) -> Parameter:
    t = value.type
    return Parameter(value.name, t.dtype, t.physical_shape, None, t.dtype.bytes, is_output=is_output)


def _producer() -> str:
    return f"sateen-graph-ir {version('sateen-graph-ir')}"
