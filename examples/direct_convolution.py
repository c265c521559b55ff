"""A 3×3 convolution with bias and ReLU, computed directly: channels in blocks of a vector, sums in registers.

Activations are [channel block, row, column, channel], as NCHW16c on a machine with vectors of 16.
"""

from statistics import median

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, PeakMeter, build, te

CHANNELS, FILTERS, HEIGHT, WIDTH = 64, 64, 56, 56
MACHINE = Machine.of("llvm")
LANES = MACHINE.lanes("float32")
Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
COLUMNS, BLOCKS = (14, 2) if MACHINE.vector_registers >= 32 else (6, 2)
"""A tile of COLUMNS pixels by BLOCKS vectors of filters leaves registers for a row of weights and one activation."""


def convolution(padded: bool) -> tuple[te.Schedule, list[te.Tensor]]:
    """The layer over an image that comes `padded` by a frame of zeros; or not, then the frame's terms are left out."""
    frame = 2 if padded else 0
    data = te.placeholder((CHANNELS // LANES, HEIGHT + frame, WIDTH + frame, LANES), name="data")
    weight = te.placeholder(
        (FILTERS // (BLOCKS * LANES), CHANNELS // LANES, 3, 3, LANES, BLOCKS * LANES), name="weight"
    )
    bias = te.placeholder((FILTERS // LANES, LANES), name="bias")
    block, channel = te.reduce_axis(CHANNELS // LANES, name="block"), te.reduce_axis(LANES, name="channel")
    dy, dx = te.reduce_axis(3, name="dy"), te.reduce_axis(3, name="dx")

    def pixel(f: te.Expr, y: te.Expr, x: te.Expr, lane: te.Expr) -> te.Expr:
        w = weight[f // BLOCKS, block, dy, dx, channel, f % BLOCKS * LANES + lane]
        if padded:
            return te.sum(data[block, y + dy, x + dx, channel] * w, axis=[block, dy, dx, channel])
        row, column = y + dy - 1, x + dx - 1
        inside = te.all(row >= 0, row < HEIGHT, column >= 0, column < WIDTH)
        return te.sum(data[block, row, column, channel] * w, axis=[block, dy, dx, channel], where=inside)

    shape = (FILTERS // LANES, HEIGHT, WIDTH, LANES)
    conv = te.compute(shape, pixel, name="conv")
    out = te.compute(shape, lambda f, y, x, lane: te.maximum(conv[f, y, x, lane] + bias[f, lane], 0.0), name="out")

    s = te.create_schedule(out)
    f, y, x, lane = out.op.axis
    fo, fi = s[out].split(f, factor=BLOCKS)
    xo, xi = s[out].split(x, factor=COLUMNS, tail="partition")
    s[out].reorder(fo, y, xo, xi, fi, lane)
    s[out].unroll(xi)
    s[out].unroll(fi)
    s[out].vectorize(lane)
    s[out].pragma(xo, "partition")  # the first and the last tile of a row are code of their own, without tests

    s[conv].compute_at(s[out], xo)
    s[conv].set_scope("register")
    f, y, x, lane = conv.op.axis
    co, ci = s[conv].split(channel, factor=4)
    s[conv].reorder(block, dy, dx, co, ci, y, x, f, lane)
    for loop in (dx, ci, x, f):
        s[conv].unroll(loop)
    s[conv].vectorize(lane)
    return s, [data, weight, bias, out]


def blocked(image: Array) -> Array:
    """[channel, row, column] as [channel block, row, column, channel]."""
    channels, height, width = image.shape
    return image.reshape(channels // LANES, LANES, height, width).transpose(0, 2, 3, 1)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((CHANNELS, HEIGHT, WIDTH), dtype=np.float32)
    w = rng.standard_normal((FILTERS, CHANNELS, 3, 3), dtype=np.float32) / 24
    b = rng.standard_normal(FILTERS, dtype=np.float32)

    framed = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(1, 2))
    expected = np.maximum(np.einsum("fcij,cyxij->fyx", w, windows, optimize=True) + b[:, None, None], 0)

    by_block = w.reshape(-1, BLOCKS * LANES, CHANNELS // LANES, LANES, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    weight, bias = runtime.array(by_block), runtime.array(b.reshape(-1, LANES))
    out = runtime.empty((FILTERS // LANES, HEIGHT, WIDTH, LANES))
    per_pixel = 2 * CHANNELS * FILTERS
    cases = {
        "padded beforehand": (True, framed, 9 * HEIGHT * WIDTH * per_pixel),
        "padding skipped": (False, x, (3 * HEIGHT - 2) * (3 * WIDTH - 2) * per_pixel),
    }
    runs = {}
    for name, (padded, image, flops) in cases.items():
        schedule, arguments = convolution(padded)
        layer = build(schedule, arguments, target="llvm", name="layer")
        data = runtime.array(blocked(image))
        layer(data, weight, bias, out)
        np.testing.assert_allclose(out.numpy(), blocked(expected), rtol=0, atol=1e-4)
        runs[name] = layer["layer"].bind(data, weight, bias, out), flops

    meter = PeakMeter()
    peaks: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(30):
        peaks.append(meter.sample())
        for name, (run, _) in runs.items():
            times[name].append(runtime.time_evaluator(run, repeat=1).median)

    print(f"{CHANNELS} to {FILTERS} channels of {HEIGHT}×{WIDTH}; the measured peak is {median(peaks):.1f} GFLOP/s\n")
    print("3×3 convolution        ms   GFLOP/s   of the peak")
    for name, (_, flops) in runs.items():
        seconds = median(times[name])
        rate = flops / seconds / 1e9
        print(f"{name:18} {seconds * 1e3:6.2f} {rate:9.1f} {rate / median(peaks):13.1%}")


if __name__ == "__main__":
    main()
