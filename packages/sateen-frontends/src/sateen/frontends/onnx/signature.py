"""Types of a model's inputs: element types and dimensions as declared, bound by what the user gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import onnx

from sateen.frontends.onnx.loading import text
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir.types import Dim, Symbol, TensorType
from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

_ANONYMOUS = frozenset({"", "?", "None", "-1"})
"""Names of dimensions that exporters give to ones that have nothing to do with each other."""
_UNKNOWN = -1
"""What some exporters write as the extent of a dimension that is not known."""


def declared_type(value: onnx.ValueInfoProto) -> TensorType | None:
    """The type of a tensor; dimensions without a name are Symbols called `value.axis`. None: of unknown rank.

    Raises FrontendError for what is no tensor of a known element type.
    """
    name = text(value.name, "a value")
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        found = "no type" if kind is None else kind.removesuffix("_type").replace("_", " ")
        raise FrontendError(f"{name!r}: expected a tensor, found {found}")
    tensor = value.type.tensor_type
    dtype = dtype_of(tensor.elem_type, repr(name))
    if not tensor.HasField("shape"):
        return None
    rank = len(tensor.shape.dim)
    if rank > MOST_DIMENSIONS:
        raise FrontendError(f"{name!r}: expected at most {MOST_DIMENSIONS} dimensions, found {rank}")
    return TensorType.of(dtype, [_dimension(dim, name, axis) for axis, dim in enumerate(tensor.shape.dim)])


def _dimension(dim: onnx.TensorShapeProto.Dimension, name: str, axis: int) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value != _UNKNOWN:
        if not 0 <= dim.dim_value < 1 << 48:
            raise FrontendError(f"{name!r}: expected dimension {axis} of zero or more elements, found {dim.dim_value}")
        return dim.dim_value
    parameter = text(dim.dim_param, "a dimension")
    if not parameter.isprintable():
        raise FrontendError(f"{name!r}: expected the name of dimension {axis} as printable text, found {parameter!r}")
    return Symbol(f"{name}.{axis}" if parameter in _ANONYMOUS else parameter)


def bound(type_: TensorType, dims: Mapping[str, int]) -> TensorType:
    """The type with numbers for the Symbols that `dims` names."""
    return type_.bind(dims)


def input_types(
    inputs: Sequence[onnx.ValueInfoProto], shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]
) -> tuple[dict[str, TensorType], dict[str, int]]:
    """The type of each input, and all bound dimensions: `dims`, and those that `shapes` decide.

    Raises FrontendError where a shape or dimension is of nothing in the model, or contradicts it.
    """
    names = [text(value.name, "an input") for value in inputs]
    require_known(shapes, names, "shapes (--shape)", "inputs")
    declared: dict[str, TensorType] = {}
    bindings = dict(dims)
    symbols: set[str] = set()
    for name, value in zip(names, inputs, strict=True):
        type_ = declared_type(value)
        if type_ is not None:
            symbols |= {d.name for d in type_.shape if isinstance(d, Symbol)}
        if name in shapes:
            type_ = _with_shape(value, type_, shapes[name], bindings)
        if type_ is None:
            raise FrontendError(
                f"input {name!r} declares no shape; give it: shapes={{{name!r}: (...)}}, or --shape {name}=..."
            )
        declared[name] = type_
    require_known(dims, sorted(symbols), "dims (--dim)", "open dimensions")
    wrong = {name: extent for name, extent in bindings.items() if isinstance(extent, bool) or not extent > 0}
    if wrong:
        raise FrontendError(f"expected dimensions of one or more elements, found {wrong}")
    return {name: bound(type_, bindings) for name, type_ in declared.items()}, bindings


def _with_shape(
    value: onnx.ValueInfoProto, type_: TensorType | None, shape: Sequence[int], bindings: dict[str, int]
) -> TensorType:
    """The declared type with a given shape, whose extents bind the Symbols in their places."""
    if type_ is None:
        return TensorType.of(dtype_of(value.type.tensor_type.elem_type, repr(value.name)), shape)
    if len(shape) != type_.rank:
        raise FrontendError(f"input {value.name!r} has {type_.rank} dimensions, {type_}; found shape {list(shape)}")
    for axis, (declared, extent) in enumerate(zip(type_.shape, shape, strict=True)):
        known = bindings.setdefault(declared.name, extent) if isinstance(declared, Symbol) else declared
        if known != extent:
            where = f"input {value.name!r}: dimension {axis}"
            raise FrontendError(f"{where} is {known} in the model or dims, found {extent}")
    return TensorType.of(type_.dtype, shape)


def require_known(given: Iterable[str], known: Collection[str], what: str, kind: str) -> None:
    """Raises FrontendError where a name is given that the model has not, with those that it has and the closest."""
    unknown = [name for name in given if name not in known]
    if unknown:
        there = f"the model's {kind} are {', '.join(map(repr, known))}" if known else f"the model has no {kind}"
        raise FrontendError(f"{what} names {unknown[0]!r}; {there}{did_you_mean(unknown[0], known)}")
