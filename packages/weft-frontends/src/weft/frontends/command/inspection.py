"""What the compiler makes of a model: what its passes do, and the kernels that come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.frontends.command.compilation import WORKERS, Compilation, object_cache, read_graph
from weft.frontends.command.progress import step
from weft.graph_ir.build import LoweredNetwork, bind_parameters, default_pipeline, lower_network
from weft.graph_ir.graph import Graph, Node
from weft.graph_ir.kernel_compiler import KernelCompiler
from weft.graph_ir.passes.fuse import fuse
from weft.graph_ir.pipeline import PassRun, run_pipeline
from weft.runtime import LinkError, Target
from weft.tensor_ir.codegen.workers import CompilerPool
from weft.tensor_ir.ir.stmt import Function
from weft.tensor_ir.link.object_file import read_object


@dataclass(frozen=True, slots=True)
class Passes:
    """A model on its way through the graph compiler; fusion is the last of `runs`."""

    imported: Graph
    runs: tuple[PassRun, ...]

    @property
    def optimised(self) -> Graph:
        """The graph that fusion takes."""
        return self.runs[-1].before


@dataclass(frozen=True, slots=True)
class Kernels:
    """The lowered network, and of each kernel by name a fused node that it computes, its bytes of code and constants.

    Bytes are None in object formats other than ELF64.
    """

    network: LoweredNetwork
    nodes: Mapping[str, Node]
    code_bytes: Mapping[str, int | None]


def run_passes(path: Path, compilation: Compilation) -> Passes:
    """All passes that `weft compile` runs on a model, fusion included."""
    imported = bind_parameters(*read_graph(path, compilation))
    runs: list[PassRun] = []
    with step(f"optimising {path.name}"):
        passes = default_pipeline(Target.of(compilation.target), compilation.numerics)
        run_pipeline(imported, (*passes, fuse), runs.append)
    return Passes(imported, tuple(runs))


def compile_kernels(graph: Graph, compilation: Compilation) -> Kernels:
    """The kernels of an optimised graph, compiled as `weft compile` does."""
    target = Target.of(compilation.target)
    nodes: dict[str, Node] = {}
    with CompilerPool(WORKERS) as workers, step(f"compiling {graph.name}"):
        compiler = KernelCompiler(target, workers, object_cache(compilation))

        def begin(function: Function, node: Node) -> None:
            nodes[function.name] = node
            compiler.begin(function, node)

        network = lower_network(graph, target, begin)
        code_bytes = map(_code_bytes, compiler.finish())
    return Kernels(network, nodes, dict(zip(nodes, code_bytes, strict=True)))


def _code_bytes(code: bytes) -> int | None:
    try:
        return sum(section.size for section in read_object(code).relocations)
    except LinkError:
        return None
