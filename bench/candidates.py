"""The estimate of methods against measurements: `nox -s bench -- candidates --log LOG [--prepare] [--seconds N]`.

A seeded sample of the problems of sateen.graph_ir.workloads and the products of transformers, on this machine with all
that it has and as plain x86-64-v3; instructions are counted for NEON, of which there is no machine here (counted.py).
Of each problem some candidates are measured: those of the best estimates, the best of every other kind, and some drawn.
Each is measured in turns with the problem's first one, so that times compare. The fastest of many may be only the
luckiest, in memory that suits it, so it and the estimate's choice are compared again, in turns, in processes of their
own: the ratio is the median of these.

All is kept in LOG, and not measured again. So the command may be stopped at any time, and goes on; with --seconds it
stops by itself, and --prepare compiles what would be measured, without measuring. When the estimate has changed, only
choices are measured that LOG lacks. When all is measured, the page is written.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from time import monotonic

from counted import counted_ratios
from page import table, write_part

from sateen.frontends.command.compilers import CachedCompilers
from sateen.graph_ir import Graph, workloads
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.kernels import problem_kernel, solved
from sateen.graph_ir.ops import Conv, MatMul
from sateen.graph_ir.tune import SessionMeasurer, problems_of
from sateen.runtime import ExecutionError, SateenError, Target
from sateen.tensor_ir import Machine, ObjectCache
from sateen.tensor_ir.codegen import CompilerPool
from sateen.tensor_ir.codegen.object_code import ObjectCode
from sateen.topi.methods import NUMERICS, Candidate, Method
from sateen.topi.types import TensorType

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
PRODUCTS = (
    (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (64, 768, 2304), (64, 768, 768), (197, 768, 3072),
    (197, 3072, 768), (49, 384, 1536), (196, 384, 384), (196, 192, 768), (3136, 96, 384), (784, 192, 192),
    (1, 512, 1000), (1, 4096, 4096), (1, 768, 50257), (16, 1024, 1024), (8, 2048, 1000), (512, 512, 512),
)  # fmt: skip
"""Rows, depth and columns of products of BERT, GPT-2, ViT, Swin, ConvNeXt and classifiers."""
LAYERS, TRIALS, COMPARISONS = 64, 24, 3
MEAN, LEAST = 0.95, 0.85
"""What is asked of the ratio, on average and of each problem."""


def sampled(count: int, target: Target) -> list[Problem]:
    """The products, and convolutions of the networks, drawn with a seed: so many together."""
    known = (p for network in NETWORKS for p in problems_of(network(), target))
    found = dict.fromkeys(p for p in known if isinstance(p.op, (Conv, MatMul)))
    products = [
        Problem(MatMul(), (TensorType.of("float32", (rows, depth)), TensorType.of("float32", (depth, columns))))
        for rows, depth, columns in PRODUCTS
    ]
    drawn = random.Random(0).sample(list(found), max(0, min(count - len(products), len(found))))
    mixed = [*drawn, *products]
    random.Random(1).shuffle(mixed)
    return mixed[:count]


@dataclass
class Log:
    """What was measured: lines of JSON in a file. A method has its time over that of its problem's first one, in turns;
    two methods that were compared have ratios of several processes."""

    path: Path | None
    times: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    ratios: dict[tuple[str, str, str, str], list[float]] = field(default_factory=dict)

    @staticmethod
    def read(path: Path | None) -> Log:
        log = Log(path)
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            log._keep(json.loads(line))
        return log

    def add(self, **fields: str | float) -> None:
        self._keep(fields)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(f"{json.dumps(fields)}\n")

    def _keep(self, fields: dict[str, str | float]) -> None:
        target, problem, method = (str(fields[name]) for name in ("target", "problem", "method"))
        if "over" in fields:
            self.ratios.setdefault((target, problem, method, str(fields["over"])), []).append(float(fields["ratio"]))
        else:
            self.times.setdefault((target, problem), {})[method] = float(fields["time"])


@dataclass(frozen=True)
class Layer:
    """A problem on a target."""

    name: str
    target: Target
    problem: Problem
    log: Log

    @property
    def possible(self) -> list[Candidate]:
        """The methods that default numerics allow, best first."""
        level = NUMERICS.index("default")
        found = self.problem.candidates(Machine.of(self.target))
        return [c for c in found if NUMERICS.index(c.method.numerics) <= level]

    @property
    def trials(self) -> list[Method]:
        """The methods to measure: the best by estimate, the best of every other kind, and some that are drawn."""
        methods = [c.method for c in self.possible]
        kinds: dict[object, Method] = {}
        for method in methods:
            kinds.setdefault((type(method), getattr(method, "tile", 0)), method)
        first = dict.fromkeys([*methods[: TRIALS * 3 // 4], *kinds.values()])
        rest = [m for m in methods if m not in first]
        return [*first, *random.Random(str(self.problem)).sample(rest, min(len(rest), max(0, TRIALS - len(first))))]

    @property
    def times(self) -> dict[str, float]:
        """The times of methods over that of the first that was measured; infinite for one that can't be."""
        return self.log.times.get((self.name, str(self.problem)), {})

    @property
    def remaining(self) -> list[Method]:
        """The methods that are not measured. Once there are enough, only the choice of an estimate that has changed."""
        needed = [self.chosen] if len(self.times) >= min(TRIALS, len(self.possible)) else self.trials
        return [m for m in needed if str(m) not in self.times]

    @property
    def chosen(self) -> Method:
        return self.possible[0].method

    @property
    def fastest(self) -> str:
        return min(self.times, key=lambda method: self.times[method])

    @property
    def pair(self) -> tuple[str, str, str, str]:
        """The key of the comparison of the fastest with the estimate's choice."""
        return self.name, str(self.problem), self.fastest, str(self.chosen)

    @property
    def is_compared(self) -> bool:
        alike = self.fastest == str(self.chosen) or self.times[str(self.chosen)] == float("inf")
        return alike or len(self.log.ratios.get(self.pair, ())) >= COMPARISONS

    @property
    def ratio(self) -> float:
        """The time of the fastest over that of the estimate's choice, at most 1: more says that it was lucky."""
        if self.fastest == str(self.chosen):
            return 1.0
        found = self.log.ratios.get(self.pair)
        return min(1.0, median(found) if found else self.times[self.fastest] / self.times[str(self.chosen)])

    def prepare(self, compilers: CachedCompilers) -> list[Future[ObjectCode]]:
        """Begin to compile what is to be measured, and the default, whose result is the right one."""
        machine, made = Machine.of(self.target), []
        for method in [None, *([*self.remaining, self._first] if self.remaining else [])]:
            try:
                made.append(
                    compilers.submit(problem_kernel(solved(self.problem, method, machine), machine), self.target)
                )
            except SateenError as error:
                print(f"{self.problem}: {method}: {error}")
        return made

    @property
    def _first(self) -> Method:
        """What all are measured in turns with."""
        by_text = {str(c.method): c.method for c in self.possible}
        return next((by_text[text] for text in self.times if text in by_text), self.trials[0])

    def measure(self, compilers: CachedCompilers) -> Iterator[None]:
        """Measure what is missing, a step at a time."""
        if self.remaining:
            with SessionMeasurer(self.target, compilers=compilers) as process:
                for method in self.remaining:
                    first = self._first
                    try:
                        found = process.measure(self.problem, method, None if method == first else first)
                        time = 1.0 if method == first else found.ratio * self.times[str(first)]
                    except ExecutionError as error:
                        print(f"{self.problem}: {error}")
                        time = float("inf")
                    self.log.add(target=self.name, problem=str(self.problem), method=str(method), time=time)
                    yield
        by_text = {str(c.method): c.method for c in self.possible}
        while not self.is_compared:
            with SessionMeasurer(self.target, compilers=compilers) as process:
                found = process.measure(self.problem, by_text[self.fastest], self.chosen)
            name, problem, fastest, over = self.pair
            self.log.add(target=name, problem=problem, method=fastest, over=over, ratio=found.ratio)
            yield

    def row(self) -> list[str]:
        ratios = self.log.ratios.get(self.pair, [self.ratio])
        spread = max(ratios) - min(ratios)
        return [
            self.name, str(self.problem), f"{len(self.times)} of {len(self.possible)}", str(self.chosen), self.fastest,
            f"{self.ratio:.3f}", f"{spread:.3f}", verdict(self.ratio, spread),
        ]  # fmt: skip


def verdict(ratio: float, spread: float) -> str:
    """A miss within the spread is not resolved."""
    return "met" if ratio >= LEAST else "not resolved" if ratio + spread >= LEAST else "missed"


def summary(name: str, ratios: list[float]) -> str:
    below = sum(ratio < 0.9 for ratio in ratios)
    return (
        f"{name}, {len(ratios)} problems: {fmean(ratios):.3f} of the fastest on average (asked {MEAN}), "
        f"{min(ratios):.3f} at the least (asked {LEAST}), {below} below 0.9."
    )


def main() -> None:
    """Measure what is missing, print each problem as it is known; when all are, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, metavar="N", default=LAYERS, help=f"problems; default {LAYERS}")
    parser.add_argument("--log", type=Path, metavar="LOG", required=True, help="what is measured; it may exist")
    parser.add_argument("--prepare", action="store_true", help="only compile what would be measured")
    parser.add_argument("--seconds", type=float, metavar="N", default=float("inf"), help="stop after so long")
    parser.add_argument("--no-count", action="store_true", help="leave the instructions of NEON out")
    options = parser.parse_args()
    end, log = monotonic() + options.seconds, Log.read(options.log)
    problems = sampled(options.layers, Target.host())
    layers = [Layer(name, Target.of(text), p, log) for p in problems for name, text in TARGETS.items()]
    unknown = [layer for layer in layers if layer.remaining or not layer.is_compared]
    cache = ObjectCache(options.log.parent / f"{options.log.name}.code", 4 << 30)
    with CompilerPool(2) as workers:
        compilers = CachedCompilers(cache, workers)
        for layer in unknown:
            if options.prepare:
                for made in layer.prepare(compilers):
                    made.exception()
                continue
            for _ in layer.measure(compilers):
                if monotonic() > end:
                    break
            if monotonic() > end:
                break
            print(f"| {' | '.join(layer.row())} |", flush=True)
    known = [layer for layer in layers if not layer.remaining and layer.is_compared]
    lines = [summary(name, [x.ratio for x in known if x.name == name]) for name in {x.name: 0 for x in known}]
    counted, count_rows = ([], []) if options.no_count or options.prepare else counted_ratios(problems)
    if counted:
        lines.append(summary("NEON, by instructions of inner loops", counted))
    print("\n".join([f"{len(known)} of {len(layers)} are measured", *lines]))
    if len(known) == len(layers) and options.layers >= LAYERS and counted:
        head = ["target", "problem", "measured", "estimate chooses", "fastest", "ratio", "spread", "verdict"]
        write_part("candidates", [*lines, "", *table(head, [*(x.row() for x in layers), *count_rows])])


if __name__ == "__main__":
    main()
