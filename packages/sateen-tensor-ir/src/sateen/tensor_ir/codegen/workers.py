"""Worker processes that compile, so that both cores work and LLVM's fatal errors end a child.

Functions in text form and a target go out; object code and counts come back. A worker is started
once, by running the pool's program in a fresh interpreter, and serves requests until the pool is closed. It starts with
the pool, so that it is ready when the first request comes, or with its first request.
"""

from __future__ import annotations

import gc
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import LifoQueue
from threading import Lock
from types import TracebackType
from typing import IO, Any, ClassVar, Protocol, Self

from sateen.runtime.errors import CodegenError
from sateen.runtime.isolation import isolated
from sateen.runtime.target import Target
from sateen.runtime.threads import Threads
from sateen.tensor_ir.codegen.compile_requests import code_of, request_for
from sateen.tensor_ir.codegen.object_code import ObjectCode
from sateen.tensor_ir.ir.stmt import Function

MOST_MESSAGE_BYTES = 1 << 30
"""The most bytes of one message; the object code of a function takes thousands."""
_LENGTH = struct.Struct("<Q")


def send_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    """One JSON object, with its length."""
    raw = json.dumps(message).encode()
    stream.write(_LENGTH.pack(len(raw)) + raw)
    stream.flush()


def receive_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next object; None at the end of the stream. Raises ValueError for an invalid message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MOST_MESSAGE_BYTES:
        raise ValueError(f"expected a message of at most {MOST_MESSAGE_BYTES} bytes, found {length}")
    message = json.loads(stream.read(length))
    if not isinstance(message, dict):
        raise ValueError(f"expected a message of a JSON object, found {type(message).__name__}")
    return message


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer the requests on the standard input, each on the standard output, until the input ends."""
    gc.freeze()  # what is imported is no garbage
    while (message := receive_message(sys.stdin.buffer)) is not None:
        send_message(sys.stdout.buffer, answer(message))


class _Worker:
    def __init__(self, program: str) -> None:
        self._program = program
        self._is_ended = False
        self._was_asked = False
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = isolated(self._program)
        # An interrupt from the terminal is for the process that asked; it ends its workers by closing their input.
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer.

        Raises CodegenError if it dies on the request or gives no answer; a new one takes its place. The same happens if
        the request is interrupted, since the answer may still come.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._was_asked = True
        try:
            send_message(self.process.stdin, message)
            answer = receive_message(self.process.stdout)
        except (BrokenPipeError, ValueError):  # it died, or something else writes to its output
            answer = None
        except BaseException:
            self.process.kill()
            self._replace()
            raise
        if answer is None:
            code = self._replace()
            raise CodegenError(
                f"the compiler's process ended with status {code} while compiling {', '.join(message['names'])}"
            )
        return answer

    def _replace(self) -> int:
        """Start another process, unless the pool is closed; returns the exit status of the old one."""
        code = self.close()
        if not self._is_ended:
            self.process = self._start()
        return code

    def end(self) -> None:
        """End the process at once, and with it the wait for its answer."""
        self._is_ended = True
        self.process.kill()

    def close(self) -> int:
        """Wait until the process has ended, after its current request. One that was never asked may still be starting:
        it ends at once."""
        if not self._was_asked:
            self.process.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # of a request that it did not live to read
            self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


class Compilers(Protocol):
    """Who makes object code of functions, somewhere else."""

    def submit(
        self, function: Function, target: Target | str = "llvm", *, internal: bool = False
    ) -> Future[ObjectCode]:
        """A future of a function's object code. Its result raises CodegenError if the function can't be compiled, or
        who compiles it dies on it."""


class CompilerPool:
    """`processes` workers; a context manager, which ends them at once when an error or an interrupt leaves it.

    They start now, beside what the caller does next; or, if not `at_once`, each with the first request that finds no
    other one idle, for callers that may have nothing to ask.
    """

    program: ClassVar[str] = "sateen.tensor_ir.codegen.compile_worker"
    """The module that a worker runs: it calls `serve`."""

    def __init__(self, processes: int = 2, *, at_once: bool = True) -> None:
        self._workers: list[_Worker] = []
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        """None is a worker that is not started yet; it comes last."""
        self._is_ended = False
        self._starting = Lock()
        """Guards the workers and whether they are ended: none starts afterwards."""
        self._threads = Threads(processes)
        try:
            for _ in range(processes):
                self._idle.put(self._start() if at_once else None)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._end()

    def close(self) -> None:
        """End the workers after their current requests."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _end(self) -> None:
        """End the workers at once."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._starting:
            self._is_ended = True
            for worker in self._workers:
                worker.end()
        self.close()

    def compile(self, functions: Sequence[Function], target: Target | str = "llvm") -> list[ObjectCode]:
        """Object code of each function in order, with the default rules.

        Raises CodegenError if a function can't be compiled, or a worker dies on it.
        """
        return [future.result() for future in [self.submit(f, target) for f in functions]]

    def submit(
        self, function: Function, target: Target | str = "llvm", *, internal: bool = False
    ) -> Future[ObjectCode]:
        """A future of a function's object code from a worker; its result raises as `compile` does.

        `internal` is for functions that only `Invoke` calls (`compile_functions`). Raises CodegenError for a user's
        intrinsic, which workers do not know.
        """
        asked = request_for(function, target, internal=internal)
        return self._threads.submit(lambda: code_of(self._answer(asked)))

    def ask(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        """A future of the answer of a worker's program to a request, whose `names` tell what it is about. Its result
        raises CodegenError if the worker dies on it."""
        return self._threads.submit(self._answer, request)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._start()
            return worker.request(request)
        finally:
            self._idle.put(worker)

    def _start(self) -> _Worker:
        with self._starting:
            if self._is_ended:
                raise CodegenError("expected a pool of compilers, found one that an error or an interrupt has ended")
            self._workers.append(_Worker(self.program))
            return self._workers[-1]
