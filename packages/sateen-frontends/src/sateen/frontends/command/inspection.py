"""The compiler's view of a model: the effects of its passes, and the resulting kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sateen.frontends.command.artifacts import WORKERS
from sateen.frontends.command.caches import object_cache, tell_refusal
from sateen.frontends.command.compilation import Compilation, known_methods, machine_of, records_of
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import Reading, required_graph
from sateen.graph_ir.compile import LoweredNetwork, bind_parameters, host_of, lower_network, placing
from sateen.graph_ir.ir import Graph, Node, Problem
from sateen.graph_ir.kernels import KernelCompiler
from sateen.graph_ir.passes import (
    PassRun,
    chosen_method,
    constant_of,
    default_pipeline,
    preparation,
    run_pipeline,
)
from sateen.graph_ir.passes.fuse import fuse
from sateen.runtime import LinkError, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen import TARGET_KINDS, CompilerPool, compile_functions
from sateen.tensor_ir.ir import Function
from sateen.tensor_ir.link import read_object
from sateen.topi.methods import NUMERICS, Candidate, Method

REJECTED = 3
"""The most candidates shown besides the chosen one."""


@dataclass(frozen=True, slots=True)
class Passes:
    """A model on its way through the graph compiler; fusion is the last of `runs`."""

    imported: Graph
    runs: tuple[PassRun, ...]

    @property
    def optimised(self) -> Graph:
        """The graph before fusion."""
        return self.runs[-1].before


@dataclass(frozen=True, slots=True)
class Kernels:
    """The lowered network, and for each kernel by name a fused node that it computes, and its bytes of code and
    constants.

    Bytes are those of a device's text, too; None in object formats other than ELF64, and for C.
    """

    network: LoweredNetwork
    nodes: Mapping[str, Node]
    code_bytes: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class ChosenMethod:
    """The nodes of the model that an operator came from, its method, and the next best ones by estimate.

    Among these is the best of another kind, if there is one. `seconds` are the measurements in records, by method.
    """

    nodes: tuple[str, ...]
    problem: Problem
    chosen: Candidate
    rejected: tuple[Candidate, ...]
    seconds: Mapping[Method, float]


def run_passes(path: Path, reading: Reading, compilation: Compilation) -> Passes:
    """All passes that `sateen compile` runs on a model, fusion included. Raises FrontendError if it has no graph."""
    target = Target.of(compilation.target)
    imported = bind_parameters(*required_graph(reading))
    runs: list[PassRun] = []
    with step(f"optimising {path.name}"):
        known = known_methods(compilation, target)
        host = host_of(target, compilation.target_host)
        passes = default_pipeline(target, compilation.numerics, known, host, machine_of(compilation))
        run_pipeline(imported, (*placing(target, compilation.placed), *passes, fuse), runs.append)
    return Passes(imported, tuple(runs))


def chosen_methods(passes: Passes, compilation: Compilation) -> list[ChosenMethod]:
    """The operators that had a choice, in order, without those in bodies of control flow."""
    target, records = Target.of(compilation.target), records_of(compilation)
    known = known_methods(compilation, target)
    given = machine_of(compilation)
    machine = Machine.of(target, host_of(target, compilation.target_host)) if given is None else given
    measured = {} if records is None else records.of(target)
    before = (*placing(target, compilation.placed), *preparation(machine, compilation.numerics))
    graph = run_pipeline(passes.imported, before)
    found, producers, level = [], graph.producers(), NUMERICS.index(compilation.numerics)
    for node in graph.nodes:
        constants = [constant_of(v, graph.parameters.get, producers.get) for v in node.inputs]
        method = chosen_method(node, constants, machine, compilation.numerics, known)
        if method is None:
            continue
        problem = Problem.of(node)
        possible = problem.candidates(machine.at(node.outputs[0].device.kind))
        chosen = next(c for c in possible if c.method == method)
        others = [c for c in possible if c is not chosen and NUMERICS.index(c.method.numerics) <= level]
        of_another_kind = (c for c in others if type(c.method) is not type(method))
        rejected = dict.fromkeys([*others[:REJECTED], *islice(of_another_kind, 1)])
        seconds = {r.method: r.seconds for r in measured.get(problem, ())}
        names = tuple(dict.fromkeys(span.node for span in node.spans)) or (node.outputs[0].name,)
        found.append(ChosenMethod(names, problem, chosen, tuple(rejected), seconds))
    return found


def compile_kernels(graph: Graph, compilation: Compilation) -> Kernels:
    """The kernels of an optimised graph, compiled as `sateen compile` does."""
    target = Target.of(compilation.target)
    if not TARGET_KINDS[target.kind].has_libraries:
        return _kernels_as_text(graph, target, compilation)
    nodes: dict[str, Node] = {}
    with CompilerPool(WORKERS, at_once=False) as workers, step(f"compiling {graph.name}"):
        cache = object_cache(compilation)
        compiler = KernelCompiler(target, workers, cache)

        def begin(function: Function, node: Node) -> None:
            nodes[function.name] = node
            compiler.begin(function, node)

        network = lower_network(graph, target, begin, machine=machine_of(compilation))
        code_bytes = list(map(_code_bytes, compiler.finish()))
    tell_refusal(cache)
    return Kernels(network, nodes, dict(zip(nodes, code_bytes, strict=True)))


def _kernels_as_text(graph: Graph, target: Target, compilation: Compilation) -> Kernels:
    """The kernels of a device and of its host, or of C, each made by itself."""
    nodes: dict[str, Node] = {}

    def begin(function: Function, node: Node) -> None:
        nodes[function.name] = node

    with step(f"compiling {graph.name}"):
        host = host_of(target, compilation.target_host)
        network = lower_network(graph, target, begin, target_host=host)
        make = TARGET_KINDS[target.kind].network
        sizes = {f.name: None if make is None else len(make([f], target)[0]) for f in network.kernels}
        if host is not None:
            sizes |= {f.name: _code_bytes(compile_functions([f], host).code) for f in network.host_kernels}
    return Kernels(network, nodes, sizes)


def _code_bytes(code: bytes) -> int | None:
    try:
        return sum(section.size for section in read_object(code).relocations)
    except LinkError:
        return None
