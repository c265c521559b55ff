"""Preparation of features: scaling, imputing and selecting numbers."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.onnx.ml.scores import FLOAT, as_float
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    Cast,
    Concat,
    Divide,
    Equal,
    Gather,
    Greater,
    Identity,
    IsNaN,
    Multiply,
    ReduceL1,
    ReduceL2,
    ReduceMax,
    Reshape,
    Subtract,
    Where,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _floats(node: OnnxNode, name: str) -> Array:
    return np.array(node.attribute(name) or (), np.float32)


def _per_feature(node: OnnxNode, values: Array, name: str) -> Value:
    """One value for all features, or one for each."""
    features = node.static_shape(0)[-1]
    if len(values) not in (1, features):
        raise FrontendError(f"expected 1 or {features} numbers as {name}, found {len(values)}")
    return node.parameter(values, name)


def _scaler(node: OnnxNode) -> Operand:
    """(x - offset) · scale."""
    data = as_float(node, node.value(0))
    offset, scale = (_per_feature(node, _floats(node, name), name) for name in ("offset", "scale"))
    return node.result(Multiply(), node.step(Subtract(), data, offset), scale)


def _normalizer(node: OnnxNode) -> Operand:
    """x divided by the largest, the sum or the length of its row; a row of zeros stays.

    The largest is that of the values, not of their sizes (the standard's formula, and onnxruntime's normalizer.cc).
    """
    data, axis = as_float(node, node.value(0)), (node.rank(0) - 1,)
    norms = {"MAX": ReduceMax(axes=axis), "L1": ReduceL1(axes=axis), "L2": ReduceL2(axes=axis)}
    kind = node.text("norm")
    if kind not in norms:
        raise FrontendError(f"expected norm MAX, L1 or L2, found {kind!r}")
    length = node.step(norms[kind], data)
    is_zero = node.step(Equal(), length, node.literal(0, FLOAT))
    return node.result(Divide(), data, node.step(Where(), is_zero, node.literal(1, FLOAT), length))


def _imputer(node: OnnxNode) -> Operand:
    data = node.value(0)
    dtype = data.type.dtype
    names = ("imputed_value_floats", "replaced_value_float") if dtype.is_float else (
        "imputed_value_int64s", "replaced_value_int64"
    )  # fmt: skip
    values, replaced = np.array(node.attribute(names[0]) or (), dtype.numpy), node.attribute(names[1])
    new = _per_feature(node, values, names[0])
    if dtype.is_float and np.isnan(replaced):
        is_replaced = node.step(IsNaN(), data)
    else:
        is_replaced = node.step(Equal(), data, node.literal(replaced, dtype))
    return node.result(Where(), is_replaced, new, data)


def _binarizer(node: OnnxNode) -> Operand:
    """1 where x exceeds the threshold, else 0."""
    dtype = node.dtype(0)
    is_above = node.step(Greater(), node.value(0), node.literal(node.number("threshold"), dtype))
    return node.result(Cast(dtype), is_above)


def _extractor(node: OnnxNode) -> Operand:
    """Columns of the last axis; a vector is a row."""
    data = node.value(0)
    if data.type.rank == 1:
        data = node.step(Reshape((1, *data.type.shape)), data)
    width = data.type.shape[-1]
    if not node.is_known(1):
        flat = node.step(Reshape((product(node.shape(1)),)), node.value(1))
        return node.result(Gather(axis=data.type.rank - 1), data, flat)
    places = node.constant(1).reshape(-1)
    if len(places) and (places.min() < 0 or (isinstance(width, int) and places.max() >= width)):
        raise FrontendError(f"expected indices 0 to {width} - 1, found {places.min()}, {places.max()}")
    return node.result(Gather(axis=data.type.rank - 1), data, node.parameter(places, "indices"))


def _vectorizer(node: OnnxNode) -> Operand:
    """All inputs [N, C] in float32, side by side."""
    sizes = node.integers("inputdimensions")
    columns = []
    for index, size in enumerate(sizes):
        value = as_float(node, node.value(index))
        if value.type.rank == 1:
            value = node.step(Reshape((1, *value.type.shape)), value)
        if value.type.rank != 2 or value.type.shape[1] != size:
            raise FrontendError(f"expected input {index} of [N, {size}], found {value.type}")
        columns.append(value)
    return node.result(Concat(axis=1), *columns) if len(columns) > 1 else node.result(Identity(), columns[0])


def _zip_map(node: OnnxNode) -> Operand:
    """The scores themselves: a row of them in the order of the labels stands for a map."""
    names, numbers = node.attribute("classlabels_strings"), node.attribute("classlabels_int64s")
    count = len(names or numbers or ())
    if node.shape(0)[-1] != count:
        raise FrontendError(f"expected {count} columns, one per label, found {list(node.shape(0))}")
    node.label(map(str, names or numbers))
    return node.operand(0)


FEATURES: dict[str, Converter] = {
    "ArrayFeatureExtractor": _extractor,
    "Binarizer": _binarizer,
    "FeatureVectorizer": _vectorizer,
    "Imputer": _imputer,
    "Normalizer": _normalizer,
    "Scaler": _scaler,
    "ZipMap": _zip_map,
}
