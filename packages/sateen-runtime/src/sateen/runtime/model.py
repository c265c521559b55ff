"""A loaded network: arrays by name in, arrays by name out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from types import TracebackType
from typing import Self

import numpy as np

from sateen.runtime.artifact import ENTRY, Artifact
from sateen.runtime.artifact_reader import read_artifact
from sateen.runtime.content import whole
from sateen.runtime.device import Device, cpu
from sateen.runtime.errors import ArgumentError, ArtifactError, TargetError
from sateen.runtime.module import Argument, Function, Module, load_module
from sateen.runtime.ndarray import ALIGNMENT, NDArray, allocator, array, empty
from sateen.runtime.signature import Parameter, Signature
from sateen.runtime.target import Target
from sateen.runtime.verified import VerifiedFiles


class Model:
    """A network ready to run. Its parameters are shared with the file, read-only; its workspace is its own.

        model = load("squeezenet.sateen", threads=2)
        outputs = model.run({"data": x})

    or, in the style of 2017, `set_input`, `run()`, `get_output`. Threads that run one model wait for each other; those
    that should not, load a model each.
    """

    def __init__(self, artifact: Artifact, module: Module, device: Device) -> None:
        """Raises ArtifactError where the module is not what the artifact's manifest says, OutOfMemoryError where there
        is no memory for the workspace.
        """
        self.artifact = artifact
        self.device = device
        self._function: Function | None = _entry(artifact, module)
        block = NDArray.of(np.frombuffer(whole(artifact.parameters) or bytes(64), np.uint8))
        parameters = block if block.data % ALIGNMENT == 0 else array(block)  # a file's lie at a page
        workspace = empty((max(artifact.workspace_bytes, 64),), "uint8")
        self.clock = empty((len(artifact.steps) + 1,), "int64") if artifact.steps else None
        """Of a network with timed steps: ticks of the processor when the last run began and after each of its steps."""
        clock = () if self.clock is None else (self.clock,)
        self._blocks: tuple[NDArray, ...] = (*clock, parameters, workspace)
        self._inputs = tuple(p.name for p in artifact.inputs)
        self._input_names = frozenset(self._inputs)
        self._outputs = {p.name: allocator(_shape(p), p.dtype) for p in artifact.outputs}
        self._given: dict[str, Argument] = {}
        self._results: dict[str, NDArray] = {}
        self._lock = Lock()

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return self.artifact.outputs

    def run(
        self, inputs: Mapping[str, Argument] | None = None, *, out: Mapping[str, Argument] | None = None
    ) -> dict[str, NDArray]:
        """Outputs by name: fresh ones, or those that `out` gives. Without `inputs`, those of `set_input` are taken.

        An array of `out` may be an input where `artifact.aliases` says so, and has memory of its own elsewhere. Raises
        ArgumentError for what is no mapping, for an input that is missing, unknown or of another type, shape, strides
        or device, and for a model that was closed.
        """
        given = self._given if inputs is None else inputs
        _require_mapping(given, "inputs", self.inputs)
        if given.keys() != self._input_names:
            raise self._wrong_names(given)
        if out is not None:
            _require_mapping(out, "outputs", self.outputs)
            self._check_outputs(out)
            results = {n: NDArray.of(out[n]) if n in out else make() for n, make in self._outputs.items()}
        else:
            results = {n: make() for n, make in self._outputs.items()}
        with self._lock:
            if self._function is None:
                raise ArgumentError("run: expected a model that is open, found one that was closed")
            self._function(*[given[n] for n in self._inputs], *results.values(), *self._blocks)
        self._results = results
        return results

    def set_input(self, name: str, value: Argument) -> None:
        """Keep an input for `run()`: the array itself, not a copy. Raises ArgumentError for an unknown name."""
        if name not in self._input_names:
            raise ArgumentError(f"expected inputs {_list(self.inputs)}; found {name!r}")
        self._given[name] = value

    def get_output(self, index: int | str) -> NDArray:
        """An output of the last run, by position or name.

        Raises ArgumentError before the first, and for one that does not exist.
        """
        if not self._results:
            raise ArgumentError("get_output: the model has not run yet")
        if isinstance(index, str):
            self._check_outputs({index: None})
            return self._results[index]
        if not 0 <= index < len(self.outputs):
            raise ArgumentError(f"expected an output from 0 to {len(self.outputs) - 1}, found {index}")
        return self._results[self.outputs[index].name]

    def close(self) -> None:
        """Give back workspace and code; the parameters stay as long as the artifact. A run under way ends first."""
        with self._lock:
            self._function = None
            self._blocks = ()
            self._given.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_outputs(self, given: Mapping[str, object]) -> None:
        for name in given:
            if name not in self._outputs:
                raise ArgumentError(f"expected outputs {_list(self.outputs)}; found {name!r}")

    def _wrong_names(self, given: Mapping[str, object]) -> ArgumentError:
        for name in given:
            if name not in self._input_names:
                return ArgumentError(f"expected inputs {_list(self.inputs)}; found {name!r}")
        missing = next(p for p in self.inputs if p.name not in given)
        return ArgumentError(f"input {missing} is missing; given are {', '.join(given) or 'none'}")


def load(
    source: Artifact | bytes | str | os.PathLike[str],
    device: Device | str = "cpu",
    *,
    threads: int = 0,
    verified: VerifiedFiles | None = None,
) -> Model:
    """Load an artifact: a file, its bytes, or what the compiler has just made.

    `threads` caps the threads of a run, 0 for all; `verified` skips hashing parameters that it knows. A file is mapped,
    so while a model is in use it may be replaced (as `Artifact.save` does) but not written to. Raises ArtifactError for
    an artifact that is damaged, of another version, or compiled for another processor or device, ArgumentError for a
    source of another kind and for `threads` that are no count.
    """
    artifact = source if isinstance(source, Artifact) else read_artifact(source, verified=verified)
    name = "artifact" if isinstance(source, (Artifact, bytes)) else str(source)
    try:
        place = Device.of(device)
        if place != cpu():
            raise ArtifactError(f"compiled for {artifact.target}, which runs on {cpu()}; found device {place}")
        _check_target(artifact.target)
        return Model(artifact, load_module(artifact.library, threads=threads), place)
    except ArtifactError as error:
        raise ArtifactError(f"{name}: {error}") from None


def _check_target(text: str) -> None:
    """Raises ArtifactError unless this machine runs code for the target that the manifest names."""
    try:
        target = Target.parse(text)
    except TargetError as error:
        raise ArtifactError(f"{error}; renew sateen-runtime, or compile the model again") from None
    host = Target.host()
    if missing := host.missing_features(target):
        raise ArtifactError(
            f"expected code for this machine, found some that needs {', '.join(missing)}; compile the model again, "
            f"here or with --target '{host}'"
        )


def _entry(artifact: Artifact, module: Module) -> Function:
    """The function that runs the network. Names of parameters are the code generator's own, so they may differ."""
    function, expected = module.functions.get(ENTRY), artifact.signature
    if function is None or _forms(function.signature) != _forms(expected):
        found = "no such function" if function is None else str(function.signature)
        raise ArtifactError(
            f"expected a library of {expected}, as the manifest says, found {found}: it belongs to another artifact; "
            "compile the model again"
        )
    return function


def _forms(signature: Signature) -> list[tuple[object, ...]]:
    return [(p.dtype, p.shape, p.strides, p.alignment, p.device, p.is_output) for p in signature.parameters]


def _require_mapping(given: object, what: str, parameters: tuple[Parameter, ...]) -> None:
    """Raises ArgumentError unless arrays come by name."""
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"run: expected a mapping from the names of {what} to arrays, for {_list(parameters)}; "
            f"found {type(given).__name__}"
        )


def _shape(p: Parameter) -> tuple[int, ...]:
    return tuple(extent for extent in p.shape if isinstance(extent, int))


def _list(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(map(str, parameters)) or "none"
