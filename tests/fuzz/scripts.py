"""Draws hybrid scripts: compiled, interpreted as loop IR and run by Python they give the same numbers. Every third is a
nest of two loops, under a random schedule.

`python scripts.py --count 500`, or `--seed 17` for one with its source and loops.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from random_scripts import SIZE, draw_nest, draw_script

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run

Arrays = list[np.ndarray[Any, Any]]


def loaded(source: str, folder: Path) -> Any:
    """The script of a source, which lies in a file."""
    file = folder / "script.py"
    file.write_text(source, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(source, str(file), "exec"), names)
    return names["script"]


def draw_schedule(stage: te.Stage, rng: Random) -> None:
    """Primitives for the loops of a script, those that its stage takes; threads have no vectors around them."""
    run_together = rng.choice([stage.parallel, stage.vectorize])
    for _ in range(rng.randrange(8) if stage.leaves else 0):
        axis = rng.choice(stage.leaves)
        primitive = rng.choice([
            lambda axis: stage.split(axis, rng.randrange(1, 5), tail=rng.choice(["guard", "partition"])),
            lambda axis: stage.reorder(*rng.sample(stage.leaves, rng.randrange(1, len(stage.leaves) + 1))),
            lambda axis: stage.fuse(axis, rng.choice(stage.leaves)),
            run_together,
            stage.unroll,
        ])  # fmt: skip
        with suppress(ScheduleError):
            primitive(axis)


def examine(seed: int, folder: Path) -> tuple[str, str, str]:
    """The source of a script, its loops, and what is at fault, '' if nothing is."""
    rng = Random(seed)
    source, loops = draw_nest(rng) if seed % 3 == 2 else draw_script(rng), ""
    data = np.random.default_rng(seed)
    given: Arrays = [
        (data.integers(-16, 16, SIZE) / 4).astype("float32"),
        data.integers(-100, 100, SIZE).astype("int32"),
    ]
    try:
        script = loaded(source, folder)
        a, b = te.placeholder((SIZE,), name="a"), te.placeholder((SIZE,), "int32", name="b")
        f, g = script(a, b)
        schedule = te.create_schedule([f, g])
        draw_schedule(schedule[f], rng)
        function = lower(schedule, [a, b, f, g])
        loops = str(function)
        results: dict[str, Arrays] = {"by Python": list(script(*given))}
        for way, execute in (
            ("compiled", build(schedule, [a, b, f, g])),
            ("as loop IR", lambda *arrays: run(function, list(arrays))),
        ):
            results[way] = [np.zeros_like(x) for x in results["by Python"]]
            execute(*given, *results[way])
    except Exception as error:  # noqa: BLE001 - any error is a finding
        return source, loops, f"{type(error).__name__}: {error}"
    expected = results["by Python"]  # the signs of zeros are open
    equal = all(np.array_equal(x, y) for found in results.values() for x, y in zip(found, expected, strict=True))
    return source, loops, "" if equal else f"results differ: {results}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, help="examine this one and print all that is known of it")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    start, faults = time.monotonic(), 0
    with TemporaryDirectory() as folder:
        for seed in seeds:
            source, loops, fault = examine(seed, Path(folder))
            faults += bool(fault)
            if fault or options.seed is not None:
                say(f"--- seed {seed}: {fault or 'equal'}\n{source}\n{loops}")
    say(f"{len(seeds)} scripts, {faults} at fault, {time.monotonic() - start:.0f} s")
    return 1 if faults else 0


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
