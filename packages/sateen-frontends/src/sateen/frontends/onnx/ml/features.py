"""Preparation of features: scaling, imputing, encoding and selecting numbers."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.ml.scores import FLOAT, as_float
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    And,
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
    ReduceSum,
    Reshape,
    Subtract,
    Where,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

_STRINGS = ("names are not supported, only numbers", "encode them outside of the model")
MOST_KEYS = 4096
"""The most keys of an encoder; each is a comparison per element."""


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


def _one_hot(node: OnnxNode) -> Operand:
    """A last axis with 1 where the number, cut to an integer, is a category. Without it all are 0 (`zeros`)."""
    categories = node.attribute("cats_int64s")
    if not categories or node.attribute("cats_strings"):
        raise UnsupportedError(*_STRINGS)
    if not node.flag("zeros"):
        raise UnsupportedError("an error for unknown categories is not supported", "export with zeros=1")
    whole = node.step(Cast(DType.of("int64")), node.value(0))
    apart = node.step(Reshape((*node.shape(0), 1)), whole)
    is_one = node.step(Equal(), apart, node.parameter(np.array(categories, np.int64), "categories"))
    return node.result(Cast(FLOAT), is_one)


def _label_encoder(node: OnnxNode) -> Operand:
    """Numbers for numbers: the value of an equal key, otherwise the default. As of version 4, whose
    comparison is of bits, NaN equals NaN."""
    keys, values, default = _encoding(node)
    data = node.value(0)
    if len(keys) > MOST_KEYS or len(keys) != len(values) or DType.of(keys.dtype) != data.type.dtype:
        raise FrontendError(
            f"expected at most {MOST_KEYS} keys of {data.type.dtype} and as many values, found {len(keys)} of "
            f"{DType.of(keys.dtype)} and {len(values)}"
        )
    apart = node.step(Reshape((*node.shape(0), 1)), data)
    is_key = node.step(Equal(), apart, node.parameter(keys, "keys"))
    if node.version >= 4 and keys.dtype.kind == "f" and np.isnan(keys).any():
        both = node.step(And(), node.step(IsNaN(), apart), node.parameter(np.isnan(keys), "nan_keys"))
        is_key = node.step(Where(), both, both, is_key)
    dtype = DType.of(values.dtype)
    chosen = node.step(Where(), is_key, node.parameter(values, "values"), node.literal(0, dtype))
    total = node.step(ReduceSum(axes=(node.rank(0),), keepdims=False), chosen)
    count = node.step(ReduceMax(axes=(node.rank(0),), keepdims=False), node.step(Cast(DType.of("int32")), is_key))
    is_known = node.step(Greater(), count, node.literal(0, DType.of("int32")))
    return node.result(Where(), is_known, total, node.parameter(default, "default"))


def _encoding(node: OnnxNode) -> tuple[Array, Array, Array]:
    """Keys, values and the default, of numbers only. Raises FrontendError for keys that are there twice."""
    found: dict[str, Array] = {}
    for side in ("keys", "values"):
        for kind, dtype in (("floats", np.float32), ("int64s", np.int64)):
            if node.knows(f"{side}_{kind}") and node.attribute(f"{side}_{kind}"):
                found[side] = np.array(node.attribute(f"{side}_{kind}"), dtype)
        if node.knows(f"{side}_tensor") and node.attribute(f"{side}_tensor") is not None:
            found[side] = np.asarray(node.tensor(f"{side}_tensor")).reshape(-1)
    if len(found) < 2:
        raise UnsupportedError(*_STRINGS)
    if len(np.unique(found["keys"])) < len(found["keys"]):
        raise FrontendError("expected keys that differ, found one twice")
    values = found["values"]
    if node.knows("default_tensor") and node.attribute("default_tensor") is not None:
        default = np.asarray(node.tensor("default_tensor")).reshape(())
    else:
        name = "default_float" if values.dtype.kind == "f" else "default_int64"
        default = np.array(node.attribute(name), values.dtype)
    return found["keys"], values, default


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
    "LabelEncoder": _label_encoder,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "Scaler": _scaler,
    "ZipMap": _zip_map,
}
