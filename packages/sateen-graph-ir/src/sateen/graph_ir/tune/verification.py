"""The choice of records against the estimate's choice, measured again: the fastest of many may only be the luckiest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from statistics import median
from types import MappingProxyType

from sateen.graph_ir.records import FAILED, Attempt, Comparison, Record, installed_versions
from sateen.graph_ir.tune.measuring import Measurer
from sateen.graph_ir.tune.tuning import Tuning
from sateen.runtime.errors import SateenError, SessionLostError, SessionRefusedError

PROCESSES = 3
"""The processes in which two methods are compared: where code and data lie decides some per cent of the time, and is
another in each process."""
WORTH = 0.02
"""The part of the time that another method must promise to be compared, too."""
NOTHING_COMPARED: Mapping[str, Sequence[float]] = MappingProxyType({})

OpenMeasurer = Callable[[], Measurer]
"""A measurer with a process of its own."""


def challenger(tuning: Tuning) -> Record | None:
    """The record to verify next: the fastest that is not verified, if it promises WORTH over what is; at first any that
    is faster than the estimate's choice."""
    estimated = tuning.estimated
    if estimated is None:
        return None
    best = min((r.seconds for r in tuning.records if r.verified), default=estimated.seconds)
    others = [r for r in tuning.records if not r.verified and r is not estimated]
    fastest = min(others, key=lambda r: r.rank, default=None)
    margin = 1 - WORTH if estimated.verified else 1.0
    return fastest if fastest is not None and fastest.seconds < margin * best else None


def verified(
    tuning: Tuning, open_measurer: OpenMeasurer, known: Mapping[str, Sequence[float]] = NOTHING_COMPARED
) -> Iterator[Record | Attempt | Comparison]:
    """Compare what is fastest with the estimate's choice again, until nothing faster is left that was not.

    Yields what a log keeps, the ratio of each process as soon as it is found; `known` are those that a log has
    (`Records.compared_here`). A record gets the largest of the ratios, so that only what is faster in each process is
    chosen. Raises SessionLostError or SessionRefusedError if there is no device.
    """
    versions = dict(installed_versions())
    while (record := challenger(tuning)) is not None:
        estimated = tuning.estimated
        assert estimated is not None
        of = f"{record.problem}: {record.method} against {tuning.estimate.method}"
        ratios = list(known.get(of, ()))[:PROCESSES]
        try:
            while len(ratios) < PROCESSES:
                with closing(open_measurer()) as measurer:
                    ratios.append(measurer.measure(tuning.problem, record.method, tuning.estimate.method).ratio)
                yield Comparison(record.target, of, ratios[-1], record.machine, versions)
        except (SessionLostError, SessionRefusedError):
            raise
        except SateenError as error:
            tuning.drop(record, str(error))
            yield Attempt(record.target, record.problem, record.method, FAILED, str(error), versions)
            continue
        spread = (max(ratios) - min(ratios)) / median(ratios)
        again = replace(record, seconds=estimated.seconds * max(ratios), spread=spread, verified=len(ratios))
        for found in (again, replace(estimated, verified=estimated.verified + len(ratios))):
            tuning.keep(found)
            yield found


def keep_what_gains(
    tunings: Sequence[Tuning],
    counts: Sequence[float],
    compare: Callable[[Sequence[Record]], tuple[float, float]],
) -> Iterator[Record]:
    """Take choices back until the network is not slower with those that are left than with the estimate's.

    `compare` gives the network's time with its records and these over that without any, and the spread of this ratio.
    While it is surely over 1, the half of the choices that promise least is taken back: yields the records of the
    estimate's choices that are preferred from then on.
    """
    changed = [(t, count) for t, count in zip(tunings, counts, strict=True) if t.ratio is not None and t.ratio < 1]
    changed.sort(key=lambda pair: _promised(*pair), reverse=True)
    taken_back: list[Record] = []
    while changed:
        ratio, spread = compare(taken_back)
        if ratio <= 1 + spread:
            return
        kept = len(changed) // 2
        for tuning, _ in changed[kept:]:
            assert tuning.estimated is not None
            record = replace(tuning.estimated, preferred=True)
            tuning.keep(record)
            taken_back.append(record)
            yield record
        changed = changed[:kept]


def _promised(tuning: Tuning, count: float) -> float:
    """The seconds that the fastest method of a problem saves the network."""
    if tuning.fastest is None or tuning.estimated is None:
        return 0.0
    return count * (tuning.estimated.seconds - tuning.fastest.seconds)
