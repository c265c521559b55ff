"""The child process of a local session: it loads libraries and runs them with limits."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Sequence
from itertools import count

from sateen.runtime import framing
from sateen.runtime.errors import OutOfMemoryError, SateenError, SessionError, SessionOutOfMemoryError
from sateen.runtime.limits import limit_memory
from sateen.runtime.module import CompiledFunction, Module, load_module
from sateen.runtime.timing import time_evaluator

_GRACE_SECONDS = 5.0
"""Seconds after the limit at which a child ends itself, if its parent did not."""


def main(arguments: Sequence[str]) -> None:
    """Serves requests from the socket of that descriptor until it closes:

    `DESCRIPTOR SECONDS MEMORY_BYTES`, 0 for no limit.
    """
    descriptor, seconds, memory_bytes = int(arguments[0]), float(arguments[1]), int(arguments[2])
    if memory_bytes:
        limit_memory(memory_bytes)
    with socket.socket(fileno=descriptor) as connection:
        framing.send(connection, {})
        _Server(connection, seconds + _GRACE_SECONDS).serve()


class _Server:
    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._modules: dict[int, Module] = {}
        self._numbers = count()

    def serve(self) -> None:
        """Answers until the parent closes or memory runs out; in the second case the rest of the request is lost."""
        try:
            while (message := framing.receive(self._connection)) is not None:
                signal.setitimer(signal.ITIMER_REAL, self._seconds)
                self._reply(*message)
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (MemoryError, OutOfMemoryError):
            words = "expected the work to fit the session's limit of memory, it needed more"
            framing.send(self._connection, {"error": SessionOutOfMemoryError.__name__, "message": words})

    def _reply(self, header: framing.Header, payload: memoryview) -> None:
        try:
            answer, parts = self._answer(header, payload)
        except OutOfMemoryError:
            raise
        except SateenError as error:
            answer, parts = {"error": type(error).__name__, "message": str(error)}, []
        framing.send(self._connection, answer, parts)

    def _answer(self, header: framing.Header, payload: memoryview) -> tuple[framing.Header, list[memoryview]]:
        match header["op"]:
            case "load":
                number = next(self._numbers)
                module = self._modules[number] = load_module(bytes(payload), threads=header["threads"])
                return {
                    "module": number,
                    "functions": [function.signature.to_json() for function in module.functions.values()],
                }, []
            case "unload":
                del self._modules[header["module"]]
                return {}, []
            case "call":
                function, arrays = self._function(header), framing.rebuild(header["arrays"], payload)
                function(*arrays)
                parameters = function.signature.parameters
                return {}, [
                    framing.raw(array)
                    for array, parameter in zip(arrays, parameters, strict=True)
                    if parameter.is_output
                ]
            case "time":
                run = self._function(header).bind(*framing.rebuild(header["arrays"], payload))
                result = time_evaluator(run, **header["options"])
                return {"samples": result.samples, "number": result.number}, []
            case op:
                raise SessionError(f"expected a request of load, unload, call or time, found {op!r}")

    def _function(self, header: framing.Header) -> CompiledFunction:
        return self._modules[header["module"]][header["function"]]


if __name__ == "__main__":
    main(sys.argv[1:])
