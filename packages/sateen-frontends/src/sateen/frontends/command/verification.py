"""Compares a network's values with those of a judge: its outputs, and every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sateen import runtime
from sateen.frontends.command.artifacts import compile_model
from sateen.frontends.command.bindings import bound_arrays
from sateen.frontends.command.comparison import Comparison, Tolerance, compare
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.output import say
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import read_graph
from sateen.frontends.judges import DEFINITIONS, judges_of
from sateen.graph_ir.ir import Array, Graph
from sateen.graph_ir.judge import difference, element_difference, interpret
from sateen.runtime import ArgumentError, Artifact, Device, SateenError, Session
from sateen.runtime.display import shortened
from sateen.runtime.errors import printable

MOST_REASON = 120
"""The most characters of a judge's error to show; it may quote whole tensors."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A model, the judge of its values (one of its format, or a file of outputs), and the inputs of both."""

    model: Path
    compilation: Compilation
    judge: str
    inputs: Mapping[str, Array]
    threads: int
    tolerance: Tolerance
    session: Session | None = None
    """Where the network runs; None for here."""
    device: Device | None = None
    """The device of the session that it runs on, by default the first of its kind."""

    def compare_outputs(self, artifact: Artifact, recorded: Mapping[str, Array] | None = None) -> list[Comparison]:
        """All outputs, against recorded ones if given. Raises ArgumentError if the judge lacks one."""
        found = run_artifact(artifact, self.inputs, self.threads, self.session, self.device)
        judged = self._judged(self.compilation.outputs) if recorded is None else recorded
        expected = in_our_terms(judged, artifact.labels)
        compared = compare_outputs(self.judge, found, expected, self.tolerance)
        near = [c.value for c in compared if c.may_be_rounding and found[c.value].dtype == np.float32]
        return self._settled(compared, found, expected, self._in_double(near)[0] if near else {})

    def compare_layers(self) -> list[Comparison]:
        """Every value that both the model and our graph name, in order; the network is compiled with them as
        outputs."""
        judges = judges_of(self.model)
        names = None if judges is None or self.judge == DEFINITIONS else set(judges.value_names(self.model))
        layers: dict[str, str] = {}

        def keep(graph: Graph) -> Graph:
            inner = [v for node in graph.nodes for v in node.outputs if names is None or v.name in names]
            layers.update((v.name, str(node.spans[0])) for node in graph.nodes for v in node.outputs if node.spans)
            return replace(graph, outputs=tuple(dict.fromkeys((*inner, *graph.outputs))))

        artifact = compile_model(self.model, self.compilation, change=keep)
        expected = in_our_terms(self._judged([p.name for p in artifact.outputs]), artifact.labels)
        found = run_artifact(artifact, self.inputs, self.threads, self.session, self.device)
        exact, magnitudes = self._in_double([name for name, a in found.items() if a.dtype == np.float32])
        compared = self._settled(compare(found, expected, layers, self.tolerance), found, expected, exact)
        return [
            replace(c, element=element_difference(found[c.value], exact[c.value], magnitudes[c.value]))
            if c.value in magnitudes
            else c
            for c in compared
        ]

    def _judged(self, keep: Sequence[str]) -> dict[str, Array]:
        """The judge's outputs, and the inner values in `keep`. Raises ArgumentError if it fails."""
        try:
            with step(f"running {self.judge}"):
                judges = judges_of(self.model)
                if self.judge == DEFINITIONS:
                    return self._defined(keep)
                if judges is None:
                    raise ArgumentError(
                        f"{self.model}: {self.judge} doesn't run it; leave out --against, or give outputs to compare "
                        "with by --against recorded --inputs FILE.npz"
                    )
                return judges.by_name[self.judge](self.model, keep)(self._all_inputs())
        except SateenError:
            raise
        except Exception as error:  # the judges' classes of errors have no other base
            advice = "where these inputs are at fault, --inputs FILE.npz gives others"
            raise ArgumentError(f"{self.judge} can't run {self.model.name}: {_text(error)}; {advice}") from error

    def _defined(self, keep: Sequence[str]) -> dict[str, Array]:
        """The outputs, and the inner values in `keep`, by the definitions of the operators: sums are in float64."""
        graph, _ = read_graph(self.model, self.compilation)
        kept = [v for node in graph.nodes for v in node.outputs if v.name in keep]
        return interpret(replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *kept)))), self.inputs)

    def _settled(
        self,
        comparisons: list[Comparison],
        found: Mapping[str, Array],
        expected: Mapping[str, Array],
        exact: Mapping[str, Array],
    ) -> list[Comparison]:
        """The comparisons; those that are wrong by no more than rounding are decided in float64 if possible."""

        def settled(c: Comparison) -> Comparison:
            if not c.may_be_rounding or c.value not in exact:
                return c
            right = exact[c.value].astype(np.float32)
            return replace(c, error=difference(found[c.value], right), judge_error=difference(expected[c.value], right))

        return [settled(c) for c in comparisons]

    def _in_double(self, values: Sequence[str]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Values in float64, and the magnitudes of those that sum products.

        If the model can't be run in float64, there are none, and the judge decides; stderr says why.
        """
        try:
            with step("running the model in float64"):
                judges = judges_of(self.model)
                if judges is None:
                    return self._defined(values), {}
                return judges.in_double(self.model, self._all_inputs(), values)
        except Exception as error:  # noqa: BLE001  # the evaluator's classes of errors have no other base
            reason = shortened(_text(error), MOST_REASON)
            say(f"float64 can't tell who is right: its evaluator fails ({reason})", err=True)
            return {}, {}

    def _all_inputs(self) -> dict[str, Array]:
        """The inputs, including those that are constants for us."""
        return {**self.inputs, **bound_arrays(self.model, self.compilation)}


def in_our_terms(judged: Mapping[str, Array], labels: Mapping[str, Sequence[str]]) -> dict[str, Array]:
    """A judge's outputs, with texts as their positions among the labels of the output, and maps from labels to numbers
    as rows of numbers in the order of the labels."""
    return {name: _numbers(array, labels[name]) if name in labels else array for name, array in judged.items()}


def _numbers(array: Array, labels: Sequence[str]) -> Array:
    found = np.asarray(array)
    if found.dtype.kind not in "OSU" or not found.size:
        return found
    if isinstance(found.flat[0], Mapping):
        rows = [[{str(k): v for k, v in row.items()}.get(label, np.nan) for label in labels] for row in found.flat]
        return np.array(rows, np.float32)
    places = {label: place for place, label in enumerate(labels)}
    return np.array([places.get(str(text), -1) for text in found.flat], np.int64).reshape(found.shape)


def compare_outputs(
    judge: str, found: Mapping[str, Array], expected: Mapping[str, Array], tolerance: Tolerance
) -> list[Comparison]:
    """All our outputs. Raises ArgumentError if the judge lacks one."""
    missing = [name for name in found if name not in expected]
    if missing:
        raise ArgumentError(f"{judge}: expected an output {missing[0]!r}, found {', '.join(expected) or 'none'}")
    return compare(found, expected, {}, tolerance)


def _text(error: Exception) -> str:
    return printable(" ".join(str(error).split()) or type(error).__name__)


def run_artifact(
    artifact: Artifact,
    inputs: Mapping[str, Array],
    threads: int,
    session: Session | None = None,
    device: Device | None = None,
) -> dict[str, Array]:
    """The outputs of a network by name, here or in a session."""
    if session is None:
        return runtime.load(artifact, threads=threads).run(inputs).numpy()
    with session.load_model(artifact, threads=threads, device=device) as model:
        return model.run(inputs).numpy()
