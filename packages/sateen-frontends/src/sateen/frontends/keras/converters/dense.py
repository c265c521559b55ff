"""Products with weights: Dense, EinsumDense, Embedding."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.keras.converters.activations import finished
from sateen.frontends.keras.converters.quantized import dense_of_bytes, rows_of_bytes
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Cast, Equal, Gather, MatMul, Not
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _dense(node: KerasNode) -> Operand:
    """Over the last axis, whatever comes before it."""
    if node.is_quantised:
        return dense_of_bytes(node)
    data, kernel = node.value(0), node.weight("kernel", 2)
    if not node.flag("use_bias"):
        return finished(node, MatMul(), data, kernel)
    return finished(node, Add(), node.step(MatMul(), data, kernel), node.weight("bias", 1))


def _einsum_dense(node: KerasNode) -> Operand:
    product = einsum(node, node.text("equation"), [node.value(0), node.weight("kernel")])
    if not node.has_weight("bias"):
        return finished(node, *product)
    return finished(node, Add(), node.step(*product), node.weight("bias"))


def _embedding(node: KerasNode) -> tuple[Operand, ...]:
    """Rows of the table; indices that are numbers of floating point lose their fraction. With mask_zero index 0 is
    false in the mask (keras/src/layers/core/embedding.py)."""
    indices = node.raw(0)
    if indices.type.dtype.is_float:
        indices = node.step(Cast(DType.of("int32")), indices)
    elif not indices.type.dtype.is_int:
        raise FrontendError(f"expected indices, found {indices.type}")
    if node.is_quantised:
        rows = rows_of_bytes(node, indices)
    else:
        rows = node.result(Gather(axis=0), node.weight("embeddings", 2), indices)
    return (rows, *_mask_of(node, indices)) if node.layer.config.get("mask_zero") else (rows,)


def _mask_of(node: KerasNode, indices: Value) -> tuple[Operand]:
    zero = node.literal(0, indices.type.dtype)
    return (node.result(Not(), node.step(Equal(), indices, zero), output=1),)


DENSE: Mapping[str, Converter[KerasNode]] = {
    "Dense": _dense,
    "EinsumDense": _einsum_dense,
    "Embedding": _embedding,
}
