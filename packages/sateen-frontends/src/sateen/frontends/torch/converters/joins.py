"""Tensors as one: one after the other, or stacked."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import common_dtype
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.dimensions import product


def _joined(node: TorchNode) -> list[Value]:
    """Tensors in their common type."""
    values = node.tensors("tensors")
    dtype = common_dtype([v.type for v in values])
    return [node.cast(v, dtype) for v in values]


def _cat(node: TorchNode) -> Operand:
    """Empty vectors are left out, whatever the others' rank (legacy of torch.cat)."""
    values = _joined(node)
    rank = max(v.type.rank for v in values)
    kept = [v for v in values if v.type.shape != (0,) or rank == 1]
    return node.result(ops.Concat(axis=node.one_axis(rank, default=0)), *kept)


def _stack(node: TorchNode) -> Operand:
    values = _joined(node)
    shape = values[0].type.shape
    axis = normal_axis(node.integer("dim", 0), len(shape) + 1)
    return node.result(ops.Concat(axis=axis), *(node.reshaped(v, (*shape[:axis], 1, *shape[axis:])) for v in values))


def _stacked_at(axis: int, least: int) -> Converter:
    """hstack, vstack and dstack: tensors of at least so many axes one after the other."""

    def convert(node: TorchNode) -> Operand:
        values = []
        for value in _joined(node):
            shape = value.type.shape
            if least >= 2:
                shape = (1,) * (2 - len(shape)) + shape
                shape = shape + (1,) * (least - len(shape))
            else:
                shape = shape or (1,)
            values.append(node.reshaped(value, shape))
        return node.result(ops.Concat(axis=0 if axis == 1 and values[0].type.rank == 1 else axis), *values)

    return convert


def _column_stack(node: TorchNode) -> Operand:
    """Vectors are columns."""
    columns = [v if v.type.rank > 1 else node.reshaped(v, (product(v.type.shape), 1)) for v in _joined(node)]
    return node.result(ops.Concat(axis=1), *columns)


def _block_diagonal(node: TorchNode) -> Operand:
    """Matrices one after the other on the diagonal, zeros elsewhere; vectors are rows."""
    blocks = _joined(node)
    matrices = [node.reshaped(v, (*(1,) * (2 - v.type.rank), *v.type.shape)) for v in blocks]
    width = sum(static_extents([v.type.shape[1] for v in matrices], "a matrix on a diagonal"))
    rows, before = [], 0
    for matrix in matrices:
        columns = matrix.type.static_shape[1]
        rows.append(node.step(ops.Pad(pads=(0, before, 0, width - before - columns)), matrix))
        before += columns
    return node.result(ops.Concat(axis=0), *rows)


JOINS: dict[str, Converter] = {
    "block_diag": _block_diagonal,
    "cat": _cat,
    "column_stack": _column_stack,
    "concat": _cat,
    "concatenate": _cat,
    "dstack": _stacked_at(2, 3),
    "hstack": _stacked_at(1, 1),
    "stack": _stack,
    "vstack": _stacked_at(0, 2),
}
