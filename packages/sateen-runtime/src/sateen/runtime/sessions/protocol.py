"""Sessions: places that run compiled code, such as a child process or a device on the network.

A session takes libraries and artifacts by content and arrays by value, and gives functions, models and arrays that
stay where they are. If the code that it runs fails in any way, the caller gets an error. Whoever measures, verifies or
tunes takes a `Session` and knows nothing of where it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np

from sateen.runtime.artifact import Artifact
from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.framing import Header
from sateen.runtime.module import Argument
from sateen.runtime.ndarray import AnyArray
from sateen.runtime.outputs import Outputs
from sateen.runtime.signature import Parameter, Signature
from sateen.runtime.timing import TimeResult

Content = bytes | str | os.PathLike[str]
"""A file of this machine, or its bytes."""


class SessionArray(Protocol):
    """An array in a session. Calls take it as it is; only `numpy` and `copy_from` transfer it."""

    @property
    def dtype(self) -> DType: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def nbytes(self) -> int: ...

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the array here."""

    def copy_from(self, values: AnyArray) -> None:
        """Overwrites the array. Raises ArgumentError for another element type or shape."""

    def copy(self) -> SessionArray:
        """Another array there, with the same elements."""


SessionArgument = Argument | SessionArray
"""An array that is sent, or one that is there already."""


class SessionFunction(Protocol):
    """A function of a library that a session has loaded."""

    @property
    def signature(self) -> Signature: ...

    def __call__(self, *arguments: SessionArgument) -> None:
        """Runs the function. Arrays of this process are sent in compact form, and outputs among them are filled."""

    def time(
        self, *arguments: SessionArgument, number: int = 1, repeat: int = 10, min_seconds: float = 0.0
    ) -> TimeResult:
        """Times the function where it runs, as `time_evaluator` does; the transfer is not counted and outputs stay
        there.
        """


SessionCall = tuple[SessionFunction, Sequence[Sequence[SessionArray]]]
"""A function, and the arguments of its calls, which are taken one after the other and then again."""


class SessionModule(Protocol):
    """A library that a session has loaded."""

    @property
    def functions(self) -> Mapping[str, SessionFunction]: ...

    def __getitem__(self, name: str) -> SessionFunction: ...

    def unload(self) -> None:
        """Frees the library in the session."""


class SessionModel(Protocol):
    """A network that a session has loaded, with the methods of `Model`."""

    @property
    def artifact(self) -> Artifact: ...

    @property
    def inputs(self) -> tuple[Parameter, ...]: ...

    @property
    def outputs(self) -> tuple[Parameter, ...]: ...

    def run(
        self,
        inputs: Mapping[str, SessionArgument] | None = None,
        *,
        out: Mapping[str, SessionArgument] | None = None,
    ) -> Outputs:
        """The outputs by name, as of `Model.run`: arrays of this process, except those that `out` keeps there."""

    def set_input(self, name: str, value: SessionArgument) -> None:
        """Keeps an input for `run()`."""

    def time(
        self,
        inputs: Mapping[str, SessionArgument] | None = None,
        *,
        number: int = 1,
        repeat: int = 10,
        min_seconds: float = 0.0,
    ) -> TimeResult:
        """Times runs where they happen, as `time_evaluator` does."""

    def time_steps(self, inputs: Mapping[str, SessionArgument], samples: int = 20) -> tuple[TimeResult, ...]:
        """The time of each of `artifact.steps` where they run, as the function `time_steps` does."""

    def close(self) -> None:
        """Frees the network in the session."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


SessionRun = tuple[SessionModel, Mapping[str, SessionArray]]
"""A network, and its inputs."""


class SessionFiles(Protocol):
    """The scratch folder of a session: files by plain names, which go when it ends."""

    def put(self, name: str, content: bytes | memoryview) -> None: ...

    def get(self, name: str) -> bytes: ...

    def remove(self, name: str) -> None: ...

    def names(self) -> Sequence[str]: ...


class Session(Protocol):
    """A place that runs code. Leaving its `with` block closes it."""

    @property
    def files(self) -> SessionFiles: ...

    def info(self) -> Mapping[str, Any]:
        """What is there: `target`, the text of its processor; `machine`, the system's name of it; `processors`, how
        many may be used; `memory_bytes`; `versions` by distribution."""

    def device(self, device: Device | str) -> Mapping[str, Any]:
        """What a device of the machine is like: the fields of its DeviceDescription. Raises DeviceError if it is not
        there."""

    def load(self, library: Content, *, threads: int = 0) -> SessionModule:
        """Loads a shared library; its functions use at most `threads` threads, 0 for all."""

    def load_model(
        self, artifact: Artifact | Content, *, threads: int = 0, device: Device | str | None = None
    ) -> SessionModel:
        """Loads a network, as the function `load` does. Content that the session has already is not sent again."""

    def array(self, values: AnyArray) -> SessionArray:
        """A copy of an array, there."""

    def empty(self, shape: int | Sequence[int], dtype: DType | str = "float32") -> SessionArray:
        """A new array there, with undefined elements."""

    def time_in_turns(
        self, calls: Sequence[SessionCall], *, repeat: int = 10, min_seconds: float = 0.0
    ) -> list[TimeResult]:
        """Times functions of libraries that were loaded with one thread against each other, as the function
        `time_in_turns` does."""

    def time_networks(
        self, runs: Sequence[SessionRun], *, repeat: int = 10, min_seconds: float = 0.0
    ) -> list[TimeResult]:
        """Times networks on devices against each other, as the function `time_networks` does."""

    def log(self) -> str:
        """The end of what the session's process has written to its standard output and standard error."""

    def close(self) -> None:
        """Ends the session and everything that runs in it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Connection(Protocol):
    """Carries messages between a client and the process of its session."""

    def send(self, header: Header, payload: Sequence[bytes | memoryview] = (), deadline: float | None = None) -> None:
        """Sends a message. Raises TimeoutError after `deadline`, a time of `monotonic`, SessionLostError if the other
        side is gone."""

    def receive(self, deadline: float | None = None, most_bytes: int = 0) -> tuple[Header, memoryview] | None:
        """The next message, with at most `most_bytes` of payload; None if the other side has closed.

        Raises TimeoutError after `deadline`, SessionLostError if the connection breaks, SessionProtocolError for what
        is no message, and for one that is too large, before memory is taken for it.
        """

    def close(self) -> None: ...
