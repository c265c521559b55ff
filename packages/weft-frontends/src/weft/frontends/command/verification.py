"""A network's values against those of a judge: its outputs, and every layer within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx

from weft import runtime
from weft.frontends.command import peers
from weft.frontends.command.comparison import Comparison, compare
from weft.frontends.command.compilation import Compilation, compile_model, constants_of
from weft.frontends.command.progress import step
from weft.frontends.command.reference import reference
from weft.graph_ir.graph import Array, Graph
from weft.runtime import ArgumentError, Artifact


@dataclass(frozen=True, slots=True)
class Verification:
    """A model, the judge of its values ('onnxruntime' or 'reference'), and what both are given."""

    model: Path
    compilation: Compilation
    judge: str
    inputs: Mapping[str, Array]
    threads: int
    tolerance: float | None

    def compare_outputs(self, artifact: Artifact) -> list[Comparison]:
        """All outputs. Raises ArgumentError where the judge lacks one."""
        found = run_artifact(artifact, self.inputs, self.threads)
        return compare_outputs(self.judge, found, self._judged(()), self.tolerance)

    def compare_layers(self) -> list[Comparison]:
        """Every value that the model and our graph both name, in order: the network compiled with them as outputs."""
        names = set(peers.value_names(onnx.load(self.model, load_external_data=False)))
        layers: dict[str, str] = {}

        def keep(graph: Graph) -> Graph:
            inner = [v for node in graph.nodes for v in node.outputs if v.name in names]
            layers.update((v.name, str(node.spans[0])) for node in graph.nodes for v in node.outputs if node.spans)
            return replace(graph, outputs=tuple(dict.fromkeys((*inner, *graph.outputs))))

        artifact = compile_model(self.model, self.compilation, change=keep)
        expected = self._judged([p.name for p in artifact.outputs])
        return compare(run_artifact(artifact, self.inputs, self.threads), expected, layers, self.tolerance)

    def _judged(self, keep: Sequence[str]) -> dict[str, Array]:
        """The judge's outputs, and the values within that `keep` names. Inputs that are constants for us are given."""
        inputs = {**self.inputs, **constants_of(self.model, self.compilation)}
        with step(f"running {self.judge}"):
            if self.judge == "onnxruntime":
                return peers.onnxruntime(self.model, keep=keep)(inputs)
            return reference(self.model, keep)(inputs)


def compare_outputs(
    judge: str, found: Mapping[str, Array], expected: Mapping[str, Array], tolerance: float | None
) -> list[Comparison]:
    """All our outputs. Raises ArgumentError where the judge lacks one."""
    missing = [name for name in found if name not in expected]
    if missing:
        raise ArgumentError(f"{judge}: expected an output {missing[0]!r}, found {', '.join(expected) or 'none'}")
    return compare(found, expected, {}, tolerance)


def run_artifact(artifact: Artifact, inputs: Mapping[str, Array], threads: int) -> dict[str, Array]:
    """The outputs of a network by name."""
    return {name: a.numpy() for name, a in runtime.load(artifact, threads=threads).run(inputs).items()}
