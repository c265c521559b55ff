"""Draws and checks random schedules: `python run.py --count 2000`, or `--seed 17` for one and all that is known of it.

Seeds are checked in child processes, so that a crash names its seed and ends nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from computations import COMPUTATIONS
from execution import WrongResultError, check, compiled, lowered
from random_schedules import Candidate, draw
from refusals import REFUSALS, AcceptedError

from sateen.runtime.errors import CodegenError, ScheduleError
from sateen.tensor_ir.build import CompiledModule
from sateen.tensor_ir.ir.stmt import Function

ATTEMPTS = 1000
"""Draws per seed; lowering refuses some of them."""

BATCH = 50


def accepted(seed: int, refusals: Counter[str]) -> tuple[Candidate, Function, CompiledModule, Random]:
    """The first schedule of a seed that lowering and code generation take; counts the ones before it by reason."""
    for attempt in range(ATTEMPTS):
        rng = Random(f"{seed}.{attempt}")
        candidate = draw(seed % len(COMPUTATIONS), rng, seed % 3 == 0)
        if seed % 3 == 0 and not candidate.is_nested:
            continue
        try:
            function = lowered(candidate.computation, candidate.schedule)
            native = compiled(candidate.computation, function)
        except (ScheduleError, CodegenError) as error:
            if "not valid" in str(error):
                raise
            refusals[_reason(error)] += 1
        except Exception as error:
            error.add_note("\n".join(candidate.script.lines))
            raise
        else:
            return candidate, function, native, rng
    raise WrongResultError(f"no schedule of {ATTEMPTS} was accepted")


def _reason(error: Exception) -> str:
    """The error without the names and numbers in it."""
    general = re.sub(r"'[^']*'", "'…'", re.sub(r"-?\d+", "N", f"{type(error).__name__}: {error}"))
    return re.split(r"[;,([]", general)[0]


def examine(seed: int, oracle: bool) -> dict[str, Any]:
    """What became of a seed, ready for JSON."""
    refusals: Counter[str] = Counter()
    record: dict[str, Any] = {"seed": seed, "schedule": "", "failure": None, "used": {}, "nested": False}
    try:
        candidate, function, native, rng = accepted(seed, refusals)
        lines = [f"{candidate.computation.name}: {candidate.computation.inputs}", *candidate.script.lines]
        record |= {
            "schedule": "\n".join(lines),
            "loops": str(function),
            "used": candidate.script.accepted,
            "nested": candidate.is_nested,
            "kind": candidate.computation.name,
        }
        refusals.update({f"{p} refused": n for p, n in candidate.script.refused.items()})
        check(candidate.computation, function, native, rng, oracle=oracle)
    except Exception as error:  # noqa: BLE001 - every failure is a finding, reported with its schedule
        record["failure"] = "".join(traceback.format_exception(error)[-3:])
    return record | {"refusals": refusals}


def child(first: int, count: int, oracle_every: int) -> None:
    """Examine seeds, a line before and a line after each."""
    for seed in range(first, first + count):
        say(json.dumps({"start": seed}))
        say(json.dumps(examine(seed, seed % oracle_every == 0)))


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def batch(first: int, count: int, oracle_every: int) -> list[dict[str, Any]]:
    """The records of a range of seeds, from as many processes as it takes."""
    records: list[dict[str, Any]] = []
    while count > 0:
        command = [sys.executable, __file__, "--child", str(first), str(count), "--oracle-every", str(oracle_every)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        said = [json.loads(line) for line in result.stdout.splitlines()]
        records += [r for r in said if "start" not in r]
        if result.returncode == 0:
            break
        last = said[-1]["start"] if said else first
        failure = f"the process ended with {result.returncode}\n{result.stderr[-2000:]}"
        records.append({"seed": last, "schedule": "", "failure": failure, "used": {}, "nested": False, "refusals": {}})
        count -= last + 1 - first
        first = last + 1
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--oracle-every", type=int, default=1, help="loop oracle for every n-th schedule")
    parser.add_argument("--refusals", type=int, default=200, help="schedules that must be refused")
    parser.add_argument("--seed", type=int, help="examine this seed only, and print its schedule and loops")
    parser.add_argument("--child", type=int, nargs=2)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.oracle_every)
        return 0
    if options.seed is not None:
        record = examine(options.seed, oracle=True)
        say("\n".join([record["schedule"], record.get("loops", ""), record["failure"] or "equal"]))
        return record["failure"] is not None
    start = time.perf_counter()
    firsts = range(options.first, options.first + options.count, BATCH)
    last = options.first + options.count
    with ThreadPoolExecutor(options.jobs) as pool:
        parts = pool.map(lambda first: batch(first, min(BATCH, last - first), options.oracle_every), firsts)
        records = [record for part in parts for record in part]
    failures = report(records, time.perf_counter() - start) + refuse(options.refusals)
    return 1 if failures else 0


def refuse(count: int) -> int:
    """Break each rule in turn; the number of schedules that were not refused as they should be."""
    failures = 0
    for number in range(count):
        rule = REFUSALS[number % len(REFUSALS)]
        try:
            rule.check(Random(number))
        except AcceptedError as error:
            failures += 1
            say(f"--- {error}")
    say(f"{count} schedules that must be refused, by {len(REFUSALS)} rules, {failures} failures")
    return failures


def report(records: list[dict[str, Any]], seconds: float) -> int:
    """Print what was drawn and what failed; the number of failures."""
    used: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for record in records:
        used.update(record["used"])
        refusals.update(record["refusals"])
    failures = [r for r in records if r["failure"]]
    for failure in failures:
        say(f"--- seed {failure['seed']}\n{failure['schedule']}\n{failure['failure']}")
    say("accepted uses of each primitive")
    say("\n".join(f"  {count:6} {name}" for name, count in sorted(used.items())))
    say("refused")
    say("\n".join(f"  {count:6} {reason}" for reason, count in refusals.most_common()))
    nested = sum(r["nested"] for r in records)
    say(
        f"{len(records)} schedules, {nested} with two compute_at and a factor that does not divide, "
        f"{len(failures)} failures, {seconds:.0f} s"
    )
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
