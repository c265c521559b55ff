"""Deformable convolutions: the elements under a kernel, moved by offsets, times the weight as a matrix."""

from __future__ import annotations

from math import prod

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import static_extents
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, MatMul, Reshape


def deformable_product(node: ModelNode, columns: Value, weight: Value, groups: int, bias: Value | None) -> Value:
    """The node's result [N, outputs, …] of the results [N, C, kernel…, …] of DeformableColumns, a weight
    [outputs, C / groups, kernel…] and perhaps a bias [outputs]."""
    outputs, *terms = static_extents(weight.type.shape, "a weight")
    batch, *extents = static_extents(columns.type.shape, "a deformable convolution")
    positions = extents[len(terms) :]
    right = node.step(Reshape((batch, groups, prod(terms), prod(positions))), columns)
    left = node.step(Reshape((1, groups, outputs // groups, prod(terms))), weight)
    found, shape = node.step(MatMul(), left, right), Reshape((batch, outputs, *positions))
    if bias is None:
        return node.result(shape, found)
    return node.result(Add(), node.step(shape, found), node.step(Reshape((outputs, *[1] * len(positions))), bias))
