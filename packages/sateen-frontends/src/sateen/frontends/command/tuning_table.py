"""What tuning has found, as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from sateen.frontends.command.output import say, show_json, show_table
from sateen.graph_ir.tune import Gain, Tuning
from sateen.runtime import Target
from sateen.runtime.display import counted

_COLUMNS = ("problem", "times", "measured", "failed", "estimate chooses", "us", "fastest", "us", "ratio", "gain us")
_RIGHT = ("times", "measured", "failed", "us", "ratio", "gain us")


def show_tunings(model: Path, tunings: Sequence[Tuning], counts: Sequence[int]) -> None:
    """The table, what the network gains by it, and what failed on stderr."""
    say(f"{model.name}: {counted(sum(counts), 'operator')} with a choice of methods, {len(tunings)} different")
    if not tunings:
        return
    show_table(_COLUMNS, [_row(t, count) for t, count in zip(tunings, counts, strict=True)], right=_RIGHT)
    ratios = [t.ratio for t in tunings if t.ratio is not None]
    if ratios:
        say(f"ratio: {geometric_mean(ratios):.3f} in the mean, {min(ratios):.3f} at the least")
        say(f"gain: {Gain.of(tunings, counts)} that these operators take, each alone")
    for t in tunings:
        for failure in t.failures.values():
            say(f"failed: {t.problem}: {failure}", err=True)


def show_tunings_as_json(
    model: Path, log: Path, target: Target, tunings: Sequence[Tuning], counts: Sequence[int]
) -> None:
    gain = Gain.of(tunings, counts)
    show_json(
        {
            "model": str(model),
            "target": str(target),
            "log": str(log),
            "estimated_seconds": gain.estimated,
            "fastest_seconds": gain.fastest,
            "problems": [_to_json(t, count) for t, count in zip(tunings, counts, strict=True)],
        }
    )


def _row(t: Tuning, count: int) -> tuple[str, ...]:
    gain = Gain.of([t], [count])
    return (
        str(t.problem),
        str(count),
        str(len(t.records)),
        str(len(t.failures)),
        str(t.estimate.method),
        "" if t.estimated is None else f"{t.estimated.seconds * 1e6:.1f}",
        "" if t.fastest is None else str(t.fastest.method),
        "" if t.fastest is None else f"{t.fastest.seconds * 1e6:.1f}",
        "" if t.ratio is None else f"{t.ratio:.3f}",
        "" if t.ratio is None else f"{(gain.estimated - gain.fastest) * 1e6:.1f}",
    )


def _to_json(t: Tuning, count: int) -> dict[str, object]:
    return {
        "problem": str(t.problem),
        "count": count,
        "measured": len(t.records),
        "failed": {str(method): failure for method, failure in t.failures.items()},
        "estimate": {
            "method": str(t.estimate.method),
            "cycles": t.estimate.cycles,
            "seconds": None if t.estimated is None else t.estimated.seconds,
        },
        "fastest": None
        if t.fastest is None
        else {
            "method": str(t.fastest.method),
            "cycles": t.fastest.cycles,
            "seconds": t.fastest.seconds,
            "verified": t.fastest.verified,
        },
        "ratio": t.ratio,
    }
