"""Products with matrices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator


def _inner_product(node: LayerNode) -> Operand:
    """Of rows of the last axis; of a blob with four or more axes, of all elements of an image, which give channels."""
    given, shape = node.parameters, node.shape(0)
    _require_known_weights(node)
    is_image = len(shape) >= 4
    leading = shape[:-3] if is_image else shape[:-1]
    result: tuple[Dim, ...] = (*leading, given.outputChannels, *(1, 1) * is_image)
    weight = np.ascontiguousarray(node.weights("weights", (given.outputChannels, given.inputChannels)).T)
    bias = node.weight("bias", (given.outputChannels,)) if given.hasBias else None
    return _rows_times(node, weight, bias, product(leading), result)


def _rows_times(
    node: LayerNode, weight: np.ndarray, bias: Value | None, count: Dim, result: tuple[Dim, ...]
) -> Operand:
    """The input as `count` rows, times a weight, in the shape of the result."""
    rows = node.step(ops.Reshape((count, weight.shape[0])), node.value(0))
    steps: list[tuple[Operator, Value]] = [(ops.MatMul(), node.parameter(weight, "weights"))]
    if bias is not None:
        steps.append((ops.Add(), bias))
    if result == (count, weight.shape[1]):
        for op, operand in steps[:-1]:
            rows = node.step(op, rows, operand)
        return node.result(steps[-1][0], rows, steps[-1][1])
    for op, operand in steps:
        rows = node.step(op, rows, operand)
    return node.result(ops.Reshape(result), rows)


def _require_known_weights(node: LayerNode) -> None:
    if node.parameters.int8DynamicQuantize:
        raise UnsupportedError(
            "a product whose input is quantised at run time is not supported",
            "convert the model without int8_dynamic_quantize",
        )


def _batched_product(node: LayerNode) -> Operand:
    """Of two blobs, or of one and a matrix, whose data is stored by columns."""
    given = node.parameters
    if len(node.inputs) > 1:
        return _product_of_two(node)
    _require_known_weights(node)
    rows, columns = given.weightMatrixFirstDimension, given.weightMatrixSecondDimension
    weight = np.ascontiguousarray(node.weights("weights", (columns, rows)).T)
    bias = node.weight("bias", (columns,)) if given.hasBias else None
    leading = node.shape(0)[:-1]
    return _rows_times(node, weight, bias, product(leading), (*leading, columns))


def _product_of_two(node: LayerNode) -> Operand:
    """A vector is a row on the left and a column on the right."""
    a = _as_matrix(node, 0, node.parameters.transposeA, row=True)
    b = _as_matrix(node, 1, node.parameters.transposeB, row=False)
    return node.result(ops.MatMul(), a, b)


def _as_matrix(node: LayerNode, index: int, transposes: bool, *, row: bool) -> Value:
    value, rank = node.value(index), node.rank(index)
    if rank == 0:
        raise FrontendError(f"expected a blob with axes, found {node.operand_text(index)}")
    if rank == 1:
        extent = value.type.shape[0]
        return node.step(ops.Reshape((1, extent) if row else (extent, 1)), value)
    order = (*range(rank - 2), rank - 1, rank - 2)
    return node.step(ops.Transpose(order), value) if transposes else value


PRODUCTS: Mapping[str, Converter] = {
    "batchedMatmul": _batched_product,
    "innerProduct": _inner_product,
}
