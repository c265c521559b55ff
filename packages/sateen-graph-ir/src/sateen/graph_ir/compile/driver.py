"""The compile driver: a graph in, an artifact out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any

from sateen.graph_ir.compile.device_network import device_network
from sateen.graph_ir.compile.lowered_network import LoweredNetwork, lower_network
from sateen.graph_ir.compile.network_code import PRODUCER, NetworkCode, c_text, object_code, soname
from sateen.graph_ir.compile.parameter_block import pack_parameters, stored_parameters
from sateen.graph_ir.compile.parameters import bind_parameters
from sateen.graph_ir.compile.placement import NOWHERE, host_of, placing
from sateen.graph_ir.compile.steps import steps_of
from sateen.graph_ir.ir import HOST, Graph, GraphBuilder, OpSet, TensorType, verify_graph
from sateen.graph_ir.kernels import GroupCompiler, KernelMaker
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes import Observer, Pipeline, Placed, default_pipeline, nothing_known, run_pipeline
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.graph_ir.passes.require_sizes import require_sizes
from sateen.graph_ir.passes.use_lowerings import use_lowerings
from sateen.graph_ir.records import Records, ShippedRecords
from sateen.runtime import ArgumentError, Artifact, Packing, Parameter, Target, TargetError
from sateen.tensor_ir import Machine, ObjectCache
from sateen.tensor_ir.codegen import TARGET_KINDS, CompilerPool
from sateen.tensor_ir.ir import DENORMALS
from sateen.tensor_ir.targets import System, machine_digest

PARAMETER_FORMS = ("trained", "packed")
"""The forms in which a file may hold parameters."""

NO_DIMS: Mapping[str, int] = MappingProxyType({})


def lowered(
    graph: Graph,
    target: Target,
    maker: KernelMaker | None = None,
    *,
    dims: Mapping[str, int] = NO_DIMS,
    numerics: str = "default",
    records: Records | None = None,
    shipped: ShippedRecords | None = None,
    pipeline: Pipeline | None = None,
    operators: OpSet = OPS,
    observer: Observer | None = None,
    timed: bool = False,
    denormals: str = "keep",
    placed: Placed = NOWHERE,
    target_host: Target | str = "llvm",
    machine: Machine | None = None,
    parameters: str = "packed",
) -> LoweredNetwork:
    """The part of `build` before code generation: the passes, then `lower_network`, where a `maker` may make the
    kernels. The options are those of `build`, `shipped` the records that come with sateen for the target."""
    host = host_of(target, target_host)
    known = nothing_known if records is None else records.best(target)
    if shipped is not None:
        known = shipped.after(known)
    first: Pipeline = (partial(bind_dims, dims=dims), require_sizes, *placing(target, placed))
    chosen_for = _machine(target, host, machine)
    passes = default_pipeline(target, numerics, known, host, chosen_for, parameters) if pipeline is None else pipeline
    last = partial(use_lowerings, operators=operators, kind=target.kind, host_kind="" if host is None else host.kind)
    optimised = run_pipeline(graph, (*first, *passes, last), observer)
    return lower_network(
        optimised,
        target,
        maker=maker,
        timed=timed,
        denormals=denormals,
        target_host=host,
        machine=chosen_for,
        parameters=parameters,
    )


def _machine(target: Target, host: Target | None, given: Machine | None) -> Machine:
    """The machine that choices are made for: the given one, or that of the target.

    Raises ArgumentError for one with other vectors or of another kind than the target's.
    """
    own = Machine.of(target, host)
    if given is None:
        return own
    expected, found = ((m.kind.name.lower(), m.vector_registers, m.vector_bytes) for m in (own, given))
    if found != expected:
        text = "{} with {} vector registers of {} bytes"
        raise ArgumentError(
            f"expected a machine as the target's, {text.format(*expected)}; found {text.format(*found)}"
        )
    return given


def network_target(value: Target | str) -> Target:
    """The complete target of a network.

    Raises TargetError for a kind that networks can't be compiled for, and a processor or feature that LLVM lacks.
    """
    target = Target.of(value)
    *able, last = [kind.name for kind in TARGET_KINDS.values() if kind.has_networks]
    if target.kind not in (*able, last):
        raise TargetError(
            f"expected a target of kind {', '.join(able)} or {last}, for which networks are compiled, found "
            f"{target.kind!r}"
        )
    TARGET_KINDS[target.kind].check(target)
    return target


def build(
    graph: Graph,
    target: Target | str = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    dims: Mapping[str, int] = NO_DIMS,
    numerics: str = "default",
    denormals: str = "keep",
    records: Records | None = None,
    shipped: bool = True,
    pipeline: Pipeline | None = None,
    operators: OpSet = OPS,
    observer: Observer | None = None,
    timed: bool = False,
    static: bool = False,
    workers: CompilerPool | None = None,
    cache: ObjectCache | None = None,
    placed: Placed = NOWHERE,
    target_host: Target | str = "llvm",
    machine: Machine | None = None,
    parameters: str = "trained",
) -> Artifact:
    """Compile a graph into an artifact.

    `params` gives data by name: inputs of the graph with data become constants, and parameters get this data in place
    of theirs. `dims` gives sizes to the symbols of its types (bind_dims); none may stay open. `numerics` are strict,
    default or fast: whether each sum stays as it is, Winograd's method may rearrange those of a tile, or Strassen's
    those of a whole matrix (docs/semantics.md 4.8). `denormals` flush lets the network treat subnormal numbers as zeros
    (4.10). `records` are measurements for the choice of methods; where they say nothing and `shipped` is true, those
    count that come with sateen for the target and its machine. The artifact's options contain the digests of those that
    count, and numerics and denormals unless these are default and keep. `pipeline` replaces the passes that optimise
    the graph, `operators` may have lowerings in place of ours (OpSet.with_lowering), `observer` gets a record of each
    pass. `timed` makes the network write a clock after each of its steps, for `runtime.time_steps`; devices measure
    steps anyway. With `static` the artifact's code is a static archive, for `Artifact.export_archive`, as that for
    machines without a system always is. `workers` compile kernels in parallel, `cache` keeps their object code; neither
    changes the result. `placed` says which nodes of a network for a device are elsewhere (place_devices), by name or by
    a function, as in `{"sort1": "cpu"}`; `target_host` is the processor that computes those on the host.
    `machine` is what methods and schedules are chosen for, by default that of the target; the options contain its
    digest if it is another (docs/machines.md). `parameters` trained keeps the file as small as the parameters: code in
    it packs them when it is first loaded. packed stores what kernels read, for loads that only map it; so do devices, C
    text and static archives always.

    Raises InferenceError, LoweringError, CodegenError, LinkError, each of which names the node; TargetError for a kind
    of target without networks, and for marks and hosts that don't fit the target; and ArgumentError for anything but a
    graph with outputs, `params` of another type, marks of what is no node, unknown `denormals` or `parameters`, a
    machine that is not the target's kind, and records together with a pipeline.
    """
    _require_known(denormals, parameters, machine)
    complete = network_target(target)
    bound = bind_parameters(_required(graph), {} if params is None else params)
    if records is not None and pipeline is not None:
        raise ArgumentError("expected records or a pipeline, found both: the pipeline's choose_methods takes them")
    kind = TARGET_KINDS[complete.kind]
    is_object_code = kind.has_libraries
    is_archive = is_object_code and (static or System.of(complete.triple) is System.NONE)
    compiler = GroupCompiler(complete, workers, cache, machine)
    ours = ShippedRecords(complete, machine) if shipped else None
    network = lowered(
        bound,
        complete,
        compiler if is_object_code else None,
        dims=dims,
        numerics=numerics,
        records=records,
        shipped=ours,
        pipeline=pipeline,
        operators=operators,
        observer=observer,
        timed=timed and kind.network is None,
        denormals=denormals,
        placed=placed,
        target_host=target_host,
        machine=machine,
        parameters=parameters if is_object_code and not is_archive else "packed",
    )
    name = soname(graph.name)
    if is_object_code:
        code = object_code(network, complete, compiler, name, static=is_archive)
    elif kind.network is not None:
        made = device_network(network, kind.network, complete, target_host, name, denormals, cache)
        code = NetworkCode(made.library, str(complete), device=made)
    else:
        code = c_text(network, complete)
    options = {
        **({} if numerics == "default" else {"numerics": numerics}),
        **({"denormals": denormals} if denormals != "keep" else {}),
        **({} if records is None else {"records": records.digest}),
        **({"shipped_records": ours.digest} if ours is not None and ours.used else {}),
        **({"target_host": str(Target.of(target_host))} if network.host_kernels else {}),
        **({} if machine is None else _option(machine, Machine.of(complete))),
    }
    return _artifact(bound, network, code, options, timed=timed)


def _artifact(
    bound: Graph, network: LoweredNetwork, code: NetworkCode, options: Mapping[str, str], *, timed: bool
) -> Artifact:
    """What a file holds of a graph with its parameters' data, lowered and compiled."""
    made, names = code.device, {v: own.name for v, own in zip(network.graph.outputs, bound.outputs, strict=True)}
    stored = stored_parameters(network, [HOST] if made is None else [m.device for m in made.memory])
    return Artifact(
        PRODUCER,
        code.target,
        tuple(_parameter(v.name, v.type, False) for v in network.graph.inputs if v not in network.blocks.packed),
        tuple(_parameter(name, v.type, True) for v, name in names.items()),
        network.plan.workspace_bytes if made is None else made.memory[0].workspace,
        code.library,
        pack_parameters(stored, lift_parameters(bound).parameters.values()),
        options=options,
        aliases={names[output]: input_.name for output, input_ in network.graph.aliases.items()},
        labels=bound.labels,
        steps=steps_of(network.graph, network.plan.free, network.calls) if timed or made is not None else (),
        stack_bytes=code.stack_bytes,
        kernels=b"" if made is None else made.kernels,
        actions=() if made is None else made.actions,
        placed=made.memory if made is not None and len(made.memory) > 1 else (),
        packing=_packing(network),
    )


def _packing(network: LoweredNetwork) -> Packing | None:
    """What an artifact says about the packing of its parameters."""
    if network.packing is None:
        return None
    return Packing(network.blocks.packed_bytes, network.packing.plan.workspace_bytes, network.blocks.kept)


def _option(machine: Machine, own: Machine) -> dict[str, str]:
    """The option that tells a machine, unless estimates ask for the same of the target's own."""
    digest = machine_digest(machine)
    return {} if digest == machine_digest(own) else {"machine": digest}


def _require_known(denormals: str, parameters: str, machine: object) -> None:
    """Raises ArgumentError for what `build` does not know."""
    if denormals not in DENORMALS:
        raise ArgumentError(f"expected denormals {' or '.join(DENORMALS)}, found {denormals!r}")
    if parameters not in PARAMETER_FORMS:
        raise ArgumentError(f"expected parameters {' or '.join(PARAMETER_FORMS)}, found {parameters!r}")
    if machine is not None and not isinstance(machine, Machine):
        raise ArgumentError(
            f"build: expected machine as a Machine, found {type(machine).__name__}; read a file first: "
            "machine = read_machine(path, target)"
        )


def _required(graph: object) -> Graph:
    """The graph, which has outputs and is well formed.

    Raises ArgumentError for anything else, and the errors of verify_graph.
    """
    if isinstance(graph, (str, bytes, PathLike)):
        remedy = "read it first: graph, params = sateen.frontends.load(path)"
        raise ArgumentError(f"build: expected a graph, found a path; {remedy}")
    if isinstance(graph, tuple) and any(isinstance(part, Graph) for part in graph):
        raise ArgumentError(
            "build: expected a graph, found a tuple with one; give its parameters by name: build(graph, params=params)"
        )
    if isinstance(graph, GraphBuilder):
        raise ArgumentError("build: expected a graph, found its builder; call finish()")
    if not isinstance(graph, Graph):
        raise ArgumentError(f"build: expected a graph, found {type(graph).__name__}")
    if not graph.outputs:
        raise ArgumentError(f"build: expected a graph with outputs, found none in {graph.name!r}; add output(value)")
    verify_graph(graph)
    return graph


def _parameter(name: str, type_: TensorType, is_output: bool) -> Parameter:
    return Parameter(name, type_.dtype, type_.physical_shape, None, type_.dtype.bytes, is_output=is_output)
