"""Operators that give the same data for any values of their inputs."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.strings import Vocabulary, positions_of, strings_of
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

LARGEST_FILL = 1 << 20
"""The most elements of a range or an identity matrix, which importing makes itself."""


def _constant(node: OnnxNode) -> Array:
    """Of several attributes exactly one is given (opset 12 and later; only `value` before)."""
    given = [name for name in node.schema.attributes if node.attribute(name) is not None]
    if len(given) != 1:
        raise FrontendError(f"expected exactly one value, found {', '.join(given) or 'none'}")
    (name,) = given
    match name:
        case "value" if node.attribute(name).data_type == TensorProto.STRING:
            return _strings(node, *strings_of(node.attribute(name), "the constant"))
        case "value_string" | "value_strings":
            strings = node.attribute(name)
            listed, shape = ([strings], ()) if isinstance(strings, str) else (strings, (len(strings),))
            return _strings(node, *positions_of(listed, shape))
        case "value":
            data = node.tensor(name)
            assert data is not None
            return data
        case "value_int" | "value_ints":
            return np.array(node.attribute(name), np.int64)
        case "value_float" | "value_floats":
            return np.array(node.attribute(name), np.float32)
        case _:
            raise UnsupportedError(f"constants given as {name} are not supported")


def _strings(node: OnnxNode, positions: Array, vocabulary: Vocabulary) -> Array:
    node.give_strings(vocabulary)
    return positions


def _eye_like(node: OnnxNode) -> Array:
    """Ones on the k-th diagonal of a matrix of the input's shape."""
    extents = node.static_shape(0)
    if len(extents) != 2:
        raise FrontendError(f"expected a matrix, found {list(extents)}")
    if prod(extents) > LARGEST_FILL:
        raise UnsupportedError(f"a matrix of more than {LARGEST_FILL} elements is not made while importing")
    given = node.attribute("dtype")
    dtype = node.dtype(0) if given is None else dtype_of(given, "EyeLike")
    longest = max(extents)
    k = max(-longest, min(node.integer("k"), longest))
    return node.evaluated(np.eye(*extents, k=k, dtype=dtype.numpy))


CONSTANTS: dict[str, Converter] = {"Constant": _constant, "EyeLike": _eye_like}
