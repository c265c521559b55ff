"""Padding and strides of windows, as formats other than the graph state them."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import static_extents
from sateen.graph_ir.ir import Dim
from sateen.topi.dimensions import rounded_up


def same_pads(
    spatial: Sequence[Dim], strides: Sequence[int], reaches: Sequence[int], what: str, *, odd_at_end: bool = True
) -> tuple[int, ...]:
    """Pads (begin…, end…) with which a window of these reaches gives ceil(extent / stride) outputs along each axis.

    A reach is (kernel - 1) * dilation + 1. An odd element is at the end (SAME of TensorFlow, SAME_UPPER of ONNX), or
    else at the beginning. Where strides skip more than the window covers, there is no padding. Raises UnsupportedError,
    which begins with `what`, if an extent is not known.
    """
    totals = [
        (rounded_up(extent, stride) - 1) * stride + reach - extent
        for extent, stride, reach in zip(spatial, strides, reaches, strict=True)
    ]
    return shared_pads([max(total, 0) for total in static_extents(totals, what)], odd_at_end=odd_at_end)


def shared_pads(totals: Sequence[int], *, odd_at_end: bool) -> tuple[int, ...]:
    """The padding of each axis split into its begin and end, as pads (begin…, end…); an odd element is at one of
    them."""
    small = [total // 2 for total in totals]
    large = [total - part for total, part in zip(totals, small, strict=True)]
    return (*small, *large) if odd_at_end else (*large, *small)


def limited_strides(strides: Sequence[int], spatial: Sequence[Dim], pads: Sequence[int]) -> tuple[int, ...]:
    """Strides limited to the padded data: a longer one gives no further window, and positions would overflow."""
    rank = len(strides)
    return tuple(
        min(stride, extent + pads[i] + pads[rank + i]) if isinstance(extent, int) and extent > 0 else stride
        for i, (stride, extent) in enumerate(zip(strides, spatial, strict=True))
    )
