"""Diagonals and triangles of matrices."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.slices import part
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value


def _diagonal(node: TorchNode) -> Operand:
    """A diagonal of two axes, which becomes the last axis."""
    data = node.tensor("self")
    rank, offset = data.type.rank, node.integer("offset", 0)
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", 0), ("dim2", 1)))
    return node.result(ops.Identity(), diagonal(node, data, first, second, offset))


def _matrix_diagonal(node: TorchNode) -> Operand:
    """linalg_diagonal: of the last two axes by default."""
    data = node.tensor("A")
    rank = data.type.rank
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", -2), ("dim2", -1)))
    return node.result(ops.Identity(), diagonal(node, data, first, second, node.integer("offset", 0)))


def diagonal(node: TorchNode, data: Value, first: int, second: int, offset: int) -> Value:
    """A diagonal, every (columns + 1)-th element of both axes as one."""
    rank = data.type.rank
    others = [axis for axis in range(rank) if axis not in (first, second)]
    rows, columns = static_extents([data.type.shape[first], data.type.shape[second]], "a matrix with a diagonal")
    kept = [data.type.shape[axis] for axis in others]
    moved = node.step(ops.Transpose(permutation=(*others, first, second)), data)
    flat = node.reshaped(moved, (*kept, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    end = min(start + (count - 1) * (columns + 1) + 1, rows * columns) if count else min(start, rows * columns)
    return part(node, flat, flat.type.rank - 1, min(start, rows * columns), end, columns + 1)


def _triangle(upper: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        return node.result(ops.Trilu(upper=upper, k=node.integer("diagonal", 0)), node.tensor("self"))

    return convert


def _put_diagonal(node: TorchNode) -> Operand:
    """diagonal_scatter: a copy with `src` on a diagonal of two axes."""
    data, source = node.tensor("self"), node.tensor("src")
    rank, offset = data.type.rank, node.integer("offset", 0)
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", 0), ("dim2", 1)))
    rows, columns = static_extents([data.type.shape[first], data.type.shape[second]], "a matrix with a diagonal")
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    node.require_table(count, 2)
    steps = np.arange(count)
    places = np.stack([steps - min(offset, 0), steps + max(offset, 0)], -1)
    order = (first, second, *(d for d in range(rank) if d not in (first, second)))
    moved = node.step(ops.Transpose(permutation=order), data)
    updates = node.step(ops.Transpose(permutation=(rank - 2, *range(rank - 2))), source)
    found = node.step(ops.ScatterND(), moved, node.parameter(places, "places"), updates)
    return node.result(ops.Transpose(permutation=tuple(order.index(d) for d in range(rank))), found)


def _diagonal_matrix(node: TorchNode) -> Operand:
    """diag_embed, and diag of a vector: a matrix with the last axis on a diagonal."""
    data = node.tensor("self")
    offset = node.integer("offset", 0) if node.gives("offset") else node.integer("diagonal", 0)
    rank = data.type.rank + 1
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", -2), ("dim2", -1)))
    if (first, second) != (rank - 2, rank - 1):
        raise UnsupportedError("a diagonal of other axes than the last ones is not supported")
    (count,) = static_extents(data.type.shape[-1:], "a diagonal")
    size = count + abs(offset)
    node.require_table(size, size)
    places = np.full((size, size), count)
    steps = np.arange(count)
    places[steps - min(offset, 0), steps + max(offset, 0)] = steps
    zeros = (0,) * data.type.rank
    padded = node.step(ops.Pad(pads=(*zeros, *zeros[:-1], 1)), data)
    return node.result(ops.Gather(axis=data.type.rank - 1), padded, node.parameter(places, "places"))


def _diag(node: TorchNode) -> Operand:
    if node.type("self").rank == 1:
        return _diagonal_matrix(node)
    raise UnsupportedError("diag of a matrix is a view of it", "write diagonal")


DIAGONALS: dict[str, Converter] = {
    "diag": _diag,
    "diag_embed": _diagonal_matrix,
    "diagonal": _diagonal,
    "diagonal_copy": _diagonal,
    "diagonal_scatter": _put_diagonal,
    "linalg_diagonal": _matrix_diagonal,
    "tril": _triangle(upper=False),
    "triu": _triangle(upper=True),
}
