"""Products of matrices, dense layers, and the products of attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _dense(node: MxnetNode) -> Operand:
    """data · weightᵀ + bias, with all axes of data but the first as one unless flatten is false."""
    data, weight = node.value(0), node.value(1)
    units = node.integer("num_hidden")
    shape = data.type.shape
    *outer, inner = (shape[0], product(shape[1:])) if node.flag("flatten") else shape
    if weight.type.shape != (units, inner):
        raise FrontendError(f"expected a weight of [{units}, {inner}], found {list(weight.type.shape)}")
    rows = node.reshaped(data, (*outer, inner) if len(outer) else (1, inner))
    columns = node.transposed(weight, 1, 0)
    if node.flag("no_bias"):
        return node.result(ops.MatMul(), rows, columns)
    bias = node.value(2)
    if bias.type.shape != (units,):
        raise FrontendError(f"expected a bias of [{units}], found {list(bias.type.shape)}")
    return node.result(ops.Add(), node.step(ops.MatMul(), rows, columns), bias)


def _last_two_swapped(node: MxnetNode, value: Value) -> Value:
    rank = value.type.rank
    return node.transposed(value, *range(rank - 2), rank - 1, rank - 2)


def _batch_dot(node: MxnetNode) -> Operand:
    left, right = node.values()
    if node.flag("transpose_a"):
        left = _last_two_swapped(node, left)
    if node.flag("transpose_b"):
        right = _last_two_swapped(node, right)
    return node.result(ops.MatMul(), left, right)


def _dot(node: MxnetNode) -> Operand:
    """Over the last axis of the first and the first of the second operand; the first and last if transposed
    (src/operator/tensor/dot-inl.h). Two vectors give one element."""
    left, right = node.values()
    over_first, over_last = node.flag("transpose_a"), node.flag("transpose_b")
    *outer, inner = left.type.shape if not over_first else (*left.type.shape[1:], left.type.shape[0])
    length, *others = right.type.shape if not over_last else (right.type.shape[-1], *right.type.shape[:-1])
    if inner != length:
        raise FrontendError(f"expected operands that share an extent, found {left.type} and {right.type}")
    rows, columns = product(tuple(outer)), product(tuple(others))
    left = node.reshaped(left, (inner, rows) if over_first else (rows, inner))
    right = node.reshaped(right, (columns, inner) if over_last else (inner, columns))
    left = node.transposed(left, 1, 0) if over_first else left
    right = node.transposed(right, 1, 0) if over_last else right
    result: tuple[Dim, ...] = (*outer, *others) or (1,)
    if result == (rows, columns):
        return node.result(ops.MatMul(), left, right)
    return node.result(ops.Reshape(shape=result), node.step(ops.MatMul(), left, right))


def _gemm(node: MxnetNode) -> Operand:
    """alpha · A · B + beta · C over the last two axes; gemm2 has no C."""
    if node.integer("axis") != -2:
        raise UnsupportedError("matrices along other axes than the last two are not supported", "transpose them before")
    left, right = node.value(0), node.value(1)
    left = _last_two_swapped(node, left) if node.flag("transpose_a") else left
    right = _last_two_swapped(node, right) if node.flag("transpose_b") else right
    alpha = node.like(node.number("alpha"), left)
    if node.operator == "_linalg_gemm2":
        if node.number("alpha") == 1:
            return node.result(ops.MatMul(), left, right)
        return node.result(ops.Multiply(), node.step(ops.MatMul(), left, right), alpha)
    scaled = node.step(ops.Multiply(), node.step(ops.MatMul(), left, right), alpha)
    other = node.step(ops.Multiply(), node.value(2), node.like(node.number("beta"), left))
    return node.result(ops.Add(), scaled, other)


def _syrk(node: MxnetNode) -> Operand:
    """alpha · A · Aᵀ, or alpha · Aᵀ · A."""
    left = node.value(0)
    right = _last_two_swapped(node, left)
    if node.flag("transpose"):
        left, right = right, left
    alpha = node.like(node.number("alpha"), left)
    return node.result(ops.Multiply(), node.step(ops.MatMul(), left, right), alpha)


def _heads(node: MxnetNode, data: Value, parts: int) -> list[Value]:
    """The parts (queries, keys, values) interleaved in [time, batch, heads·parts·size], each [batch·heads, time, size]
    (src/operator/contrib/transformer.cc)."""
    time, batch, width = data.type.shape
    heads = node.integer("heads")
    if not isinstance(width, int) or heads < 1 or width % (heads * parts):
        raise FrontendError(f"expected {parts} parts of {heads} heads in the last axis, found {data.type}")
    size = width // (heads * parts)
    apart = node.reshaped(data, (time, batch * heads, parts, size))
    moved = node.transposed(apart, 1, 0, 2, 3)
    if parts == 1:
        return [node.reshaped(moved, (batch * heads, time, size))]
    pieces = node.steps(ops.Split(axis=2, sizes=(1,) * parts), moved, count=parts)
    return [node.reshaped(piece, (batch * heads, time, size)) for piece in pieces]


def _scores(node: MxnetNode, queries: Value, keys: Value) -> Operand:
    """queries · keysᵀ / sqrt(size of a head)."""
    scale = node.literal(queries.type.static_shape[-1] ** -0.5, queries.type.dtype)
    scaled = node.step(ops.Multiply(), queries, scale)
    return node.result(ops.MatMul(), scaled, node.transposed(keys, 0, 2, 1))


def _attended(node: MxnetNode, values: Value, batch: Dim) -> Operand:
    """attention · values as [time, batch, heads·size]."""
    product_ = node.step(ops.MatMul(), node.value(1), values)
    _, time, size = product_.type.shape
    moved = node.transposed(product_, 1, 0, 2)
    return node.result(ops.Reshape(shape=(time, batch, node.integer("heads") * size)), moved)


def _self_scores(node: MxnetNode) -> Operand:
    queries, keys, _ = _heads(node, node.value(0), 3)
    return _scores(node, queries, keys)


def _self_attended(node: MxnetNode) -> Operand:
    *_, values = _heads(node, node.value(0), 3)
    return _attended(node, values, node.shape(0)[1])


def _cross_scores(node: MxnetNode) -> Operand:
    (queries,) = _heads(node, node.value(0), 1)
    keys, _ = _heads(node, node.value(1), 2)
    return _scores(node, queries, keys)


def _cross_attended(node: MxnetNode) -> Operand:
    _, values = _heads(node, node.value(0), 2)
    return _attended(node, values, node.shape(0)[1])


_GEMM: Mapping[str, Any] = {"transpose_a": False, "transpose_b": False, "alpha": 1.0, "axis": -2}
_DOT: Mapping[str, Any] = {"transpose_a": False, "transpose_b": False, "forward_stype": None}

PRODUCTS = {
    "FullyConnected": operator(_dense, "data weight bias", num_hidden=REQUIRED, no_bias=False, flatten=True),
    "_contrib_interleaved_matmul_encdec_qk": operator(_cross_scores, "queries keys_values", heads=REQUIRED),
    "_contrib_interleaved_matmul_encdec_valatt": operator(_cross_attended, "keys_values attention", heads=REQUIRED),
    "_contrib_interleaved_matmul_selfatt_qk": operator(_self_scores, "queries_keys_values", heads=REQUIRED),
    "_contrib_interleaved_matmul_selfatt_valatt": operator(
        _self_attended, "queries_keys_values attention", heads=REQUIRED
    ),
    "_linalg_gemm": operator(_gemm, "A B C", **_GEMM, beta=1.0),
    "_linalg_gemm2": operator(_gemm, "A B", **_GEMM),
    "_linalg_syrk": operator(_syrk, "A", transpose=False, alpha=1.0),
    "batch_dot": operator(_batch_dot, "lhs rhs", **_DOT),
    "dot": operator(_dot, "lhs rhs", **_DOT),
}
