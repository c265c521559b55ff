"""Files of records joined to one, in which each measurement is there once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.records.record import FAILED, Attempt, Record
from sateen.graph_ir.records.records import Origin, Records, origin_of
from sateen.topi.methods import Method

_Key = tuple[str, Origin, Problem]


def merged(logs: Sequence[Records]) -> Records:
    """What all logs know, each measurement once: the same for any order of the logs but for ties, where a later one
    counts.

    Records of different targets, machines or versions stay apart. The seconds of a log are relative to each other: the
    machine may have been slower while another log was written. So those of a problem are scaled by the median ratio of
    the methods that are in both, to those of the log that has most of them. Of two records of the same method the
    one counts that more processes verified, then that of less spread. A preference stands unless a log with more
    verified records of the problem has none. Failures stay where nobody has a record; what was only begun or
    compared goes.
    """
    found: dict[_Key, list[dict[Method, Record]]] = {}
    for log in logs:
        own: dict[_Key, dict[Method, Record]] = {}
        for record in log.records:
            own.setdefault((record.target, origin_of(record), record.problem), {})[record.method] = record
        for key, records in own.items():
            found.setdefault(key, []).append(records)
    joined = tuple(record for same in found.values() for record in _joined(same))
    known = {(r.target, r.problem, r.method) for r in joined}
    failures: dict[tuple[str, Problem, Method, tuple[tuple[str, str], ...]], Attempt] = {}
    for attempt in (a for log in logs for a in log.attempts if a.outcome == FAILED):
        if (attempt.target, attempt.problem, attempt.method) not in known:
            made = tuple(sorted(attempt.versions.items()))
            failures[attempt.target, attempt.problem, attempt.method, made] = attempt
    return Records(joined, tuple(failures.values()))


def _joined(logs: Sequence[dict[Method, Record]]) -> Iterable[Record]:
    """The records of a problem of one origin in several logs."""
    base = max(logs, key=lambda log: (sum(r.verified for r in log.values()), len(log)))
    joined = dict(base)
    for log in logs:
        if log is base:
            continue
        common = [base[m].seconds / log[m].seconds for m in log if m in base]
        scale = median(common) if common else 1.0
        for method, record in log.items():
            scaled = replace(record, seconds=record.seconds * scale, preferred=False)
            known = joined.get(method)
            if known is None or (scaled.verified, -scaled.spread) > (known.verified, -known.spread):
                joined[method] = scaled if known is None else replace(scaled, preferred=known.preferred)
    return joined.values()
