"""What the cases of both dialects are computed with: random arrays, padding and interpolation by their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch.nn import functional

Array = np.ndarray[Any, Any]


class Source:
    """Random arrays, the same ones each time for a name."""

    def __init__(self, name: str) -> None:
        self._random = np.random.default_rng(crc32(name.encode()))

    def reals(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
        return self._random.uniform(low, high, shape).astype(np.float32)

    def whole(self, *shape: int, most: int) -> Array:
        """Numbers of 0 to `most` - 1."""
        return self._random.integers(0, most, shape).astype(np.int32)


def t(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def padded(
    x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int], *, top_heavy: bool = False, value: float = 0.0
) -> torch.Tensor:
    """`same` padding by the formulas of SamePadding."""
    pads: list[int] = []
    for extent, k, s in zip(x.shape[2:], kernel, stride, strict=True):
        total = max(0, (-(-extent // s) - 1) * s + k - extent)
        small = total // 2
        pads = ([total - small, small] if top_heavy else [small, total - small]) + pads
    return functional.pad(x, pads, value=value)


def sampled(x: Array, rows: Array, columns: Array) -> Array:
    """Bilinear interpolation of [C, H, W] at rows and columns, which are limited to the picture."""
    for axis, given in ((1, rows), (2, columns)):
        places = np.clip(given, 0, x.shape[axis] - 1)
        low = np.floor(places).astype(int)
        high = np.minimum(low + 1, x.shape[axis] - 1)
        part = (places - low).reshape([-1 if d == axis else 1 for d in range(3)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part
    return x


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))
