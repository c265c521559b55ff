"""Compiles the cases of a generated suite and compares their outputs with those of the framework that made them.

    python judge.py FOLDER [--only TEXT] [--page FILE.json]

FOLDER has a folder per case: the model; `io.npz` with arrays in/NAME and out/NAME; and `case.json`:

    {"model": "net.json", "weights": "net.params", "options": {"shapes": {"x": [1, 3]}}, "tolerance": 1e-4, "steps": 1}

where all but `model` may be absent; integers may differ by `steps`, by default 0. Where the framework keeps no names,
NAME is the position. The exit status is 1 if a result is wrong, an error is no SateenError, or fewer than 95 % of the
cases are right.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sateen import runtime
from sateen.frontends import load
from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Array
from sateen.graph_ir.kernels import KernelPool
from sateen.runtime import SateenError

TOLERANCE = 1e-4
"""The largest max|y-r| / max|r| of an output that is right; integers are equal."""
ENOUGH = 0.95
"""The part of the cases that must be right."""
MOST_REASON = 200
"""The most characters of a reason to print."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case: `right`, `refused` with a reason, or `wrong` with what is."""

    case: str
    verdict: str
    reason: str = ""
    error: float = 0.0


def judged(folder: Path, workers: KernelPool) -> Verdict:
    """The verdict on the case in a folder."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    with np.load(folder / "io.npz", allow_pickle=False) as arrays:
        given = {key.removeprefix("in/"): arrays[key] for key in arrays.files if key.startswith("in/")}
        expected = {key.removeprefix("out/"): arrays[key] for key in arrays.files if key.startswith("out/")}
    weights = folder / case["weights"] if "weights" in case else None
    try:
        graph, parameters = load(folder / case["model"], weights, **case.get("options", {}))
        artifact = build(graph, params=parameters, workers=workers)
        model = runtime.load(artifact, threads=1)
        inputs = by_name(given, [p.name for p in artifact.inputs])
        found = {name: array.numpy() for name, array in model.run(inputs).items()}
        named = by_name(expected, list(found))
    except SateenError as error:
        return Verdict(folder.name, "refused", "".join(traceback.format_exception_only(error)).strip())
    except Exception:  # noqa: BLE001  # a fault of ours, which the table shows
        return Verdict(folder.name, "wrong", traceback.format_exc())
    errors = {name: difference(found[name], named[name], case.get("steps", 0)) for name in named}
    worst = max(errors, key=lambda name: errors[name], default="")
    if not worst:
        return Verdict(folder.name, "wrong", "the case has no outputs")
    tolerance = case.get("tolerance", TOLERANCE)
    if errors[worst] <= tolerance:
        return Verdict(folder.name, "right", error=errors[worst])
    shapes = f"{found[worst].dtype}{list(found[worst].shape)} for {named[worst].dtype}{list(named[worst].shape)}"
    return Verdict(folder.name, "wrong", f"output {worst} is {errors[worst]:.1e} off: {shapes}", errors[worst])


def by_name(arrays: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """Arrays by the names of the network; they may be called by position. Raises ValueError for other names."""
    if set(arrays) <= set(names):
        return dict(arrays)
    if set(arrays) == {str(i) for i in range(len(names))}:
        return {name: arrays[str(i)] for i, name in enumerate(names)}
    raise ValueError(f"the case has {', '.join(arrays)}, the network {', '.join(names)}")


def difference(found: Array, expected: Array, steps: int = 0) -> float:
    """max|y-r| / max|r|; infinite for other shapes, kinds, and positions of NaN and infinities, and for integers that
    differ by more than `steps`."""
    if found.shape != expected.shape or (found.dtype.kind in "fV") != (expected.dtype.kind in "fV"):
        return np.inf
    y, r = found.astype(np.float64), expected.astype(np.float64)
    unusual = ~np.isfinite(r)
    if not np.array_equal(y[unusual], r[unusual], equal_nan=True):
        return np.inf
    y, r = y[~unusual], r[~unusual]
    if not y.size or np.array_equal(y, r):
        return 0.0
    largest, error = float(np.abs(r).max()), float(np.abs(y - r).max())
    if found.dtype.kind not in "fV":
        return 0.0 if error <= steps else np.inf
    return error / largest if largest else np.inf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="judge cases with this text in their names")
    parser.add_argument("--page", type=Path, help="write all verdicts as JSON")
    options = parser.parse_args()
    cases = sorted(path.parent for path in options.folder.glob(f"*{options.only}*/case.json"))
    verdicts = []
    with KernelPool(2) as workers:
        for case in cases:
            verdicts.append(judged(case, workers))
            if verdicts[-1].verdict != "right":
                _say(f"{verdicts[-1].verdict}: {case.name}: {verdicts[-1].reason}")
    counts = Counter(verdict.verdict for verdict in verdicts)
    if options.page:
        options.page.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1), encoding="utf-8")
    _say(f"{len(cases)} cases: {counts['right']} right, {counts['refused']} refused, {counts['wrong']} wrong")
    return 0 if cases and not counts["wrong"] and counts["right"] >= ENOUGH * len(cases) else 1


def _say(text: str) -> None:
    short = text if "Traceback" in text else text[:MOST_REASON]
    sys.stdout.write(f"{short}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
