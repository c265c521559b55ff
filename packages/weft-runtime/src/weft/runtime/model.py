"""A loaded network: arrays by name in, arrays by name out."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from weft.runtime.artifact import Artifact, read_artifact
from weft.runtime.device import Device, cpu
from weft.runtime.errors import ArgumentError, ArtifactError
from weft.runtime.module import Argument, Module, load_module
from weft.runtime.ndarray import ALIGNMENT, NDArray, array, empty
from weft.runtime.signature import Parameter
from weft.runtime.verified import VerifiedFiles


class Model:
    """A network ready to run on one thread at a time. Its parameters are shared with the file, read-only.

        model = load("squeezenet.weft", threads=2)
        outputs = model.run({"data": x})

    or, in the style of 2017, `set_input`, `run()`, `get_output`.
    """

    def __init__(self, artifact: Artifact, module: Module, device: Device) -> None:
        self.artifact = artifact
        self.device = device
        self._run = module["run"]
        block = NDArray.of(np.frombuffer(artifact.parameters, np.uint8))
        self._parameters = block if block.data % ALIGNMENT == 0 else array(block)  # a file's lie at a page
        self._workspace = empty((max(artifact.workspace_bytes, 64),), "uint8")
        self._given: dict[str, Argument] = {}
        self._results: dict[str, NDArray] = {}

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return self.artifact.outputs

    def run(
        self, inputs: Mapping[str, Argument] | None = None, *, out: Mapping[str, NDArray] | None = None
    ) -> dict[str, NDArray]:
        """Fresh outputs by name (those in `out` are reused). Without `inputs`, those of `set_input` are taken.

        Raises ArgumentError for an input that is missing, unknown or of another type, shape or device.
        """
        given = self._given if inputs is None else inputs
        self._check_names("input", given, self.inputs)
        if out is not None:
            self._check_known("output", out, self.outputs)
        results = {
            p.name: out[p.name] if out is not None and p.name in out else empty(_shape(p), p.dtype)
            for p in self.outputs
        }
        self._run(*(given[p.name] for p in self.inputs), *results.values(), self._parameters, self._workspace)
        self._results = results
        return results

    def set_input(self, name: str, value: Argument) -> None:
        """Keep an input for `run()`."""
        self._check_known("input", {name: value}, self.inputs)
        self._given[name] = value

    def get_output(self, index: int | str) -> NDArray:
        """An output of the last run, by position or name. Raises ArgumentError before the first."""
        if not self._results:
            raise ArgumentError("get_output: the model has not run yet")
        if isinstance(index, str):
            self._check_known("output", {index: None}, self.outputs)
            return self._results[index]
        return list(self._results.values())[index]

    def _check_known(self, what: str, given: Mapping[str, object], known: tuple[Parameter, ...]) -> None:
        names = [p.name for p in known]
        for name in given:
            if name not in names:
                raise ArgumentError(f"expected {what}s {', '.join(map(str, known))}; found {name!r}")

    def _check_names(self, what: str, given: Mapping[str, object], known: tuple[Parameter, ...]) -> None:
        self._check_known(what, given, known)
        for p in known:
            if p.name not in given:
                raise ArgumentError(f"{what} {p} is missing; given are {', '.join(given) or 'none'}")


def _shape(p: Parameter) -> tuple[int, ...]:
    return tuple(extent for extent in p.shape if isinstance(extent, int))


def load(
    source: Artifact | bytes | str | os.PathLike[str],
    device: Device | str = "cpu",
    *,
    threads: int = 0,
    verified: VerifiedFiles | None = None,
) -> Model:
    """Load an artifact: a file, its bytes, or what the compiler has just made.

    `threads` caps the threads of a run, 0 for all; `verified` skips hashing parameters that it knows. Raises
    ArtifactError for an artifact that is damaged, of another version, or compiled for another processor or device.
    """
    artifact = source if isinstance(source, Artifact) else read_artifact(source, verified=verified)
    place = Device.of(device)
    if place != cpu():
        raise ArtifactError(f"compiled for {artifact.target}, which runs on {cpu()}; found device {place}")
    return Model(artifact, load_module(artifact.library, threads=threads), place)
