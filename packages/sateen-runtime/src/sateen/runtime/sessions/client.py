"""The client's side of a session, over any connection."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sateen.runtime import framing
from sateen.runtime.artifact import Artifact
from sateen.runtime.artifact_reader import read_artifact
from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ArtifactError, SessionRefusedError
from sateen.runtime.framing import MOST_EXTENT, Header
from sateen.runtime.module import library_content
from sateen.runtime.ndarray import AnyArray, NDArray
from sateen.runtime.sessions.held import (
    MOST_FILE_BYTES,
    Arguments,
    ConnectedArray,
    ConnectedFiles,
    ConnectedFunction,
    ConnectedModule,
)
from sateen.runtime.sessions.networks import ConnectedModel
from sateen.runtime.sessions.protocol import (
    Content,
    SessionArray,
    SessionCall,
    SessionFunction,
    SessionModel,
    SessionRun,
)
from sateen.runtime.sessions.requests import Requests
from sateen.runtime.signature import Signature
from sateen.runtime.timing import TimeResult

_MOST_LOADS = 4


class ConnectedSession(Requests):
    """A session at the other end of a connection."""

    @property
    def files(self) -> ConnectedFiles:
        return ConnectedFiles(self)

    def info(self) -> Mapping[str, Any]:
        return self.request("info", {"op": "info"})[0]

    def load(self, library: Content, *, threads: int = 0) -> ConnectedModule:
        """Loads a library there. Raises ArtifactError for an unsuitable library, and the errors of the class."""
        image = library if isinstance(library, bytes) else library_content(Path(library))
        what = "the load of a library"
        header = self._loaded(what, "load", image, {"threads": threads})
        return ConnectedModule(self, header["module"], [Signature.from_json(f) for f in header["functions"]])

    def device(self, device: Device | str) -> Mapping[str, Any]:
        return self.request("the description of a device", {"op": "device", "device": str(Device.of(device))})[0]

    def load_model(
        self, artifact: Artifact | Content, *, threads: int = 0, device: Device | str | None = None
    ) -> ConnectedModel:
        """Loads a network there. Raises ArtifactError for an artifact that is damaged or for another machine, and
        DeviceError for kernels that its device refuses."""
        read = artifact if isinstance(artifact, Artifact) else read_artifact(artifact)
        match artifact:
            case Artifact():
                content = artifact.to_bytes()
            case bytes():
                content = artifact
            case _:
                content = Path(artifact).read_bytes()
        place = {} if device is None else {"device": str(Device.of(device))}
        op = "load_model_on" if place else "load_model"
        try:
            header = self._loaded("the load of a network", op, content, {"threads": threads, **place})
        except ArtifactError as error:
            name = "artifact" if isinstance(artifact, (Artifact, bytes)) else artifact
            raise ArtifactError(f"{name}: {error}") from None
        return ConnectedModel(self, header["model"], read)

    def array(self, values: AnyArray) -> ConnectedArray:
        value = NDArray.of(values)
        header = {"op": "array", "arrays": framing.describe([value])}
        number = self.request("an array", header, [framing.raw(value)])[0]["array"]
        return ConnectedArray(self, number, value.dtype, value.shape)

    def empty(self, shape: int | Sequence[int], dtype: DType | str = "float32") -> ConnectedArray:
        kind, extents = DType.of(dtype), (shape,) if isinstance(shape, int) else tuple(shape)
        if not all(0 <= extent < MOST_EXTENT for extent in extents):
            raise ArgumentError(f"expected extents of 0 to 2^62 - 1, found shape {extents!r:.80}")
        header = {"op": "empty", "dtype": str(kind), "shape": list(extents)}
        return ConnectedArray(self, self.request("an array", header)[0]["array"], kind, extents)

    def time_in_turns(
        self, calls: Sequence[SessionCall], *, repeat: int = 10, min_seconds: float = 0.0
    ) -> list[TimeResult]:
        described = [self._described(function, arguments) for function, arguments in calls]
        header = {"op": "time_in_turns", "calls": described, "repeat": repeat, "min_seconds": min_seconds}
        times, _ = self.request("time", header)
        return [TimeResult(tuple(samples), number) for samples, number in times["times"]]

    def time_networks(
        self, runs: Sequence[SessionRun], *, repeat: int = 10, min_seconds: float = 0.0
    ) -> list[TimeResult]:
        described = [self._described_run(model, inputs) for model, inputs in runs]
        header = {"op": "time_networks", "runs": described, "repeat": repeat, "min_seconds": min_seconds}
        times, _ = self.request("time", header)
        return [TimeResult(tuple(samples), number) for samples, number in times["times"]]

    def _described_run(self, model: SessionModel, inputs: Mapping[str, SessionArray]) -> list[Any]:
        """A network of this session and arrays of it, by their numbers."""
        if not isinstance(model, ConnectedModel) or model.session is not self:
            raise ArgumentError(f"expected a network of {self}, found {model}")
        given = model.arguments(inputs)
        if given.payload:
            raise ArgumentError(f"{model}: expected arrays of the session, found others")
        return [model.number, given.described]

    def _described(self, function: SessionFunction, arguments: Sequence[Sequence[SessionArray]]) -> list[Any]:
        """A function of this session and arrays of it, by their numbers."""
        if not isinstance(function, ConnectedFunction) or function.session is not self:
            raise ArgumentError(f"expected a function of {self}, found {function}")
        taken = [Arguments.of(self, function.signature, given) for given in arguments]
        if any(given.payload for given in taken):
            raise ArgumentError(f"{function.signature.name}: expected arrays of the session, found others")
        return [function.module, function.signature.name, [given.described for given in taken]]

    def log(self) -> str:
        return bytes(self.request("the log", {"op": "log"}, most_bytes=MOST_FILE_BYTES)[1]).decode("utf-8", "replace")

    def _loaded(self, what: str, op: str, content: bytes, options: Header) -> Header:
        """The answer to a load of content, which is sent only if the session asks for it. What others upload may push
        it out of the store before it is loaded; then it is sent again."""
        digest = hashlib.sha256(content).hexdigest()
        for _ in range(_MOST_LOADS):
            header, _ = self.request(what, {"op": op, "digest": digest, **options})
            if "missing" not in header:
                return header
            self.request(what, {"op": "store", "digest": digest}, [content])
        raise SessionRefusedError(f"{what}: expected a store that keeps {len(content)} bytes, found one with less room")
