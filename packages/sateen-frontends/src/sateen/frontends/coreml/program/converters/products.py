"""Products with matrices, einsum, and attention."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _linear(node: OperationNode) -> Operand:
    """x · weightᵀ + bias, of rows of the last axis."""
    x, weight = node.take("x"), node.take("weight")
    if weight.type.rank != 2 or x.type.rank < 1:
        raise FrontendError(f"expected x with axes and a weight of 2 dimensions, found {x.type} and {weight.type}")
    *leading, _ = x.type.shape
    columns, rows = weight.type.shape
    turned = node.step(ops.Transpose((1, 0)), weight)
    flat = x if x.type.rank == 2 else node.step(ops.Reshape((product(leading), rows)), x)
    bias = node.take_optional("bias")
    if x.type.rank == 2:
        if bias is None:
            return node.result(ops.MatMul(), flat, turned)
        return node.result(ops.Add(), node.step(ops.MatMul(), flat, turned), bias)
    made = node.step(ops.MatMul(), flat, turned)
    if bias is not None:
        made = node.step(ops.Add(), made, bias)
    return node.result(ops.Reshape((*leading, columns)), made)


def _swapped(node: OperationNode, value: Value) -> Value:
    rank = value.type.rank
    return node.step(ops.Transpose((*range(rank - 2), rank - 1, rank - 2)), value)


def _product(node: OperationNode) -> Operand:
    """As numpy.matmul: a vector is a row on the left or a column on the right, whose axis of 1 is left out."""
    x, y = node.take("x"), node.take("y")
    dropped = []
    if x.type.rank == 1:
        x = node.step(ops.Reshape((1, *x.type.shape)), x)
        dropped.append(-2)
    elif node.flag("transpose_x"):
        x = _swapped(node, x)
    if y.type.rank == 1:
        y = node.step(ops.Reshape((*y.type.shape, 1)), y)
        dropped.append(-1)
    elif node.flag("transpose_y"):
        y = _swapped(node, y)
    if not dropped:
        return node.result(ops.MatMul(), x, y)
    made = node.step(ops.MatMul(), x, y)
    rank = made.type.rank
    left = tuple(extent for axis, extent in enumerate(made.type.shape) if axis - rank not in dropped)
    return node.result(ops.Reshape(left), made)


def _einsum(node: OperationNode) -> Operand:
    """Sums over the letters that only the operands have: [batch, left, sum] · [batch, sum, right]."""
    equation = node.text("equation").replace(" ", "")
    terms, arrow, wanted = equation.partition("->")
    names = terms.split(",")
    values = node.take_all("values")
    plain = all(name.isalpha() and len(set(name)) == len(name) for name in (*names, wanted))
    if not arrow or len(names) != 2 or len(values) != 2 or not plain:
        raise UnsupportedError(f"expected an equation of two operands without repeated letters, found {equation!r}")
    for name, value in zip(names, values, strict=True):
        if len(name) != value.type.rank:
            raise FrontendError(f"equation {equation!r} has {len(name)} letters for {value.type}")
    a, b = names
    if set(wanted) - set(a + b) or any((letter in a) != (letter in b) and letter not in wanted for letter in a + b):
        raise UnsupportedError(f"equation {equation!r} sums over an axis of one operand alone")
    batch = [letter for letter in wanted if letter in a and letter in b]
    left = [letter for letter in wanted if letter in a and letter not in b]
    right = [letter for letter in wanted if letter in b and letter not in a]
    summed = [letter for letter in a if letter in b and letter not in wanted]
    first = _grouped(node, values[0], a, (batch, left, summed))
    second = _grouped(node, values[1], b, (batch, summed, right))
    made = node.step(ops.MatMul(), first, second)
    sizes = {
        name: n
        for names_, v in zip(names, values, strict=True)
        for name, n in zip(names_, v.type.shape, strict=True)
        if n != 1
    }
    order = [*batch, *left, *right]
    whole = node.step(ops.Reshape(tuple(sizes.get(letter, 1) for letter in order)), made)
    return node.result(ops.Transpose(tuple(order.index(letter) for letter in wanted)), whole)


def _grouped(node: OperationNode, value: Value, name: str, groups: tuple[list[str], list[str], list[str]]) -> Value:
    """A value with its axes in order, the batch by itself and the letters of other groups as one axis each."""
    batch, one, other = groups
    turned = node.step(ops.Transpose(tuple(name.index(letter) for letter in (*batch, *one, *other))), value)
    extents = dict(zip(name, value.type.shape, strict=True))
    shape = (
        *(extents[letter] for letter in batch),
        *(product(extents[letter] for letter in group) for group in (one, other)),
    )
    return node.step(ops.Reshape(shape), turned)


def _attention(node: OperationNode) -> Operand:
    """softmax(Q Kᵀ / √E + mask) V; a mask of bools excludes keys where it is false."""
    query, key, value = (node.take_of_rank(name, 2, 3, 4, 5) for name in ("query", "key", "value"))
    (features,) = static_extents(query.type.shape[-1:], "the embedding")
    scores = node.step(ops.MatMul(), query, _swapped(node, key))
    scaled = node.step(ops.Multiply(), scores, node.number_like(1 / sqrt(features), scores))
    mask = node.take_optional("attn_mask")
    if mask is not None and mask.type.dtype.is_bool:
        scaled = node.step(ops.Where(), mask, scaled, node.number_like(float("-inf"), scaled))
    elif mask is not None:
        scaled = node.step(ops.Add(), scaled, mask)
    weights = node.step(ops.Softmax(axis=scaled.type.rank - 1), scaled)
    return node.result(ops.MatMul(), weights, value)


PRODUCTS: Mapping[str, Converter] = {
    "einsum": _einsum,
    "linear": _linear,
    "matmul": defaulting(_product, transpose_x=False, transpose_y=False),
    "scaled_dot_product_attention": _attention,
}
