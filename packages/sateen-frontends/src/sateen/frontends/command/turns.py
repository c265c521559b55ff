"""Engines that run one network in turns: here each in its own process, with only one process awake at a time, or our
engine in a session.

Here each engine has its own allocator and threads, a crash affects only itself, and its memory can be measured. A turn
ends when the engine's threads sleep: some spin for more work, on a core that the next engine needs.
"""

from __future__ import annotations

import socket
import subprocess
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from sateen.frontends.command.comparison import tolerance_of
from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import difference
from sateen.runtime import Device, DType, NDArray, Session, SessionProtocolError, TimeResult, framing
from sateen.runtime.isolation import isolated

OURS = "sateen"
SHORTEST_SAMPLE = 0.01
"""The least seconds of a sample; shorter calls are repeated within it."""


class Contender(ABC):
    """An engine with a network.

    `refusal` says why it does not run, '' if it does; `outputs` are those of its first run. `memory_bytes` is the most
    that engine and network have added to a process of Python, 0 if nobody reports it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.refusal = ""
        self.outputs: list[Array] = []
        self.memory_bytes = 0
        self._samples: list[float] = []
        self._number = 0

    @property
    def time(self) -> TimeResult:
        """The samples so far."""
        return TimeResult(tuple(self._samples), self._number)

    @abstractmethod
    def sample(self) -> None:
        """Take a turn, if the engine runs at all."""

    @abstractmethod
    def close(self) -> None:
        """Frees engine and network."""

    def difference(self, expected: Sequence[Array]) -> float:
        """The largest difference of its outputs; ncnn has no more than four axes, so shapes are not compared."""
        return max(self._differences(expected), default=0.0)

    def is_right(self, expected: Sequence[Array], *, is_rounded: bool = False) -> bool:
        """Whether each of its outputs differs by no more than its element type allows, or rounding of operands, if
        `is_rounded`."""
        allowed = [tolerance_of(DType.of(r.dtype), is_rounded=is_rounded) for r in expected]
        return all(apart <= most for apart, most in zip(self._differences(expected), allowed, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _differences(self, expected: Sequence[Array]) -> list[float]:
        if len(self.outputs) != len(expected):
            return [float("inf")] * len(expected)
        pairs = zip(self.outputs, expected, strict=True)
        return [difference(y.reshape(r.shape) if y.size == r.size else y, r).overall for y, r in pairs]


class ContenderThere(Contender):
    """Our engine in a session. Raises the errors of the session."""

    def __init__(
        self,
        name: str,
        network: Path,
        threads: int,
        inputs: Mapping[str, Array],
        session: Session,
        device: Device | None,
    ) -> None:
        super().__init__(name)
        self._model = session.load_model(network, threads=threads, device=device)
        self._inputs = {input_: session.array(array) for input_, array in inputs.items()}
        self.outputs = list(self._model.run(self._inputs).numpy().values())
        self._number = self._model.time(self._inputs, repeat=1, min_seconds=SHORTEST_SAMPLE).number

    def sample(self) -> None:
        self._samples.append(self._model.time(self._inputs, number=self._number, repeat=1).median)

    def close(self) -> None:
        """The session frees what it holds when it ends."""


class ContenderHere(Contender):
    """An engine in a process of its own: a peer with a model that was written for it; any other name is our engine with
    an artifact."""

    def __init__(self, name: str, network: Path, threads: int, inputs: Mapping[str, Array]) -> None:
        super().__init__(name)
        self._connection, theirs = socket.socketpair()
        with theirs:
            # In a group of its own: an interrupt from the terminal is for the process that asks.
            self._process = subprocess.Popen(
                isolated("sateen.frontends.command.contender", [str(theirs.fileno())]),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        self._finish = weakref.finalize(self, _end, self._process, self._connection)
        arrays = [NDArray.of(array) for array in inputs.values()]
        request = {
            "name": name,
            "network": str(network),
            "threads": threads,
            "inputs": list(inputs),
            "arrays": framing.describe(arrays),
        }
        if answer := self._answer(request, list(map(framing.raw, arrays))):
            header, payload = answer
            self._number = header["number"]
            self.outputs = [array.numpy() for array in framing.rebuild(header["arrays"], payload)]

    def sample(self) -> None:
        if self.refusal:
            return
        if answer := self._answer({}):
            header, _ = answer
            self.memory_bytes = header["memory_bytes"]
            self._samples.append(header["seconds"])

    def close(self) -> None:
        self._finish()

    def _answer(
        self, request: framing.Header, payload: Sequence[memoryview] = ()
    ) -> tuple[framing.Header, memoryview] | None:
        """The process's answer to a request; None if it refuses or has ended."""
        try:
            framing.send(self._connection, request, payload)
            answer = framing.receive(self._connection)
        except (OSError, SessionProtocolError):
            answer = None
        if answer is None:
            self.refusal = f"its process ended with status {_status(self._process)}"
            return None
        if "refusal" in answer[0]:
            self.refusal = answer[0]["refusal"]
            return None
        return answer


def measure_in_turns(
    contenders: Sequence[Contender], samples: int, between: Callable[[], object] = lambda: None
) -> None:
    """Take samples of each in turns, and call `between` before each round."""
    for _ in range(samples):
        for turn in (between, *(contender.sample for contender in contenders)):
            turn()


def _status(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a process that is about to end; otherwise it is killed."""
    try:
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.kill()
    process.wait()
