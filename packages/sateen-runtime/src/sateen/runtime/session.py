"""Sessions: places that run compiled functions, such as a child process or a device on the network.

A session takes libraries as bytes and arrays by value. If the code that it runs fails in any way, the caller gets an
error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from sateen.runtime.module import Argument
from sateen.runtime.signature import Signature
from sateen.runtime.timing import TimeResult


class SessionFunction(Protocol):
    """A function of a library that a session has loaded."""

    @property
    def signature(self) -> Signature: ...

    def __call__(self, *arguments: Argument) -> None:
        """Sends the arguments as compact arrays, runs the function, and fills its outputs."""

    def time(self, *arguments: Argument, number: int = 1, repeat: int = 10, min_seconds: float = 0.0) -> TimeResult:
        """Times the function where it runs, as `time_evaluator` does; the transfer is not counted and outputs stay
        there.
        """


class SessionModule(Protocol):
    """A library that a session has loaded."""

    @property
    def functions(self) -> Mapping[str, SessionFunction]: ...

    def __getitem__(self, name: str) -> SessionFunction: ...

    def unload(self) -> None:
        """Frees the library in the session."""


class Session(Protocol):
    """A place that runs libraries. Leaving its `with` block closes it."""

    def load(self, library: bytes | str | os.PathLike[str], *, threads: int = 0) -> SessionModule:
        """Loads a shared library, a file of this machine or its bytes; its functions use at most `threads` threads, 0
        for all.
        """

    def close(self) -> None:
        """Ends the session and everything that runs in it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
