"""Engines that run one network in turns, each in a process of its own, one of them awake at a time.

So each has its own allocator and threads, a crash is its own, and its memory can be told. A turn ends when the engine's
threads have gone to sleep: some spin for more work, on a core that the next engine needs.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, process_time, sleep
from types import TracebackType
from typing import Any, Self

import numpy as np

from sateen import runtime
from sateen.frontends.command.comparison import difference, tolerance_of
from sateen.frontends.command.peers import PEERS, Call
from sateen.graph_ir.graph import Array
from sateen.runtime import ArgumentError, DType, TimeResult, time_evaluator

OURS = "sateen"
SHORTEST_SAMPLE = 0.01
"""Seconds; calls that are shorter are repeated within a sample."""
REST = 0.05
"""Seconds in which a process at rest uses no more than a tenth of a core."""
LONGEST_REST = 2.0
"""Seconds until a process that does not come to rest is no longer waited for; LLVM's OpenMP threads spin for 0.2."""


class Contender:
    """An engine with a network: `OURS` with an artifact, or a peer with a model of `write_for_peers`.

    `refusal` says why it does not run, '' if it does; `outputs` are those of its first run. `memory_bytes` is what
    engine and network have added to a process of Python at most, 0 where the system does not tell.
    """

    def __init__(self, name: str, network: Path, threads: int, inputs: Mapping[str, Array]) -> None:
        self.name = name
        self.refusal = ""
        self.outputs: list[Array] = []
        self.memory_bytes = 0
        self._samples: list[float] = []
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        given = (theirs, name, network, threads, dict(inputs))
        self._process = context.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        theirs.close()
        self._number: int
        self._number, self.outputs = self._answer() or (0, [])

    @property
    def time(self) -> TimeResult:
        """The samples so far."""
        return TimeResult(tuple(self._samples), self._number)

    def sample(self) -> None:
        """Take a turn, if it runs at all."""
        if self.refusal:
            return
        if answer := self._answer(asked=True):
            seconds, self.memory_bytes = answer
            self._samples.append(seconds)

    def difference(self, expected: Sequence[Array]) -> float:
        """The largest difference of its outputs; ncnn has no more than four axes, so shapes are not compared."""
        return max(self._differences(expected), default=0.0)

    def is_right(self, expected: Sequence[Array]) -> bool:
        """Whether each of its outputs differs by no more than what its element type may."""
        allowed = [tolerance_of(DType.of(r.dtype)) for r in expected]
        return all(apart <= most for apart, most in zip(self._differences(expected), allowed, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.join()

    def _differences(self, expected: Sequence[Array]) -> list[float]:
        if len(self.outputs) != len(expected):
            return [float("inf")] * len(expected)
        pairs = zip(self.outputs, expected, strict=True)
        return [difference(y.reshape(r.shape) if y.size == r.size else y, r) for y, r in pairs]

    def _answer(self, *, asked: bool = False) -> Any:
        """What the process says, if `asked` when it is told to; None where it refuses or has ended."""
        try:
            if asked:
                self._pipe.send(None)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            answer = f"its process ended with status {self._process.exitcode}"
        if isinstance(answer, str):
            self.refusal = answer
            return None
        return answer


def measure_in_turns(
    contenders: Sequence[Contender], samples: int, between: Callable[[], object] = lambda: None
) -> None:
    """Take samples of each in turns, and call `between` before each round."""
    for _ in range(samples):
        for turn in (between, *(contender.sample for contender in contenders)):
            turn()


def _serve(pipe: Connection, name: str, network: Path, threads: int, inputs: Mapping[str, Array]) -> None:
    """A contender's process: answers the first outputs or a refusal, then a sample and memory whenever it is asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the terminal is for the process that asks
    before = _memory_bytes("VmRSS")
    try:
        call, outputs, number = _start(name, network, threads, inputs)
    except ArgumentError as refusal:
        pipe.send(str(refusal))
        return
    rest()
    pipe.send((number, outputs))
    while _is_asked(pipe):
        seconds = time_evaluator(call, number=number, repeat=1).median
        rest()
        pipe.send((seconds, _memory_bytes("VmHWM") - before))


def rest() -> None:
    """Wait until no thread of this process spins."""
    end = monotonic() + LONGEST_REST
    while monotonic() < end:
        used = process_time()
        sleep(REST)
        if process_time() - used < REST / 10:
            return


def _start(name: str, network: Path, threads: int, inputs: Mapping[str, Array]) -> tuple[Call, list[Array], int]:
    """How to run an engine, its first outputs, and how many runs a sample takes.

    Raises ArgumentError for whatever it raises.
    """
    try:
        call = _open_ours(network, threads, inputs) if name == OURS else PEERS[name].open(network, threads, inputs)
        outputs = [np.array(array) for array in call()]
        return call, outputs, time_evaluator(call, repeat=1, min_seconds=SHORTEST_SAMPLE).number
    except Exception as error:  # the engines' classes of errors have no other base
        raise ArgumentError(" ".join(str(error).split()) or type(error).__name__) from error


def _open_ours(network: Path, threads: int, inputs: Mapping[str, Array]) -> Call:
    model = runtime.load(network, threads=threads)
    out = model.run(inputs)
    outputs = [array.numpy() for array in out.values()]

    def call() -> Sequence[Array]:
        model.run(inputs, out=out)
        return outputs

    return call


def _is_asked(pipe: Connection) -> bool:
    try:
        pipe.recv()
    except EOFError:
        return False
    return True


def _memory_bytes(field: str) -> int:
    """VmRSS or VmHWM, what this process has in memory now or had at most, as Linux tells; elsewhere 0."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
