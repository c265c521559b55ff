"""Weights of fewer bits, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from arrays import t
from coremltools.models import MLModel, datatypes
from coremltools.models.neural_network.quantization_utils import quantize_weights
from torch.nn import functional

from networks.case import (
    LARGE,
    Builder,
    Cases,
    images,
)

CASES = Cases("networks.borders")
case = CASES.case
reals, whole = CASES.source.reals, CASES.source.whole

_K, _KB = reals(6, 4, 3, 3), reals(6)


def small_network(b: Builder) -> None:
    b.add_convolution(
        "c", 4, 6, 3, 3, 1, 1, "valid", 1, _K.transpose(2, 3, 1, 0), _KB, True, input_name="x", output_name="out"
    )


def data_of(wp: Any, shape: Sequence[int]) -> torch.Tensor:
    """Quantised weights, by the formulas of QuantizationParams."""
    if wp.float16Value:
        return t(np.frombuffer(wp.float16Value, np.float16).astype(np.float32).reshape(shape))
    bits, count = wp.quantization.numberOfBits, int(np.prod(shape))
    stream = "".join(f"{byte:08b}" for byte in wp.rawValue)
    codes = np.array([int(stream[i * bits : (i + 1) * bits], 2) for i in range(count)]).reshape(shape)
    if wp.quantization.HasField("lookupTableQuantization"):
        return t(np.array(wp.quantization.lookupTableQuantization.floatValue, np.float32)[codes])
    scale, bias = (
        np.array(v, np.float32)
        for v in (wp.quantization.linearQuantization.scale, wp.quantization.linearQuantization.bias)
    )
    along = [-1] + [1] * (len(shape) - 1) if len(shape) > 1 else [-1]
    return t((codes * scale.reshape(along) + bias.reshape(along)).astype(np.float32))


for bits, mode in (
    (16, "linear"),
    (8, "linear"),
    (4, "linear"),
    (3, "linear"),
    (1, "linear"),
    (8, "linear_symmetric"),
    (8, "linear_lut"),
    (4, "linear_lut"),
    (2, "linear_lut"),
):
    made = Builder([("x", datatypes.Array(4, 9, 8))], [("out", None)])
    small_network(made)
    quantised = quantize_weights(MLModel(made.spec, skip_model_load=True), bits, mode)
    quantised = quantised.get_spec() if isinstance(quantised, MLModel) else quantised
    held = quantised.neuralNetwork.layers[0].convolution
    result = images(
        lambda x, w=held: functional.conv2d(x, data_of(w.weights, _K.shape), data_of(w.bias, _KB.shape)), LARGE
    )
    case(f"quantised_{bits}_{mode}", [LARGE], small_network, result, old=True, prepare=lambda _, spec=quantised: spec)


def as_picture(colours: str) -> Callable[[Any], Any]:
    def prepare(spec: Any) -> Any:
        picture = spec.description.input[0].type
        picture.imageType.width, picture.imageType.height = 8, 9
        picture.imageType.colorSpace = {"RGB": 20, "BGR": 30, "GRAY": 10}[colours]
        step = spec.neuralNetwork.preprocessing.add()
        step.featureName = "x"
        step.scaler.channelScale = 2 / 255
        step.scaler.redBias, step.scaler.greenBias, step.scaler.blueBias, step.scaler.grayBias = -0.5, -0.6, -0.7, -0.8
        return spec

    return prepare


for colours, bias in (("RGB", [-0.5, -0.6, -0.7]), ("BGR", [-0.7, -0.6, -0.5]), ("GRAY", [-0.8])):
    picture = whole(1, len(bias), 9, 8, most=256)
    pixels = picture[0] * np.float32(2 / 255) + np.array(bias, np.float32)[:, None, None]
    case(
        f"picture_{colours}",
        [picture],
        lambda b: b.add_activation("r", "RELU", "x", "out"),
        np.maximum(pixels, 0),
        old=True,
        features={"x": (len(bias), 9, 8)},
        prepare=as_picture(colours),
    )


def with_mean(spec: Any) -> Any:
    spec = as_picture("RGB")(spec)
    spec.neuralNetwork.preprocessing[0].meanImage.meanImage.extend(_MEAN.reshape(-1).tolist())
    return spec


_MEAN, _PIXELS = reals(3, 9, 8), whole(1, 3, 9, 8, most=256)
case(
    "picture_mean",
    [_PIXELS],
    lambda b: b.add_activation("r", "RELU", "x", "out"),
    np.maximum(_PIXELS[0] - _MEAN, 0),
    old=True,
    features={"x": (3, 9, 8)},
    prepare=with_mean,
)
