"""keras.applications with seeded weights and small inputs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cases import Case

PICTURES = 8
"""How many pictures batch normalisation takes its statistics from."""
EXTENTS = {
    "ConvNeXtTiny": 64,
    "DenseNet121": 64,
    "EfficientNetB0": 64,
    "EfficientNetV2B0": 64,
    "InceptionResNetV2": 96,
    "InceptionV3": 96,
    "MobileNet": 64,
    "MobileNetV2": 64,
    "MobileNetV3Large": 64,
    "MobileNetV3Small": 64,
    "NASNetMobile": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "VGG16": 64,
    "VGG19": 64,
    "Xception": 96,
}
"""Rows and columns of the pictures of each."""


def _model(name: str, extent: int, package: Any) -> Any:
    make = getattr(package.applications, name)
    return make(weights=None, input_shape=(extent, extent, 3), classes=100, classifier_activation=None)


def _case(name: str, extent: int) -> Case:
    high = 255 if name.startswith(("ConvNeXt", "EfficientNet", "MobileNetV3")) else 1  # these scale pictures themselves
    low = -1 if high == 1 else 0
    model = partial(_model, name, extent)
    return Case(((1, extent, extent, 3),), model=model, is_architecture=True, low=low, high=high)


def pictures(extent: int, random: np.random.Generator, low: float, high: float) -> np.ndarray[Any, Any]:
    """Pictures with colours, large shapes and some noise, in [low, high].

    Pictures of noise alone look the same after a few layers, so that normalisation would divide by next to nothing.
    """
    steps = -(-extent // 5)
    shapes = random.standard_normal((PICTURES, 5, 5, 3)).repeat(steps, 1).repeat(steps, 2)[:, :extent, :extent]
    colours = random.standard_normal((PICTURES, 1, 1, 3))
    drawn = shapes + colours + 0.2 * random.standard_normal((PICTURES, extent, extent, 3))
    middle, half = (low + high) / 2, (high - low) / 2
    return (middle + half * np.tanh(drawn / 2)).astype(np.float32)


def _settle(model: Any) -> None:
    """Let Normalization compute with the weights that it has been given, which it copies at certain times only
    (`finalize_state` of keras/src/layers/preprocessing/normalization.py)."""
    for layer in model._flatten_layers():
        if type(layer).__name__ == "Normalization":
            layer.finalize_state()


def calibrate(model: Any, given: np.ndarray[Any, Any], random: np.random.Generator) -> None:
    """Let batch normalisation take the statistics of pictures, as training would, so that activations keep their size.

    Its offsets are positive, as most are in trained networks: without them a random network is chaotic, and magnifies
    each rounding by a fifth per layer (Yang et al., A mean field theory of batch normalization, 2019). For the same
    reason the channels of a random network that hardly vary are not scaled up to the others.
    """
    _settle(model)
    norms = [layer for layer in model._flatten_layers() if type(layer).__name__ == "BatchNormalization"]
    momenta = [layer.momentum for layer in norms]
    for layer in norms:
        layer.momentum = 0.0  # only these pictures count
        layer.beta.assign(random.uniform(0, 1, layer.beta.shape))
    model(given, training=True)
    for layer, momentum in zip(norms, momenta, strict=True):
        variance = np.asarray(layer.moving_variance)
        layer.moving_variance.assign(np.maximum(variance, variance.mean() / 10))
        layer.momentum = momentum


def in_double(model: Any, case: Case, package: Any, given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a model computes in float64."""
    package.config.set_dtype_policy("float64")
    try:
        wide = case.build(package)
        wide.set_weights(model.get_weights())
        _settle(wide)
        return np.asarray(wide(given.astype(np.float64), training=False))
    finally:
        package.config.set_dtype_policy("float32")


ARCHITECTURES = {name: _case(name, extent) for name, extent in EXTENTS.items()}
