"""Layers after `model.quantize("int8")`: kernels of bytes with a scale for each output, and inputs that are rounded to
bytes while the network runs.

Sources: `_int8_call` of keras/src/layers/core/dense.py and embedding.py, `abs_max_quantize` of
keras/src/quantizers/quantizers.py.
"""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.keras.converters.activations import finished
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Abs, Add, Cast, Clip, Divide, Gather, MatMul, Multiply, ReduceMax, Reshape, Round
from sateen.runtime.dtype import DType

_LARGEST = 127.0
"""Bytes reach from -127 to 127."""
_LEAST = 1e-7
"""`backend.epsilon()`, which is added to the largest magnitude."""


def dense_of_bytes(node: KerasNode) -> Operand:
    """x w / (scale of x · scale of w) over bytes; the products are summed as int32."""
    rows, scale = _as_bytes(node, node.value(0))
    product = node.step(Cast(node.dtype_of_layer), node.step(MatMul(), rows, node.weight_of_bytes("kernel", 2)))
    scales = node.step(Multiply(), node.weight("kernel_scale", 1), scale)
    if not node.flag("use_bias"):
        return finished(node, Divide(), product, scales)
    return finished(node, Add(), node.step(Divide(), product, scales), node.weight("bias", 1))


def _as_bytes(node: KerasNode, data: Value) -> tuple[Value, Value]:
    """Data rounded to -127 … 127, as int32, and 127 / (max |x| + 1e-7) along the last axis."""
    largest = node.step(ReduceMax(axes=(data.type.rank - 1,), keepdims=True), node.step(Abs(), data))
    bounded = node.step(Add(), largest, node.number_like(_LEAST))
    scale = node.step(Divide(), node.number_like(_LARGEST), bounded)
    rounded = node.step(Round(), node.step(Multiply(), data, scale))
    return node.step(Cast(DType.of("int32")), node.step(Clip(low=-_LARGEST, high=_LARGEST), rounded)), scale


def rows_of_bytes(node: KerasNode, indices: Value) -> Operand:
    """Rows of a table of bytes, each divided by its scale."""
    rows = node.step(Gather(axis=0), node.weight_of_bytes("embeddings", 2), indices)
    scales = node.step(Gather(axis=0), node.weight("embeddings_scale", 1), indices)
    apart = node.step(Reshape((*scales.type.shape, 1)), scales)
    return node.result(Divide(), node.step(Cast(node.dtype_of_layer), rows), apart)
