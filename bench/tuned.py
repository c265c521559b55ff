"""Whole networks by the estimate beside the same by records: `nox -s bench -- tuned --models FOLDER [--records LOG]`.

Without --records those that come with sateen count. A ratio is the time by records over that by the estimate: it is
asked to be 0.95 at least, so that nobody has to tune, and 1 at most, so that nobody loses by it. Each of three runs has
new processes of both, which take samples in turns on one thread; a ratio is the median of the runs, its spread their
range. Where no record changes a choice, both artifacts have the same code, and the ratio is 1. A network's row is
written as soon as it is known, those of others stay.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from compile_process import Compilation
from page import Figure, update_table

from sateen import runtime
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.turns import ContenderHere, measure_in_turns

RUNS, SAMPLES = 3, 20
ASKED = 0.95
HEAD = ("network", "by the estimate, ms", "by records, ms", "by records over by the estimate", "spread", "verdict")


def compared(model: Path, records: Path | None, folder: Path) -> tuple[list[float], list[float]]:
    """The milliseconds of each run by the estimate, and by records."""
    files = {"estimate": folder / "estimate.sateen", "records": folder / "records.sateen"}
    cache = folder / "cache"
    Compilation(model, files["estimate"], cache, "--no-shipped-records", sampled=False)
    given = () if records is None else ("--records", str(records))
    Compilation(model, files["records"], cache, *given, sampled=False)
    loaded = [runtime.read_artifact(path) for path in files.values()]
    same = loaded[0].code == loaded[1].code
    inputs = random_inputs(loaded[0].inputs, 0)
    times: dict[str, list[float]] = {name: [] for name in files}
    for _ in range(RUNS):
        with ExitStack() as stack:
            ran = ("estimate",) if same else tuple(files)
            contenders = [stack.enter_context(ContenderHere(name, files[name], 1, inputs)) for name in ran]
            for contender in contenders:
                if contender.refusal:
                    raise SystemExit(f"{model.name} by {contender.name}: {contender.refusal}")
            measure_in_turns(contenders, SAMPLES)
            for name, contender in zip(files, contenders * 2 if same else contenders, strict=True):
                times[name].append(1e3 * contender.time.median)
    return times["estimate"], times["records"]


def verdict(ratio: float, spread: float) -> str:
    """Whether the ratio is as asked, as far as the spread lets tell."""
    slower = Figure("", 1.0, ratio, spread, "", at_most=True).verdict
    if slower != "met":
        return slower if slower == "missed" else "as fast"
    return Figure("", ASKED, ratio, spread, "").verdict


def main() -> None:
    """Measure all networks, print each row as it is known, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="FOLDER", help="ONNX files with static inputs")
    parser.add_argument("--records", type=Path, metavar="LOG", help="a log of sateen tune")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="networks whose files begin so")
    options = parser.parse_args()
    models = sorted(options.models.glob("*.onnx"))
    ratios = []
    for model in models:
        if options.only and not model.stem.startswith(tuple(options.only)):
            continue
        with TemporaryDirectory() as folder:
            estimate, records = compared(model, options.records, Path(folder))
        ratio = [own / other for own, other in zip(records, estimate, strict=True)]
        middle, spread = median(ratio), max(ratio) - min(ratio)
        ratios.append(middle)
        row = [model.stem, f"{median(estimate):.2f}", f"{median(records):.2f}", f"{middle:.3f}", f"{spread:.3f}"]
        row.append(verdict(middle, spread))
        print(f"| {' | '.join(row)} |", flush=True)
        update_table("tuned", HEAD, [row], [path.stem for path in models])
    print(f"{sum(r >= ASKED for r in ratios)} of {len(ratios)} at {ASKED} or more; {max(ratios):.3f} at most")


if __name__ == "__main__":
    main()
