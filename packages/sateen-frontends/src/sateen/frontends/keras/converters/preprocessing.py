"""Layers of preprocessing that work on numbers, and those that do nothing at inference.

Sources: keras/src/layers/preprocessing; `BaseImagePreprocessingLayer.call` there leaves pictures alone at inference.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Array
from sateen.graph_ir.ops import Add, Cast, Multiply, OneHot, ReduceMax, ReduceSum, Reshape
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_RANDOM = (
    "AugMix", "CutMix", "MixUp", "RandAugment", "RandomBrightness", "RandomColorDegeneration", "RandomColorJitter",
    "RandomContrast", "RandomElasticTransform", "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale",
    "RandomHeight", "RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation",
    "RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation", "RandomWidth", "RandomZoom",
)  # fmt: skip
"""Layers that change pictures in training only."""


def _numbers(node: KerasNode, name: str) -> Array:
    given = node.attribute(name)
    try:
        return np.asarray(given, node.dtype_of_layer.numpy)
    except (TypeError, ValueError):
        raise FrontendError(f"expected numbers as {name!r}, found {given!r}") from None


def _rescaling(node: KerasNode) -> Operand:
    data = node.raw(0)
    data = data if data.type.dtype == node.dtype_of_layer else node.step(Cast(node.dtype_of_layer), data)
    scaled = node.step(Multiply(), data, node.made(_numbers(node, "scale"), "scale"))
    return node.result(Add(), scaled, node.made(_numbers(node, "offset"), "offset"))


def _category_encoding(node: KerasNode) -> Operand:
    """Numbers of classes as rows: one for each, or the classes of a row that are there, or how often they are."""
    data, mode = node.raw(0), node.choice("output_mode", "one_hot", "multi_hot", "count")
    if node.input_count > 1:
        raise UnsupportedError("weights of counts are not supported", "leave out count_weights")
    indices = node.step(Cast(DType.of("int32")), data) if data.type.dtype.is_float else data
    shape, depth = data.type.shape, node.integer("num_tokens")
    if mode != "one_hot" and len(shape) != 2:
        raise UnsupportedError(f"{mode} of {len(shape)} dimensions is not supported", "give rows of classes")
    encoded = node.step(OneHot(depth, len(shape)), indices, node.made(np.array([0, 1]), "values"))
    if mode == "one_hot":
        kept = shape[:-1] if shape and shape[-1] == 1 else shape
        return node.result(Reshape((*kept, depth)), encoded)
    reduce = ReduceMax if mode == "multi_hot" else ReduceSum
    return node.result(reduce(axes=(1,), keepdims=False), encoded)


PREPROCESSING: Mapping[str, Converter[KerasNode]] = {
    "CategoryEncoding": _category_encoding,
    "Rescaling": _rescaling,
    **dict.fromkeys(_RANDOM, lambda node: node.operand(0)),
}
