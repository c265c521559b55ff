"""A network in a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from sateen.runtime import framing
from sateen.runtime.artifact import Artifact
from sateen.runtime.errors import ArgumentError
from sateen.runtime.named_arrays import require_mapping, unknown, wrong_inputs
from sateen.runtime.ndarray import NDArray, empty
from sateen.runtime.outputs import Outputs
from sateen.runtime.sessions.held import MOST_FILE_BYTES, Arguments, ConnectedArray, argument_of
from sateen.runtime.sessions.protocol import SessionArgument
from sateen.runtime.sessions.requests import Requests
from sateen.runtime.signature import Parameter
from sateen.runtime.timing import TimeResult


class ConnectedModel:
    """A network in a session."""

    def __init__(self, session: Requests, number: int, artifact: Artifact) -> None:
        self.artifact = artifact
        self.session = session
        self.number = number
        self._given: dict[str, SessionArgument] = {}
        self._results: Outputs | None = None

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return self.artifact.outputs

    def run(
        self,
        inputs: Mapping[str, SessionArgument] | None = None,
        *,
        out: Mapping[str, SessionArgument] | None = None,
    ) -> Outputs:
        """The outputs by name: arrays of this process, new ones or those in `out`. An output for which `out` has an
        array of the session stays there, and is not among the results.

        Raises ArgumentError for arguments that are no mapping, for an input that is missing, unknown or does not fit,
        and the errors of the session.
        """
        places = {} if out is None else out
        require_mapping(places, "outputs", self.outputs)
        given = self.arguments(inputs)
        for name in places:
            if name not in {p.name for p in self.outputs}:
                raise unknown("outputs", name, self.outputs)
        stay = {name: place for name, place in places.items() if isinstance(place, ConnectedArray)}
        here = {name: array for name, place in places.items() if isinstance(array := argument_of(place), NDArray)}
        fetched = [p for p in self.outputs if p.name not in stay]
        results = Outputs({p.name: here[p.name] if p.name in here else _new(p) for p in fetched})
        kept = [stay[p.name].number if p.name in stay else None for p in self.outputs]
        header = {"op": "run", "model": self.number, "arrays": given.described, "kept": kept}
        most_bytes = sum(a.nbytes for a in results.values())
        _, payload = self.session.request("run", header, given.payload, most_bytes)
        arrays = list(results.values())
        for array, result in zip(arrays, framing.rebuild(framing.describe(arrays), payload), strict=True):
            array.numpy()[...] = result.numpy()
        self._results = results
        return results

    def set_input(self, name: str, value: SessionArgument) -> None:
        """Keeps an input for `run()`. Raises ArgumentError for an unknown name."""
        if name not in {p.name for p in self.inputs}:
            raise unknown("inputs", name, self.inputs)
        self._given[name] = value

    def get_output(self, index: int | str) -> NDArray:
        """An output of the last run, by position or name. Raises ArgumentError before the first run."""
        if self._results is None:
            raise ArgumentError("get_output: the model has not run yet")
        return self._results[index]

    def time(
        self,
        inputs: Mapping[str, SessionArgument] | None = None,
        *,
        number: int = 1,
        repeat: int = 10,
        min_seconds: float = 0.0,
    ) -> TimeResult:
        """Times runs there, as `time_evaluator` does."""
        given = self.arguments(inputs)
        options = {"number": number, "repeat": repeat, "min_seconds": min_seconds}
        header = {"op": "time_model", "model": self.number, "arrays": given.described, **options}
        answer, _ = self.session.request("time", header, given.payload)
        return TimeResult(tuple(answer["samples"]), answer["number"])

    def time_steps(self, inputs: Mapping[str, SessionArgument], samples: int = 20) -> tuple[TimeResult, ...]:
        """The time of each of `artifact.steps`, as the function `time_steps` does."""
        given = self.arguments(inputs)
        header = {"op": "time_steps", "model": self.number, "arrays": given.described, "samples": samples}
        answer, payload = self.session.request("time", header, given.payload, MOST_FILE_BYTES)
        (seconds,) = framing.rebuild([["float64", answer["shape"]]], payload)
        return tuple(TimeResult(tuple(column.tolist()), 1) for column in seconds.numpy().T)

    def close(self) -> None:
        """Frees the network in the session."""
        self.session.request("the unloading of a network", {"op": "unload_model", "model": self.number})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ConnectedModel({self.artifact.types})"

    def arguments(self, inputs: Mapping[str, SessionArgument] | None) -> Arguments:
        """The inputs in order, as a request describes them. Raises ArgumentError for others than the network has."""
        given = self._given if inputs is None else inputs
        require_mapping(given, "inputs", self.inputs)
        names = [p.name for p in self.inputs]
        if given.keys() != set(names):
            raise wrong_inputs(given, self.inputs)
        return Arguments(self.session, [argument_of(given[name]) for name in names])


def _new(output: Parameter) -> NDArray:
    return empty(tuple(extent for extent in output.shape if isinstance(extent, int)), output.dtype)
