"""The process of a contender: loads a network in an engine, and runs it for each requested sample."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, process_time, sleep

import numpy as np

from sateen import runtime
from sateen.frontends.command.turns import SHORTEST_SAMPLE
from sateen.frontends.core.peers import Call
from sateen.frontends.readers import PEERS
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError, NDArray, framing, time_evaluator

REST = 0.05
"""The seconds in which a process at rest uses no more than a tenth of a core."""
LONGEST_REST = 2.0
"""The most seconds to wait for a process to come to rest; LLVM's OpenMP threads spin for 0.2."""


def main(descriptor: int) -> None:
    """Answers on a socket: the first outputs or a refusal, then a sample and the memory for each request."""
    with socket.socket(fileno=descriptor) as connection:
        message = framing.receive(connection)
        if message is None:
            return
        header, payload = message
        arrays = framing.rebuild(header["arrays"], payload)
        inputs = {name: array.numpy() for name, array in zip(header["inputs"], arrays, strict=True)}
        before = _memory_bytes("VmRSS")
        try:
            call, outputs, number = _start(header["name"], Path(header["network"]), header["threads"], inputs)
        except ArgumentError as refusal:
            framing.send(connection, {"refusal": str(refusal)})
            return
        rest()
        answer = {"number": number, "arrays": framing.describe(outputs)}
        framing.send(connection, answer, list(map(framing.raw, outputs)))
        while framing.receive(connection) is not None:
            seconds = time_evaluator(call, number=number, repeat=1).median
            rest()
            framing.send(connection, {"seconds": seconds, "memory_bytes": _memory_bytes("VmHWM") - before})


def rest() -> None:
    """Wait until no thread of this process spins."""
    end = monotonic() + LONGEST_REST
    while monotonic() < end:
        used = process_time()
        sleep(REST)
        if process_time() - used < REST / 10:
            return


def _start(name: str, network: Path, threads: int, inputs: Mapping[str, Array]) -> tuple[Call, list[NDArray], int]:
    """How to run an engine, its first outputs, and the number of runs per sample.

    Raises ArgumentError for any error of the engine.
    """
    try:
        call = PEERS[name].open(network, threads, inputs) if name in PEERS else _open_ours(network, threads, inputs)
        outputs = [runtime.array(np.asarray(array)) for array in call()]
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


def _memory_bytes(field: str) -> int:
    """VmRSS or VmHWM, the present or the largest memory of this process, on Linux; elsewhere 0."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
