"""Functions of keras.ops that sum products: of matrices, and by letters.

Sources: keras/src/ops/numpy.py and keras/src/backend/tensorflow/numpy.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.elementwise import both
from sateen.frontends.keras.converters.operands import tensors
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError


def _einsum(node: KerasNode) -> Operand:
    equation = node.setting("subscripts", None)
    if not isinstance(equation, str):
        raise FrontendError(f"expected subscripts, found {equation!r}")
    return node.result(*einsum(node, equation, tensors(node, *(node.raw(i) for i in range(node.input_count)))))


def _matmul(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if min(left.type.rank, right.type.rank) < 2:
        raise UnsupportedError("a product with a vector is not supported", "make it a matrix")
    return node.result(ops.MatMul(), left, right)


PRODUCTS: Mapping[str, Converter[KerasNode]] = {
    "ops.Einsum": _einsum,
    "ops.Matmul": _matmul,
}
