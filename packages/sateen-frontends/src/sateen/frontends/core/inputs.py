"""Inputs of a model: their declared types, bound by the user's shapes, dimensions and constants."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from math import prod

import numpy as np

from sateen.graph_ir.ir import Array, Dim, Symbol, TensorType
from sateen.runtime.display import did_you_mean, shortened
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir.ir import int_range

_SEPARATORS = re.compile("[/;.:]")
_CLOSE = 0.8
"""How close a part of a name has to be, as `difflib` measures."""
MOST_LISTED = 16
"""The most names of a model that an error lists."""
MOST_ARGUMENTS = 250
"""The most inputs and outputs of a model or of a node: what users name one by one."""


def require_few_arguments(inputs: int, outputs: int) -> None:
    """Raises FrontendError for a model of more inputs and outputs than `MOST_ARGUMENTS`."""
    if inputs + outputs > MOST_ARGUMENTS:
        found = f"{inputs} and {outputs}"
        raise FrontendError(f"expected at most {MOST_ARGUMENTS} inputs and outputs of a model, found {found}")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A file's declaration of an input; `shape` is None if the number of dimensions is unknown. With `is_usual` the
    shape is what the file was made for, such as a batch of training, and the user's takes its place. `example` is one
    of the shapes that an input with open dimensions may have, if the file tells one."""

    name: str
    dtype: DType
    shape: tuple[Dim, ...] | None
    is_usual: bool = False
    example: tuple[int, ...] | None = None

    @property
    def type(self) -> TensorType | None:
        return None if self.shape is None else TensorType.of(self.dtype, self.shape)


def open_shape(name: str, extents: Sequence[int | None]) -> tuple[Dim, ...]:
    """The shape of an input, whose unknown extents are Symbols called `name.axis`."""
    return tuple(Symbol(f"{name}.{axis}") if extent is None else extent for axis, extent in enumerate(extents))


@dataclass(frozen=True, slots=True)
class Bindings:
    """The user's settings for a model: shapes of inputs, extents of dimensions that the model names, and inputs that
    are constants, each an array or, for a scalar, a number.

    `inputs` and `outputs` are inner values at which the network is cut: it begins and ends there. Other inputs of the
    model stay if the outputs need them.
    """

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, Array | float] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()


def require_inputs(inputs: Collection[str], values: Collection[str], bindings: Bindings) -> None:
    """Raises FrontendError if the user gives a shape to a value of the model that is no input of the network that is
    read, and says how it would be one, or that it is cut off."""
    inner = next((name for name in bindings.shapes if name not in inputs and name in values), None)
    if inner is not None:
        listed = ", ".join(repr(shortened(name)) for name in islice(inputs, MOST_LISTED))
        is_cut = bool(bindings.inputs or bindings.outputs)
        network = "the part that is read" if is_cut else "the network"
        remedy = "leave its shape out, or begin" if is_cut else "begin"
        raise FrontendError(
            f"shapes (--shape) names {inner!r}, a value of the model, but no input of {network}, whose inputs are "
            f"{listed}; {remedy} there: inputs=[{inner!r}], or --from {inner}"
        )


def input_types(
    inputs: Sequence[Declaration], shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]
) -> tuple[dict[str, TensorType], dict[str, int]]:
    """The type of each input, and all bound dimensions: `dims`, and those that `shapes` decide.

    Raises FrontendError if a shape or dimension does not exist in the model, or contradicts it.
    """
    require_known(shapes, [given.name for given in inputs], "shapes (--shape)", "inputs")
    _require_shapes([given for given in inputs if given.shape is None and given.name not in shapes])
    for name, shape in shapes.items():
        if isinstance(shape, str) or not all(_is_extent(extent) for extent in shape):
            raise FrontendError(f"input {name!r}: expected a shape of whole numbers of 0 or more, found {shape!r:.80}")
    declared: dict[str, TensorType] = {}
    bindings = dict(dims)
    symbols: set[str] = set()
    for given in inputs:
        name, type_ = given.name, given.type
        if type_ is not None:
            symbols |= {d.name for d in type_.shape if isinstance(d, Symbol)}
        if name in shapes:
            type_ = _with_shape(given, shapes[name], bindings)
        if type_ is not None:
            declared[name] = type_
    require_known(dims, sorted(symbols), "dims (--dim)", "open dimensions")
    wrong = {name: extent for name, extent in bindings.items() if not _is_extent(extent) or extent == 0}
    if wrong:
        raise FrontendError(f"expected dimensions of one or more elements, found {wrong}")
    return {name: bound(type_, bindings) for name, type_ in declared.items()}, bindings


def _require_shapes(unknown: Sequence[Declaration]) -> None:
    """Raises FrontendError if there are inputs of unknown shape, naming all. Not even their rank is known."""
    if unknown:
        first = unknown[0].name
        listed = ", ".join(f"{shortened(given.name)!r} ({given.dtype})" for given in unknown[:MOST_LISTED])
        more = f" and {len(unknown) - MOST_LISTED} more" if len(unknown) > MOST_LISTED else ""
        raise FrontendError(
            f"{'inputs' if len(unknown) > 1 else 'input'} {listed}{more}: the model declares no shape; give sizes of "
            f"all dimensions: shapes={{{first!r}: (...)}}, or --shape {first}=...x..."
        )


def _is_extent(extent: object) -> bool:
    return isinstance(extent, int | np.integer) and not isinstance(extent, bool) and bool(extent >= 0)


def bound(type_: TensorType, dims: Mapping[str, int]) -> TensorType:
    """The type with numbers for the Symbols that `dims` names."""
    return type_.bind(dims)


def _with_shape(given: Declaration, shape: Sequence[int], bindings: dict[str, int]) -> TensorType:
    """The declared type with a given shape, whose extents bind the Symbols at their positions."""
    type_ = given.type
    if type_ is None or given.is_usual:
        return TensorType.of(given.dtype, shape)
    if len(shape) != type_.rank:
        raise FrontendError(f"input {given.name!r} has {type_.rank} dimensions, {type_}; found shape {list(shape)}")
    for axis, (declared, extent) in enumerate(zip(type_.shape, shape, strict=True)):
        known = bindings.setdefault(declared.name, extent) if isinstance(declared, Symbol) else declared
        if known != extent:
            where = f"input {given.name!r}: dimension {axis}"
            raise FrontendError(f"{where} is {known} in the model or dims, found {extent}")
    return TensorType.of(type_.dtype, shape)


def require_known(given: Iterable[str], known: Collection[str], what: str, kind: str) -> None:
    """Raises FrontendError for a name that the model does not have; the error lists known names and the closest."""
    unknown = [name for name in given if name not in known]
    if unknown:
        listed = ", ".join(repr(shortened(name)) for name in islice(known, MOST_LISTED))
        more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
        there = f"the model's {kind} are {listed}{more}" if known else f"the model has no {kind}"
        raise FrontendError(f"{what} names {unknown[0]!r}; {there}{_closest(unknown[0], known)}")


def _closest(found: str, known: Collection[str]) -> str:
    """The end of the message: the closest names. If there are none, the last of those with a close part between / ; .
    and :, since names may be long paths, of which users know a layer."""
    last = {part: name for name in known for part in _SEPARATORS.split(name)}
    parts = get_close_matches(found, last, n=1, cutoff=_CLOSE)
    return did_you_mean(found, known) or "".join(f"; did you mean {shortened(last[part])}?" for part in parts)


def constant_input(name: str, given: Array | float, type_: TensorType) -> Array:
    """The data of an input that is a constant; a scalar may be that of any type of one element. Raises FrontendError if
    it does not have the input's type."""
    data = _data_of(name, given, type_.dtype)
    if data.ndim == 0 and type_.is_static and prod(type_.static_shape) == 1:
        data = data.reshape(type_.static_shape)
    fits = len(data.shape) == type_.rank and all(
        not isinstance(d, int) or d == extent for d, extent in zip(type_.shape, data.shape, strict=True)
    )
    if DType.of(data.dtype) != type_.dtype or not fits:
        raise FrontendError(f"constant {name!r}: expected {type_}, found {DType.of(data.dtype)}{list(data.shape)}")
    return data


def _data_of(name: str, given: Array | float, dtype: DType) -> Array:
    """The given value as an array. A Python number, which has no width, gets the wanted type if that can represent
    it."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return np.asarray(given)
    try:
        wide = np.array(float(given))
    except OverflowError:
        raise FrontendError(f"constant {name!r}: expected {dtype}, found an integer beyond float64") from None
    if dtype.is_float:
        with np.errstate(over="ignore"):
            data = wide.astype(dtype.numpy)
        return data if np.isinf(data) == np.isinf(wide) else wide
    least, most = int_range(dtype) if dtype.is_int else (0, -1)
    is_held = isinstance(given, int) and least <= given <= most
    return np.array(given, dtype.numpy if is_held else None)
