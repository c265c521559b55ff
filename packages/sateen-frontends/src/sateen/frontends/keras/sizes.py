"""The sizes that layers state, which their arrays must have: otherwise these belong to another network."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.keras.layers import Layer
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

_UNITS = {"units": ("recurrent_kernel", 0)}
_FILTERS = {"filters": ("kernel", -1)}
_TRANSPOSED = {"filters": ("kernel", -2)}
_SEPARABLE = {"filters": ("pointwise_kernel", -1)}
_SIZES: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "Conv1D": _FILTERS,
    "Conv1DTranspose": _TRANSPOSED,
    "Conv2D": _FILTERS,
    "Conv2DTranspose": _TRANSPOSED,
    "Conv3D": _FILTERS,
    "Conv3DTranspose": _TRANSPOSED,
    "Dense": {"units": ("kernel", -1)},
    "Embedding": {"input_dim": ("embeddings", 0), "output_dim": ("embeddings", 1)},
    "GRUCell": _UNITS,
    "LSTMCell": _UNITS,
    "SeparableConv1D": _SEPARABLE,
    "SeparableConv2D": _SEPARABLE,
    "SimpleRNNCell": _UNITS,
}
"""By class and setting, the array and its axis of that extent."""
_RANKS = {kind: 2 + int(kind[kind.index("D") - 1]) for kind in _SIZES if "Conv" in kind}
"""The dimensions of the array, if not two; others are refused where the layer is read."""


def require_sizes(layer: Layer, arrays: Mapping[str, Array], place: str) -> None:
    """Raises FrontendError if an array has another extent than its layer states."""
    for setting, (name, axis) in _SIZES.get(layer.kind, {}).items():
        stated, array = layer.config.get(setting), arrays.get(name)
        is_known = isinstance(stated, int) and array is not None and array.ndim == _RANKS.get(layer.kind, 2)
        if is_known and array is not None and array.shape[axis] != stated:
            raise FrontendError(
                f"{place}: layer {layer.name!r} ({layer.term}) has {setting} of {stated}, found {name!r} of shape "
                f"{list(array.shape)}; give the file that was saved with this network"
            )
