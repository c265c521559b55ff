"""Matrix products, and sums of products over named axes."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.operands import Operand, normal_axes, normal_axis
from sateen.frontends.torch.converters.diagonals import diagonal
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import common_dtype
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import product


def linear(node: TorchNode, data: Value, weight: Value) -> Value:
    """data · weightᵀ."""
    return node.step(ops.MatMul(), data, node.step(ops.Transpose(permutation=(1, 0)), weight))


def _linear(node: TorchNode) -> Operand:
    """input · weightᵀ + bias; input and weight may be vectors."""
    data, weight, bias = node.tensor("input"), node.tensor("weight"), node.optional("bias")
    shape = data.type.shape
    rows = data if len(shape) > 1 else node.reshaped(data, (1, *shape))
    matrix = weight if weight.type.rank > 1 else node.reshaped(weight, (1, *weight.type.shape))
    found = linear(node, rows, matrix)
    wanted = (*shape[:-1], *weight.type.shape[:-1])
    if found.type.shape != wanted:
        found = node.reshaped(found, wanted)
    return node.result(ops.Identity(), found) if bias is None else node.result(ops.Add(), found, bias)


def _matmul(node: TorchNode) -> Operand:
    """Vectors count as a row on the left and as a column on the right, whose axis the result lacks."""
    name = next((name for name in ("other", "mat2", "vec2", "vec", "tensor") if node.gives(name)), "other")
    left, right = node.tensor("self"), node.tensor(name)
    a = left if left.type.rank > 1 else node.reshaped(left, (1, *left.type.shape))
    b = right if right.type.rank > 1 else node.reshaped(right, (*right.type.shape, 1))
    if left.type.rank > 1 and right.type.rank > 1:
        return node.result(ops.MatMul(), a, b)
    found = node.step(ops.MatMul(), a, b)
    shape = list(found.type.shape)
    kept = shape[:-2] + shape[-2:-1] * (left.type.rank > 1) + shape[-1:] * (right.type.rank > 1)
    return node.result(ops.Reshape(shape=tuple(kept)), found)


def _inner(node: TorchNode) -> Operand:
    """Sums over the last axes of both."""
    a, b = node.tensor("self"), node.tensor("other")
    if not a.type.rank or not b.type.rank:
        return node.result(ops.Multiply(), a, b)
    depth = a.type.shape[-1]
    one, other = (node.reshaped(v, (product(v.type.shape[:-1]), depth)) for v in (a, b))
    return node.result(ops.Reshape(shape=(*a.type.shape[:-1], *b.type.shape[:-1])), linear(node, one, other))


def _weighted(node: TorchNode, found: Value, added: Value) -> Operand:
    """beta·added + alpha·found; beta of 0 leaves `added` out, even if it is NaN."""
    dtype = found.type.dtype
    alpha, beta = node.number("alpha", 1), node.number("beta", 1)
    if alpha != 1:
        found = node.step(ops.Multiply(), found, node.literal(alpha, dtype))
    if beta == 0:
        return node.result(ops.BroadcastTo(shape=found.type.shape), found)
    if beta != 1:
        added = node.step(ops.Multiply(), added, node.literal(beta, dtype))
    return node.result(ops.Add(), found, added)


def _added_product(left: str, right: str) -> Converter:
    """addmm, baddbmm: self plus a product."""

    def convert(node: TorchNode) -> Operand:
        return _weighted(node, node.step(ops.MatMul(), node.tensor(left), node.tensor(right)), node.tensor("self"))

    return convert


def _added_vector(node: TorchNode) -> Operand:
    """addmv: self + mat · vec."""
    matrix, vector = node.tensor("mat"), node.tensor("vec")
    found = node.step(ops.MatMul(), matrix, node.reshaped(vector, (*vector.type.shape, 1)))
    return _weighted(node, node.reshaped(found, matrix.type.shape[:1]), node.tensor("self"))


def _outer(node: TorchNode, name: str) -> Value:
    one, other = node.tensor("self" if name == "vec2" and not node.gives("vec1") else "vec1"), node.tensor(name)
    dtype = common_dtype([one.type, other.type])
    column = node.reshaped(node.cast(one, dtype), (*one.type.shape, 1))
    return node.step(ops.Multiply(), column, node.cast(other, dtype))


def _outer_product(node: TorchNode) -> Operand:
    return node.result(ops.Identity(), _outer(node, "vec2"))


def _added_outer(node: TorchNode) -> Operand:
    """addr: self + vec1 ⊗ vec2."""
    return _weighted(node, _outer(node, "vec2"), node.tensor("self"))


def _added_batches(node: TorchNode) -> Operand:
    """addbmm: self plus the sum of products of a batch."""
    products = node.step(ops.MatMul(), node.tensor("batch1"), node.tensor("batch2"))
    return _weighted(node, node.step(ops.ReduceSum(axes=(0,), keepdims=False), products), node.tensor("self"))


def _einsum(node: TorchNode) -> Operand:
    if node.argument("path") not in (None, ()):
        node.ignore("path")  # the order of products, which gives the same sums
    return node.result(*einsum(node, node.text("equation"), node.tensors("tensors")))


def _tensordot(node: TorchNode) -> Operand:
    """Sums over pairs of axes."""
    left, right = node.tensor("self"), node.tensor("other")
    a = [normal_axis(axis, left.type.rank) for axis in node.integers("dims_self", ())]
    b = [normal_axis(axis, right.type.rank) for axis in node.integers("dims_other", ())]
    if len(a) != len(b):
        raise FrontendError(f"expected as many axes of both, found {a} and {b}")
    unequal = [(i, j) for i, j in zip(a, b, strict=True) if left.type.shape[i] != right.type.shape[j]]
    if unequal:  # one of both has an extent of 1, and counts for all elements of the other
        left, right = (
            node.step(ops.ReduceSum(axes=axes), value)
            for value, axes in ((left, tuple(i for i, _ in unequal)), (right, tuple(j for _, j in unequal)))
        )
    rows = [axis for axis in range(left.type.rank) if axis not in a]
    columns = [axis for axis in range(right.type.rank) if axis not in b]
    one = node.step(ops.Transpose(permutation=(*rows, *a)), left)
    other = node.step(ops.Transpose(permutation=(*b, *columns)), right)
    row_extents, column_extents = one.type.shape[: len(rows)], other.type.shape[len(b) :]
    depth = product(one.type.shape[len(rows) :])
    found = node.step(
        ops.MatMul(),
        node.reshaped(one, (product(row_extents), depth)),
        node.reshaped(other, (depth, product(column_extents))),
    )
    return node.result(ops.Reshape(shape=(*row_extents, *column_extents)), found)


def _bilinear(node: TorchNode) -> Operand:
    """Σ a_i·weight[o, i, j]·b_j + bias."""
    a, b, weight, bias = node.tensor("input1"), node.tensor("input2"), node.tensor("weight"), node.optional("bias")
    *batch, left = a.type.shape
    outputs, _, right = weight.type.shape
    rows = node.reshaped(a, (product(batch), 1, 1, left))
    columns = node.reshaped(b, (product(batch), 1, right, 1))
    found = node.step(ops.MatMul(), node.step(ops.MatMul(), rows, weight), columns)
    flat = node.reshaped(found, (*batch, outputs))
    return node.result(ops.Identity(), flat) if bias is None else node.result(ops.Add(), flat, bias)


def _trilinear(node: TorchNode) -> Operand:
    """The core form of bilinear: the product of three tensors, each with new axes, summed over `sumdim`."""
    node.ignore("unroll_dim")  # which concerns the order of work
    spread = [node.integers(f"expand{i}") for i in (1, 2, 3)]
    values = [node.tensor(f"i{i}") for i in (1, 2, 3)]
    rank = values[0].type.rank + len(spread[0])
    letters = ascii_lowercase[:rank]
    summed = normal_axes(node.integers("sumdim"), rank)
    terms = ["".join(a for axis, a in enumerate(letters) if axis not in normal_axes(given, rank)) for given in spread]
    result = "".join(a for axis, a in enumerate(letters) if axis not in summed)
    return node.result(*einsum(node, f"{','.join(terms)}->{result}", values))


def _dot_along(node: TorchNode) -> Operand:
    """linalg_vecdot: sums of products along an axis."""
    a, b = node.tensor("x"), node.tensor("y")
    found = node.step(ops.Multiply(), a, b)
    return node.result(ops.ReduceSum(axes=(node.one_axis(found.type.rank, default=-1),), keepdims=False), found)


def _cross(node: TorchNode) -> Operand:
    """linalg_cross: along an axis of extent 3."""
    a, b = node.tensor("self"), node.tensor("other")
    shape = broadcast_shape(a.type.shape, b.type.shape)
    axis = node.one_axis(len(shape), default=-1)
    first, second = node.parameter(np.array([1, 2, 0]), "next"), node.parameter(np.array([2, 0, 1]), "last")
    a, b = node.broadcast(a, shape), node.broadcast(b, shape)
    one, other = (
        node.step(ops.Multiply(), node.step(ops.Gather(axis=axis), a, i), node.step(ops.Gather(axis=axis), b, j))
        for i, j in ((first, second), (second, first))
    )
    return node.result(ops.Subtract(), one, other)


def _trace(node: TorchNode) -> Operand:
    found = diagonal(node, node.tensor("self"), 0, 1, 0)
    return node.result(ops.ReduceSum(axes=(0,), keepdims=False), found)


def _kron(node: TorchNode) -> Operand:
    """The Kronecker product: each element of the one times all of the other."""
    a, b = node.tensor("self"), node.tensor("other")
    dtype = common_dtype([a.type, b.type])
    rank = max(a.type.rank, b.type.rank)
    one, other = ((1,) * (rank - v.type.rank) + v.type.shape for v in (a, b))
    left = node.reshaped(node.cast(a, dtype), [d for extent in one for d in (extent, 1)])
    right = node.reshaped(node.cast(b, dtype), [d for extent in other for d in (1, extent)])
    found = node.step(ops.Multiply(), left, right)
    return node.result(ops.Reshape(shape=tuple(m * n for m, n in zip(one, other, strict=True))), found)


def _chain(node: TorchNode) -> Operand:
    """linalg_multi_dot: the product of matrices from left to right; the first and the last may be vectors."""
    values: Sequence[Value] = node.tensors("tensors")
    first, last = values[0], values[-1]
    total = first if first.type.rank > 1 else node.reshaped(first, (1, *first.type.shape))
    for value in values[1:]:
        matrix = value if value.type.rank > 1 else node.reshaped(value, (*value.type.shape, 1))
        total = node.step(ops.MatMul(), total, matrix)
    shape = list(total.type.shape)
    return node.result(
        ops.Reshape(shape=tuple(shape[:1] * (first.type.rank > 1) + shape[1:] * (last.type.rank > 1))), total
    )


PRODUCTS: dict[str, Converter] = {
    "_trilinear": _trilinear,
    "addbmm": _added_batches,
    "addmm": _added_product("mat1", "mat2"),
    "addmv": _added_vector,
    "addr": _added_outer,
    "baddbmm": _added_product("batch1", "batch2"),
    "bilinear": _bilinear,
    "bmm": _matmul,
    "det": lambda node: node.result(ops.Det(), node.tensor("A" if node.gives("A") else "self")),
    "dot": _matmul,
    "einsum": _einsum,
    "ger": _outer_product,
    "inner": _inner,
    "kron": _kron,
    "linalg_cross": _cross,
    "linalg_det": lambda node: node.result(ops.Det(), node.tensor("A")),
    "linalg_matmul": _matmul,
    "linalg_multi_dot": _chain,
    "linalg_vecdot": _dot_along,
    "linear": _linear,
    "matmul": _matmul,
    "mm": _matmul,
    "mv": _matmul,
    "outer": _outer_product,
    "tensordot": _tensordot,
    "trace": _trace,
    "vdot": _matmul,
}
