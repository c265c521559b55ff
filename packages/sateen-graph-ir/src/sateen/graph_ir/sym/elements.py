"""Functions of elements: of one input, of two that broadcast, of one and a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import (
    Abs,
    Add,
    And,
    BitShift,
    BroadcastTo,
    Cast,
    Ceil,
    Clip,
    Divide,
    Equal,
    Exp,
    Floor,
    Greater,
    GreaterEqual,
    Identity,
    LeakyRelu,
    Less,
    LessEqual,
    Log,
    Maximum,
    Minimum,
    Modulo,
    Multiply,
    Negative,
    Not,
    NotEqual,
    Or,
    Power,
    Relu,
    Reshape,
    Round,
    Sigmoid,
    Sqrt,
    Subtract,
    Tanh,
    Trunc,
    Where,
)
from sateen.graph_ir.sym.function import Function, Site
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator


def _unary(name: str, op: Operator) -> Function:
    def apply(at: Site, data: Value) -> Value:
        return at.result(op, data)

    apply.__doc__ = type(op).__doc__
    return Function(apply, name)


def _binary(name: str, op: Operator) -> Function:
    def apply(at: Site, lhs: Value, rhs: Value) -> Value:
        return at.result(op, lhs, rhs)

    apply.__doc__ = type(op).__doc__
    return Function(apply, name)


def _comparison(name: str, op: Operator) -> Function:
    """1 where it holds and 0 elsewhere, in the type of the operands."""

    def apply(at: Site, lhs: Value, rhs: Value) -> Value:
        return at.result(Cast(lhs.type.dtype), at.step(op, lhs, rhs))

    apply.__doc__ = type(op).__doc__
    return Function(apply, name)


def _with_scalar(name: str, op: Operator, *, swapped: bool = False, compares: bool = False) -> Function:
    def apply(at: Site, data: Value, *, scalar: float) -> Value:
        number = at.scalar(scalar, data)
        operands = (number, data) if swapped else (data, number)
        return at.result(Cast(data.type.dtype), at.step(op, *operands)) if compares else at.result(op, *operands)

    apply.__doc__ = f"{type(op).__doc__} One operand is a number."
    return Function(apply, name)


def _truth(at: Site, value: Value) -> Value:
    return value if value.type.dtype.is_bool else at.step(NotEqual(), value, at.scalar(0, value))


def _logical(name: str, op: Operator) -> Function:
    """1 where it holds and 0 elsewhere, in the type of the first operand; numbers other than 0 hold."""

    def apply(at: Site, lhs: Value, rhs: Value) -> Value:
        return at.result(Cast(lhs.type.dtype), at.step(op, _truth(at, lhs), _truth(at, rhs)))

    apply.__doc__ = type(op).__doc__
    return Function(apply, name)


@Function
def logical_not(at: Site, data: Value) -> Value:
    """1 where the data is 0, and 0 elsewhere."""
    return at.result(Cast(data.type.dtype), at.step(Not(), _truth(at, data)))


@Function
def elemwise_sum(at: Site, *args: Value, num_args: int = 0) -> Value:
    """The sum of all inputs."""
    if num_args not in (0, len(args)):
        raise ArgumentError(f"{at.name}: expected {num_args} inputs, found {len(args)}")
    *first, last = args
    if not first:
        return at.result(Identity(), last)
    total: Callable[[Value, Value], Value] = lambda a, b: at.step(Add(), a, b)  # noqa: E731 - for reduce alone
    return at.result(Add(), reduce(total, first), last)


@Function
def leaky_relu(at: Site, data: Value, *, alpha: float = 0.25) -> Value:
    """x, or alpha·x below 0."""
    return at.result(LeakyRelu(alpha), data)


@Function
def clip(at: Site, data: Value, *, a_min: float, a_max: float) -> Value:
    """x limited to [a_min, a_max]."""
    return at.result(Clip(a_min, a_max), data)


@Function
def cast(at: Site, data: Value, *, dtype: str) -> Value:
    """x in another type."""
    return at.result(Cast(DType.of(dtype)), data)


@Function
def where(at: Site, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition is not 0, else y; a condition of one axis chooses along the first one."""
    holds = _truth(at, condition)
    if holds.type.rank == 1 and x.type.rank > 1:
        holds = at.step(Reshape((holds.type.shape[0], *(1,) * (x.type.rank - 1))), holds)
    return at.result(Where(), holds, x, y)


def _filled(name: str, number: float) -> Function:
    def apply(at: Site, *, shape: tuple[int, ...], dtype: str = "float32") -> Value:
        return _constant(at, number, shape, dtype)

    apply.__doc__ = f"A tensor of {number}."
    return Function(apply, name)


def _filled_like(name: str, number: float) -> Function:
    def apply(at: Site, data: Value) -> Value:
        return _constant(at, number, data.type.shape, str(data.type.dtype))

    apply.__doc__ = f"A tensor of {number}, of the shape and type of the data."
    return Function(apply, name)


@Function
def full(at: Site, *, shape: tuple[int, ...], fill_value: float, dtype: str = "float32") -> Value:
    """A tensor of one number."""
    return _constant(at, fill_value, shape, dtype)


@Function
def full_like(at: Site, data: Value, *, fill_value: float) -> Value:
    """A tensor of one number, of the shape and type of the data."""
    return _constant(at, fill_value, data.type.shape, str(data.type.dtype))


def _constant(at: Site, number: float, shape: Sequence[Dim], dtype: str) -> Value:
    element = at.constant(np.full((1,) * len(shape), number, DType.of(dtype).numpy), "element")
    return at.result(BroadcastTo(tuple(shape)), element)


_ARITHMETIC = {"add": Add(), "sub": Subtract(), "mul": Multiply(), "div": Divide(), "mod": Modulo(), "pow": Power()}
_COMPARISONS = {
    "greater": Greater(), "less": Less(), "equal": Equal(), "not_equal": NotEqual(), "greater_equal": GreaterEqual(),
    "less_equal": LessEqual(),
}  # fmt: skip
_SHIFTS = {"left_shift": BitShift("left"), "right_shift": BitShift("right")}
_UNARY = {
    "relu": Relu(), "tanh": Tanh(), "sigmoid": Sigmoid(), "exp": Exp(), "log": Log(), "sqrt": Sqrt(),
    "copy": Identity(), "block_grad": Identity(), "negative": Negative(), "floor": Floor(), "ceil": Ceil(),
    "round": Round(), "trunc": Trunc(), "abs": Abs(),
}  # fmt: skip
_SCALAR = {"add": Add(), "sub": Subtract(), "mul": Multiply(), "div": Divide(), "pow": Power()}

FUNCTIONS = (
    *(_unary(name, op) for name, op in _UNARY.items()),
    *(_binary(f"elemwise_{name}", op) for name, op in _ARITHMETIC.items()),
    *(_binary(f"broadcast_{name}", op) for name, op in (_ARITHMETIC | _SHIFTS).items()),
    *(_binary(f"broadcast_{name}", op) for name, op in (("max", Maximum()), ("min", Minimum()))),
    *(_comparison(f"broadcast_{name}", op) for name, op in _COMPARISONS.items()),
    *(_comparison(name, _COMPARISONS[name]) for name in ("greater", "less")),
    *(_with_scalar(f"__{name}_scalar__", op) for name, op in _SCALAR.items()),
    *(_with_scalar(f"__r{name}_scalar__", _SCALAR[name], swapped=True) for name in ("sub", "div", "pow")),
    *(_with_scalar(f"__{name[0]}shift_scalar__", op) for name, op in _SHIFTS.items()),
    *(_with_scalar(f"__{name}_scalar__", op, compares=True) for name, op in _COMPARISONS.items()),
    *(_logical(f"logical_{name}", op) for name, op in (("and", And()), ("or", Or()))),
    _filled("ones", 1), _filled("zeros", 0), _filled_like("ones_like", 1), _filled_like("zeros_like", 0),
    logical_not, elemwise_sum, leaky_relu, clip, cast, where, full, full_like,
)  # fmt: skip
"""The functions of this file."""
