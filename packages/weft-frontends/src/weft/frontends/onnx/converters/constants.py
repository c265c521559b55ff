"""The operator that holds data."""

from __future__ import annotations

import numpy as np
from weft.frontends.onnx.emitter import Array
from weft.frontends.onnx.node import Converter, ImportedNode, Unsupported
from weft.runtime.errors import FrontendError


def _constant(node: ImportedNode) -> Array:
    """Of several attributes exactly one is given (opset 12 and later; only `value` before)."""
    given = [name for name in node.schema.attributes if node.attribute(name) is not None]
    if len(given) != 1:
        raise FrontendError(f"expected exactly one value, found {', '.join(given) or 'none'}")
    (name,) = given
    match name:
        case "value":
            data = node.tensor(name)
            assert data is not None
            return data
        case "value_int" | "value_ints":
            return np.array(node.attribute(name), np.int64)
        case "value_float" | "value_floats":
            return np.array(node.attribute(name), np.float32)
        case _:
            raise Unsupported(f"constants given as {name} are not supported")


CONSTANTS: dict[str, Converter] = {"Constant": _constant}
