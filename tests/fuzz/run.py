"""Draws and checks random schedules: `python run.py --count 2000`, or `--seed 17` for one and all that is known of it.

Seeds are checked in child processes, so that a crash names its seed and ends nothing else. Each has one of the targets,
this machine's most often; those that can't be run here are told and left out, `--target` takes one for all seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import emulator
from computations import COMPUTATIONS, OF_PROCESSORS
from execution import WrongResultError, check, check_on_device, compiled, compiled_c, lowered
from random_schedules import Candidate, draw
from refusals import REFUSALS, AcceptedError

from sateen.runtime import DeviceError, DeviceKind, Target, open_device
from sateen.runtime.errors import CodegenError, LoweringError, ScheduleError
from sateen.tensor_ir import CompiledModule
from sateen.tensor_ir.ir.stmt import Function

ATTEMPTS = 1000
"""Draws per seed; lowering refuses some of them."""

BATCH = 50

BLOCK_THREADS = 1024
"""The threads of a block that all devices of the tests have."""

POCL = {"POCL_WORK_GROUP_METHOD": "workitemrepl"}
"""PoCL's method that repeats the code of a thread. Its others, which make loops over threads, PoCL 3.1 gets wrong for
some barriers in loops and for data of a thread that lives across barriers."""

POCL_ASSERTION = "pocl::ParallelRegion::Verify(): Assertion"
"""What PoCL 3.1 says of some barriers in loops, which all threads reach, before it ends the process."""

ARM = f"llvm -mtriple={emulator.AARCH64.system}"
TARGETS = {
    "host": "llvm",
    "x86-64-v3": "llvm -mcpu=x86-64-v3",
    "x86-64-v2": "llvm -mcpu=x86-64-v2",
    "aarch64": ARM,
    "opencl": "opencl",
    "metal": "metal",
    "webgpu": "webgpu",
    "c": str(Target("c", triple=Target.host().triple)),
}
DEVICES = {"opencl", "metal", "webgpu"}
ORDER = ["host", "x86-64-v2", "host", "opencl", "host", "x86-64-v3", "webgpu", "c", "aarch64", "metal", "host"]
"""The targets of seeds, in turns; as many as divide neither the kinds of computations nor the seeds of a batch."""


def why_not(target: str) -> str:
    """Why code for a target can't be run here, '' where it can."""
    if target == "aarch64":
        return emulator.AARCH64.why_not()
    if target in ("opencl", "webgpu"):
        try:
            open_device(target)
        except DeviceError as error:
            return str(error)
        return ""
    if target == "metal":
        return "" if shutil.which("g++") else "g++ is not installed"
    if target == "c":
        return "" if shutil.which("gcc") else "gcc is not installed"
    missing = Target.host().missing_features(Target.of(TARGETS[target]))
    return f"this machine lacks {', '.join(missing)}" if missing else ""


def target_of(seed: int, only: str | None) -> str:
    """The target of a seed, that of this machine in place of one that can't be run."""
    target = only or ORDER[seed % len(ORDER)]
    if target in DEVICES and COMPUTATIONS[seed % len(COMPUTATIONS)] in OF_PROCESSORS:
        return "host"
    return "host" if only is None and why_not(target) else target


def accepted(seed: int, target: str, refusals: Counter[str]) -> tuple[Candidate, Function, CompiledModule, Random]:
    """The first schedule of a seed that lowering and code generation take; counts the ones before it by reason."""
    nested = seed % 3 == 0 and target not in DEVICES  # few of those for a device have all that of one
    for attempt in range(ATTEMPTS):
        rng = Random(f"{seed}.{attempt}")
        candidate = draw(seed % len(COMPUTATIONS), rng, nested, target in DEVICES)
        if nested and not candidate.is_nested:
            continue
        try:
            function = lowered(candidate.computation, candidate.schedule, device=target in DEVICES)
            native = compiled(candidate.computation, function, TARGETS[target])
        except (ScheduleError, LoweringError, CodegenError) as error:
            if "not valid" in str(error):
                raise
            refusals[_reason(error)] += 1
        except Exception as error:
            error.add_note("\n".join(candidate.script.lines))
            raise
        else:
            if _is_too_wide(native):
                refusals[f"a block of more than {BLOCK_THREADS} threads"] += 1
                continue
            return candidate, function, native, rng
    raise WrongResultError(f"no schedule of {ATTEMPTS} was accepted")


def _is_too_wide(code: CompiledModule) -> bool:
    """Whether a block of a kernel has more threads than devices have, which say so when a kernel is loaded."""
    kernels = code.program.kernels if code.target.device_kind is not DeviceKind.CPU else ()
    return any(prod(kernel.block) > BLOCK_THREADS for kernel in kernels)


def _reason(error: Exception) -> str:
    """The error without the names and numbers in it."""
    general = re.sub(r"'[^']*'", "'…'", re.sub(r"-?\d+", "N", f"{type(error).__name__}: {error}"))
    return re.split(r"[;,([]", general)[0]


def examine(seed: int, oracle: bool, only: str | None) -> dict[str, Any]:
    """What became of a seed, ready for JSON."""
    refusals: Counter[str] = Counter()
    target = target_of(seed, only)
    record: dict[str, Any] = {"seed": seed, "schedule": "", "failure": None, "used": {}, "nested": False}
    try:
        candidate, function, native, rng = accepted(seed, target, refusals)
        computation = candidate.computation
        lines = [f"{target}: {computation.name}: {computation.inputs}", *candidate.script.lines]
        record |= {
            "schedule": "\n".join(lines),
            "loops": str(function),
            "used": candidate.script.accepted,
            "nested": candidate.is_nested,
            "kind": computation.name,
            "target": target,
        }
        refusals.update({f"{p} refused": n for p, n in candidate.script.refused.items()})
        if target in DEVICES:
            if not check_on_device(computation, function, native, rng):
                record["target"] = "the interpreter, as PoCL does not take barriers in branches"
            return record | {"refusals": refusals}
        with TemporaryDirectory() as folder:
            foreign = emulator.Emulator(Path(folder), emulator.AARCH64) if target == "aarch64" else None
            called = compiled_c(native, Path(folder)) if target == "c" else native
            check(computation, function, native, rng, oracle=oracle, emulator=foreign, called=called)
    except Exception as error:  # noqa: BLE001 - every failure is a finding, reported with its schedule
        record["failure"] = "".join(traceback.format_exception(error)[-3:])
    return record | {"refusals": refusals}


def child(first: int, count: int, oracle_every: int, only: str | None) -> None:
    """Examine seeds, a line before and a line after each."""
    for seed in range(first, first + count):
        say(json.dumps({"start": seed}))
        say(json.dumps(examine(seed, seed % oracle_every == 0, only)))


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def batch(first: int, count: int, oracle_every: int, only: str | None) -> list[dict[str, Any]]:
    """The records of a range of seeds, from as many processes as it takes."""
    records: list[dict[str, Any]] = []
    while count > 0:
        command = [sys.executable, __file__, "--child", str(first), str(count), "--oracle-every", str(oracle_every)]
        command += [] if only is None else ["--target", only]
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | POCL)
        said = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]  # drivers print, too
        records += [r for r in said if "start" not in r]
        if result.returncode == 0:
            break
        last = said[-1]["start"] if said else first
        record = {"seed": last, "schedule": "", "failure": None, "used": {}, "nested": False, "refusals": {}}
        if POCL_ASSERTION in result.stderr:
            record["target"] = "PoCL, which failed by an assertion of its own"
        else:
            record["failure"] = f"the process ended with {result.returncode}\n{result.stderr[-2000:]}"
        records.append(record)
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
    parser.add_argument("--target", choices=TARGETS, help="of all seeds")
    parser.add_argument("--child", type=int, nargs=2)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.oracle_every, options.target)
        return 0
    if options.seed is not None:
        record = examine(options.seed, oracle=True, only=options.target)
        say("\n".join([record["schedule"], record.get("loops", ""), record["failure"] or "equal"]))
        return record["failure"] is not None
    for target in [options.target] if options.target else TARGETS:
        if reason := why_not(target):
            say(f"{target} is left out: {reason}")
            if options.target:
                return 0
    start = time.perf_counter()
    firsts = range(options.first, options.first + options.count, BATCH)
    last = options.first + options.count

    def part(first: int) -> list[dict[str, Any]]:
        return batch(first, min(BATCH, last - first), options.oracle_every, options.target)

    with ThreadPoolExecutor(options.jobs) as pool:
        parts = pool.map(part, firsts)
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
    say("\n".join(f"{n:6} for {target}" for target, n in Counter(r.get("target", "?") for r in records).items()))
    nested = sum(r["nested"] for r in records)
    say(
        f"{len(records)} schedules, {nested} with two compute_at and a factor that does not divide, "
        f"{len(failures)} failures, {seconds:.0f} s"
    )
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
