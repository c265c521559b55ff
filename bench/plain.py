"""Plain programs as our machine code and as our C99 under gcc -O3: `nox -s bench -- plain`, whose table goes to
docs/benchmarks.md.

Both are made from one schedule, compute the same, and are timed in turns on one thread. The figure is our time over
that of gcc's code. Of the packed gemm there is also the percentage of the machine's measured peak. `--only WORD`
measures the programs with that word in their name and `--remarks` prints what our passes said about each; neither
writes the page.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from page import Figure, write_figures
from plain_programs import PROGRAMS, SIZE, Plain
from tensor import ratio, seconds_of_call

from sateen import runtime
from sateen.runtime import Target
from sateen.tensor_ir import PeakMeter, build, build_functions, explain, lower

ASKED = 1.15
PERCENT_OF_PEAK = 80
ON_PEAK = ("gemm, packed, cached", "gemm of the tutorial")
SAMPLES = 60
C_COMPILER = ("gcc", "-std=c99", "-O3", "-march=native", "-shared", "-fPIC")
COMPILE_SECONDS = 120
Array = np.ndarray[Any, Any]


def arrays(program: Plain, arguments: Sequence[Any]) -> tuple[list[Array], tuple[int, ...]]:
    """Random inputs of a program, and the shape of its output."""
    random = np.random.default_rng(0)
    shapes = [program.symbols or tuple(int(extent.value) for extent in tensor.shape) for tensor in arguments]
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes[:-1]], shapes[-1]


def compiled_by_gcc(program: Plain, folder: Path) -> runtime.Module:
    """The library that gcc makes of our C99."""
    schedule, arguments = program.make()
    target = Target("c", triple=Target.host().triple)
    source = folder / "plain.c"
    source.write_text(build_functions([lower(schedule, arguments, "plain")], target).source)
    library = folder / f"{PROGRAMS.index(program)}.so"
    subprocess.run([*C_COMPILER, source, "-o", library, "-lm"], check=True, timeout=COMPILE_SECONDS)
    return runtime.load_module(library)


def callers(program: Plain, folder: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """Our code and gcc's, bound to arguments, after a check that they agree."""
    schedule, arguments = program.make()
    inputs, shape = arrays(program, arguments)
    results, calls = [], []
    for module in (build(schedule, arguments, name="plain").module, compiled_by_gcc(program, folder)):
        output = runtime.empty(shape, "float32")
        call = module.with_threads(1)["plain"].bind(*map(runtime.array, inputs), output)
        call()
        results.append(output.numpy().copy())
        calls.append(call)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    return calls[0], calls[1]


def figures(programs: Sequence[Plain], folder: Path, samples: int) -> Iterator[Figure]:
    """The figures of each program."""
    for program in programs:
        ours, gcc = callers(program, folder)
        value, spread = ratio([(seconds_of_call(ours), seconds_of_call(gcc)) for _ in range(samples)])
        yield Figure(f"{program.name}, time over gcc's", ASKED, value, spread, "", at_most=True)
        if program.name in ON_PEAK:
            peak, work = PeakMeter(), 2 * SIZE**3 / 1e9
            value, spread = ratio([(work / seconds_of_call(ours), peak.sample()) for _ in range(samples)])
            yield Figure(f"{program.name}, of peak", PERCENT_OF_PEAK, 100 * value, 100 * spread, "%")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--remarks", action="store_true")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    options = parser.parse_args()
    programs = [program for program in PROGRAMS if options.only in program.name]
    if options.remarks:
        for program in programs:
            print(f"{program.name}\n{explain(*program.make())}\n")
        return
    with TemporaryDirectory() as folder:
        found = []
        for figure in figures(programs, Path(folder), options.samples):
            print(figure.row(), flush=True)
            found.append(figure)
    if not options.only and options.samples == SAMPLES:
        write_figures("plain", found)


if __name__ == "__main__":
    main()
