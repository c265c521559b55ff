"""A model's declarations of its values: element types and dimensions."""

from __future__ import annotations

import onnx

from sateen.frontends.core.inputs import Declaration
from sateen.frontends.onnx.loading import text
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir.ir import Dim, Symbol
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

_ANONYMOUS = frozenset({"", "?", "None", "-1"})
"""Names that exporters give to unrelated dimensions."""
_UNKNOWN = -1
"""The extent that some exporters write for an unknown dimension."""


def declaration_of(value: onnx.ValueInfoProto) -> Declaration:
    """The type of a tensor; dimensions without a name are Symbols called `value.axis`.

    Raises FrontendError unless it is a tensor of a known element type.
    """
    name = text(value.name, "a value")
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        found = "no type" if kind is None else kind.removesuffix("_type").replace("_", " ")
        raise FrontendError(f"{name!r}: expected a tensor, found {found}")
    tensor = value.type.tensor_type
    dtype = dtype_of(tensor.elem_type, repr(name))
    return Declaration(name, dtype, shape_of(tensor, name))


def shape_of(tensor: onnx.TypeProto.Tensor, name: str) -> tuple[Dim, ...] | None:
    """The declared shape of a tensor, whatever its elements are; None if there is none."""
    if not tensor.HasField("shape"):
        return None
    rank = len(tensor.shape.dim)
    if rank > MOST_DIMENSIONS:
        raise FrontendError(f"{name!r}: expected at most {MOST_DIMENSIONS} dimensions, found {rank}")
    return tuple(_dimension(dim, name, axis) for axis, dim in enumerate(tensor.shape.dim))


def _dimension(dim: onnx.TensorShapeProto.Dimension, name: str, axis: int) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value != _UNKNOWN:
        if not 0 <= dim.dim_value < 1 << 48:
            raise FrontendError(f"{name!r}: expected dimension {axis} of zero or more elements, found {dim.dim_value}")
        return dim.dim_value
    parameter = text(dim.dim_param, "a dimension")
    if not parameter.isprintable():
        raise FrontendError(f"{name!r}: expected the name of dimension {axis} as printable text, found {parameter!r}")
    return Symbol(f"{name}.{axis}" if parameter in _ANONYMOUS else parameter)
