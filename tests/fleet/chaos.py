"""Measures on four boards behind a tracker, two of them behind a proxy, too, while all these are killed, stopped,
restarted and cut off: `nox -s fleet`.

Each of the candidates must be recorded once, and nothing may be left: no board that somebody holds, no process, no
file, no socket. A board is spared while it measures what was lost once already, since what costs two boards is put
aside: which of them was at fault nobody can know.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from boards import LEASE_SECONDS, NAME, Board, Network

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv
from sateen.graph_ir.records import BEGUN
from sateen.graph_ir.tune import (
    Allocation,
    Attempt,
    EstimateSearch,
    Record,
    SessionMeasurer,
    Timing,
    Tuning,
    measure_all,
)
from sateen.rpc import query, tracked_session, trusting
from sateen.runtime import Session, SessionError, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen import CompilerPool
from sateen.topi.methods import Method
from sateen.topi.types import TensorType

BOARDS = 4
PROBLEMS = 10
PAUSES = (0.5, 3.0)
"""The least and the most seconds between two strokes."""
FREE_SECONDS = 60.0
"""How long boards may take to be free after the last measurement."""


class WatchedMeasurer(SessionMeasurer):
    """Tells where it is, and whether it tries a candidate again."""

    place = ""
    tries = 0

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        self.tries = 0
        return super().measure(problem, method, against)

    def _measured(self, session: Session, problem: Problem, method: Method, against: Method | None) -> Timing:
        self.place = repr(session)
        self.tries += 1
        return super()._measured(session, problem, method, against)

    def tries_again_at(self, place: str) -> bool:
        return self.tries > 1 and f"({place}," in self.place


class Chaos:
    """Strikes one board after the other, and now and then tracker and proxy, until it is told to end; then all is
    well."""

    def __init__(self, boards: list[Board], network: Network, measurers: list[WatchedMeasurer], random: Random) -> None:
        self._boards, self._network, self._measurers, self._random = boards, network, measurers, random
        self._ended = Event()
        self.strokes: Counter[str] = Counter()
        self._thread = Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        kinds: list[Callable[[Board], None]] = [
            self._kill,
            self._stop,
            self._restart,
            self._cut,
            self._restart_tracker,
            self._restart_proxy,
        ]
        left: list[Callable[[Board], None]] = []
        while not self._ended.wait(self._random.uniform(*PAUSES)):
            left = left or self._random.sample(kinds, len(kinds))  # so that each comes before one comes again
            board, stroke = self._random.choice(self._boards), left[-1]
            struck = [b for b in self._boards if b.is_proxied] if stroke == self._restart_proxy else [board]
            if any(measurer.tries_again_at(b.place) for measurer in self._measurers for b in struck):
                continue
            left.pop()
            self.strokes[stroke.__name__.strip("_")] += 1
            stroke(board)

    def _kill(self, board: Board) -> None:
        board.server.kill()
        self._ended.wait(self._random.uniform(0, 2))
        board.server.start()

    def _stop(self, board: Board) -> None:
        board.server.send(signal.SIGSTOP)
        self._ended.wait(self._random.uniform(1, 2 * LEASE_SECONDS))
        board.server.send(signal.SIGCONT)

    def _restart(self, board: Board) -> None:
        board.server.end()
        board.server.start()

    def _cut(self, board: Board) -> None:
        board.way.cut()
        self._ended.wait(self._random.uniform(0, 2 * LEASE_SECONDS))
        board.way.mend()

    def _restart_tracker(self, _board: Board) -> None:
        self._network.tracker.kill()
        self._network.tracker.start()

    def _restart_proxy(self, _board: Board) -> None:
        self._network.proxy.kill()
        self._network.proxy.start()


def tunings(count: int, target: Target) -> list[Tuning]:
    """Problems with so many candidates in all."""
    found = []
    for size in range(8, 8 + PROBLEMS):
        shapes = (1, 32, size, size), (32, 32, 3, 3)
        op = Conv((1, 1), (1, 1, 1, 1), (1, 1))
        problem = Problem(op, tuple(TensorType.of("float32", shape) for shape in shapes))
        candidates = problem.candidates(Machine.of(target))
        wanted = count // PROBLEMS + (size - 8 < count % PROBLEMS)
        if len(candidates) < wanted:
            raise RuntimeError(f"expected {wanted} candidates of {problem}, found {len(candidates)}")
        found.append(Tuning(problem, target, candidates, EstimateSearch(), wanted))
    return found


def measured(count: int, random: Random, folder: Path) -> tuple[list[Record | Attempt], list[Tuning], Counter[str]]:
    """The records and failures of all candidates, and the strokes meanwhile. Raises AssertionError for what is left."""
    network = Network(folder)
    boards = [Board(number, network, folder, is_proxied=number % 2 == 1) for number in range(BOARDS)]
    processes = [*(board.server for board in boards), network.tracker, network.proxy]
    tls = trusting(network.authority)
    keys = {"tracker_key": network.tracker_key, "proxy_key": network.proxy_key}
    open_session = partial(
        tracked_session, "127.0.0.1", network.tracker.port, network.key, NAME, wait=60.0, tls=tls, **keys
    )
    target, records = Target.host(), []
    given = tunings(count, target)
    try:
        with CompilerPool(2) as compilers:
            measurers = [WatchedMeasurer(target, open_session, compilers=compilers) for _ in boards]
            chaos = Chaos(boards, network, measurers, random)
            try:
                for _, line in measure_all(Allocation(given, [1] * len(given)), measurers):
                    if isinstance(line, Record) or line.outcome != BEGUN:
                        records.append(line)
                    sys.stderr.write(f"\r{len(records)} of {count}, {sum(chaos.strokes.values())} strokes")
            finally:
                chaos.end()
                sys.stderr.write("\n")
        _require_free(partial(query, "127.0.0.1", network.tracker.port, network.tracker_key, tls))
    finally:
        codes = [process.end() for process in processes]
        for board in boards:
            board.way.close()
    assert codes == [0] * len(codes), f"expected processes that end well, found codes {codes}"
    left = [path for process in processes for path in process.left()]
    assert not left, f"expected no file to be left, found {', '.join(map(str, left))}"
    running = _processes_in(folder)
    assert not running, f"expected no process to be left, found {running}"
    ports = {*(process.port for process in processes), *(board.way.port for board in boards)}
    _require_no_sockets(ports)
    return records, given, chaos.strokes


def _require_free(told: Callable[[], dict[str, Any]]) -> None:
    end, found = time.monotonic() + FREE_SECONDS, {}
    while time.monotonic() < end:
        with suppress(SessionError):
            found = told()
            if [d["state"] for d in found["devices"]] == ["free"] * BOARDS and not found["waiting"]:
                return
        time.sleep(0.2)
    raise AssertionError(f"expected {BOARDS} free boards within {FREE_SECONDS:g} s, found {found}")


def _processes_in(folder: Path) -> list[str]:
    """Processes whose environment names the folder: those of the boards, and all that they have started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


def _require_no_sockets(ports: set[int]) -> None:
    """Sockets that wait to be forgotten by the system (TIME_WAIT) belong to nobody."""
    end, held = time.monotonic() + 30, ["?"]
    while held and time.monotonic() < end:
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        words = (line.split() for line in lines)
        held = [w[1] for w in words if w[3] != "06" and {int(w[i].rpartition(":")[2], 16) for i in (1, 2)} & ports]
        time.sleep(0.1)
    assert not held, f"expected no socket to be left, found {held}"


def main() -> None:
    """Measures, and tells what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, metavar="N", help="candidates (200)")
    parser.add_argument("--seed", type=int, default=0, help="of the strokes (0)")
    options = parser.parse_args()
    start, files = time.monotonic(), len(os.listdir("/proc/self/fd"))
    with TemporaryDirectory() as folder:
        records, given, strokes = measured(options.count, Random(options.seed), Path(folder))
    failures = {method: why for t in given for method, why in t.failures.items()}
    assert not failures, f"expected no failure, found {failures}"
    pairs = Counter((r.problem, r.method) for r in records if r is not None)
    assert len(pairs) == len(records) == options.count, f"expected {options.count} records, found {len(records)}"
    assert set(pairs.values()) == {1}
    now = len(os.listdir("/proc/self/fd"))
    assert now <= files, f"expected {files} open files as before, found {now}"
    told = re.sub(r"[{}']", "", str(dict(sorted(strokes.items()))))
    seconds = time.monotonic() - start
    sys.stdout.write(f"{options.count} of {options.count} candidates recorded once in {seconds:.0f} s; {told}\n")


if __name__ == "__main__":
    main()
