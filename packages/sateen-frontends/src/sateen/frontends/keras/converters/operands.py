"""What functions are called with: tensors and numbers, in a common type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.operands import normal_axes
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Cast
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT32, INT32 = DType.of("float32"), DType.of("int32")


def tensors(node: KerasNode, *given: Any, as_float: bool = False) -> list[Value]:
    """Arguments as values of one type: that of the tensors, where floating point is stronger than integers, and these
    stronger than truth values; a number has the type of the tensors unless they lack its fraction
    (keras/src/backend/common/dtypes.py).

    Raises UnsupportedError for tensors of two types of one kind.
    """
    dtypes = {one.type.dtype for one in given if isinstance(one, Value)}
    dtypes |= {DType.of(one.dtype) for one in given if isinstance(one, np.ndarray)}
    found = _strongest(dtypes)
    fractions = any(isinstance(one, float) for one in given)
    if not found.is_float and (as_float or fractions):
        found = FLOAT32
    if found.is_bool and any(type(one) is int for one in given):
        found = INT32
    return [tensor(node, one, found) for one in given]


def _strongest(dtypes: set[DType]) -> DType:
    for is_kind in (lambda one: one.is_float, lambda one: one.is_int, lambda one: True):
        kind = {one for one in dtypes if is_kind(one)}
        if len(kind) == 1:
            return kind.pop()
        if kind:
            listed = ", ".join(sorted(map(str, kind)))
            raise UnsupportedError(f"tensors of several types ({listed}) are not supported", "cast them to one type")
    return FLOAT32


def tensor(node: KerasNode, given: Any, dtype: DType) -> Value:
    """A tensor, a number or data as a value of a type."""
    if isinstance(given, Value):
        return given if given.type.dtype == dtype else node.step(Cast(dtype), given)
    if isinstance(given, (bool, int, float)):
        return node.literal(given, dtype)
    try:
        return node.parameter(np.asarray(given, dtype.numpy), "constant")
    except (TypeError, ValueError, OverflowError):
        raise FrontendError(f"expected a tensor or numbers, found {given!r}") from None


def axes_of(given: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order: None stands for all of them."""
    axes = range(rank) if given is None else [given] if isinstance(given, int) else given
    return normal_axes(integers(axes, "axes"), rank)


def integers(given: Any, what: str) -> tuple[int, ...]:
    """Integers that are data of the file."""
    values = given.tolist() if isinstance(given, np.ndarray) else given
    values = [values] if type(values) is int else values
    if not isinstance(values, Sequence | range) or not all(type(one) is int for one in values):
        raise FrontendError(f"expected integers as {what}, found {given!r}")
    return tuple(values)


def integer(given: Any, what: str) -> int:
    """An integer that is data of the file."""
    if type(given) is not int:
        raise FrontendError(f"expected an integer as {what}, found {given!r}")
    return given
