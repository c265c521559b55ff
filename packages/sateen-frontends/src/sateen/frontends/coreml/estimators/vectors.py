"""Regression by support vectors, as libsvm has it (SVM.proto)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.coreml.estimators.node import FLOAT, Converter, EstimatorNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError


def _support(node: EstimatorNode, width: int) -> Array:
    """The support vectors as rows; sparse ones count elements from 1."""
    kind = node.parameters.WhichOneof("supportVectors")
    if kind is None:
        raise FrontendError("expected support vectors, found none")
    vectors = getattr(node.parameters, kind).vectors
    require_few(len(vectors), width)
    rows = np.zeros((len(vectors), width), np.float32)
    for row, vector in zip(rows, vectors, strict=True):
        if kind == "denseSupportVectors":
            if len(vector.values) != width:
                raise FrontendError(f"expected support vectors of {width} elements, found {len(vector.values)}")
            row[:] = vector.values
            continue
        for element in vector.nodes:
            if not 1 <= element.index <= width:
                raise FrontendError(f"expected elements 1 to {width} of a support vector, found {element.index}")
            row[element.index - 1] = element.value
    return rows


def _kernel(node: EstimatorNode, data: Value) -> Value:
    """The kernel of the features with each support vector: [1, vectors]."""
    (width,) = static_extents(data.type.shape[1:], "the features")
    support, kernel = _support(node, width), node.parameters.kernel
    if not len(support):
        raise FrontendError("expected support vectors, found none")
    kind = kernel.WhichOneof("kernel")
    if kind == "rbfKernel":
        apart = node.step(ops.Subtract(), data, node.float_parameter(support, "support"))
        distance = node.step(ops.ReduceSumSquare(axes=(1,), keepdims=False), apart)
        row = node.step(ops.Reshape((1, len(support))), distance)
        return node.step(ops.Exp(), node.step(ops.Multiply(), row, node.literal(-kernel.rbfKernel.gamma, FLOAT)))
    product = node.step(ops.MatMul(), data, node.float_parameter(np.ascontiguousarray(support.T), "support"))
    if kind == "linearKernel":
        return product
    if kind not in ("polyKernel", "sigmoidKernel"):
        raise FrontendError("expected a kernel, found none")
    given = getattr(kernel, kind)
    scaled = node.step(ops.Multiply(), product, node.literal(given.gamma, FLOAT))
    moved = node.step(ops.Add(), scaled, node.literal(given.c, FLOAT))
    if kind == "sigmoidKernel":
        return node.step(ops.Tanh(), moved)
    return node.step(ops.Power(), moved, node.literal(given.degree, FLOAT))


def _decision(node: EstimatorNode, alpha: Sequence[float], rho: float) -> Value:
    """Σ alpha · kernel - rho: [1, 1]."""
    kernel = _kernel(node, node.row())
    if kernel.type.shape[1] != len(alpha):
        raise FrontendError(f"expected a coefficient for each of {kernel.type.shape[1]} vectors, found {len(alpha)}")
    column = node.float_parameter(np.array(alpha).reshape(-1, 1), "coefficients")
    return node.step(ops.Subtract(), node.step(ops.MatMul(), kernel, column), node.literal(rho, FLOAT))


def _regressor(node: EstimatorNode) -> Operand:
    return node.vector(_decision(node, node.parameters.coefficients.alpha, node.parameters.rho))


VECTORS: Mapping[str, Converter] = {"supportVectorRegressor": _regressor}
