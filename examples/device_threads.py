"""Kernels for a device: a sum that threads share, and a convolution whose threads share what they load.

`bind` gives loops to blocks and threads. A reduce loop on threads makes partial sums, which are added in pairs; memory
of scope `shared` belongs to a block, and barriers are put where its threads depend on each other. Without OpenCL the
interpreter executes the threads, and traps races and missing barriers.
"""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import CompiledModule, build, lower, te
from sateen.tensor_ir.interpret import run

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Scheduled = tuple[te.Schedule, list[te.Tensor]]
ROWS, COLUMNS = 8, 1000
CHANNELS, FILTERS, SIZE = 8, 16, 16
BLOCK_X, BLOCK_Y = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
THREAD_X, THREAD_Y = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


def row_sums() -> Scheduled:
    """A row per block; each of its 32 threads adds every 32nd element."""
    A = te.placeholder((ROWS, COLUMNS), name="A")
    k = te.reduce_axis(COLUMNS, name="k")
    S = te.compute((ROWS,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S)
    s[S].bind(S.op.axis[0], BLOCK_X)
    s[S].bind(s[S].split(k, factor=32)[1], THREAD_X)
    return s, [A, S]


def convolution() -> Scheduled:
    """A 3×3 convolution: blocks of 8×8 pixels and 4 filters; a thread has one pixel, and the sums of all 4 filters."""
    data = te.placeholder((CHANNELS, SIZE + 2, SIZE + 2), name="data")
    weight = te.placeholder((FILTERS, CHANNELS, 3, 3), name="weight")
    channel, dy, dx = (te.reduce_axis(extent, name=name) for name, extent in (("c", CHANNELS), ("dy", 3), ("dx", 3)))
    conv = te.compute(
        (FILTERS, SIZE, SIZE),
        lambda f, y, x: te.sum(data[channel, y + dy, x + dx] * weight[f, channel, dy, dx], axis=[channel, dy, dx]),
        name="conv",
    )
    s = te.create_schedule(conv)
    sums = s.cache_write(conv, "register")
    window, filters = (s.cache_read(tensor, "shared", [sums]) for tensor in (data, weight))

    f, y, x = conv.op.axis
    fo, fi = s[conv].split(f, factor=4)
    yo, xo, yi, xi = s[conv].tile(y, x, 8, 8)
    s[conv].reorder(fo, yo, xo, yi, xi, fi)
    s[conv].bind(s[conv].fuse(yo, xo), BLOCK_X)
    s[conv].bind(fo, BLOCK_Y)
    s[conv].bind(yi, THREAD_Y)
    s[conv].bind(xi, THREAD_X)
    s[conv].unroll(fi)

    s[sums].compute_at(s[conv], xi)
    f, y, x = sums.op.axis
    channel, dy, dx = sums.op.reduce_axis
    s[sums].reorder(channel, dy, dx, f, y, x)
    s[sums].unroll(f)
    for shared in (window, filters):  # a channel at a time, loaded by all threads of the block together
        s[shared].compute_at(s[sums], channel)
        rest, thread = s[shared].split(s[shared].fuse(*shared.op.axis), factor=8)
        s[shared].bind(s[shared].split(rest, factor=8)[1], THREAD_Y)
        s[shared].bind(thread, THREAD_X)
    return s, [data, weight, conv]


def launch(kernels: CompiledModule, arrays: list[Array]) -> str:
    """Run the kernels on the arrays, of which they write the last. Returns where they ran."""
    try:
        device = runtime.open_device("opencl").description
    except runtime.DeviceError as error:
        run(kernels.program.host, arrays, kernels=kernels.program.kernels)
        return f"the interpreter ({error})"
    there = [runtime.array(array, device=device.device) for array in arrays]
    kernels(*there)
    arrays[-1][...] = there[-1].numpy()
    return device.name


def main() -> None:
    rng = np.random.default_rng(0)
    s, arguments = row_sums()
    print(lower(s, arguments, "row_sums"), "\n")
    a, sums = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32), np.zeros(ROWS, np.float32)
    place = launch(build(s, arguments, "opencl", "row_sums"), [a, sums])
    np.testing.assert_allclose(sums, a.sum(axis=1), rtol=0, atol=1e-3)
    print(f"row_sums: equal to NumPy's on {place}\n")

    s, arguments = convolution()
    print(lower(s, arguments, "convolution"), "\n")
    x, w = rng.standard_normal((CHANNELS, SIZE, SIZE)), rng.standard_normal((FILTERS, CHANNELS, 3, 3))
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    weight, result = w.astype(np.float32), np.zeros((FILTERS, SIZE, SIZE), np.float32)
    kernels = build(s, arguments, "opencl", "convolution")
    place = launch(kernels, [framed, weight, result])
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(1, 2))
    np.testing.assert_allclose(result, np.einsum("fcij,cyxij->fyx", weight, windows), rtol=0, atol=1e-4)
    (kernel,) = kernels.program.kernels
    print(f"convolution: equal to NumPy's on {place}, {kernel.shared_bytes} bytes of shared memory in a block")


if __name__ == "__main__":
    main()
