"""The estimate for NEON, of which there is no machine here: instructions of inner loops in place of times.

Of each problem the register tiles that could be chosen instead are compiled, of the same kind as the estimate's choice.
They differ in how many instructions the innermost loop takes for each multiply-add. That counts neither caches nor the
smaller tiles at the ends; emulators say nothing about speed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from inner_loops import inner_loop_of

from sateen.graph_ir.ir import Problem
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import NUMERICS, Candidate, Method

TARGET = Target.of("aarch64")
TRIALS = 8
"""Candidates of each problem."""


def counted_ratios(problems: Sequence[Problem]) -> tuple[list[float], list[list[str]]]:
    """The instructions of the fewest over those of the estimate's choice for each problem, and the rows of a table."""
    ratios, rows = [], []
    for problem in problems:
        methods = trials(problem)
        counts = {m: instructions(problem, m) for m in methods}
        known = {m: n for m, n in counts.items() if n is not None}
        if methods[0] not in known:
            continue
        fewest = min(known, key=lambda m: known[m])
        ratios.append(known[fewest] / known[methods[0]])
        rows.append(
            ["NEON, counted", str(problem), str(len(known)), str(methods[0]), str(fewest), f"{ratios[-1]:.3f}", "", ""]
        )
    return ratios, rows


def trials(problem: Problem) -> list[Method]:
    """The estimate's choice, and others of its kind: the best by estimate, and some drawn."""
    possible = [c.method for c in problem.candidates(Machine.of(TARGET)) if is_default(c)]
    alike = [m for m in possible[1:] if kind(m) == kind(possible[0])]
    drawn = alike[TRIALS // 2 :]
    more = random.Random(str(problem)).sample(drawn, min(len(drawn), TRIALS // 2))
    return [possible[0], *alike[: TRIALS // 2], *more]


def is_default(candidate: Candidate) -> bool:
    return NUMERICS.index(candidate.method.numerics) <= NUMERICS.index("default")


def kind(method: Method) -> tuple[object, int]:
    return type(method), getattr(method, "tile", 0)


def instructions(problem: Problem, method: Method) -> float | None:
    """Instructions of the inner loop for each multiply-add of a vector; None without such a loop."""
    loop = inner_loop_of(problem, method, TARGET)
    if loop is None:
        return None
    return (loop.multiply_adds + loop.loads + loop.others.total()) / loop.multiply_adds
