"""Measures candidates in sessions, on their processor or a device there: they are compiled here, and run there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import Any, Self

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.tune.function_bench import FunctionBench
from sateen.graph_ir.tune.measuring import Timing
from sateen.graph_ir.tune.network_bench import NetworkBench
from sateen.graph_ir.tune.problem_bench import ProblemBench, ProblemData
from sateen.runtime import Device, DeviceKind, LocalSession, Session
from sateen.runtime.errors import (
    ArgumentError,
    DeviceError,
    DeviceLostError,
    ExecutionError,
    SateenError,
    SessionCrashedError,
    SessionError,
    SessionLostError,
    SessionOutOfMemoryError,
    SessionProtocolError,
    SessionRefusedError,
    SessionTimeoutError,
)
from sateen.runtime.target import Target
from sateen.tensor_ir import DEFAULT_RULES, CompiledModule, Machine, build_functions
from sateen.tensor_ir.codegen import Compilers
from sateen.tensor_ir.ir import Function
from sateen.topi.methods import Method

MEMORY_BYTES = 8 << 30
"""The most bytes of memory that the work may take on this machine."""
MOST_LOST = 2
"""A candidate during which so many devices were lost is put aside."""
PATIENCE = 600.0
"""How many seconds devices, or their tracker, may stay away before measuring ends."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_ENDS = (SessionCrashedError, SessionOutOfMemoryError, SessionTimeoutError)
"""The ends of a session that its candidate has brought."""
_LOSSES = (SessionLostError, SessionProtocolError, DeviceLostError)
"""The ends of a session, or of its device, that may be no fault of its candidate."""


class SessionMeasurer:
    """Measures in one session at a time; a context manager.

    `open_session` gives a session, by default a child process of this machine, whose requests take at most `seconds`.
    `compilers` make the code for processors, by default this process. `device` says which of a session's devices
    measures, by default the first of the target's kind. `machine` is
    what schedules ask, by default the target's. A candidate's result is compared with that of the default
    method, and it is timed on one thread, or by the device's clock.

    A candidate that crashes, loops or takes too much memory ends its session, and the next one gets another. If the
    device is lost, the candidate is measured on the next one; if that is lost, too, it raises ExecutionError with both
    stories. Raises SessionLostError if no session is to be had for `PATIENCE` seconds.
    """

    def __init__(
        self,
        target: Target,
        open_session: Callable[[], Session] | None = None,
        *,
        compilers: Compilers | None = None,
        device: Device | None = None,
        seconds: float = 30.0,
        machine: Machine | None = None,
    ) -> None:
        if not seconds > 0:
            raise ArgumentError(f"expected a positive limit of seconds, found {seconds}")
        self._target, self._compilers, self._seconds = target, compilers, seconds
        self._chosen_for = machine
        self._device = Device(target.device_kind) if device is None else device
        self._is_processor = target.device_kind is DeviceKind.CPU
        self._open = open_session or self._here
        self._session: Session | None = None
        self._machine = ""
        self._bench: ProblemBench[Any] | None = None
        self._problem: Problem | None = None
        self._data: ProblemData | None = None
        self._is_closed = Event()

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        stories: list[str] = []
        while len(stories) < MOST_LOST:
            session = self._opened()
            try:
                return self._measured(session, problem, method, against)
            except _LOSSES as error:
                self._end()
                stories.append(str(error))
            except _ENDS as error:
                self._end()
                raise type(error)(f"{method}: {error}") from None
            except SateenError as error:
                raise ExecutionError(f"{method}: {error}") from error
            except Exception as error:  # of a candidate that can't be scheduled, as its answer says
                raise ExecutionError(f"{method}: {type(error).__name__}: {error}") from error
        raise ExecutionError(f"{method}: put aside, since {len(stories)} devices were lost: {'; '.join(stories)}")

    def close(self) -> None:
        self._is_closed.set()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _here(self) -> Session:
        """A child process. The memory of devices is not the host's, of which their drivers reserve any addresses."""
        return LocalSession(seconds=self._seconds, memory_bytes=MEMORY_BYTES if self._is_processor else None)

    def _opened(self) -> Session:
        """The session, or a new one. A device may be in use or away for a while, and so may its tracker."""
        end, pause = monotonic() + PATIENCE, _FIRST_PAUSE
        while (session := self._session) is None and not self._is_closed.is_set():
            try:
                self._session = session = self._open()
                self._machine = session.info()["machine"]
                if not self._is_processor:
                    self._machine = session.device(self._device)["name"]
            except (*_LOSSES, *_ENDS, SessionRefusedError) as error:  # no candidate has run yet
                self._end()
                if monotonic() >= end:
                    raise SessionLostError(str(error)) from None
                self._is_closed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except DeviceError as error:
                self._end()
                raise SessionRefusedError(str(error)) from None
        if session is None or self._is_closed.is_set():
            self._end()
            raise SessionLostError("expected a measurer that is open, found one that was closed")
        return session

    def _measured(self, session: Session, problem: Problem, method: Method, against: Method | None) -> Timing:
        if self._problem != problem or self._data is None:
            self._problem, self._data, self._bench = problem, ProblemData(problem), None
        if self._bench is None:
            self._bench = (
                FunctionBench(problem, self._target, session, self._library, self._data, self._chosen_for)
                if self._is_processor
                else NetworkBench(problem, self._target, self._device, session, self._data)
            )
        return self._bench.measure(method, against, self._machine)

    def _library(self, function: Function, target: Target) -> bytes:
        if self._compilers is None:
            return build_functions([function], target).library()
        code = self._compilers.submit(function, target)
        try:
            made = code.result(self._seconds)
        except TimeoutError:
            code.cancel()
            raise ExecutionError(f"expected it to be compiled within {self._seconds:g} s, it was not") from None
        return CompiledModule([function], target, DEFAULT_RULES, made).library()

    def _end(self) -> None:
        session, self._session, self._bench = self._session, None, None
        if session is not None:
            with suppress(SessionError):
                session.close()
