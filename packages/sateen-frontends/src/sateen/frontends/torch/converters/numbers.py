"""Numbers that a program computes, mostly of sizes: they are known, or dimensions.

Programs call Python's own operators (`_operator.mul`) and functions of torch (`torch.sym_max`) on them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil, floor, trunc
from typing import Any

import numpy as np

from sateen.frontends.core.operands import Operand, extents_array
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Argument, Reference
from sateen.graph_ir.ir import Array
from sateen.graph_ir.ops import Cast
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import Dimension, divided, product


def _size(node: TorchNode) -> Operand:
    """The extent of an axis."""
    shape = node.type("self").shape
    return _as_array(shape[node.one_axis(len(shape))])


def _count(node: TorchNode) -> Operand:
    return _as_array(product(node.type("self").shape))


def _stride(node: TorchNode) -> Operand:
    """How far apart elements of a contiguous tensor are along an axis."""
    shape = node.type("self").shape
    return _as_array(product(shape[node.one_axis(len(shape)) + 1 :]))


def _as_array(number: Any) -> Array:
    if isinstance(number, (bool, float)):
        return np.array(number)
    return extents_array([number]).reshape(())


def _of(function: Callable[..., Any]) -> Converter:
    """A function of Python on numbers; dimensions answer as far as they can."""

    def convert(node: TorchNode) -> Operand:
        numbers = [_number(node, argument) for argument in node.positional]
        for name, _ in node.node.arguments:
            node.ignore(name)
        try:
            return _as_array(function(*numbers))
        except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            if any(isinstance(number, Dimension) for number in numbers):
                raise UnsupportedError(
                    f"{node.operator} of dimensions is not supported", "bind them: dims={...}, or --dim NAME=..."
                ) from None
            raise FrontendError(f"{node.operator} of {numbers} has no result: {error}") from None

    return convert


def _number(node: TorchNode, argument: Argument) -> Any:
    if isinstance(argument, Reference):
        data = node.data(node.position(argument.name))
        if data.size != 1:
            raise FrontendError(f"expected a number, found {data.dtype}{list(data.shape)}")
        return data.reshape(-1).tolist()[0]
    if isinstance(argument, (bool, int, float)):
        return argument
    raise FrontendError(f"expected a number, found {type(argument).__name__}")


def _floor_quotient(a: Any, b: Any) -> Any:
    if isinstance(b, Dimension):
        found = divided(a, b)
        if found is None:
            raise TypeError
        return found
    return a // b


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, Dimension) or isinstance(b, Dimension):
        raise TypeError
    return a / b


def _checked(node: TorchNode) -> list[Operand]:
    """Assertions give nothing: what they ask of sizes holds wherever the network can be compiled."""
    node.ignore(*(name for name, _ in node.node.arguments))
    return []


def _item(node: TorchNode) -> Operand:
    """The element of a tensor as a number, in Python's precision."""
    value = node.reshaped(node.tensor("self"), ())
    wide = "bool" if value.type.dtype.is_bool else "float64" if value.type.dtype.is_float else "int64"
    return node.result(Cast(dtype=DType.of(wide)), value)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        f"_operator.{function.__name__.strip('_')}": function
        for function in (
            operator.add, operator.sub, operator.mul, operator.mod, operator.neg, operator.eq, operator.ne,
            operator.lt, operator.le, operator.gt, operator.ge, operator.pow,
        )
    },
    "_operator.floordiv": _floor_quotient,
    "_operator.truediv": _quotient,
    "_operator.and": lambda a, b: a & b,
    "_operator.and_": lambda a, b: a & b,
    "_operator.or_": lambda a, b: a | b,
    "_operator.pos": lambda a: a,
    "math.ceil": ceil,
    "math.floor": floor,
    "math.trunc": trunc,
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_ite": lambda condition, a, b: a if condition else b,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": lambda a: not a,
    "torch.sym_sum": lambda *given: sum(given),
}  # fmt: skip

NUMBERS: dict[str, Converter] = {
    **{name: _of(function) for name, function in _FUNCTIONS.items()},
    "_assert_async": _checked,
    "_assert_scalar": _checked,
    "_assert_tensor_metadata": _checked,
    "_local_scalar_dense": _item,
    "item": _item,
    "sym_constrain_range": _checked,
    "sym_constrain_range_for_size": _checked,
    "sym_numel": _count,
    "sym_size": _size,
    "sym_stride": _stride,
}
