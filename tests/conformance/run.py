"""ONNX's backend tests through the compiler: `nox -s conformance`.

Compares what passes with passing.txt, one case a line, "bound" behind those that pass only with the inputs bound that
decide shapes. Ends with 1 where they differ or a compiled model is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from cases import load_cases
from examination import Outcome, Verdict
from page import conformance_page
from workers import examine_all

HERE = Path(__file__).parent
PASSING = HERE / "passing.txt"
PAGE = HERE.parents[1] / "docs" / "conformance.md"
LIMIT = 60.0
"""Seconds for one case."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="examine these cases only")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sample", type=int, help="examine this many of the passing cases only, evenly spread")
    parser.add_argument("--passing", type=Path, default=PASSING, help="the list to compare with")
    parser.add_argument("--cache", type=Path, help="keep compiled kernels here, not in a folder of this run")
    parser.add_argument("--outcomes", type=Path, help="write all outcomes here, as JSON")
    parser.add_argument("--accept", action="store_true", help="write the list of passing cases and the page anew")
    options = parser.parse_args()
    expected = read_passing(options.passing)
    names = options.names
    if options.sample is not None:
        names = sorted(expected)[:: max(len(expected) // options.sample, 1)]
    start = time.perf_counter()
    cases = load_cases()
    if unknown := [name for name in names if name not in cases]:
        parser.error(f"ONNX has no cases {', '.join(unknown)}")
    chosen = {name: cases[name] for name in names} if names else cases
    with tempfile.TemporaryDirectory() as folder:
        outcomes = sorted(
            examine_all(chosen, options.processes, LIMIT, options.cache or Path(folder)), key=lambda o: o.name
        )
    if options.outcomes:
        options.outcomes.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    if options.accept and not names:
        accept(options.passing, outcomes)
        PAGE.write_text(conformance_page(cases, outcomes), encoding="utf-8")
        expected = read_passing(options.passing)
    complaints = differences(outcomes, {name: expected[name] for name in chosen if name in expected})
    say("\n".join([*complaints, summary(outcomes, time.perf_counter() - start)]))
    return 1 if complaints else 0


def read_passing(path: Path) -> dict[str, bool]:
    """The cases that pass; of each, whether only with inputs bound."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: bool(bound) for name, *bound in lines}


def accept(path: Path, outcomes: list[Outcome]) -> None:
    passed = [outcome for outcome in outcomes if outcome.verdict is Verdict.PASSED]
    path.write_text("".join(f"{o.name} bound\n" if o.bound else f"{o.name}\n" for o in passed), encoding="utf-8")


def differences(outcomes: list[Outcome], expected: dict[str, bool]) -> list[str]:
    """A line for each case that does other than the list says, and each that gives wrong results."""
    lines = []
    for outcome in outcomes:
        listed, passed = outcome.name in expected, outcome.verdict is Verdict.PASSED
        needs_more = listed and outcome.bound and not expected[outcome.name]
        if listed and not passed:
            lines.append(f"{outcome.name} is in the list of passing cases, but {outcome.verdict}: {outcome.reason}")
        elif listed and needs_more:
            lines.append(f"{outcome.name} passed as given by the list, but now only with inputs bound")
        elif passed and not listed:
            lines.append(f"{outcome.name} passed: add it to the list{', as bound' if outcome.bound else ''}")
        elif passed and expected[outcome.name] and not outcome.bound:
            lines.append(f"{outcome.name} passed without inputs bound: strike 'bound' from its line in the list")
        elif outcome.verdict is Verdict.WRONG:
            lines.append(f"{outcome.name} is wrong: {outcome.reason}")
    return lines


def summary(outcomes: list[Outcome], seconds: float) -> str:
    counts = Counter(outcome.verdict for outcome in outcomes)
    bound = sum(outcome.bound for outcome in outcomes if outcome.verdict is Verdict.PASSED)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    given = counts[Verdict.PASSED] - bound
    return f"{len(outcomes)} cases: {told} ({given} as given, {bound} more with inputs bound), {seconds:.0f} s"


def say(text: str) -> None:
    sys.stdout.write(f"{text.strip()}\n")


if __name__ == "__main__":
    sys.exit(main())
