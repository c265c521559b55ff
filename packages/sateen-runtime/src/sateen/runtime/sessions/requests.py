"""Requests of a client and their answers, over any connection."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Self

from sateen.runtime.display import shortened
from sateen.runtime.errors import (
    ArgumentError,
    ArtifactError,
    DeviceError,
    DeviceLostError,
    ExecutionError,
    SateenError,
    SessionError,
    SessionLostError,
    SessionOutOfMemoryError,
    SessionProtocolError,
    SessionRefusedError,
    SessionTimeoutError,
    TargetError,
)
from sateen.runtime.framing import Header
from sateen.runtime.sessions.protocol import Connection

_RAISED: dict[str, type[SateenError]] = {
    error.__name__: error
    for error in (
        ArgumentError,
        ArtifactError,
        DeviceError,
        DeviceLostError,
        ExecutionError,
        SessionOutOfMemoryError,
        SessionProtocolError,
        SessionRefusedError,
        TargetError,
    )
}


class Requests(ABC):
    """Asks the process of a session. It does not refer to itself, so that a session that nobody holds ends at once.

    `place` is the name in messages. One request (a load, a call, a measurement) takes at most `seconds`; then the
    session has ended and the request raises SessionTimeoutError. `finish` ends the process at the other end.
    """

    def __init__(
        self,
        connection: Connection,
        place: str,
        seconds: float,
        finish: Callable[[], object],
    ) -> None:
        self._connection = connection
        self._place, self._seconds = place, seconds
        self._finish = finish
        self._process = os.getpid()
        self._ended: str | None = None
        self._lock = Lock()
        self._unused: deque[int] = deque()

    @abstractmethod
    def explain(self, what: str, error: SessionError | None) -> SessionError:
        """Why the process at the other end is gone, which `what` met as `error`, or as the end of the connection."""

    def close(self) -> None:
        """Ends the session and everything that runs in it."""
        self.end("it was closed")

    def end(self, reason: str) -> None:
        self._ended = self._ended or reason
        self._finish()

    def __repr__(self) -> str:
        state = "open" if self._ended is None else f"ended: {shortened(self._ended)}"
        return f"{type(self).__name__}({self._place}, {state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self, what: str, header: Header, payload: Sequence[bytes | memoryview] = (), most_bytes: int = 0
    ) -> tuple[Header, memoryview]:
        """Sends one request and waits for its answer, of at most `most_bytes` bytes besides its header.

        Raises the error of the other side, or the error that says what ended it. An interrupt ends the session, since
        the answer may still come.
        """
        if os.getpid() != self._process:  # whose answers would be those to other requests
            raise SessionError(
                f"{what}: expected a session of this process, found one of the process that it comes from"
            )
        with self._lock:
            if self._ended is not None:
                raise SessionError(f"{what}: expected an open session, found one that has ended: {self._ended}")
            deadline = monotonic() + self._seconds
            unused = [self._unused.popleft() for _ in range(len(self._unused))]
            try:
                # If the other side has gone, its last answer, if it sent one, says why.
                with self._kept(unused), suppress(SessionLostError):
                    self._connection.send({**header, "unused": unused}, payload, deadline)
                return self.answer(what, deadline, most_bytes)
            except TimeoutError:
                raise self._timed_out(what) from None
            except SateenError:
                raise
            except BaseException:
                self.end(f"{what} was interrupted")
                raise

    def answer(self, what: str, deadline: float, most_bytes: int = 0) -> tuple[Header, memoryview]:
        """The answer to a request. Raises TimeoutError after the deadline, and the errors of `request`."""
        try:
            answer = self._connection.receive(deadline, most_bytes)
        except (SessionLostError, SessionProtocolError) as error:
            raise self._gone(what, error) from None
        if answer is None:
            raise self._gone(what, None)
        header, payload = answer
        if "error" in header:
            told = _RAISED.get(str(header["error"]), SessionError)(f"{header.get('message')}")
            if isinstance(told, SessionOutOfMemoryError) or "ends" in header:
                self.end(str(told))
            raise told
        return header, payload

    def forget(self, array: int) -> None:
        """Free an array with the next request."""
        self._unused.append(array)

    @contextmanager
    def _kept(self, unused: list[int]) -> Iterator[None]:
        """Keeps the numbers of unused arrays for the next request if this one can't be sent."""
        try:
            yield
        except (ArgumentError, SessionProtocolError):
            self._unused.extendleft(reversed(unused))
            raise

    def _timed_out(self, what: str) -> SessionTimeoutError:
        error = SessionTimeoutError(f"{what}: expected it to end within {self._seconds:g} s, it did not")
        self.end(str(error))
        return error

    def _gone(self, what: str, error: SessionError | None) -> SessionError:
        found = self.explain(what, error)
        self.end(str(found))
        return found
