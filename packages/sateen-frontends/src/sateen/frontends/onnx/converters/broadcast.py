"""Operators of two or more inputs that broadcast against each other, and matrix products with a bias."""

from __future__ import annotations

from collections.abc import Callable

from sateen.frontends.core.broadcast import aligned, folded, mean
from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Det, MatMul, Reshape, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _binary(make: Callable[[OnnxNode], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.value(0), _aligned(node))


def _aligned(node: OnnxNode) -> Value:
    """The second input. Up to opset 6 it lines up with the first from `axis` on, where `broadcast` says so."""
    second = node.value(1)
    if not node.knows("broadcast"):
        return second
    rank, inner = node.rank(0), second.type.rank
    if not node.flag("broadcast"):
        if node.shape(0) != node.shape(1):
            raise FrontendError(
                f"expected inputs of one shape without broadcast=1, found {list(node.shape(0))}, {list(node.shape(1))}"
            )
        return second
    given = node.attribute("axis")
    axis = rank - inner if given is None else normal_axis(given, max(rank, 1))
    return aligned(node, second, axis, rank)


def _folded(op: Operator) -> Converter:
    return lambda node: folded(node, op, node.values())


def _parametric_relu(node: OnnxNode) -> Operand:
    """The slope belongs to the channels, axis 1, up to opset 6; later it broadcasts."""
    data, slope = node.value(0), node.value(1)
    if node.version < 7 and slope.type.rank == 1 and data.type.rank > 2 and slope.type.shape != (1,):
        slope = node.step(Reshape(shape=(*node.shape(1), *(1,) * (data.type.rank - 2))), slope)
    return node.result(ops.PRelu(), data, slope)


def _determinant(node: OnnxNode) -> Operand:
    return node.result(Det(), node.value(0))


def _matrix_product(node: OnnxNode) -> Operand:
    """A vector counts as a matrix of one row on the left, of one column on the right, that the result leaves out."""
    left, right = node.value(0), node.value(1)
    if min(left.type.rank, right.type.rank) > 1:
        return node.result(MatMul(), left, right)
    if 0 in {left.type.rank, right.type.rank}:
        raise FrontendError(f"expected vectors, matrices or stacks of them, found {left.type} and {right.type}")
    row, column = left.type.rank == 1, right.type.rank == 1
    if row:
        left = node.step(Reshape(shape=(1, *node.shape(0))), left)
    if column:
        right = node.step(Reshape(shape=(*node.shape(1), 1)), right)
    product = node.step(MatMul(), left, right)
    *stack, rows, columns = product.type.shape
    kept = [*stack, *[rows] * (not row), *[columns] * (not column)]
    return node.result(Reshape(shape=tuple(kept)), product)


def _gemm(node: OnnxNode) -> Operand:
    """alpha * A' * B' + beta * C."""
    left, right = node.value(0), node.value(1)
    if left.type.rank != 2 or right.type.rank != 2:
        raise FrontendError(f"expected matrices, found {left.type} and {right.type}")
    dtype = left.type.dtype
    if node.flag("transA"):
        left = node.step(Transpose(permutation=(1, 0)), left)
    if node.flag("transB"):
        right = node.step(Transpose(permutation=(1, 0)), right)
    steps: list[tuple[Operator, Value]] = []
    if node.number("alpha") != 1:
        steps.append((ops.Multiply(), node.literal(node.number("alpha"), dtype)))
    if node.has(2) and node.number("beta") != 0:
        bias = node.value(2)
        if node.number("beta") != 1:
            bias = node.step(ops.Multiply(), bias, node.literal(node.number("beta"), dtype))
        steps.append((ops.Add(), bias))
    if not steps:
        return node.result(MatMul(), left, right)
    value = node.step(MatMul(), left, right)
    for op, operand in steps[:-1]:
        value = node.step(op, value, operand)
    return node.result(steps[-1][0], value, steps[-1][1])


BROADCAST: dict[str, Converter] = {
    "Add": _binary(lambda node: ops.Add()),
    "And": _binary(lambda node: ops.And()),
    "BitShift": _binary(lambda node: ops.BitShift(direction=node.text("direction").lower())),
    "BitwiseAnd": _binary(lambda node: ops.BitwiseAnd()),
    "BitwiseOr": _binary(lambda node: ops.BitwiseOr()),
    "BitwiseXor": _binary(lambda node: ops.BitwiseXor()),
    "Det": _determinant,
    "Div": _binary(lambda node: ops.Divide()),
    "Einsum": lambda node: node.result(*einsum(node, node.text("equation"), node.values())),
    "Equal": _binary(lambda node: ops.Equal()),
    "Gemm": _gemm,
    "Greater": _binary(lambda node: ops.Greater()),
    "GreaterOrEqual": _binary(lambda node: ops.GreaterEqual()),
    "Less": _binary(lambda node: ops.Less()),
    "LessOrEqual": _binary(lambda node: ops.LessEqual()),
    "MatMul": _matrix_product,
    "Max": _folded(ops.Maximum()),
    "Mean": lambda node: mean(node, node.values()),
    "Min": _folded(ops.Minimum()),
    "Mod": _binary(lambda node: ops.Modulo(fmod=node.flag("fmod"))),
    "Mul": _binary(lambda node: ops.Multiply()),
    "Or": _binary(lambda node: ops.Or()),
    "PRelu": _parametric_relu,
    "Pow": _binary(lambda node: ops.Power()),
    "Sub": _binary(lambda node: ops.Subtract()),
    "Sum": _folded(ops.Add()),
    "Where": lambda node: node.result(ops.Where(), node.value(0), node.value(1), node.value(2)),
    "Xor": _binary(lambda node: ops.Xor()),
}
