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
from sateen.frontends.keras.refusals import TEXT_REMEDY
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Equal,
    Gather,
    Minimum,
    Multiply,
    OneHot,
    ReduceMax,
    ReduceSum,
    Reshape,
    SearchSorted,
    Where,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT32, INT32, INT64 = map(DType.of, ("float32", "int32", "int64"))
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
    if node.input_count > 1:
        raise UnsupportedError("weights of counts are not supported", "leave out count_weights")
    data = node.raw(0)
    indices = node.step(Cast(INT32), data) if data.type.dtype.is_float else data
    return _encoded(node, indices, node.integer("num_tokens"), node.text("output_mode"))


def _encoded(node: KerasNode, indices: Value, depth: int, mode: str, dtype: DType | None = None) -> Operand:
    """Classes as they are (`int`), or as rows of `depth` numbers of a type, by default the layer's
    (`encode_categorical_inputs` of keras/src/utils/numerical_utils.py)."""
    if mode == "int":
        return node.result(Cast(DType.of("int64")), indices)
    if mode not in {"one_hot", "multi_hot", "count"}:
        raise UnsupportedError(f"output_mode {mode!r} is not supported", "use int, one_hot, multi_hot or count")
    shape = indices.type.shape
    if mode != "one_hot" and len(shape) != 2:
        raise UnsupportedError(f"{mode} of {len(shape)} dimensions is not supported", "give rows of classes")
    numbers = np.array([0, 1], (dtype or node.dtype_of_layer).numpy)
    encoded = node.step(OneHot(depth, len(shape)), indices, node.parameter(numbers, "values"))
    if mode == "one_hot":
        kept = shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape
        return node.result(Reshape((*kept, depth)), encoded)
    reduce = ReduceMax if mode == "multi_hot" else ReduceSum
    return node.result(reduce(axes=(1,), keepdims=False), encoded)


def _discretization(node: KerasNode) -> Operand:
    """The number of boundaries up to each element."""
    given = node.attribute("bin_boundaries")
    if not isinstance(given, list) or not given:
        raise UnsupportedError("boundaries that the file does not have are not supported", TEXT_REMEDY)
    boundaries = np.sort(_floats("bin_boundaries", given))
    data = node.raw(0)
    wide = data if data.type.dtype == FLOAT32 else node.step(Cast(FLOAT32), data)
    bins = node.step(SearchSorted(right=True), node.parameter(boundaries, "boundaries"), wide)
    return _encoded(node, bins, len(boundaries) + 1, node.setting("output_mode", "int"))


def _floats(name: str, given: object) -> Array:
    try:
        found = np.asarray(given, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise FrontendError(f"expected numbers as {name!r}, found {given!r}") from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise FrontendError(f"expected finite numbers as {name!r}, found {given!r}")
    return found


def _integer_lookup(node: KerasNode) -> Operand:
    """The place of each integer in a vocabulary, behind that of others, which is first. Rows of Keras 3 are int64
    (`_value_dtype` of keras/src/layers/preprocessing/index_lookup.py)."""
    given, mode = node.attribute("vocabulary"), node.setting("output_mode", "int")
    if (
        not isinstance(given, list)
        or not given
        or not all(type(one) is int and -(1 << 63) <= one < 1 << 63 for one in given)
    ):
        raise UnsupportedError("a vocabulary that the file does not have is not supported", TEXT_REMEDY)
    usual = {"num_oov_indices": 1, "mask_token": None, "invert": False, "sparse": False, "pad_to_max_tokens": False}
    for name, wanted in usual.items():
        if node.setting(name, wanted) != wanted:
            reason = f"{name}={node.setting(name, wanted)!r} is not supported"
            raise UnsupportedError(reason, f"use {wanted!r}, or {TEXT_REMEDY}")
    words, order = np.unique(np.array(given, np.int64), return_index=True)
    if len(words) < len(given):
        raise FrontendError("expected each integer of the vocabulary once")
    table = node.parameter(words, "vocabulary")
    data = node.raw(0)
    if not data.type.dtype.is_int:
        raise FrontendError(f"expected integers, found {data.type}")
    wide = node.step(Cast(INT64), data)
    last = node.literal(len(words) - 1, INT64)
    place = node.step(Minimum(), node.step(SearchSorted(), table, wide), last)
    is_known = node.step(Equal(), node.step(Gather(axis=0), table, place), wide)
    index = node.step(Gather(axis=0), node.parameter(order.astype(np.int64) + 1, "places"), place)
    found = node.step(Where(), is_known, index, node.literal(0, INT64))
    return _encoded(node, found, len(words) + 1, mode, INT64 if node.generation >= 3 else None)


def _random_crop(node: KerasNode) -> Operand:
    """Keras 3 leaves pictures alone at inference; Keras 2 resized them."""
    if node.generation < 3:
        raise UnsupportedError("RandomCrop of Keras 2 resizes pictures, which is not supported", "use Resizing")
    return node.operand(0)


PREPROCESSING: Mapping[str, Converter[KerasNode]] = {
    "CategoryEncoding": _category_encoding,
    "Discretization": _discretization,
    "IntegerLookup": _integer_lookup,
    "RandomCrop": _random_crop,
    "Rescaling": _rescaling,
    **dict.fromkeys(_RANDOM, lambda node: node.operand(0)),
}
