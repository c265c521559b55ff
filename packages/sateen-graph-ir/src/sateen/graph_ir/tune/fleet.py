"""Many measurers at once: each visits a problem, and then the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Thread

from sateen.graph_ir.records import Attempt, Record
from sateen.graph_ir.tune.allocation import VISIT, Allocation
from sateen.graph_ir.tune.measuring import Measurer
from sateen.graph_ir.tune.tuning import Tuning
from sateen.runtime.errors import ExecutionError, SessionLostError, SessionRefusedError

_END_SECONDS = 5.0
"""How long to wait for a thread whose measurer is closed; one that waits for a device may take longer, and ends by
itself."""
_LOOK_SECONDS = 1.0
"""How often one whose line nobody takes looks whether anybody will."""
_DONE = "done"
"""Said by a measurer that has nothing left to do."""
_Found = tuple[Tuning, Record | Attempt, Event] | BaseException | str


def measure_all(allocation: Allocation, measurers: Sequence[Measurer]) -> Iterator[tuple[Tuning, Record | Attempt]]:
    """Measures what remains of all problems, or until their time is over; yields at once what a log keeps. A measurer
    goes on when its line was taken, so that whatever is stopped, no more than what is being measured is lost.

    A measurer that finds no device any more hands its problem to the others, and so ends. In the end all are closed.
    Raises ExecutionError if no problem has a candidate that can be measured, and SessionLostError or
    SessionRefusedError if no measurer has a device.
    """
    found: SimpleQueue[_Found] = SimpleQueue()

    def work(measurer: Measurer) -> None:
        try:
            while (tuning := allocation.take()) is not None:
                try:
                    for line in tuning.run(measurer, VISIT):
                        is_kept = Event()
                        found.put((tuning, line, is_kept))
                        while not is_kept.wait(_LOOK_SECONDS) and not allocation.is_closed:
                            pass
                        if allocation.is_closed or (isinstance(line, Record) and allocation.is_over):
                            break
                finally:
                    allocation.give_back(tuning)
            found.put(_DONE)
        except BaseException as error:  # noqa: BLE001  # the thread that asks raises it
            found.put(error)

    threads = [Thread(target=work, args=(measurer,), daemon=True) for measurer in measurers]
    for thread in threads:
        thread.start()
    working = len(threads)
    lost: SessionLostError | SessionRefusedError | None = None
    try:
        while working:
            match found.get():
                case SessionLostError() | SessionRefusedError() as error:
                    working, lost = working - 1, error
                case BaseException() as error:
                    raise error
                case (tuning, line, is_kept):
                    yield tuning, line
                    is_kept.set()
                case _:
                    working -= 1
        is_unfinished = not allocation.is_over and any(t.remaining for t in allocation.tunings)
    finally:
        allocation.close()
        for measurer in measurers:
            measurer.close()
        for thread in threads:
            thread.join(_END_SECONDS)
    if lost is not None and is_unfinished:
        raise lost
    _require_some(allocation.tunings)


def _require_some(tunings: Sequence[Tuning]) -> None:
    failed = [t for t in tunings if t.failures and not t.records]
    if failed and not any(t.records for t in tunings):
        first = next(iter(failed[0].failures.values()))
        raise ExecutionError(f"no candidate of {failed[0].problem} can be measured, nor of another; the first: {first}")
