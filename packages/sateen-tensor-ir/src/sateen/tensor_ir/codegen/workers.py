"""Worker processes that compile, so that both cores work and LLVM's fatal errors end a child.

What crosses is text: functions in text form and a target go out; object code and counts come back. A worker is started
once, by running `compile_worker` in a fresh interpreter, and serves requests until the pool is closed.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any, Self

from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import Report
from sateen.tensor_ir.codegen.object_code import ObjectCode
from sateen.tensor_ir.ir.stmt import Function

_LENGTH = struct.Struct("<Q")


def send_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    """One JSON object, with its length."""
    raw = json.dumps(message).encode()
    stream.write(_LENGTH.pack(len(raw)) + raw)
    stream.flush()


def receive_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next object; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    body = stream.read(_LENGTH.unpack(head)[0])
    return json.loads(body)  # type: ignore[no-any-return]


class _Worker:
    def __init__(self) -> None:
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "sateen.tensor_ir.codegen.compile_worker"]
        # An interrupt from the terminal is for the process that asked; it ends its workers by closing their input.
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer. Raises CodegenError if it dies on the request; a new one takes its place."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            send_message(self.process.stdin, message)
            answer = receive_message(self.process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            code = self.close()
            self.process = self._start()
            raise CodegenError(
                f"the compiler's process ended with status {code} while compiling {', '.join(message['names'])}"
            )
        return answer

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


class CompilerPool:
    """`processes` workers; a context manager."""

    def __init__(self, processes: int = 2) -> None:
        self._workers = [_Worker() for _ in range(processes)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(processes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, after the requests that they are at."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def compile(self, functions: Sequence[Function], target: Target | str = "llvm") -> list[ObjectCode]:
        """Object code of each function in order, with the default intrinsic rules.

        Raises CodegenError where a function can't be compiled, or a worker dies on it.
        """
        return [future.result() for future in [self.submit(f, target) for f in functions]]

    def submit(self, function: Function, target: Target | str = "llvm") -> Future[ObjectCode]:
        """The object code that a worker will have made of a function; its result raises as `compile` does."""
        return self._threads.submit(self._one, function, str(Target.of(target)))

    def _one(self, function: Function, target: str) -> ObjectCode:
        worker = self._idle.get()
        try:
            answer = worker.request({"names": [function.name], "functions": [str(function)], "target": target})
        finally:
            self._idle.put(worker)
        if "error" in answer:
            raise CodegenError(answer["error"])
        return ObjectCode(base64.b64decode(answer["code"]), tuple(answer["symbols"]), Report(**answer["report"]))
