"""What prepares features: joined, picked, scaled, filled in, encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.estimators.node import FLOAT, Converter, EstimatorNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

MAXIMUM, SUM, LENGTH = range(3)
"""Values of NormType."""
_INDEX = DType.of("int64")


def _joined(node: EstimatorNode) -> Operand:
    """Features one after the other, as float32."""
    columns = node.parameters.inputList
    if not columns:
        raise FrontendError("expected features to join, found none")
    parts = []
    for column in columns:
        data = node.numbers(node.at(column.inputColumn))
        flat = node.step(ops.Reshape((product(data.type.shape),)), data)
        if flat.type.shape != (column.inputDimensions,):
            raise FrontendError(
                f"expected {column.inputDimensions} numbers in {column.inputColumn!r}, found {data.type}"
            )
        parts.append(flat)
    return node.result(ops.Concat(axis=0), *parts)


def _picked(node: EstimatorNode) -> Operand:
    data = node.value(0)
    (count,) = static_extents((product(data.type.shape),), "the array")
    places = [min(place, 1 << 40) for place in node.parameters.extractIndex]
    if not places or max(places) >= count:
        raise FrontendError(f"expected places of 0 to {count - 1}, found {places[:8]}")
    flat = node.step(ops.Reshape((count,)), data)
    return node.result(ops.Gather(axis=0), flat, node.parameter(np.array(places, np.int64), "places"))


def _scaled(node: EstimatorNode) -> Operand:
    """(x + shift) · scale, of each number or of all."""
    data = node.numbers(0)
    moved = node.step(ops.Add(), data, _per_number(node, node.parameters.shiftValue, "shiftValue", 0.0))
    return node.result(ops.Multiply(), moved, _per_number(node, node.parameters.scaleValue, "scaleValue", 1.0))


def _per_number(node: EstimatorNode, numbers: Sequence[float], what: str, otherwise: float) -> Value:
    if len(numbers) not in (0, 1):
        (count,) = static_extents((product(node.shape(0)),), "the scaled array")
        if len(numbers) != count:
            raise FrontendError(f"expected 1 or {count} numbers as {what}, found {len(numbers)}")
        return node.float_parameter(np.reshape(np.array(numbers), node.static_shape(0)), what)
    return node.literal(numbers[0] if numbers else otherwise, FLOAT)


def _normalized(node: EstimatorNode) -> Operand:
    """Divided by the sum of absolute values or by the length; where that is 0, as it is."""
    kind, data = node.parameters.normType, node.numbers(0)
    if kind == MAXIMUM:
        raise UnsupportedError(
            "the format does not say whether the largest of a norm is that of absolute values",
            "normalise by the sum or the length",
        )
    if kind not in (SUM, LENGTH):
        raise FrontendError(f"expected a normType of 0 to {LENGTH}, found {kind}")
    axes = tuple(range(data.type.rank))
    norm = node.step((ops.ReduceL1 if kind == SUM else ops.ReduceL2)(axes=axes, keepdims=True), data)
    is_none = node.step(ops.Equal(), norm, node.literal(0, FLOAT))
    return node.result(ops.Divide(), data, node.step(ops.Where(), is_none, node.literal(1, FLOAT), norm))


def _filled_in(node: EstimatorNode) -> Operand:
    """In place of numbers that are NaN, or equal to the one that stands for missing ones."""
    given, data = node.parameters, node.value(0)
    kind, missing = given.WhichOneof("ImputedValue"), given.WhichOneof("ReplaceValue")
    known = ("imputedDoubleValue", "imputedInt64Value", "imputedDoubleArray", "imputedInt64Array")
    if kind not in known or missing not in ("replaceDoubleValue", "replaceInt64Value"):
        raise UnsupportedError(
            "only numbers can be filled in, where they equal a number or NaN", "fill in the features beforehand"
        )
    value = getattr(given, kind)
    numbers = list(value.vector) if kind.endswith("Array") else [value]
    (count,) = static_extents((product(data.type.shape),), "the array")
    if len(numbers) not in (1, count):
        raise FrontendError(f"expected 1 or {count} numbers to fill in, found {len(numbers)}")
    shape = node.static_shape(0) if len(numbers) == count else ()
    with np.errstate(over="ignore"):
        filling = node.parameter(np.array(numbers).astype(data.type.dtype.numpy).reshape(shape), "imputed")
    return node.result(ops.Where(), _is_missing(node, data, missing), filling, data)


def _is_missing(node: EstimatorNode, data: Value, missing: str) -> Value:
    number = getattr(node.parameters, missing)
    if not isnan(number):
        return node.step(ops.Equal(), data, node.literal(number, data.type.dtype))
    if not data.type.dtype.is_float:
        raise FrontendError(f"expected real numbers among which NaN is missing, found {data.type}")
    return node.step(ops.IsNaN(), data)


def _encoded(node: EstimatorNode) -> Operand:
    """1 at the place of the category; 0 everywhere for one that is unknown, whatever the model wants to be done."""
    given = node.parameters
    if given.WhichOneof("CategoryType") != "int64Categories" or given.outputSparse:
        raise UnsupportedError(
            "categories of text, and dictionaries of categories, are not supported",
            "encode whole numbers as an array (outputSparse=False)",
        )
    categories = np.array(given.int64Categories.vector, np.int64)
    data = node.value(0)
    if not len(categories) or data.type.dtype != _INDEX or data.type.shape != (1,):
        raise FrontendError(f"expected categories of a whole number, found {len(categories)} of {data.type}")
    found = node.step(ops.Equal(), data, node.parameter(categories, "categories"))
    return node.result(ops.Cast(FLOAT), found)


PREPARATION: Mapping[str, Converter] = {
    "arrayFeatureExtractor": _picked,
    "featureVectorizer": _joined,
    "imputer": _filled_in,
    "normalizer": _normalized,
    "oneHotEncoder": _encoded,
    "scaler": _scaled,
}
