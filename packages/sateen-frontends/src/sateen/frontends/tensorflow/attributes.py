"""Attributes of a node as values of Python, with the defaults of operators that files may leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue, DataType
from sateen.frontends.tensorflow.tensors import shape_of
from sateen.runtime.errors import FrontendError

_IMAGE = {"data_format": "NHWC", "explicit_paddings": ()}
_RESIZE = {"align_corners": False, "half_pixel_centers": False}
_STEPS = {"signed_input": True, "narrow_range": False, "axis": -1}
_FAKE_QUANTIZED = {"num_bits": 8, "narrow_range": False}
_FLOAT = {"T": DataType.DT_FLOAT}
_CUDNN = {"rnn_mode": "lstm", "input_mode": "linear_input", "direction": "unidirectional"}

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "AdjustContrastv2": _FLOAT,
    "AdjustHue": _FLOAT,
    "AdjustSaturation": _FLOAT,
    "All": {"keep_dims": False},
    "Any": {"keep_dims": False},
    "ArgMax": {"output_type": DataType.DT_INT64},
    "ArgMin": {"output_type": DataType.DT_INT64},
    "AudioSpectrogram": {"magnitude_squared": False},
    "AvgPool": _IMAGE,
    "AvgPool3D": {"data_format": "NDHWC"},
    "BatchMatMul": {"adj_x": False, "adj_y": False},
    "BatchMatMulV2": {"adj_x": False, "adj_y": False},
    "BatchMatMulV3": {"adj_x": False, "adj_y": False},
    "BiasAdd": {"data_format": "NHWC"},
    "BlockLSTM": {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False},
    "BlockLSTMV2": {"cell_clip": 0.0, "use_peephole": False},
    "CombinedNonMaxSuppression": {"pad_per_class": False, "clip_boxes": True},
    "Conv2D": {**_IMAGE, "dilations": (1, 1, 1, 1)},
    "Conv2DBackpropInput": {**_IMAGE, "dilations": (1, 1, 1, 1)},
    "Conv3D": {"data_format": "NDHWC", "dilations": (1, 1, 1, 1, 1)},
    "Conv3DBackpropInputV2": {"data_format": "NDHWC", "dilations": (1, 1, 1, 1, 1)},
    "CropAndResize": {"method": "bilinear", "extrapolation_value": 0.0},
    "CudnnRNN": _CUDNN,
    "CudnnRNNV2": _CUDNN,
    "CudnnRNNV3": {**_CUDNN, "num_proj": 0, "time_major": True},
    "Cumprod": {"exclusive": False, "reverse": False},
    "Cumsum": {"exclusive": False, "reverse": False},
    "DepthToSpace": {"data_format": "NHWC"},
    "DepthwiseConv2dNative": {**_IMAGE, "dilations": (1, 1, 1, 1)},
    "EuclideanNorm": {"keep_dims": False},
    "FakeQuantWithMinMaxArgs": {"min": -6.0, "max": 6.0, **_FAKE_QUANTIZED},
    "FakeQuantWithMinMaxVars": _FAKE_QUANTIZED,
    "FakeQuantWithMinMaxVarsPerChannel": _FAKE_QUANTIZED,
    "FusedBatchNorm": {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True},
    "FusedBatchNormV2": {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True},
    "FusedBatchNormV3": {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True},
    "_FusedBatchNormEx": {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True, "activation_mode": "Identity"},
    "_FusedConv2D": {**_IMAGE, "dilations": (1, 1, 1, 1), "epsilon": 0.0001, "leakyrelu_alpha": 0.2},
    "_FusedDepthwiseConv2dNative": {**_IMAGE, "dilations": (1, 1, 1, 1), "epsilon": 0.0001, "leakyrelu_alpha": 0.2},
    "_FusedMatMul": {"transpose_a": False, "transpose_b": False, "epsilon": 0.0001, "leakyrelu_alpha": 0.2},
    "GatherV2": {"batch_dims": 0},
    "HSVToRGB": _FLOAT,
    "LRN": {**_FLOAT, "depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5},
    "LSTMBlockCell": {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False},
    "LeakyRelu": {**_FLOAT, "alpha": 0.2},
    "LowerBound": {"out_type": DataType.DT_INT32},
    "MatMul": {"transpose_a": False, "transpose_b": False},
    "Max": {"keep_dims": False},
    "MaxPool": {**_FLOAT, **_IMAGE},
    "MaxPool3D": {"data_format": "NDHWC"},
    "MaxPoolV2": {**_FLOAT, "data_format": "NHWC"},
    "MaxPoolWithArgmax": {"include_batch_in_index": False},
    "Mean": {"keep_dims": False},
    "Mfcc": {
        "upper_frequency_limit": 4000.0,
        "lower_frequency_limit": 20.0,
        "filterbank_channel_count": 40,
        "dct_coefficient_count": 13,
    },
    "Min": {"keep_dims": False},
    "NonMaxSuppression": {"iou_threshold": 0.5},
    "NonMaxSuppressionV4": {"pad_to_max_output_size": False},
    "NonMaxSuppressionV5": {"pad_to_max_output_size": False},
    "OneHot": {"axis": -1},
    "Pack": {"axis": 0},
    "Prod": {"keep_dims": False},
    "QuantizeAndDequantizeV2": {**_STEPS, "num_bits": 8, "range_given": False},
    "QuantizeAndDequantizeV3": {**_STEPS, "range_given": True},
    "QuantizeAndDequantizeV4": {**_STEPS, "num_bits": 8, "range_given": False},
    "RGBToHSV": _FLOAT,
    "Range": {"Tidx": DataType.DT_INT32},
    "ResizeArea": {"align_corners": False},
    "ResizeBicubic": _RESIZE,
    "ResizeBilinear": _RESIZE,
    "ResizeNearestNeighbor": _RESIZE,
    "ResourceGather": {"batch_dims": 0},
    "ReverseSequence": {"batch_dim": 0},
    "ScaleAndTranslate": {"kernel_type": "lanczos3", "antialias": True},
    "Shape": {"out_type": DataType.DT_INT32},
    "ShapeN": {"out_type": DataType.DT_INT32},
    "Size": {"out_type": DataType.DT_INT32},
    "SpaceToDepth": {"data_format": "NHWC"},
    "Squeeze": {"squeeze_dims": ()},
    "StridedSlice": {
        "begin_mask": 0,
        "end_mask": 0,
        "ellipsis_mask": 0,
        "new_axis_mask": 0,
        "shrink_axis_mask": 0,
    },
    "Sum": {"keep_dims": False},
    "TensorArrayV3": {"element_shape": None},
    "TopKV2": {"index_type": DataType.DT_INT32},
    "Unpack": {"axis": 0},
    "UpperBound": {"out_type": DataType.DT_INT32},
}
"""The attributes of operators that files may leave out (tensorflow/core/ops); operators with none are absent."""


def attributes_of(operator: str, given: Mapping[str, AttrValue]) -> dict[str, Any]:
    """The attributes of a node, with defaults.

    Types are numbers of DataType, shapes tuples with -1 for unknown extents or None, tensors and functions messages.
    """
    values = dict(DEFAULTS.get(operator, {}))
    values.update((name, _value(name, attribute)) for name, attribute in given.items())
    return values


def _value(name: str, attribute: AttrValue) -> Any:
    kind = attribute.WhichOneof("value")
    match kind:
        case None:
            return None
        case "s":
            return _text(name, attribute.s)
        case "shape":
            return shape_of(attribute.shape)
        case "list":
            return _values(name, attribute.list)
        case _:
            return getattr(attribute, kind)


def _values(name: str, given: AttrValue.ListValue) -> tuple[Any, ...]:
    if given.s:
        return tuple(_text(name, item) for item in given.s)
    if given.shape:
        return tuple(map(shape_of, given.shape))
    return next(
        (tuple(items) for items in (given.i, given.f, given.b, given.type, given.tensor, given.func) if items), ()
    )


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FrontendError(f"expected attribute {name!r} in UTF-8, found {data[:64]!r}") from None
