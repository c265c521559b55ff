"""Many measurers at once: each takes a problem, and when it is done the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Thread

from sateen.graph_ir.records import Record
from sateen.graph_ir.tune.measuring import Measurer
from sateen.graph_ir.tune.tuning import Tuning
from sateen.runtime.errors import SessionLostError, SessionRefusedError

_END_SECONDS = 5.0
"""How long to wait for a thread whose measurer is closed; one that waits for a device may take longer, and ends by
itself."""

_DONE = "done"
"""Said of a problem, as often as one is done."""
_Found = tuple[Tuning, Record | None] | BaseException | str


def measure_all(tunings: Sequence[Tuning], measurers: Sequence[Measurer]) -> Iterator[tuple[Tuning, Record | None]]:
    """Measures what remains of all tunings; yields each record at once, None for a candidate that fails.

    A measurer that finds no device any more hands its problem to the others, and so ends. In the end all are closed.
    Raises what a tuning raises, and SessionLostError or SessionRefusedError if no measurer has a device.
    """
    waiting: SimpleQueue[Tuning | None] = SimpleQueue()
    for tuning in tunings:
        waiting.put(tuning)
    found: SimpleQueue[_Found] = SimpleQueue()

    def work(measurer: Measurer) -> None:
        try:
            while (tuning := waiting.get()) is not None:
                try:
                    for record in tuning.run(measurer):
                        found.put((tuning, record))
                except (SessionLostError, SessionRefusedError):
                    waiting.put(tuning)
                    raise
                found.put(_DONE)
        except BaseException as error:  # noqa: BLE001  # the thread that asks raises it
            found.put(error)

    threads = [Thread(target=work, args=(measurer,), daemon=True) for measurer in measurers]
    for thread in threads:
        thread.start()
    problems, working = len(tunings), len(threads)
    try:
        while problems:
            match found.get():
                case SessionLostError() | SessionRefusedError() if working > 1:
                    working -= 1
                case BaseException() as error:
                    raise error
                case (tuning, record):
                    yield tuning, record
                case _:
                    problems -= 1
    finally:
        for measurer in measurers:
            waiting.put(None)
            measurer.close()
        for thread in threads:
            thread.join(_END_SECONDS)
