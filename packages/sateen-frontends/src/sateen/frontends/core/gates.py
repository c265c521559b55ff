"""The order of gates in the weights of recurrent layers, which differs from format to format."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

LSTM = "iofc"
"""Gates of the graph's LSTM: input, output, forget, cell."""
GRU = "zrh"
"""Gates of the graph's GRU: update, reset, hidden."""


def gates_in_order(weights: Array, given: str, wanted: str, axis: int = 0) -> Array:
    """Weights whose `axis` is a block of equal length per gate, with the blocks in another order.

    A letter of `given` stands for a block, and so `wanted` lists the same letters. Raises FrontendError if the axis has
    no such blocks.
    """
    extent = weights.shape[axis]
    if extent % len(given):
        raise FrontendError(f"expected weights of {len(given)} gates along axis {axis}, found {list(weights.shape)}")
    blocks = np.split(weights, len(given), axis)
    return np.concatenate([blocks[given.index(gate)] for gate in wanted], axis)
