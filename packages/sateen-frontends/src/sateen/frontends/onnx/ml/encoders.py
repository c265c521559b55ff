"""Encoders: numbers for numbers, and strings for positions, which stand for strings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.ml.scores import FLOAT
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.strings import Vocabulary, strings_of
from sateen.graph_ir.ir import Array
from sateen.graph_ir.ops import And, Cast, Equal, Gather, Greater, IsNaN, ReduceMax, ReduceSum, Reshape, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

MOST_KEYS = 4096
"""The most keys of an encoder of numbers; each is a comparison per element."""
Side = Array | Vocabulary
"""The keys or the values of an encoder."""


def _one_hot(node: OnnxNode) -> Operand:
    """A last axis with 1 where the element, a number cut to an integer, is a category. Without it all are 0
    (`zeros`)."""
    numbers, strings = node.attribute("cats_int64s"), node.attribute("cats_strings")
    if bool(numbers) == bool(strings):
        raise FrontendError("expected categories as cats_int64s or as cats_strings, found both or none")
    if not node.flag("zeros"):
        raise UnsupportedError("an error for unknown categories is not supported", "export with zeros=1")
    known = _strings_read(node, strings=bool(strings))
    categories = [known.index(string) if string in known else -1 for string in strings] if strings else numbers
    whole = node.step(Cast(DType.of("int64")), node.value(0))
    apart = node.step(Reshape((*node.shape(0), 1)), whole)
    is_one = node.step(Equal(), apart, node.parameter(np.array(categories, np.int64), "categories"))
    return node.result(Cast(FLOAT), is_one)


def _strings_read(node: OnnxNode, *, strings: bool) -> Vocabulary:
    """The strings of the input, none if it holds numbers. Raises FrontendError if it holds the others."""
    known = node.vocabulary(0)
    if (known is not None) != strings:
        kinds = ("strings", "numbers") if strings else ("numbers", "strings")
        raise FrontendError(f"expected {kinds[0]} as {node.described(0)}, as the attributes tell, found {kinds[1]}")
    return known or ()


def _category_mapper(node: OnnxNode) -> Operand:
    """Strings for numbers, or numbers for strings, whichever the input holds."""
    numbers = np.array(node.attribute("cats_int64s") or (), np.int64)
    strings = tuple(node.attribute("cats_strings") or ())
    if node.vocabulary(0) is None:
        return _encoded(node, numbers, strings, node.text("default_string"))
    return _encoded(node, strings, numbers, np.array(node.integer("default_int64"), np.int64))


def _label_encoder(node: OnnxNode) -> Operand:
    """The value of an equal key, otherwise the default. Version 1 has a list of strings, whose keys are positions."""
    if not node.knows("classes_strings"):
        return _encoded(node, *_encoding(node))
    strings = tuple(node.attribute("classes_strings") or ())
    positions = np.arange(len(strings), dtype=np.int64)
    if node.vocabulary(0) is None:
        return _encoded(node, positions, strings, node.text("default_string"))
    return _encoded(node, strings, positions, np.array(node.integer("default_int64"), np.int64))


def _encoding(node: OnnxNode) -> tuple[Side, Side, Array | str]:
    """Keys, values and the default of version 2 and later."""
    keys, values = _side(node, "keys"), _side(node, "values")
    replaced = node.attribute("default_tensor") if node.knows("default_tensor") else None
    if isinstance(values, tuple):
        if replaced is None:
            return keys, values, node.text("default_string")
        return keys, values, strings_of(replaced, "default_tensor")[1][0]
    if replaced is not None:
        default = node.tensor("default_tensor")
        assert default is not None
        return keys, values, default.reshape(())
    name = "default_float" if values.dtype.kind == "f" else "default_int64"
    return keys, values, np.array(node.attribute(name), values.dtype)


def _side(node: OnnxNode, side: str) -> Side:
    """The keys or the values, in whichever attribute they are. Raises FrontendError if there are none."""
    for kind, dtype in (("floats", np.float32), ("int64s", np.int64)):
        if node.attribute(f"{side}_{kind}"):
            return np.array(node.attribute(f"{side}_{kind}"), dtype)
    if node.attribute(f"{side}_strings"):
        return tuple(node.attribute(f"{side}_strings"))
    tensor = node.attribute(f"{side}_tensor") if node.knows(f"{side}_tensor") else None
    if tensor is None:
        raise FrontendError(f"expected {side}, found none")
    if tensor.data_type == TensorProto.STRING:
        positions, vocabulary = strings_of(tensor, f"{side}_tensor")
        return tuple(vocabulary[int(place)] for place in positions.flat)
    data = node.tensor(f"{side}_tensor")
    assert data is not None
    return data.reshape(-1)


def _encoded(node: OnnxNode, keys: Side, values: Side, default: Array | str) -> Operand:
    """The values of keys that equal the elements. Values that are strings become positions among them."""
    if len(keys) != len(values) or not len(keys):
        raise FrontendError(f"expected as many keys as values, found {len(keys)} and {len(values)}")
    if len(set(keys) if isinstance(keys, tuple) else np.unique(keys)) < len(keys):
        raise FrontendError("expected keys that differ, found one twice")
    if isinstance(values, tuple):
        given = tuple(dict.fromkeys((*values, str(default))))
        node.give_strings(given)
        places = {string: place for place, string in enumerate(given)}
        values = np.array([places[string] for string in values], np.int64)
        default = np.array(places[str(default)], np.int64)
    assert not isinstance(default, str)
    known = _strings_read(node, strings=isinstance(keys, tuple))
    if isinstance(keys, tuple):
        table = node.parameter(_table(known, keys, values, default), "values")
        return node.result(Gather(axis=0), table, node.value(0))
    return _looked_up(node, keys, values, default)


def _table(known: Sequence[str], keys: Vocabulary, values: Array, default: Array) -> Array:
    """The value of each string that the input may hold."""
    places = {key: place for place, key in enumerate(keys)}
    return np.array([values[places[string]] if string in places else default for string in known], values.dtype)


def _looked_up(node: OnnxNode, keys: Array, values: Array, default: Array) -> Operand:
    """Values by keys of numbers. As of version 4, whose comparison is of bits, NaN equals NaN."""
    data = node.value(0)
    if len(keys) > MOST_KEYS or DType.of(keys.dtype) != data.type.dtype:
        found = f"{len(keys)} of {DType.of(keys.dtype)}"
        raise FrontendError(f"expected at most {MOST_KEYS} keys of {data.type.dtype}, found {found}")
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


ENCODERS: dict[str, Converter] = {
    "CategoryMapper": _category_mapper,
    "LabelEncoder": _label_encoder,
    "OneHotEncoder": _one_hot,
}
