"""A session in a child process of this machine, with limits on time and memory.

The child shares only a socket with its parent. A crash, an endless loop or excessive use of memory in compiled code
ends the child, and the parent raises the error that says which it was.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import MappingProxyType, TracebackType
from typing import Self

from sateen.runtime import framing
from sateen.runtime.display import named, shortened
from sateen.runtime.errors import (
    ArgumentError,
    ArtifactError,
    ExecutionError,
    SateenError,
    SessionCrashedError,
    SessionError,
    SessionOutOfMemoryError,
    SessionTimeoutError,
    TargetError,
)
from sateen.runtime.isolation import isolated
from sateen.runtime.module import Argument, arrays_of, function_named, library_content
from sateen.runtime.ndarray import NDArray
from sateen.runtime.signature import Signature
from sateen.runtime.timing import TimeResult

_START_SECONDS = 60.0
_RAISED: dict[str, type[SateenError]] = {
    error.__name__: error
    for error in (ArgumentError, ArtifactError, ExecutionError, SessionOutOfMemoryError, TargetError)
}


class LocalSession:
    """A child process that runs libraries.

    One request (a load, a call, a measurement) takes at most `seconds`; the child may allocate `memory_bytes` beyond
    its interpreter's memory at the start, None for no limit. Beyond a limit the child ends and the request raises
    SessionTimeoutError or SessionOutOfMemoryError; when the child dies otherwise, SessionCrashedError. From then on the
    session raises SessionError.
    """

    def __init__(self, *, seconds: float = 60.0, memory_bytes: int | None = None) -> None:
        if not seconds > 0 or (memory_bytes is not None and memory_bytes <= 0):
            raise ArgumentError(
                f"expected positive limits of a session, found seconds={seconds}, memory_bytes={memory_bytes}"
            )
        if os.name != "posix":
            raise SessionError("expected a POSIX system for a local session, whose limits are those of setrlimit")
        self._seconds = seconds
        self._ended: str | None = None
        ours, theirs = socket.socketpair()
        limits = [str(theirs.fileno()), str(seconds), str(memory_bytes or 0)]
        command = isolated("sateen.runtime.session_child", limits)
        with theirs:
            # In a group of its own: an interrupt from the terminal is for the process that asked.
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], process_group=0
            )
        self._connection = ours
        self._finish = weakref.finalize(self, _end, self._child, ours)
        self._answer("the start", _START_SECONDS)

    def load(self, library: bytes | str | os.PathLike[str], *, threads: int = 0) -> LocalSessionModule:
        """Loads a library in the child. Raises ArtifactError for an unsuitable library, and the errors of the class."""
        image = library if isinstance(library, bytes) else library_content(Path(library))
        header, _ = self._request("the load of a library", {"op": "load", "threads": threads}, [image])
        return LocalSessionModule(
            self, header["module"], [Signature.from_json(function) for function in header["functions"]]
        )

    def close(self) -> None:
        """Ends the child and everything that runs in it."""
        self._ended = "it was closed"
        self._finish()

    def __repr__(self) -> str:
        state = "open" if self._ended is None else f"ended: {shortened(self._ended)}"
        return f"LocalSession(process {self._child.pid}, {state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(
        self, what: str, header: framing.Header, payload: Sequence[bytes | memoryview] = (), answer_bytes: int = 0
    ) -> tuple[framing.Header, memoryview]:
        """Sends one request and waits for its answer, of at most `answer_bytes` bytes besides its header.

        Raises the child's error, or the error that says what ended it. An interrupt ends the session, since the answer
        may still come.
        """
        if self._ended is not None:
            raise SessionError(f"{what}: expected an open session, found one that has ended: {self._ended}")
        self._connection.settimeout(self._seconds)
        try:
            try:
                framing.send(self._connection, header, payload)
            except TimeoutError:
                raise self._timed_out(what, self._seconds) from None
            except ConnectionError:
                pass  # the child has gone; its last answer, if it sent one, says why
            return self._answer(what, self._seconds, answer_bytes)
        except SateenError:
            raise
        except BaseException:
            self._end(f"{what} was interrupted")
            raise

    def _answer(self, what: str, seconds: float, most_bytes: int = 0) -> tuple[framing.Header, memoryview]:
        try:
            answer = framing.receive(self._connection, monotonic() + seconds, most_bytes)
        except TimeoutError:
            raise self._timed_out(what, seconds) from None
        except (OSError, framing.FramingError):
            raise self._crashed(what) from None
        if answer is None:
            raise self._crashed(what)
        header, payload = answer
        if "error" in header:
            error = _RAISED.get(str(header["error"]), SessionError)(f"{header['message']}")
            if isinstance(error, SessionOutOfMemoryError):
                self._end(str(error))
            raise error
        return header, payload

    def _timed_out(self, what: str, seconds: float) -> SessionTimeoutError:
        error = SessionTimeoutError(f"{what}: expected it to end within {seconds:g} s, it did not")
        self._end(str(error))
        return error

    def _crashed(self, what: str) -> SessionCrashedError:
        try:
            code = self._child.wait(1.0)
        except subprocess.TimeoutExpired:
            error = SessionCrashedError(f"{what}: the session's process sent what is no answer")
        else:
            cause = f"died of {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
            error = SessionCrashedError(f"{what}: the session's process {cause}")
        self._end(str(error))
        return error

    def _end(self, reason: str) -> None:
        self._ended = reason
        self._finish()


class LocalSessionFunction:
    """A function of a library in the child. Arguments are checked there, by the compiled code."""

    def __init__(self, session: LocalSession, module: int, signature: Signature) -> None:
        self.signature = signature
        self._session = session
        self._module = module

    def __call__(self, *arguments: Argument) -> None:
        arrays = arrays_of(self.signature, arguments)
        outputs = [
            array for array, parameter in zip(arrays, self.signature.parameters, strict=True) if parameter.is_output
        ]
        _, payload = self._request("call", arrays, {}, sum(output.nbytes for output in outputs))
        for array, result in zip(outputs, framing.rebuild(framing.describe(outputs), payload), strict=True):
            array.numpy()[...] = result.numpy()

    def time(self, *arguments: Argument, number: int = 1, repeat: int = 10, min_seconds: float = 0.0) -> TimeResult:
        options = {"number": number, "repeat": repeat, "min_seconds": min_seconds}
        header, _ = self._request("time", arrays_of(self.signature, arguments), {"options": options})
        return TimeResult(tuple(header["samples"]), header["number"])

    def __repr__(self) -> str:
        return f"LocalSessionFunction({self.signature.summary})"

    def _request(
        self, op: str, arrays: list[NDArray], more: framing.Header, answer_bytes: int = 0
    ) -> tuple[framing.Header, memoryview]:
        header = {
            "op": op,
            "module": self._module,
            "function": self.signature.name,
            "arrays": framing.describe(arrays),
            **more,
        }
        raw = [framing.raw(array) for array in arrays]
        return self._session._request(self.signature.name, header, raw, answer_bytes)


class LocalSessionModule:
    """A library in the child."""

    def __init__(self, session: LocalSession, index: int, signatures: Sequence[Signature]) -> None:
        self._session = session
        self._index = index
        self.functions: Mapping[str, LocalSessionFunction] = MappingProxyType(
            {signature.name: LocalSessionFunction(session, index, signature) for signature in signatures}
        )

    def __getitem__(self, name: str) -> LocalSessionFunction:
        return function_named(name, self.functions)

    def __repr__(self) -> str:
        return f"LocalSessionModule({named([function.signature.summary for function in self.functions.values()])})"

    def unload(self) -> None:
        """Frees the library in the child."""
        self._session._request("the unloading of a library", {"op": "unload", "module": self._index})


def _end(child: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    child.kill()
    child.wait()
