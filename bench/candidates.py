"""The estimate of methods against measurements: `nox -s bench -- candidates [--log LOG]`.

A seeded sample of the problems of sateen.graph_ir.workloads, on this machine with all that it has and as plain
x86-64-v3. Of each, 64 candidates are measured, where there are as many: four fifths are those of the best estimates,
the others drawn. The fastest of many may be only the luckiest, in memory that suits it, so it and the estimate's
choice are compared again, in turns, in processes of their own: the ratio is the median of these. A layer has met its
goal where the estimate's choice runs at 0.9 of the speed of the fastest. With --log, records are kept there and not
measured again. Without --layers and --trials the page is written.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean, median

from page import table, write_part

from sateen.graph_ir import Graph, workloads
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.tune import Records, SessionMeasurer, Tuning, problems_of, tuning_of
from sateen.runtime import Target
from sateen.tensor_ir import Machine

TARGETS = {"this machine": "llvm", "x86-64-v3": "llvm -mcpu=x86-64-v3"}
NETWORKS: tuple[Callable[[], Graph], ...] = (
    workloads.alexnet,
    workloads.densenet,
    workloads.googlenet,
    workloads.inception_v3,
    workloads.mobilenet,
    workloads.mobilenet_v2,
    workloads.nin,
    lambda: workloads.resnet(50),
    workloads.resnet,
    workloads.squeezenet,
    workloads.vgg,
)
LAYERS, TRIALS, COMPARISONS, GOAL = 24, 64, 5, 0.9


def sampled(count: int, target: Target) -> list[Problem]:
    """The given number of the networks' problems, drawn with a seed."""
    found = dict.fromkeys(p for network in NETWORKS for p in problems_of(network(), target))
    return random.Random(0).sample(list(found), min(count, len(found)))


def tuned(problem: Problem, target: Target, trials: int, process: SessionMeasurer, log: Path | None) -> Tuning:
    """A problem, measured."""
    known = Records.read(log).of(target) if log is not None and log.exists() else {}
    tuning = tuning_of(problem, target, -(-trials * 4 // 5), known.get(problem, ()))
    with nullcontext() if log is None else log.open("a") as file:
        for record in tuning.run(process):
            if record is not None and file is not None:
                file.write(f"{record}\n")
                file.flush()
    return tuning


def compared(t: Tuning) -> tuple[float, float]:
    """The time of the fastest over that of the estimate's choice, and its range over processes. 1 if these are the
    same; 0 if the estimate's choice can't be measured.
    """
    assert t.fastest is not None  # run() raises where nothing can be measured
    if t.estimated is None:
        return 0.0, 0.0
    if t.fastest.method == t.estimate.method:
        return 1.0, 0.0
    ratios = []
    for _ in range(COMPARISONS):
        with SessionMeasurer(t.target) as process:
            ratios.append(process.measure(t.problem, t.fastest.method, t.estimate.method).ratio)
    return median(ratios), max(ratios) - min(ratios)


def row(name: str, t: Tuning, ratio: float, spread: float) -> list[str]:
    """The cells of a problem."""
    assert t.fastest is not None
    possible = len(t.problem.candidates(Machine.of(t.target)))
    return [
        name,
        str(t.problem),
        f"{len(t.records)} of {possible}",
        str(t.estimate.method),
        "failed" if t.estimated is None else f"{t.estimated.seconds * 1e6:.1f}",
        str(t.fastest.method),
        f"{t.fastest.seconds * 1e6:.1f}",
        f"{ratio:.3f}",
        f"{spread:.3f}",
        verdict(ratio, spread),
    ]


def verdict(ratio: float, spread: float) -> str:
    """A miss within the spread is not resolved."""
    if ratio >= GOAL:
        return "met"
    return "not resolved" if ratio + spread >= GOAL else "missed"


def main() -> None:
    """Measure all layers on all targets, print each line as it is known, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, metavar="N", help=f"problems; default {LAYERS}")
    parser.add_argument("--trials", type=int, metavar="N", help=f"candidates of each; default {TRIALS}")
    parser.add_argument("--log", type=Path, metavar="LOG", help="a file of records, to go on from and to append to")
    options = parser.parse_args()
    problems = sampled(options.layers or LAYERS, Target.host())
    head = [
        "target",
        "problem",
        "measured",
        "estimate chooses",
        "us",
        "fastest",
        "us",
        "ratio",
        "spread",
        "verdict",
    ]
    rows, lines = [], []
    for name, text in TARGETS.items():
        target, ratios = Target.of(text), []
        with SessionMeasurer(target) as process:
            for problem in problems:
                tuning = tuned(problem, target, options.trials or TRIALS, process, options.log)
                ratio, spread = compared(tuning)
                rows.append(row(name, tuning, ratio, spread))
                ratios.append(min(ratio, 1.0))  # more says that the fastest was lucky, not that the estimate beats it
                print(f"| {' | '.join(rows[-1])} |", flush=True)
        met = sum(ratio >= GOAL for ratio in ratios)
        lines.append(
            f"{name}: {met} of {len(ratios)} at {GOAL:g} of the fastest or better, {fmean(ratios):.3f} in the "
            f"mean, {min(ratios):.3f} at the least."
        )
    print("\n".join(lines))
    if options.layers is None and options.trials is None:
        write_part("candidates", [*lines, "", *table(head, rows)])


if __name__ == "__main__":
    main()
