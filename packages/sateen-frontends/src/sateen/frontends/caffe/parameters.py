"""The parameters of each layer: the message that holds them, and its fields with types and defaults.

Fields that other forks of Caffe added are unknown here and refuse their layer, since they may change what it computes.
Source: BVLC/caffe, src/caffe/proto/caffe.proto; layers of SSD: weiliu89/caffe, branch ssd, the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sateen.frontends.caffe.text_format import Message, Scalar, Word, shown
from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.errors import FrontendError

Kind = Callable[[Scalar | Message], Any]
"""Gives the value of a field as its type; None for a value of another."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message. `described` is its type in errors; a repeated one has a tuple of values."""

    kind: Kind
    described: str
    default: Any = None
    is_repeated: bool = False


FLAGS: Mapping[str, bool] = {"true": True, "True": True, "t": True, "false": False, "False": False, "f": False}


def _as_integer(value: Scalar | Message) -> int | None:
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


def _as_number(value: Scalar | Message) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _as_flag(value: Scalar | Message) -> bool | None:
    if isinstance(value, Word):
        return FLAGS.get(value)
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def integer(default: int | None = None) -> Field:
    return Field(_as_integer, "an integer", default)


def number(default: float | None = None) -> Field:
    return Field(_as_number, "a number", default)


def flag(default: bool | None = None) -> Field:
    return Field(_as_flag, "true or false", default)


def one_of(*words: str, default: str | None = None, numbers: Mapping[int, str] | None = None) -> Field:
    """An enumerator by its name, or by the number that the enumeration gives it; the first is the default."""
    known = dict(enumerate(words)) if numbers is None else numbers

    def kind(value: Scalar | Message) -> str | None:
        if isinstance(value, Word):
            return str(value) if value in words else None
        return known.get(value) if isinstance(value, int) else None

    return Field(kind, " or ".join(words), default or words[0])


def repeated(of: Field) -> Field:
    return Field(of.kind, of.described, (), True)


def message() -> Field:
    """A message, as it is."""
    return Field(lambda value: value if isinstance(value, Message) else None, "a message")


def ignored() -> Field:
    """A field that does not matter at inference: fillers, engines, hints for training."""
    return Field(lambda value: value, "anything")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The message of a layer's parameters and its fields."""

    message: str = ""
    fields: Mapping[str, Field] = field(default_factory=dict)


_WINDOW = {
    "pad": repeated(integer()), "pad_h": integer(), "pad_w": integer(),
    "kernel_size": repeated(integer()), "kernel_h": integer(), "kernel_w": integer(),
    "stride": repeated(integer()), "stride_h": integer(), "stride_w": integer(),
    "engine": ignored(),
}  # fmt: skip
_FILLERS = {"weight_filler": ignored(), "bias_filler": ignored()}
_CONVOLUTION = Parameters("convolution_param", {
    **_WINDOW, **_FILLERS,
    "num_output": integer(), "bias_term": flag(True), "dilation": repeated(integer()), "group": integer(1),
    "axis": integer(1), "force_nd_im2col": ignored(),
})  # fmt: skip

_RECURRENT = Parameters("recurrent_param", {
    **_FILLERS, "num_output": integer(0), "debug_info": ignored(), "expose_hidden": flag(False),
})  # fmt: skip

PARAMETERS: dict[str, Parameters] = {
    "AbsVal": Parameters(),
    "ArgMax": Parameters(
        "argmax_param", {"out_max_val": flag(False), "top_k": integer(1), "axis": integer()}
    ),
    "Axpy": Parameters(),
    "BN": Parameters("bn_param", {
        "slope_filler": ignored(), "bias_filler": ignored(), "momentum": ignored(), "eps": number(), "frozen": flag(),
        "engine": ignored(), "scale_filler": ignored(), "shift_filler": ignored(),
        "bn_mode": one_of("LEARN", "INFERENCE"),
    }),
    "BNLL": Parameters(),
    "BatchNorm": Parameters("batch_norm_param", {
        "use_global_stats": flag(True), "moving_average_fraction": ignored(), "eps": number(1e-5),
    }),
    "BatchReindex": Parameters(),
    "Bias": Parameters("bias_param", {"axis": integer(1), "num_axes": integer(1), "filler": ignored()}),
    "Clip": Parameters("clip_param", {"min": number(), "max": number()}),
    "Concat": Parameters("concat_param", {"axis": integer(), "concat_dim": integer()}),
    "Convolution": _CONVOLUTION,
    "ConvolutionDepthwise": _CONVOLUTION,
    "Crop": Parameters("crop_param", {"axis": integer(2), "offset": repeated(integer())}),
    "Deconvolution": _CONVOLUTION,
    "DepthwiseConvolution": _CONVOLUTION,
    "DetectionOutput": Parameters("detection_output_param", {
        "num_classes": integer(), "share_location": flag(True), "background_label_id": integer(0),
        "nms_param": message(), "save_output_param": ignored(),
        "code_type": one_of("CORNER", "CENTER_SIZE", "CORNER_SIZE", numbers={
            1: "CORNER", 2: "CENTER_SIZE", 3: "CORNER_SIZE",
        }),
        "variance_encoded_in_target": flag(False), "keep_top_k": integer(-1), "confidence_threshold": number(),
        "visualize": ignored(), "visualize_threshold": ignored(), "save_file": ignored(),
    }),
    "Dropout": Parameters("dropout_param", {"dropout_ratio": number(0.5), "scale_train": flag(True)}),
    "DummyData": Parameters("dummy_data_param", {
        "data_filler": repeated(message()), "shape": repeated(message()),
        **{name: repeated(integer()) for name in ("num", "channels", "height", "width")},
    }),
    "ELU": Parameters("elu_param", {"alpha": number(1.0)}),
    "Eltwise": Parameters("eltwise_param", {
        "operation": one_of("PROD", "SUM", "MAX", default="SUM"), "coeff": repeated(number()),
        "stable_prod_grad": ignored(),
    }),
    "Embed": Parameters("embed_param", {
        **_FILLERS, "num_output": integer(), "input_dim": integer(), "bias_term": flag(True),
    }),
    "Exp": Parameters("exp_param", {"base": number(-1.0), "scale": number(1.0), "shift": number(0.0)}),
    "Flatten": Parameters("flatten_param", {"axis": integer(1), "end_axis": integer(-1)}),
    "Im2col": _CONVOLUTION,
    "InnerProduct": Parameters("inner_product_param", {
        **_FILLERS, "num_output": integer(), "bias_term": flag(True), "axis": integer(1), "transpose": flag(False),
    }),
    "Interp": Parameters("interp_param", {
        "height": integer(), "width": integer(), "zoom_factor": integer(), "shrink_factor": integer(),
        "pad_beg": integer(0), "pad_end": integer(0),
    }),
    "LRN": Parameters("lrn_param", {
        "local_size": integer(5), "alpha": number(1.0), "beta": number(0.75), "k": number(1.0),
        "norm_region": one_of("ACROSS_CHANNELS", "WITHIN_CHANNEL"), "engine": ignored(),
    }),
    "LSTM": _RECURRENT,
    "Log": Parameters("log_param", {"base": number(-1.0), "scale": number(1.0), "shift": number(0.0)}),
    "MVN": Parameters("mvn_param", {
        "normalize_variance": flag(True), "across_channels": flag(False), "eps": number(1e-9),
    }),
    "Normalize": Parameters("norm_param", {
        "across_spatial": flag(True), "scale_filler": ignored(), "channel_shared": flag(True), "eps": number(1e-10),
    }),
    "PSROIPooling": Parameters("psroi_pooling_param", {
        "spatial_scale": number(), "output_dim": integer(), "group_size": integer(),
    }),
    "PReLU": Parameters("prelu_param", {"filler": ignored(), "channel_shared": flag(False)}),
    "Parameter": Parameters("parameter_param", {"shape": message()}),
    "Permute": Parameters("permute_param", {"order": repeated(integer())}),
    "Pooling": Parameters("pooling_param", {
        **_WINDOW, "pool": one_of("MAX", "AVE", "STOCHASTIC"), "global_pooling": flag(False),
        "round_mode": one_of("CEIL", "FLOOR"), "ceil_mode": flag(True),
    }),
    "Power": Parameters("power_param", {"power": number(1.0), "scale": number(1.0), "shift": number(0.0)}),
    "PriorBox": Parameters("prior_box_param", {
        "min_size": repeated(number()), "max_size": repeated(number()), "aspect_ratio": repeated(number()),
        "flip": flag(True), "clip": flag(False), "variance": repeated(number()), "img_size": integer(),
        "img_h": integer(), "img_w": integer(), "step": number(), "step_h": number(), "step_w": number(),
        "offset": number(0.5),
    }),
    "RNN": _RECURRENT,
    "ROIPooling": Parameters("roi_pooling_param", {
        "pooled_h": integer(0), "pooled_w": integer(0), "spatial_scale": number(1.0),
    }),
    "ReLU": Parameters("relu_param", {"negative_slope": number(0.0), "engine": ignored()}),
    "ReLU6": Parameters("relu6_param", {"threshold": number(6.0), "engine": ignored()}),
    "Reduction": Parameters("reduction_param", {
        "operation": one_of("SUM", "ASUM", "SUMSQ", "MEAN", numbers={1: "SUM", 2: "ASUM", 3: "SUMSQ", 4: "MEAN"}),
        "axis": integer(0), "coeff": number(1.0),
    }),
    "Reshape": Parameters("reshape_param", {"shape": message(), "axis": integer(0), "num_axes": integer(-1)}),
    "SPP": Parameters("spp_param", {
        "pyramid_height": integer(), "pool": one_of("MAX", "AVE", "STOCHASTIC"), "engine": ignored(),
    }),
    "Scale": Parameters("scale_param", {
        "axis": integer(1), "num_axes": integer(1), "filler": ignored(), "bias_term": flag(False),
        "bias_filler": ignored(),
    }),
    "ShuffleChannel": Parameters("shuffle_channel_param", {"group": integer(1)}),
    "Sigmoid": Parameters("sigmoid_param", {"engine": ignored()}),
    "Silence": Parameters(),
    "Slice": Parameters("slice_param", {
        "axis": integer(), "slice_dim": integer(), "slice_point": repeated(integer()),
    }),
    "Softmax": Parameters("softmax_param", {"axis": integer(1), "engine": ignored()}),
    "Split": Parameters(),
    "Swish": Parameters("swish_param", {"beta": number(1.0)}),
    "TanH": Parameters("tanh_param", {"engine": ignored()}),
    "Threshold": Parameters("threshold_param", {"threshold": number(0.0)}),
    "Tile": Parameters("tile_param", {"axis": integer(1), "tiles": integer()}),
    "Upsample": Parameters("upsample_param", {
        "scale": integer(), "scale_h": integer(), "scale_w": integer(), "upsample_h": integer(),
        "upsample_w": integer(), "pad_out_h": flag(False), "pad_out_w": flag(False),
    }),
}  # fmt: skip
"""By layer type. Interp is of DeepLab, Upsample of SegNet; the converters name the others' forks."""

OF_EVERY_LAYER = frozenset({
    "name", "type", "bottom", "top", "phase", "loss_weight", "param", "blobs", "propagate_down", "include", "exclude",
    "transform_param", "loss_param", "blobs_lr", "weight_decay", "blob_share_mode",
})  # fmt: skip
_OF_KNOWN_LAYERS = frozenset(parameters.message for parameters in PARAMETERS.values())


def inner_value(part: Message | None, name: str, of: Field) -> Any:
    """A field of a message within a layer's parameters; its default if there is no such message."""
    return _value(name, of, [] if part is None else part.fields.get(name, []))


def parameters_of(layer: Message, type_: str) -> dict[str, Any]:
    """The parameters of a layer with the defaults of its type.

    Raises UnsupportedError for a field that the type does not have, FrontendError for one of another type.
    """
    known = PARAMETERS[type_]
    given: Mapping[str, list[Scalar | Message]] = {}
    for name in layer.fields:
        if name not in OF_EVERY_LAYER and name not in _OF_KNOWN_LAYERS:
            raise _unknown(name, f"layers of type {type_}")
    parts = layer.messages(known.message) if known.message else []
    if len(parts) > 1:
        raise FrontendError(f"expected {known.message} once, found it {len(parts)} times")
    for part in parts:
        given = part.fields
        for name in given:
            if name not in known.fields:
                raise _unknown(name, known.message)
    return {name: _value(name, of, given.get(name, [])) for name, of in known.fields.items()}


def _value(name: str, of: Field, given: list[Scalar | Message]) -> Any:
    """The value of a field. Raises FrontendError for several where it is not repeated, as protobuf's parser does."""
    if len(given) > 1 and not of.is_repeated:
        raise FrontendError(f"expected {name} once, found it {len(given)} times")
    found = [of.kind(value) for value in given]
    if None in found:
        raise FrontendError(f"expected {of.described} as {name}, found {shown(given[found.index(None)])}")
    if of.is_repeated:
        return tuple(found)
    return found[-1] if found else of.default


def _unknown(name: str, where: str) -> UnsupportedError:
    return UnsupportedError(
        f"Caffe has no field {name!r} in {where}; a fork's may change what the layer computes",
        "remove it, if it does not matter at inference",
    )
