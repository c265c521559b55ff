"""Products of matrices, and rows of tables."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.converters.windows import bias_of
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import Add, Gather, MatMul, Reshape, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import divided, product


def _fully_connected(node: TfliteNode) -> Operand:
    """Weights are [units, features]; data is rows of features, whatever its shape, unless `keep_num_dims`."""
    if node.text("weights_format") != "DEFAULT":
        raise UnsupportedError(
            f"weights in the format {node.text('weights_format')} are not supported", "convert the model anew"
        )
    weight, data = node.real(1), node.real(0)
    if weight.type.rank != 2:
        raise FrontendError(f"expected weights [units, features], found {weight.type}")
    units, features = static_extents(weight.type.shape, "the weights")
    rows = _rows(data, features)
    kept = (*data.type.shape[:-1], units) if node.flag("keep_num_dims") else (rows, units)
    if data.type.shape != (rows, features):
        data = node.step(Reshape((rows, features)), data)
    product_ = MatMul(), data, node.step(Transpose((1, 0)), weight)
    steps = [(Add(), bias) for bias in bias_of(node, 2, data=0, weight=1)]
    if kept != (rows, units):
        op, *operands = product_
        value = node.step(op, *operands)
        for add, bias in steps:
            value = node.step(add, value, bias)
        return node.finish(Reshape(kept), value)
    if steps:
        ((add, bias),) = steps
        op, *operands = product_
        return node.finish(add, node.step(op, *operands), bias)
    return node.finish(*product_)


def _rows(data: Value, features: int) -> Dim:
    rows = divided(product(data.type.shape), features)
    if rows is None:
        raise FrontendError(f"expected rows of {features} elements, as the weights have, found {data.type}")
    return rows


def _matrix_product(node: TfliteNode) -> Operand:
    a, b = (_turned(node, node.real(i), node.flag(name)) for i, name in enumerate(("adj_x", "adj_y")))
    return node.finish(MatMul(), a, b)


def _turned(node: TfliteNode, value: Value, turned: bool) -> Value:
    rank = value.type.rank
    if rank < 2:
        raise FrontendError(f"expected matrices, found {value.type}")
    return node.step(Transpose((*range(rank - 2), rank - 1, rank - 2)), value) if turned else value


def _rows_of_table(node: TfliteNode) -> Operand:
    """Rows of the second input at the indices of the first. A quantised table may give real numbers."""
    table = node.value(1) if node.output_scaling() is not None else node.real(1)
    return node.result(Gather(0), table, node.value(0))


PRODUCTS: dict[str, Converter] = {
    "BATCH_MATMUL": _matrix_product,
    "EMBEDDING_LOOKUP": _rows_of_table,
    "FULLY_CONNECTED": _fully_connected,
}
