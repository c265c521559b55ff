"""Calls with `training=True`: layers then drop, draw or normalise by the batch, also when the model is used.

In Keras 1 and 2 the argument of a layer's call holds always; in Keras 3 `predict` overrides it, `model(x)` does not
(`operation_fn` of keras/src/models/functional.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.layers import Arguments, Layer
from sateen.frontends.keras.version import Version

IN_TRAINING: Mapping[str, Any] = {"training": True}
"""The arguments by name of a call in training."""
_WITH_TRAINING = {
    "AlphaDropout", "BatchNormalization", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D",
    "SpatialDropout2D", "SpatialDropout3D", "SpectralNormalization",
}  # fmt: skip
"""Layers whose results are others in training (`call` of keras/src/layers and tf_keras/src/layers)."""
_OF_PICTURES = ("AugMix", "CutMix", "MixUp", "Rand")
"""How the names of layers begin that change pictures in training. Keras 3 takes their calls to be in training if nobody
says otherwise, and writes it (`call` of keras/src/layers/preprocessing/image_preprocessing); `predict` overrides it."""
_RATES = ("dropout", "recurrent_dropout")
"""Settings of recurrent layers and attention, which differ in training only if one of these is above 0."""


def is_in_training(arguments: Arguments) -> bool:
    """Whether a call asks for training, or has a tensor decide; 0 is as good as False."""
    given = arguments.named.get("training")
    return given is not None and not (isinstance(given, int) and given == 0)


def require_inference(layer: Layer, arguments: Arguments, version: Version) -> None:
    """Raises UnsupportedError for a call in training, if that makes a difference to the layer; to a user's it may."""
    if is_in_training(arguments) and _has_training_mode(layer, version):
        raise UnsupportedError(
            "it is called with training=True: its results depend on chance or on the other rows of the batch",
            "build the network without this argument, and save it again",
        )


def _has_training_mode(layer: Layer, version: Version) -> bool:
    if layer.kind.startswith(_OF_PICTURES):
        return version.generation < 3
    always = layer.kind in _WITH_TRAINING or layer.kind.startswith("?")
    return always or any(layer.config.get(rate) for rate in _RATES)
