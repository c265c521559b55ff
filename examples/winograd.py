"""A 3×3 convolution by Winograd's minimal filtering, which needs fewer multiplications than the sum has terms.

A tile of m×m outputs depends on a tile d of n×n inputs, n = m + 2. It is Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A, summed over the
channels before the outer transform (Lavin and Gray 2015, arXiv:1509.09308): for all tiles and each of the n×n elements
that is a product of matrices. Every step is te; only the weights, known beforehand, are transformed by NumPy.
"""

from dataclasses import dataclass
from statistics import median

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, PeakMeter, build, te

CHANNELS, FILTERS, HEIGHT, WIDTH = 64, 64, 56, 56
MACHINE = Machine.of("llvm")
LANES = MACHINE.lanes("float32")
TILES, BLOCKS = (14, 2) if MACHINE.vector_registers >= 32 else (6, 2)
"""The register tile of the matrix products: TILES tiles of the image by BLOCKS vectors of filters."""

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Algorithm:
    """F(m×m, 3×3) as its matrices Bᵀ [n, n], G [n, 3] and Aᵀ [m, n], and how many rows of tiles a strip has."""

    Bt: Array
    G: Array
    At: Array
    strip: int


def matrix(text: str) -> Array:
    """Rows of numbers, separated by semicolons."""
    return np.array([row.split() for row in text.split(";")], np.float64).astype(np.float32)


F2 = Algorithm(
    Bt=matrix("1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1"),
    G=matrix("2 0 0; 1 1 1; 1 -1 1; 0 0 2") / np.float32(2),
    At=matrix("1 1 1 0; 0 1 -1 -1"),
    strip=7,
)
F4 = Algorithm(
    Bt=matrix("4 0 -5 0 1 0; 0 -4 -4 1 1 0; 0 4 -4 -1 1 0; 0 -2 -1 2 1 0; 0 2 -1 -2 1 0; 0 4 0 -5 0 1"),
    G=matrix("6 0 0; -4 -4 -4; -4 4 -4; 1 2 4; 1 -2 4; 0 0 24") / np.float32(24),
    At=matrix("1 1 1 1 1 0; 0 1 -1 2 -2 0; 0 1 1 4 4 0; 0 1 -1 8 -8 1"),
    strip=2,
)


def convolution(algorithm: Algorithm) -> tuple[te.Schedule, list[te.Tensor]]:
    """Bias and ReLU of the convolution of a padded image [channel block, row, column, channel]."""
    m, n = algorithm.At.shape
    across = WIDTH // m
    count = HEIGHT // m * across
    data = te.placeholder((CHANNELS // LANES, HEIGHT + 2, WIDTH + 2, LANES), name="data")
    weight = te.placeholder((FILTERS // (BLOCKS * LANES), n, n, CHANNELS, BLOCKS * LANES), name="weight")
    bias = te.placeholder((FILTERS // LANES, LANES), name="bias")
    Bt, At = te.constant(algorithm.Bt, name="Bt"), te.constant(algorithm.At, name="At")

    # Indices: y, x within a tile, c or f a block of channels or filters, t a tile, lane within the block.
    # A zero in a matrix is no term, which `where` says: a product with it would have to be computed.
    def transform(matrix: te.Tensor, row: te.Expr, k: te.IterVar, value: te.Expr) -> te.Expr:
        return te.sum(matrix[row, k] * value, axis=k, where=matrix[row, k].not_equal(0.0))

    tiles = (n, n, CHANNELS // LANES, count, LANES)
    k1, k2, k3, k4 = (te.reduce_axis(n, name="k") for _ in range(4))
    D = te.compute(
        tiles,
        lambda y, x, c, t, lane: transform(Bt, y, k1, data[c, t // across * m + k1, t % across * m + x, lane]),
        name="D",
    )
    V = te.compute(tiles, lambda y, x, c, t, lane: transform(Bt, x, k2, D[y, k2, c, t, lane]), name="V")

    c, channel = te.reduce_axis(CHANNELS // LANES, name="c"), te.reduce_axis(LANES, name="channel")
    M = te.compute(
        (n, n, FILTERS // LANES, count, LANES),
        lambda y, x, f, t, lane: te.sum(
            V[y, x, c, t, channel] * weight[f // BLOCKS, y, x, c * LANES + channel, f % BLOCKS * LANES + lane],
            axis=[c, channel],
        ),
        name="M",
    )
    E = te.compute(
        (m, n, FILTERS // LANES, count, LANES),
        lambda y, x, f, t, lane: transform(At, y, k3, M[k3, x, f, t, lane]),
        name="E",
    )
    Y = te.compute(
        (m, m, FILTERS // LANES, count, LANES),
        lambda y, x, f, t, lane: transform(At, x, k4, E[y, k4, f, t, lane]),
        name="Y",
    )
    out = te.compute(
        (FILTERS // LANES, HEIGHT, WIDTH, LANES),
        lambda f, y, x, lane: te.maximum(Y[y % m, x % m, f, y // m * across + x // m, lane] + bias[f, lane], 0.0),
        name="out",
    )
    return schedule(m, algorithm.strip, D, V, M, E, Y, out), [data, weight, bias, out]


def schedule(
    m: int, strip: int, D: te.Tensor, V: te.Tensor, M: te.Tensor, E: te.Tensor, Y: te.Tensor, out: te.Tensor
) -> te.Schedule:
    """Strip by strip, so that V and M stay in the cache; transforms and the products' sums in registers."""
    s = te.create_schedule(out)

    f, y, x, lane = out.op.axis
    yo, yi = s[out].split(y, factor=m)
    xo, xi = s[out].split(x, factor=m)
    strips, yo = s[out].split(yo, factor=strip)
    s[out].reorder(strips, f, yo, xo, yi, xi, lane)
    write_out(s[out], yi, xi, lane)

    for tensor in (Y, E):
        y, x, f, t, lane = tensor.op.axis
        (k,) = tensor.op.reduce_axis
        s[tensor].compute_at(s[out], xo)
        s[tensor].set_scope("register")
        s[tensor].reorder(f, t, y, x, k, lane)
        write_out(s[tensor], y, x, k, lane)

    T = s.cache_write(M, "register")
    y, x, f, t, lane = M.op.axis
    fo, fi = s[M].split(f, factor=BLOCKS)
    to, ti = s[M].split(t, factor=TILES, tail="partition")
    s[M].compute_at(s[out], strips)
    s[M].reorder(fo, y, x, to, ti, fi, lane)
    write_out(s[M], ti, fi, lane)

    y, x, f, t, lane = T.op.axis
    c, channel = T.op.reduce_axis
    co, ci = s[T].split(channel, factor=4)
    s[T].compute_at(s[M], to)
    s[T].reorder(y, x, c, co, ci, t, f, lane)
    write_out(s[T], ci, t, f, lane)

    R = s.cache_write(V, "register")
    y, x, c, t, lane = V.op.axis
    s[V].compute_at(s[out], strips)
    s[V].reorder(c, t, y, x, lane)
    write_out(s[V], y, x, lane)
    s[D].set_scope("register")
    for tensor in (R, D):
        y, x, c, tile, lane = tensor.op.axis
        (k,) = tensor.op.reduce_axis
        s[tensor].compute_at(s[V], t)
        s[tensor].reorder(c, tile, y, x, k, lane)
        write_out(s[tensor], y, x, k, lane)
    return s


def write_out(stage: te.Stage, *loops: te.IterVar) -> None:
    """Unroll the loops but the last, which becomes a vector."""
    for loop in loops[:-1]:
        stage.unroll(loop)
    stage.vectorize(loops[-1])


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
    exact = np.einsum("fcij,cyxij->fyx", w, windows, optimize=True, dtype=np.float64)
    expected = np.maximum(exact + b[:, None, None], 0)

    data, bias = runtime.array(blocked(framed)), runtime.array(b.reshape(-1, LANES))
    out = runtime.empty((FILTERS // LANES, HEIGHT, WIDTH, LANES))
    runs, errors = {}, {}
    for name, algorithm in {"F(2×2, 3×3)": F2, "F(4×4, 3×3)": F4}.items():
        s, arguments = convolution(algorithm)
        layer = build(s, arguments, target="llvm", name="layer")
        U = np.einsum("yi,fcij,xj->yxcf", algorithm.G, w, algorithm.G)
        weight = runtime.array(U.reshape(*U.shape[:3], -1, BLOCKS * LANES).transpose(3, 0, 1, 2, 4))
        layer(data, weight, bias, out)
        errors[name] = np.abs(out.numpy() - blocked(expected)).max() / expected.max()
        assert errors[name] < 1e-4
        runs[name] = layer["layer"].bind(data, weight, bias, out)

    meter = PeakMeter()
    peaks: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(30):
        peaks.append(meter.sample())
        for name, run in runs.items():
            times[name].append(runtime.time_evaluator(run, repeat=1).median)

    flops = 2 * 9 * CHANNELS * FILTERS * HEIGHT * WIDTH
    at_peak = flops / median(peaks) / 1e9
    print(f"{CHANNELS} to {FILTERS} channels of {HEIGHT}×{WIDTH}; the sum at the peak: {at_peak * 1e3:.2f} ms\n")
    print("algorithm           ms   share of that   error")
    for name in runs:
        seconds = median(times[name])
        print(f"{name:14} {seconds * 1e3:7.2f} {seconds / at_peak:15.2f} {errors[name]:7.0e}")


if __name__ == "__main__":
    main()
