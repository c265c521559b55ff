"""Why some layers can't be compiled, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BRING, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.layers import Layer

_CODE = "replace it by layers of Keras and save the model again, or export the model to ONNX"
TEXT_REMEDY = "run it before the network, and feed the numbers that it gives: inputs=[...], or --from NAME"
REFUSALS: Mapping[str, Refusal] = {
    "FlaxLayer": ("it is a program of JAX", _CODE),
    "Hashing": ("it works on text", TEXT_REMEDY),
    "HashedCrossing": ("it works on text", TEXT_REMEDY),
    "JaxLayer": ("it is a program of JAX", _CODE),
    "Lambda": ("it is a program of Python, which is never run", _CODE),
    "RNN": ("it runs a cell of the user's, or several with states", "use LSTM, GRU or SimpleRNN"),
    "StringLookup": ("it works on text", TEXT_REMEDY),
    "TFSMLayer": ("it is a SavedModel of TensorFlow", "read the SavedModel itself"),
    "TensorFlowOpLayer": ("it is an operation of TensorFlow 1", _CODE),
    "TextVectorization": ("it works on text", TEXT_REMEDY),
    "TorchModuleWrapper": ("it is a program of PyTorch", _CODE),
}


def refusal_of(layer: Layer) -> UnsupportedError:
    """The refusal of a layer that no converter takes."""
    if layer.kind.startswith("?"):
        return UnsupportedError("it is a class of the user's, whose program is not in the file", f"{BRING}, or {_CODE}")
    return refusal_by(REFUSALS, layer.kind, kind="layer", remedy=f"{BRING}, or {_CODE}")
