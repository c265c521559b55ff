"""keras.applications with seeded weights and small inputs."""

from __future__ import annotations

from functools import partial
from typing import Any

from cases import Case

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
    return Case(((1, extent, extent, 3),), model=partial(_model, name, extent), low=-1 if high == 1 else 0, high=high)


ARCHITECTURES = {name: _case(name, extent) for name, extent in EXTENTS.items()}
