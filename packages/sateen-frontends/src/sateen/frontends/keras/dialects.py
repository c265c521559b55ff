"""Configurations of Keras 1 and 2 in today's terms.

Sources: keras-1.2.2/keras/layers (the old arguments), keras-2.0.0/keras/legacy/interfaces.py (how they map), and
`preprocess_weights_for_loading` of keras-2.0.0/keras/engine/topology.py (kernels).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.graph_ir.ir import Array

RENAMED = {
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Convolution3DTranspose": "Conv3DTranspose",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    "SyncBatchNormalization": "BatchNormalization",
    "TimeDistributedDense": "Dense",
}
"""Old names of layers."""
_MERGES = {
    "sum": "Add", "mul": "Multiply", "concat": "Concatenate", "ave": "Average", "max": "Maximum", "dot": "Dot",
}  # fmt: skip
"""The layer of each mode of Keras 1's Merge."""
_WIDTHS = {"Dense", "LSTM", "GRU", "SimpleRNN"}
"""Layers whose output_dim is called units now; that of Embedding kept its name."""
_ARGUMENTS = {
    "atrous_rate": "dilation_rate",
    "bias": "use_bias",
    "border_mode": "padding",
    "filter_length": "kernel_size",
    "inner_activation": "recurrent_activation",
    "input_dtype": "dtype",
    "nb_filter": "filters",
    "p": "rate",
    "pool_length": "pool_size",
    "stride": "strides",
    "subsample": "strides",
    "subsample_length": "strides",
}
_KERNELS = (("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3"))
_ORDERS = {"tf": "channels_last", "th": "channels_first"}


def kind_of(name: str, config: Mapping[str, Any]) -> str:
    """Today's name of a class of keras.layers."""
    if name == "Merge":
        return _MERGES.get(str(config.get("mode")), "Merge")
    return RENAMED.get(name, name)


def in_todays_terms(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with today's arguments; one in today's terms stays as it is, and that of a user's layer."""
    found = dict(config)
    if kind.startswith("?"):
        return found
    if "output_dim" in found and kind in _WIDTHS:
        found["units"] = found.pop("output_dim")
    for old, new in _ARGUMENTS.items():
        if old in found and new not in found:
            found[new] = found.pop(old)
    for old_names in _KERNELS:
        if all(name in found for name in old_names):
            found["kernel_size"] = [found.pop(name) for name in old_names]
    if kind.startswith("ZeroPadding") and "padding" in found:
        found["padding"] = _margins(kind, found["padding"])
    if "dim_ordering" in found:
        found["data_format"] = _ORDERS.get(found.pop("dim_ordering"), "channels_last")
    if kind == "UpSampling1D" and "length" in found:
        found["size"] = found.pop("length")
    if kind == "LeakyReLU" and "alpha" in found:
        found["negative_slope"] = found.pop("alpha")
    if kind == "Concatenate" and "concat_axis" in found:
        found["axis"] = found.pop("concat_axis")
    if kind in {"Dot", "Merge"} and "dot_axes" in found:
        found["axes"] = found.pop("dot_axes")
    return found


def _margins(kind: str, given: Any) -> Any:
    """The margins of ZeroPadding: Keras 1 may have those of all edges in one list, or by their names."""
    if isinstance(given, dict):
        edges = ("left_pad", "right_pad") if kind == "ZeroPadding1D" else _EDGES
        given = [given.get(edge, 0) for edge in edges]
    return [given[:2], given[2:]] if isinstance(given, list) and len(given) == 4 else given


_EDGES = ("top_pad", "bottom_pad", "left_pad", "right_pad")
_TURNED = {
    ("ConvLSTMCell", "channels_first"): (2, 3, 1, 0),
    ("Conv2D", "channels_first"): (2, 3, 1, 0),
    ("Conv2DTranspose", "channels_first"): (2, 3, 0, 1),
    ("Conv2DTranspose", "channels_last"): (0, 1, 3, 2),
    ("Conv3D", "channels_first"): (2, 3, 4, 1, 0),
    ("SeparableConv2D", "channels_first"): (2, 3, 1, 0),
}
"""How the axes of kernels of Keras 1 are moved, by layer and layout."""


def kernel_of_keras_1(kind: str, config: Mapping[str, Any], kernel: Array) -> Array:
    """A kernel with its axes in today's order. Conv1D had kernels of pictures with one column, whose filters came first
    before Keras 1.1."""
    if kind == "Conv1D" and kernel.ndim == 4:
        length = config.get("kernel_size")
        first = length[0] if isinstance(length, list) else length
        is_new = kernel.shape[:2] == (first, 1) and kernel.shape[3] == config.get("filters")
        found = kernel if is_new else kernel.transpose(2, 3, 1, 0)
        return found[:, 0] if found.shape[1] == 1 else found
    order = _TURNED.get((kind, str(config.get("data_format", "channels_last"))))
    return kernel if order is None or kernel.ndim != len(order) else kernel.transpose(order)
