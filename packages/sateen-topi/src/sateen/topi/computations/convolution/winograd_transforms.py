"""The matrices of Winograd's minimal filtering for 3x3 kernels, the transform of a weight, and the loss of accuracy.

F(m x m) computes tiles of m x m outputs from n rows and columns of input with n² multiplications per channel pair
instead of 9·m². With stride 1, n is m + 2. With stride 2 the taps fall into two phases: the outer two, over inputs that
are two apart, are an F(2, 2) of three products, the middle one takes a product per output: n is 5 for m = 2. Input and
output are transformed by small constant matrices. Their zeros cost nothing, and their rows and columns for points p and
-p share the parts that are even and odd in p. The weight is transformed beforehand. Rounding errors grow with m.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from sateen.runtime.threads import Threads
from sateen.topi.computations.windows import Window

Array = np.ndarray[Any, Any]
Matrix = tuple[tuple[float, ...], ...]

KERNEL = 3
LARGE_WEIGHT_BYTES = 8 << 20
"""The least bytes of a transformed weight that several threads of the compiler compute."""
LOSS_ELEMENTS = 1 << 15
"""The elements of a weight whose loss is computed at a time, so few that their copies in float64 stay in caches."""

ROUNDING = 2.0**-24
"""The largest error of one operation of float32, in proportion to its result."""
DEVIATIONS = 3.0
"""The number of standard deviations in the largest error of a tile; docs/design/numerics.md has the measurements."""
ROUNDINGS = 6.0
"""The roundings of a term besides the sum over channels: its weight, the passes over its input, the product, passes
over sums."""


@dataclass(frozen=True, slots=True)
class Transform:
    """The matrices of F(m x m, 3x3) for a stride. Equal trailing rows of `weight` are stored once."""

    m: int
    stride: int
    data: Matrix
    weight: Matrix
    output: Matrix

    @property
    def n(self) -> int:
        """Rows and columns of a transformed tile."""
        return len(self.data)

    @property
    def step(self) -> int:
        """Rows and columns of the input from one tile to the next."""
        return self.m * self.stride

    @property
    def weights(self) -> int:
        """Rows and columns of a transformed weight."""
        return len(dict.fromkeys(self.weight))


F2 = Transform(
    2, 1,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
)  # fmt: skip
F4 = Transform(
    4, 1,
    (
        (1089 / 1024, 0, -157 / 64, 0, 1, 0),
        (0, -363 / 256, -121 / 64, 3 / 4, 1, 0), (0, 363 / 256, -121 / 64, -3 / 4, 1, 0),
        (0, -99 / 128, -9 / 16, 11 / 8, 1, 0), (0, 99 / 128, -9 / 16, -11 / 8, 1, 0),
        (0, 1089 / 1024, 0, -157 / 64, 0, 1),
    ),
    (
        (1024 / 1089, 0, 0), (-512 / 765, -128 / 255, -32 / 85), (-512 / 765, 128 / 255, -32 / 85),
        (2048 / 10285, 256 / 935, 32 / 85), (2048 / 10285, -256 / 935, 32 / 85), (0, 0, 1),
    ),
    (
        (1, 1, 1, 1, 1, 0), (0, 3 / 4, -3 / 4, 11 / 8, -11 / 8, 0), (0, 9 / 16, 9 / 16, 121 / 64, 121 / 64, 0),
        (0, 27 / 64, -27 / 64, 1331 / 512, -1331 / 512, 1),
    ),
)  # fmt: skip
"""F(4x4). Its points 3/4 and 11/8, which are exact in float32, lose a fifth of what 1 and 2 would lose."""
F6 = Transform(
    6, 1,
    (
        (1, 0, -21 / 4, 0, 21 / 4, 0, -1, 0),
        (0, 1, 1, -17 / 4, -17 / 4, 1, 1, 0), (0, -1, 1, 17 / 4, -17 / 4, -1, 1, 0),
        (0, 1 / 2, 1 / 4, -5 / 2, -5 / 4, 2, 1, 0), (0, -1 / 2, 1 / 4, 5 / 2, -5 / 4, -2, 1, 0),
        (0, 2, 4, -5 / 2, -5, 1 / 2, 1, 0), (0, -2, 4, 5 / 2, -5, -1 / 2, 1, 0),
        (0, -1, 0, 21 / 4, 0, -21 / 4, 0, 1),
    ),
    (
        (1, 0, 0), (-2 / 9, -2 / 9, -2 / 9), (-2 / 9, 2 / 9, -2 / 9), (1 / 90, 1 / 45, 2 / 45),
        (1 / 90, -1 / 45, 2 / 45), (32 / 45, 16 / 45, 8 / 45), (32 / 45, -16 / 45, 8 / 45), (0, 0, 1),
    ),
    (
        (1, 1, 1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 1 / 2, -1 / 2, 0), (0, 1, 1, 4, 4, 1 / 4, 1 / 4, 0),
        (0, 1, -1, 8, -8, 1 / 8, -1 / 8, 0), (0, 1, 1, 16, 16, 1 / 16, 1 / 16, 0),
        (0, 1, -1, 32, -32, 1 / 32, -1 / 32, 1),
    ),
)  # fmt: skip
F2_STRIDE_2 = Transform(
    2, 2,
    ((1, 0, -1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 1, 0, -1), (0, 1, 0, 0, 0), (0, 0, 0, 1, 0)),
    ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0)),
    ((1, 1, 0, 1, 0), (0, 1, -1, 0, 1)),
)  # fmt: skip
TRANSFORMS = {(f.m, f.stride): f for f in (F2, F4, F6, F2_STRIDE_2)}
"""The transforms by outputs per tile, m, and stride."""


def fits(weight: Sequence[int], window: Window) -> bool:
    """Whether there is a transform for a weight [O, C, 3, 3] and a window, in one group."""
    square = tuple(weight[2:]) == (KERNEL, KERNEL) and all(d == 1 for d in window.dilations)
    return square and any(window.strides == (f.stride, f.stride) for f in TRANSFORMS.values())


def winograd_weight(weight: Array, f: Transform) -> Array:
    """A weight [O, C, 3, 3] as [O, C, k, k]: G w Gᵀ without rows and columns that repeat, computed in float64."""
    g = np.array(list(dict.fromkeys(f.weight)))
    both = np.kron(g, g).T  # [9, k²]
    result = np.empty((*weight.shape[:2], len(g), len(g)), weight.dtype)

    def transform(channel: int) -> None:  # of the output: one at a time keeps float64 copies in caches
        taps = weight[channel].reshape(-1, KERNEL**2).astype(np.float64)
        result[channel] = (taps @ both).reshape(result.shape[1:])

    if result.nbytes < LARGE_WEIGHT_BYTES:
        for channel in range(len(weight)):
            transform(channel)
    else:
        with Threads() as threads:
            list(threads.map(transform, range(len(weight))))
    return result


def winograd_loss(weight: Array, f: Transform) -> float:
    """The rounding error of an output, in proportion to Σ|w| of its channel times the largest input of its tile; the
    largest over channels.

    The model: every operation adds its own error, which later operations transform like its result; errors, inputs and
    the weight [O, C, 3, 3] of float32 are independent of each other.
    """
    at_once = max(1, LOSS_ELEMENTS // (weight[0].size or 1)) if len(weight) else 1
    parts = (weight[start : start + at_once] for start in range(0, len(weight), at_once))
    return max((_loss_of_channels(part, f) for part in parts), default=0.0)


def _loss_of_channels(weight: Array, f: Transform) -> float:
    """The loss of some output channels."""
    outputs, channels = weight.shape[:2]
    taps = weight.reshape(outputs, channels, KERNEL**2).astype(np.float64)
    magnitude = np.abs(taps).sum((1, 2))
    both, carries = _carried_errors(f)
    squares = ((both @ (taps.swapaxes(1, 2) @ taps)) * both).sum(-1)  # Σ over channels of the transformed weight's
    carried = squares @ carries
    terms = np.count_nonzero(taps.any(-1), axis=1)  # each rounds a sum, of half of them on average
    variance = (ROUNDINGS + terms / 2) * carried.max(initial=0.0, axis=1)
    alive = magnitude > 0
    return float(DEVIATIONS * ROUNDING * (np.sqrt(variance[alive]) / magnitude[alive]).max(initial=0.0))


@cache
def _carried_errors(f: Transform) -> tuple[Array, Array]:
    """The matrix [n², 9] that transforms the taps of a weight, and [n², m²] that takes the variance of each product to
    those of the outputs, with the input's transform before it."""
    g, b, a = (np.array(matrix) for matrix in (f.weight, f.data, transposed(f.output)))
    return np.kron(g, g), np.kron(*2 * [(b**2).sum(1)])[:, None] * np.kron(*2 * [a**2])


def factors(matrix: Matrix) -> tuple[Matrix, ...]:
    """Matrices whose product is `matrix`, with fewer terms: the last one is applied first.

    Rows that are sums and differences of the same two parts, such as those for p and -p, are computed from the parts.
    """
    rows = np.array(matrix, np.float64)
    parts, sums = rows.copy(), np.eye(len(rows))
    for i, (row, following) in enumerate(pairwise(rows)):
        even, odd = (row + following) / 2, (row - following) / 2
        if even.any() and odd.any() and not (even * odd).any():
            parts[i : i + 2] = even, odd
            sums[i : i + 2, i : i + 2] = (1, 1), (1, -1)
    if np.count_nonzero(parts) + np.count_nonzero(sums) - 2 * len(rows) >= np.count_nonzero(rows) - len(rows):
        return (matrix,)
    return _matrix(sums), _matrix(parts)


def _matrix(rows: Array) -> Matrix:
    return tuple(tuple(row) for row in rows.tolist())


def transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))
