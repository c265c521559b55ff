"""What windows see, as data: for products that are no convolutions, as those with other weights at each place."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Concat, Pad, Reshape, Slice
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window

MOST_TAPS = 1024
"""The most elements of a window: each becomes a slice of the data."""


def columns(node: ModelNode, data: Value, window: Window) -> Value:
    """[N, C, …] as [N, C, taps, …]: for each place of a window its elements, row by row, with zeros as padding.

    Raises UnsupportedError for large windows, FrontendError for one that does not fit.
    """
    rank, taps = window.rank, prod(window.kernel)
    if taps > MOST_TAPS:
        raise UnsupportedError(f"windows of {taps} elements are not supported here", f"use at most {MOST_TAPS}")
    places = static_extents(window.output(data.type.shape[2:]), node.described(0))
    if min(places) < 1:
        raise FrontendError(f"expected a window within {data.type}, found {list(window.kernel)}")
    if any(window.pads):
        data = node.step(Pad(pads=(0, 0, *window.pads[:rank], 0, 0, *window.pads[rank:])), data)
    batch, channels = data.type.shape[:2]
    parts = []
    for tap in np.ndindex(*window.kernel):
        starts = [t * d for t, d in zip(tap, window.dilations, strict=True)]
        ends = [start + (n - 1) * s + 1 for start, n, s in zip(starts, places, window.strides, strict=True)]
        seen = node.step(Slice((0, 0, *starts), (batch, channels, *ends), (1, 1, *window.strides)), data)
        parts.append(node.step(Reshape((batch, channels, 1, *places)), seen))
    return node.step(Concat(2), *parts) if len(parts) > 1 else parts[0]
