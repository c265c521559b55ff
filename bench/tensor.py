"""Figures of the tensor compiler on this machine: `nox -s bench -- tensor` prints them and writes docs/benchmarks.md.

Every sample of a kernel is taken beside a sample of the machine's multiply-add peak, or of the kernel that it is
compared with; a figure is the ratio of medians. The spread is the distance between the quartiles of the sample-wise
ratios. A figure that misses by less than its spread is not resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import numpy as np
from page import Figure, write_figures
from schedules import (
    F2,
    F4,
    ConvShape,
    Scheduled,
    Winograd,
    depthwise_conv,
    direct_conv,
    dot_gemm,
    dot_instruction,
    exponential,
    register_tile,
    sgemm,
    tile_gemm,
    winograd_conv,
)

from sateen import runtime
from sateen.tensor_ir import Machine, PeakMeter, build, build_functions, lower, te
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.intrinsics import INTRINSICS, TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Store
from sateen.tensor_ir.ir.types import FLOAT32

Array = np.ndarray[Any, Any]


class Kernel:
    """A compiled function with its arguments, ready to be called."""

    def __init__(self, scheduled: Scheduled, inputs: Sequence[Array], shape: tuple[int, ...], threads: int = 1) -> None:
        schedule, arguments = scheduled
        compiled = build(schedule, arguments, name="kernel")
        self.output = runtime.empty(shape, arguments[-1].dtype)
        arrays = [*map(runtime.array, inputs), self.output]
        self.call = compiled.module.with_threads(threads)["kernel"].bind(*arrays)
        self.call()

    def error_against(self, expected: Array) -> float:
        """Largest difference over largest magnitude."""
        return float(np.abs(self.output.numpy() - expected).max() / np.abs(expected).max())

    def seconds(self) -> float:
        """Time of one call."""
        return seconds_of_call(self.call)


def seconds_of_call(call: Callable[[], object], least: float = 1e-3) -> float:
    """Time of one call, averaged over at least `least` seconds."""
    count, start = 0, perf_counter()
    while True:
        call()
        count += 1
        elapsed = perf_counter() - start
        if elapsed >= least:
            return elapsed / count


def ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Ratio of the medians, and the quartile distance of the pairwise ratios."""
    low, _, high = quantiles([a / b for a, b in pairs], n=4)
    return median(a for a, _ in pairs) / median(b for _, b in pairs), high - low


def percent_of_peak(name: str, asked: float, kernel: Kernel, flops: int, peak: PeakMeter, detail: str = "") -> Figure:
    """Useful multiply-adds per second over the peak, in percent."""
    pairs = [(flops / kernel.seconds() / 1e9, peak.sample()) for _ in range(60)]
    value, spread = ratio(pairs)
    gflops = median(a for a, _ in pairs)
    return Figure(name, asked, 100 * value, 100 * spread, "%", f"{gflops:.1f} GFLOP/s {detail}".strip())


def time_ratio(name: str, asked: float, a: Kernel, b: Kernel, at_most: bool, detail: str = "") -> Figure:
    """Time of a over time of b."""
    value, spread = ratio([(a.seconds(), b.seconds()) for _ in range(60)])
    return Figure(name, asked, value, spread, "", detail, at_most)


def gemm_kernel(m: int, n: int, k: int, rows: int, columns: int, threads: int = 1, **options: Any) -> Kernel:
    """A checked SGEMM; panels of B are packed outside unless `pack`."""
    random = np.random.default_rng(0)
    a = random.standard_normal((m, k), np.float32)
    b = random.standard_normal((k, n), np.float32)
    given = b if options.get("pack") else b.reshape(k, n // columns, columns).transpose(1, 0, 2)
    kernel = Kernel(sgemm(m, n, k, rows, columns, **options), [a, given], (m, n), threads)
    assert kernel.error_against(a.astype(np.float64) @ b) < 1e-5
    return kernel


def sgemm_figures(peak: PeakMeter) -> list[Figure]:
    figures = []
    cases: list[tuple[int, int, int, int, int, int, dict[str, Any]]] = [
        (1024, 1024, 1024, 95, 6, 64, {}),
        (1024, 1024, 1024, 91, 6, 64, {"pack": True}),
        (49, 512, 4608, 93, 13, 32, {"block": 512}),
        (128, 768, 3072, 93, 8, 32, {"block": 512}),
        *((m, 768, 768, 85, rows, columns, {}) for m, rows, columns in _FEW_ROWS),
    ]
    for m, n, k, asked, rows, columns, options in cases:
        kernel = gemm_kernel(m, n, k, rows, columns, **options)
        how = "packing inside" if options.get("pack") else "B packed outside"
        name = f"SGEMM {m}x{n}x{k}, {how}"
        figures.append(percent_of_peak(name, asked, kernel, 2 * m * n * k, peak, f"tile {rows}x{columns}"))
    one = gemm_kernel(1024, 1024, 1024, 8, 32, block=512, parallel=True)
    two = gemm_kernel(1024, 1024, 1024, 8, 32, threads=2, block=512, parallel=True)
    figures.append(time_ratio("SGEMM 1024^3, one thread over two", 1.9, one, two, at_most=False))
    return figures


def instruction_figures() -> list[Figure]:
    """Products of bytes and of bfloat16 by instructions for them, compared with float32."""
    size, machine, host = 1024, Machine.of(), runtime.Target.host()
    rows, columns = register_tile(size, machine)
    plain = gemm_kernel(size, size, size, rows, columns)
    figures = []
    for kinds, name, tile, asked in (
        ("u8s8", "uint8 by int8 in int32", "tile_16x16x64_u8s8", (3.5, 3.5)),
        ("bf16", "bfloat16 in float32", "tile_16x16x32_bf16", (1.7, 4.0)),
    ):
        cases = (
            ("dot products", dot_instruction(kinds, machine), columns, asked[0]),
            ("tiles", INTRINSICS[tile], 16, asked[1]),
        )
        for way, instruction, width, least in cases:
            label = f"product {size}^3 of {name} by {way}"
            if instruction is None or instruction.code_for(host.enabled_features) is None:
                print(f"{label}: not measured, since this processor has no instruction for it")
                continue
            if way == "tiles":
                scheduled = tile_gemm(size, size, size, instruction)
            else:
                scheduled = dot_gemm(size, size, size, instruction, rows, columns)
            kernel = _product_by_instruction(size, instruction, width, scheduled)
            label = f"{label}, time of float32 over its own, B packed outside"
            figures.append(time_ratio(label, least, plain, kernel, at_most=False))
    return figures


def _product_by_instruction(size: int, instruction: TensorIntrinsic, width: int, scheduled: Scheduled) -> Kernel:
    """A checked product, exact if it is one of bytes; B comes in panels of `width` columns."""
    _, left, right = instruction.inputs
    random = np.random.default_rng(0)
    numbers: list[Array] = [random.standard_normal((size, size)) for _ in range(2)]
    if left.dtype.is_int:
        numbers = [random.integers(low, low + 256, (size, size)) for low in (0, -128)]
    a, b = (x.astype(t.dtype.numpy) for x, t in zip(numbers, (left, right), strict=True))
    terms = instruction.shape_of(right)[-1]
    panels = b.reshape(size // terms, terms, size // width, width).transpose(2, 0, 3, 1)
    kernel = Kernel(scheduled, [a, np.ascontiguousarray(panels)], (size, size))
    error = kernel.error_against(a.astype(np.float64) @ b.astype(np.float64))
    assert error <= (0 if left.dtype.is_int else 1e-5), error
    return kernel


_FEW_ROWS = ((13, 13, 32), (17, 9, 48), (27, 9, 48), (55, 8, 48), (147, 7, 64), (197, 8, 48))


def convolve(x: Array, weight: Array) -> Array:
    """3x3, stride 1, padding 1, in float64; x [C, H, W], weight [O, C, 3, 3]."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    _, h, w = x.shape
    taps = [(i, j) for i in range(3) for j in range(3)]
    parts = [
        np.einsum("oc,chw->ohw", weight[:, :, i, j].astype(np.float64), padded[:, i : i + h, j : j + w], optimize=True)
        for i, j in taps
    ]
    total: Array = np.sum(parts, axis=0)
    return total


def blocked(x: Array) -> Array:
    """[C, H, W] as [C/16, H, W, 16]."""
    c, h, w = x.shape
    return x.reshape(c // 16, 16, h, w).transpose(0, 2, 3, 1)


def with_halo(x: Array) -> Array:
    """[C/16, H, W, 16] with a border of zeros."""
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))


def conv_figures(peak: PeakMeter) -> list[Figure]:
    shape = ConvShape(64, 64, 56, 56)
    random = np.random.default_rng(0)
    x = random.standard_normal((shape.inputs, shape.height, shape.width), np.float32)
    weight = (random.standard_normal((shape.outputs, shape.inputs, 3, 3)) * 0.05).astype(np.float32)
    bias = random.standard_normal((shape.outputs // 16, 16)).astype(np.float32)
    expected = blocked(np.maximum(convolve(x, weight) + bias.reshape(-1)[:, None, None], 0))
    data, size = blocked(x), expected.shape

    def direct(halo: bool) -> Kernel:
        blocks = weight.reshape(shape.outputs // 32, 32, shape.inputs // 16, 16, 3, 3).transpose(0, 2, 4, 5, 3, 1)
        given = with_halo(data) if halo else data
        return Kernel(direct_conv(shape, 14, 2, halo=halo), [given, blocks, bias], size)

    def winograd(f: Winograd) -> Kernel:
        scheduled = winograd_conv(shape, f, 4, 4, 2)
        return Kernel(scheduled, [with_halo(data), f.transform_weight(weight, 4), bias], size)

    haloed, plain, f4, f2 = direct(True), direct(False), winograd(F4), winograd(F2)
    errors = [k.error_against(expected) for k in (haloed, plain, f4, f2)]
    assert max(errors) < 1e-4, errors
    layer = "3x3, 64 to 64, 56x56, bias and relu"
    return [
        percent_of_peak(f"direct conv {layer}, haloed input, padded count", 95, haloed, shape.padded_flops, peak),
        percent_of_peak(f"direct conv {layer}, padding skipped, useful count", 92, plain, shape.useful_flops, peak),
        time_ratio("Winograd F(4x4) over direct, same layer", 0.40, f4, haloed, True, f"error {errors[2]:.1e}"),
        time_ratio("Winograd F(2x2) over direct, same layer", 0.60, f2, haloed, True, f"error {errors[3]:.1e}"),
        *depthwise_figures(peak),
    ]


def depthwise_figures(peak: PeakMeter) -> list[Figure]:
    random = np.random.default_rng(0)
    x = random.standard_normal((32, 14, 14, 16), np.float32)
    weight = random.standard_normal((32, 3, 3, 16), np.float32)
    padded = with_halo(x)
    taps = [(i, j) for i in range(3) for j in range(3)]
    expected = np.sum(
        [padded[:, i : i + 14, j : j + 14].astype(np.float64) * weight[:, None, None, i, j] for i, j in taps], axis=0
    )
    figures = []
    for halo, asked, flops, tile in (
        (True, 88, 2 * 512 * 9 * 14 * 14, (2, 4)),
        (False, 75, 2 * 512 * (3 * 14 - 2) ** 2, (4, 4)),
    ):
        scheduled = depthwise_conv(512, 14, 14, *tile, halo=halo)
        kernel = Kernel(scheduled, [padded if halo else x, weight], expected.shape)
        assert kernel.error_against(expected) < 1e-5
        how = "haloed input" if halo else "padding skipped, useful count"
        figures.append(percent_of_peak(f"depthwise 3x3, 512x14x14, {how}", asked, kernel, flops, peak))
    return figures


def exp_figures() -> list[Figure]:
    count = 1_000_000
    x = np.random.default_rng(0).uniform(-8, 8, count).astype(np.float32)
    kernel = Kernel(exponential(count), [x], (count,))
    assert kernel.error_against(np.exp(x.astype(np.float64))) < 1e-6
    rates = [8 * count / kernel.seconds() / 1e9 for _ in range(60)]
    low, _, high = quantiles(rates, n=4)
    return [Figure("exp over 1e6 floats, read + write", 25, median(rates), high - low, "GB/s")]


def seconds_of(action: Callable[[], object], repeat: int = 9) -> tuple[float, float]:
    """Median time and quartile distance."""
    times = []
    for _ in range(repeat):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    low, _, high = quantiles(times, n=4)
    return median(times), high - low


def compile_figures() -> list[Figure]:
    shape = ConvShape(64, 64, 56, 56)
    direct, winograd = direct_conv(shape, 14, 2, halo=True), winograd_conv(shape, F4, 4, 4, 2)
    conv = seconds_of(lambda: build(*direct).object_code)
    wino = seconds_of(lambda: build(*winograd).object_code)
    many = seconds_of(_compile_25, repeat=5)
    growth, detail = _growth_of_lowering()
    return [
        Figure("direct conv, schedule to object code", 0.3, *conv, "s", at_most=True),
        Figure("Winograd F(4x4), schedule to object code", 1.0, *wino, "s", at_most=True),
        Figure("25 conv kernels, 2 processes, their start included", 3.0, *many, "s", at_most=True),
        Figure("lowering, time per loop of 128 stages over 16 stages", 1.3, growth, 0.0, "", detail, at_most=True),
    ]


def _compile_25() -> None:
    shapes = [(64, 64, 56), (128, 128, 28), (256, 256, 14), (512, 512, 7), (64, 128, 28)]
    with CompilerPool(2) as pool:
        functions = []
        for i in range(25):
            inputs, outputs, size = shapes[i % len(shapes)]
            scheduled = direct_conv(ConvShape(inputs, outputs, size, size), min(size, 14), 2, halo=True)
            functions.append(lower(*scheduled, name=f"conv{i}"))
        pool.compile(functions)


def _growth_of_lowering() -> tuple[float, str]:
    """How the time of all passes per loop grows with the number of loops: a chain of stages, each a tiled nest."""

    def chain(length: int) -> Scheduled:
        first = x = te.placeholder((64, 64), name="x")
        stages = []
        for i in range(length):
            x = te.compute((64, 64), lambda y, z, x=x: x[y, z] * 2.0 + 1.0, name=f"stage{i}")
            stages.append(x)
        s = te.create_schedule(x)
        for stage in stages:
            y, z = stage.op.axis
            s[stage].tile(y, z, 7, 16)
        return s, [first, x]

    def seconds_per_loop(length: int) -> float:
        scheduled = chain(length)
        return seconds_of(lambda: lower(*scheduled), repeat=5)[0] / (4 * length)

    times = {length: seconds_per_loop(length) for length in (16, 128)}
    detail = ", ".join(f"{n} stages {1e6 * t:.0f} us a loop" for n, t in times.items())
    return times[128] / times[16], detail


def launch_figures() -> list[Figure]:
    """An empty parallel region of two chunks, launched from native code, the pool awake."""
    rounds = 20_000
    out = Buffer("out", (const(2),), FLOAT32)

    def program(kind: LoopKind) -> Callable[[], None]:
        chunk = Var("chunk")
        region = For(chunk, const(0), const(2), kind, Store(out, (chunk,), const(1.0)))
        loop = For(Var("round"), const(0), const(rounds), LoopKind.SERIAL, region)
        module = build_functions([Function("launches", (out,), frozenset({out}), loop)]).module
        return module.with_threads(2)["launches"].bind(runtime.empty((2,), "float32"))

    region, serial = program(LoopKind.PARALLEL), program(LoopKind.SERIAL)
    samples = [seconds_of(region, 2)[0] - seconds_of(serial, 2)[0] for _ in range(25)]
    micros = [1e6 * s / rounds for s in samples]
    low, _, high = quantiles(micros, n=4)
    return [
        Figure("launch of an empty parallel region, 2 threads", 0.3, median(micros), high - low, "us", at_most=True)
    ]


def main() -> None:
    """Measure everything, print each line as it is known, write the page."""
    peak = PeakMeter()
    figures: list[Figure] = []
    groups: list[Callable[[], list[Figure]]] = [
        lambda: sgemm_figures(peak), instruction_figures, lambda: conv_figures(peak), exp_figures, compile_figures,
        launch_figures,
    ]  # fmt: skip
    for group in groups:
        for figure in group():
            figures.append(figure)
            print(figure.row(), flush=True)
    write_figures("tensor", figures)


if __name__ == "__main__":
    main()
