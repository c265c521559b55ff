"""The matrix of targets: every schedule primitive and every family of operators, compiled for each target, run there,
and compared with what their definitions say. `nox -s targets` runs it; without options it writes docs/targets.md.

A child process examines the cases of a target, so that a crash is a cell and ends nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, NAME, Case
from columns import COLUMNS, Place
from emulator import EmulationError, EmulatorError
from tables import Result, Verdict, differences, notes, with_tables

from sateen.runtime import SateenError

SECONDS = 1200
"""The most that all cases of a target take; a child that takes longer hangs."""


def examine(case: Case, place: Place) -> tuple[Verdict, str]:
    """Whether a case computes on a target what its definition says, and why not."""
    try:
        program = case.program(place.target)
    except SateenError as error:
        return Verdict.REFUSED, _first_line(error)
    try:
        results = [_garbage(wanted) for wanted in case.expected]
        given, memory = ([np.array(a, order="C") for a in arrays] for arrays in (program.inputs, program.memory))
        place.run(program, [*given, *results, *memory])
    except EmulatorError as fault:
        return Verdict.NOT_RUN, str(fault)
    except (SateenError, EmulationError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        return Verdict.FAILED, _first_line(error)
    for found, expected in zip(results, case.expected, strict=True):
        if not case.agrees(found, expected):
            return Verdict.WRONG, ""
    return Verdict.RIGHT, ""


def _first_line(error: Exception) -> str:
    """What an error says, without the place in the source that it is about."""
    return re.sub(r"(, /\S+)?:$", "", str(error).splitlines()[0]).removeprefix(f"{NAME}: ")


def _garbage(like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array that no case has for a result."""
    return np.frombuffer(b"\x5a" * like.nbytes, like.dtype).reshape(like.shape).copy()


def child(place: Place, numbers: Sequence[int]) -> None:
    """Examine cases, a line before and a line after each."""
    for number in numbers:
        say(json.dumps([number]))
        verdict, reason = examine(CASES[number], place)
        say(json.dumps([number, verdict.value, reason]))


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def results_of(target: str, numbers: Sequence[int]) -> Iterator[Result]:
    """The results of cases on a target, from as many processes as crashes make necessary."""
    pending = list(numbers)
    if reason := COLUMNS[target].why_not():
        yield from (Result(target, CASES[number], Verdict.NOT_RUN, reason) for number in pending)
        return
    while pending:
        command = [sys.executable, __file__, "--child", target, *map(str, pending)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        told = {line[0]: (Verdict(line[1]), line[2]) for line in lines if len(line) > 1}
        yield from (Result(target, CASES[number], *outcome) for number, outcome in told.items())
        pending = [number for number in pending if number not in told]
        if not pending:
            return
        crashed = next((line[0] for line in lines if line[0] not in told), None)
        if crashed is None or done.returncode > 0:  # no crash, but a fault of this program
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
        yield Result(target, CASES[crashed], Verdict.FAILED, f"the process ended with {done.returncode}")
        pending.remove(crashed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", action="append", choices=[*COLUMNS], help="only this target")
    parser.add_argument(
        "--row", action="append", choices=[*dict.fromkeys(case.row for case in CASES)], help="only this row"
    )
    parser.add_argument("--write", type=Path, help="the page whose tables this run writes")
    parser.add_argument("--check", type=Path, help="the page whose tables must say what this run finds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", nargs="+", metavar=("TARGET", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(COLUMNS[options.child[0]], list(map(int, options.child[1:])))
        return 0
    if options.write and (options.target or options.row):
        parser.error("expected all targets and rows for a page to write, found some")
    numbers = [n for n, case in enumerate(CASES) if options.row is None or case.row in options.row]
    targets = options.target or [*COLUMNS]
    with ThreadPoolExecutor(options.jobs) as pool:
        parts = pool.map(lambda target: list(results_of(target, numbers)), targets)
        results = [result for part in parts for result in part]
    say("\n".join(notes(results)))
    verdicts = Counter(result.verdict for result in results)
    say(", ".join(f"{count} {verdict.value}" for verdict, count in verdicts.items()))
    if options.write:
        options.write.write_text(with_tables(options.write.read_text("utf-8"), results), "utf-8")
    if options.check and (apart := differences(options.check.read_text("utf-8"), results)):
        say("\n".join(apart))
        return 1
    return int(verdicts[Verdict.WRONG] + verdicts[Verdict.FAILED] > 0)


if __name__ == "__main__":
    sys.exit(main())
