"""Attributes of operators that move a window over spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from sateen.graph_ir.ir import Dim, TensorType
from sateen.runtime.dtype import DType
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import may_be_at_least
from sateen.topi.operators import Operator, require

LARGEST = 1 << 24
"""The largest number in a window's attributes: positions computed from them stay far from the limits of int64."""
NEUTRAL = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}
"""The number that an empty attribute repeats for each axis of the window, or for each end of an axis."""


class Windowed(Operator):
    """An operator that moves a window. Its attributes of a number per axis may be empty, which stands for `NEUTRAL`."""

    __slots__ = ()

    def canonical(self) -> Self:
        """Attributes of neutral numbers alone are empty.

        conv(%x, %w) {strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1)}  =>  conv(%x, %w) {pads=(1, 1, 1, 1)}
        """
        spelt = {name: () for name, value in self.attributes().items() if _is_neutral(name, value)}
        return replace(self, **spelt) if spelt else self  # type: ignore[type-var]


def _is_neutral(name: str, value: object) -> bool:
    return name in NEUTRAL and isinstance(value, tuple) and all(number == NEUTRAL[name] for number in value)


def window_of(
    op: Operator, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
) -> Window:
    """The window of an operator's attributes; empty ones mean strides and dilations of 1 and no padding.

    Raises InferenceError if their lengths differ or a value is invalid.
    """
    rank = len(kernel)
    window = Window(
        tuple(kernel), tuple(strides) or (1,) * rank, tuple(pads) or (0,) * (2 * rank), tuple(dilations) or (1,) * rank
    )
    require(len(window.strides) == rank, op, f"expects {rank} strides, found {list(strides)}")
    require(len(window.pads) == 2 * rank, op, f"expects {2 * rank} pads (begin…, end…), found {list(pads)}")
    require(len(window.dilations) == rank, op, f"expects {rank} dilations, found {list(dilations)}")
    for name, values, least in (
        ("kernel", window.kernel, 1), ("strides", window.strides, 1), ("pads", window.pads, 0),
        ("dilations", window.dilations, 1),
    ):  # fmt: skip
        fits = all(least <= v <= LARGEST for v in values)
        require(fits, op, f"expects {name} of {least} to {LARGEST}, found {list(values)}")
    return window


def output_dims(op: Operator, window: Window, data: TensorType, ceil_mode: bool = False) -> tuple[Dim, ...]:
    """Spatial dimensions of the output. Raises InferenceError if the window is larger than the padded data."""
    result = window.output(data.shape[2:], ceil_mode)
    for d, count in enumerate(result):
        require(
            may_be_at_least(count, 1), op,
            f"a window of {window.reach(d)} does not fit into dimension {2 + d} of data, which is {data.shape[2 + d]} "
            f"with pads {window.pads[d]} and {window.pads[window.rank + d]}",
        )  # fmt: skip
    return result


def require_spatial(op: Operator, data: TensorType, rank: int | None = None) -> int:
    """The number of spatial dimensions of data [N, C, …]. Raises InferenceError if there are none or not `rank`."""
    found = data.rank - 2
    require(found >= 1, op, f"expects data [N, C, …] of rank 3 or more, found rank {data.rank}")
    require(rank is None or found == rank, op, f"expects data with {rank} spatial dimensions, found {found}")
    return found


def require_weight(op: Operator, data: TensorType, weight: TensorType) -> int:
    """The number of spatial dimensions of data [N, C, …] beside a weight. Raises InferenceError if the weight has
    others, or unknown extents."""
    rank = require_spatial(op, data)
    require(weight.rank == data.rank, op, f"data has rank {data.rank} but weight has rank {weight.rank}")
    require(weight.is_static, op, f"weight must have known dimensions, found {weight}")
    return rank


def require_bias(op: Operator, bias: TensorType | None, outputs: int, dtype: DType) -> None:
    """Raises InferenceError for a bias that is not one number of a type for each output channel."""
    if bias is not None:
        fits = bias.shape == (outputs,) and bias.dtype == dtype
        require(fits, op, f"expects a bias {dtype}[{outputs}], found {bias}")
