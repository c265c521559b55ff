"""Diagonals of matrices, which lie in the last two axes; of those that V2 and V3 name the main one alone."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.dimensions import listed

_LARGEST_MASK = 1 << 24
"""The most elements of a matrix of which importing marks the diagonal."""


def _triangles(node: TensorflowNode) -> Operand:
    """The central diagonals of matrices: as many below and above as the inputs say, all if negative."""
    below, above = int(node.scalar(1)), int(node.scalar(2))
    kept = [ops.Trilu(upper=True, k=-below)] * (below >= 0) + [ops.Trilu(upper=False, k=above)] * (above >= 0)
    value = node.value(0)
    for op in kept:
        value = node.step(op, value)
    return value


def _require_main_diagonal(node: TensorflowNode, first: int) -> None:
    """Raises UnsupportedError if inputs of V2 and V3, from `first` on, ask for more than the main diagonal."""
    for index, usual in zip(range(first, len(node.inputs)), (0, -1, -1, 0), strict=False):
        found = node.constant(index)
        if (found != usual).any():
            raise UnsupportedError(f"other diagonals than the main one are not supported, nor pads: {found.tolist()}")


def _diagonal_mask(node: TensorflowNode, rows: int, columns: int) -> Value:
    if rows * columns > _LARGEST_MASK:
        raise UnsupportedError(f"diagonals of matrices of {rows} x {columns} are not supported")
    return node.parameter(np.eye(rows, columns, dtype=bool), "diagonal")


def _diagonal_matrix(node: TensorflowNode) -> Operand:
    if node.operator not in {"MatrixDiag", "Diag"}:
        _require_main_diagonal(node, 1)
    shape = node.shape(0)
    if not shape or (node.operator == "Diag" and len(shape) > 1):
        raise UnsupportedError(f"a diagonal of shape {listed(shape)} is not supported")
    (extent,) = static_extents(shape[-1:], node.described(0))
    column = node.step(ops.Reshape(shape=(*shape, 1)), node.value(0))
    zero = node.literal(0, node.dtype(0))
    return node.result(ops.Where(), _diagonal_mask(node, extent, extent), column, zero)


def _diagonal(node: TensorflowNode) -> Operand:
    """The main diagonal of matrices."""
    if node.operator not in {"MatrixDiagPart", "DiagPart"} and (node.constant(1).any() or node.constant(2).any()):
        raise UnsupportedError("diagonals other than the main one are not supported")
    *stack, rows, columns = node.shape(0)
    if node.operator == "DiagPart" and stack:
        raise UnsupportedError("a diagonal of more than two axes is not supported")
    height, width = static_extents([rows, columns], node.described(0))
    side = min(height, width)
    flat = node.step(ops.Reshape(shape=(*stack, height * width)), node.value(0))
    ends, steps = (*stack, (side - 1) * (width + 1) + 1 if side else 0), (*(1 for _ in stack), width + 1)
    return node.result(ops.Slice(starts=(0,) * len(ends), ends=ends, steps=steps), flat)


def _with_diagonal(node: TensorflowNode) -> Operand:
    if node.operator != "MatrixSetDiag" and node.constant(2).any():
        raise UnsupportedError("diagonals other than the main one are not supported")
    *_, rows, columns = node.static_shape(0)
    shape = node.shape(1)
    diagonal = node.value(1)
    if rows <= columns:
        diagonal = node.step(ops.Reshape(shape=(*shape, 1)), diagonal)
    else:
        diagonal = node.step(ops.Reshape(shape=(*shape[:-1], 1, shape[-1])), diagonal)
    return node.result(ops.Where(), _diagonal_mask(node, rows, columns), diagonal, node.value(0))


DIAGONALS: dict[str, Converter] = {
    "Diag": _diagonal_matrix,
    "DiagPart": _diagonal,
    "MatrixBandPart": _triangles,
    "MatrixDiag": _diagonal_matrix,
    "MatrixDiagPart": _diagonal,
    "MatrixDiagPartV2": _diagonal,
    "MatrixDiagPartV3": _diagonal,
    "MatrixDiagV2": _diagonal_matrix,
    "MatrixDiagV3": _diagonal_matrix,
    "MatrixSetDiag": _with_diagonal,
    "MatrixSetDiagV2": _with_diagonal,
    "MatrixSetDiagV3": _with_diagonal,
}
