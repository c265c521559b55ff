"""Arithmetic, comparisons and logic on two operands, of which one may be a number.

Comparisons and logic give 0 and 1 in the type of their operands.
"""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.broadcast import folded
from sateen.frontends.core.elementary import hypotenuse
from sateen.frontends.core.operands import Operand
from sateen.frontends.mxnet.description import OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator

Combination = Callable[[MxnetNode, Value, Value], Operand]


def _plain(op: Operator) -> Combination:
    return lambda node, a, b: node.result(op, a, b)


def _comparison(op: Operator) -> Combination:
    return lambda node, a, b: node.result(ops.Cast(dtype=a.type.dtype), node.step(op, a, b))


def _logic(op: Operator) -> Combination:
    def combine(node: MxnetNode, a: Value, b: Value) -> Operand:
        truths = (node.cast(value, DType.of("bool")) for value in (a, b))
        return node.result(ops.Cast(dtype=a.type.dtype), node.step(op, *truths))

    return combine


def _modulo(node: MxnetNode, a: Value, b: Value) -> Operand:
    """The remainder with the sign of the divisor, and 0 for a divisor of 0 (mod of src/operator/mshadow_op.h)."""
    is_zero = node.step(ops.Equal(), b, node.like(0, b))
    one = node.step(ops.Where(), is_zero, node.like(1, b), b)
    rest = node.step(ops.Modulo(), a, one)
    return node.result(ops.Where(), is_zero, node.like(0, a), rest)


_COMBINATIONS: dict[str, Combination] = {
    "add": _plain(ops.Add()),
    "sub": _plain(ops.Subtract()),
    "mul": _plain(ops.Multiply()),
    "div": _plain(ops.Divide()),
    "mod": _modulo,
    "power": _plain(ops.Power()),
    "maximum": _plain(ops.Maximum()),
    "minimum": _plain(ops.Minimum()),
    "hypot": hypotenuse,
    "equal": _comparison(ops.Equal()),
    "not_equal": _comparison(ops.NotEqual()),
    "greater": _comparison(ops.Greater()),
    "greater_equal": _comparison(ops.GreaterEqual()),
    "lesser": _comparison(ops.Less()),
    "lesser_equal": _comparison(ops.LessEqual()),
    "logical_and": _logic(ops.And()),
    "logical_or": _logic(ops.Or()),
    "logical_xor": _logic(ops.Xor()),
}
"""By the names that the operators share."""


def _binary(combine: Combination) -> OperatorDescription:
    return operator(lambda node: combine(node, node.value(0), node.value(1)), "lhs rhs")


def _scalar(combine: Combination) -> OperatorDescription:
    """With a number on the right, which is cut to the type of the data."""
    return operator(
        lambda node: combine(node, node.value(0), node.like(node.number("scalar"), node.value(0))), scalar=1.0
    )


def _reversed_scalar(combine: Combination) -> OperatorDescription:
    """With a number on the left."""
    return operator(
        lambda node: combine(node, node.like(node.number("scalar"), node.value(0)), node.value(0)), scalar=1.0
    )


def _sum(node: MxnetNode) -> Operand:
    return folded(node, ops.Add(), node.values())


def _where(node: MxnetNode) -> Operand:
    """A condition of one dimension chooses rows."""
    condition, x, y = node.values()
    if condition.type.rank == 1 and x.type.rank > 1:
        condition = node.reshaped(condition, (*condition.type.shape, *[1] * (x.type.rank - 1)))
    return node.result(ops.Where(), node.cast(condition, DType.of("bool")), x, y)


_OWN_SCALAR_NAMES = {"add": "plus", "sub": "minus"}
_ELEMENT_WISE_NAMES = {name: f"elemwise_{name}" for name in ("add", "sub", "mul", "div")}

BROADCAST = {
    **{f"broadcast_{name}": _binary(combine) for name, combine in _COMBINATIONS.items()},
    **{_ELEMENT_WISE_NAMES.get(name, f"_{name}"): _binary(combine) for name, combine in _COMBINATIONS.items()},
    **{f"_{_OWN_SCALAR_NAMES.get(name, name)}_scalar": _scalar(combine) for name, combine in _COMBINATIONS.items()},
    **{
        f"_r{_OWN_SCALAR_NAMES.get(name, name)}_scalar": _reversed_scalar(_COMBINATIONS[name])
        for name in ("sub", "div", "mod", "power")
    },
    "_grad_add": operator(_sum, "lhs rhs"),
    "add_n": operator(_sum),
    "where": operator(_where, "condition x y"),
}
