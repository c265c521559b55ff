"""Matrix products."""

from __future__ import annotations

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import MatMul, Transpose
from sateen.runtime.errors import FrontendError


def operand_of_product(node: TensorflowNode, index: int, is_transposed: bool) -> Value:
    """Input `index`, its last two axes exchanged if asked for."""
    value = node.value(index)
    if value.type.rank < 2:
        raise FrontendError(f"expected matrices, found {value.type} as {node.described(index)}")
    if not is_transposed:
        return value
    rank = value.type.rank
    return node.step(Transpose(permutation=(*range(rank - 2), rank - 1, rank - 2)), value)


def _product(first: str, second: str) -> Converter:
    """A product; the attributes of these names say which of both is transposed."""

    def convert(node: TensorflowNode) -> Operand:
        if any(node.flag(name) for name in ("a_is_sparse", "b_is_sparse")) and node.dtype(0) != node.dtype(1):
            raise UnsupportedError("products of matrices of two types are not supported")
        a, b = operand_of_product(node, 0, node.flag(first)), operand_of_product(node, 1, node.flag(second))
        return node.result(MatMul(), a, b)

    return convert


PRODUCTS: dict[str, Converter] = {
    "BatchMatMul": _product("adj_x", "adj_y"),
    "BatchMatMulV2": _product("adj_x", "adj_y"),
    "BatchMatMulV3": _product("adj_x", "adj_y"),
    "Einsum": lambda node: node.result(*einsum(node, node.text("equation"), node.values())),
    "MatMul": _product("transpose_a", "transpose_b"),
    "SparseMatMul": _product("transpose_a", "transpose_b"),
}
