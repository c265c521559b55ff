"""Products of matrices on the first device of OpenCL, beside CLBlast: `nox -s bench -- opencl` writes the page.

CLBlast (Debian: libclblast1) gets the same memory and the same queue. Samples are taken in turns, each until the device
has finished; a figure is the median of CLBlast's time over ours.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import numpy as np
from page import Figure, write_figures

from sateen import runtime
from sateen.graph_ir import build, parse_graph
from sateen.graph_ir.ops import OPS
from sateen.runtime.devices import open_device
from sateen.runtime.devices.opencl import OpenCLConnection

SAMPLES = 15
ROW_MAJOR, PLAIN = 101, 111
"""CLBlast's names for the order of elements, and for a matrix that is not transposed (clblast_c.h)."""
SIZES = ((1024, 1.0), (512, 1.0), (256, 1.0))


def clblast() -> Callable[..., int]:
    """CLBlastSgemm. Raises OSError where CLBlast is not installed."""
    function: Any = ctypes.CDLL("libclblast.so.1").CLBlastSgemm
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    matrix = (pointer, size, size)
    function.argtypes = [
        *(ctypes.c_int,) * 3, *(size,) * 3, ctypes.c_float, *matrix, *matrix, ctypes.c_float, *matrix, pointer, pointer
    ]  # fmt: skip
    return function  # type: ignore[no-any-return]


def product_figure(n: int, asked: float) -> Figure:
    """C = A B of n x n, float32."""
    device = open_device("opencl")
    connection = device._connection
    assert isinstance(connection, OpenCLConnection)
    target = "opencl -mcpu=processor" if device.description.warp == 1 else "opencl"
    text = f"""\
graph product
  input %a: float32[{n}, {n}]
  input %b: float32[{n}, {n}]
  %c: float32[{n}, {n}] = mat_mul(%a, %b)
  output %c"""
    model = runtime.load(build(parse_graph(text, OPS), target))
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in "ab")
    expected = a @ b
    there = {"a": runtime.array(a, device="opencl"), "b": runtime.array(b, device="opencl")}
    c, out = (runtime.array(np.zeros((n, n), np.float32), device="opencl") for _ in "cd")
    sgemm, queue = clblast(), ctypes.c_void_p(connection._queue(0))

    def theirs() -> None:
        operands = (there["a"].data, 0, n, there["b"].data, 0, n)
        status = sgemm(
            ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, *operands, 0.0, c.data, 0, n, ctypes.byref(queue), None
        )  # fmt: skip
        assert status == 0, status
        device.sync()

    def ours() -> None:
        model.run(there, out={"c": out})
        device.sync()

    for run, result in ((theirs, c), (ours, out)):
        run()
        assert np.abs(result.numpy() - expected).max() <= 1e-5 * n
    pairs = [(seconds(theirs), seconds(ours)) for _ in range(SAMPLES)]
    ratios = [one / other for one, other in pairs]
    low, _, high = quantiles(ratios, n=4)
    speeds = [2 * n**3 / median(times) / 1e9 for times in zip(*pairs, strict=True)]
    detail = f"{device.description.name}: CLBlast {speeds[0]:.0f} GFLOP/s, sateen {speeds[1]:.0f}"
    return Figure(f"SGEMM {n}^3 on OpenCL, CLBlast over sateen", asked, median(ratios), high - low, "", detail)


def seconds(run: Callable[[], None]) -> float:
    """The time of a call."""
    start = perf_counter()
    run()
    return perf_counter() - start


def main() -> None:
    """Measure, print each line as it is known, write the page."""
    figures = []
    for n, asked in SIZES:
        figures.append(product_figure(n, asked))
        sys.stdout.write(f"{figures[-1].row()}\n")
    write_figures("opencl", figures)


if __name__ == "__main__":
    main()
