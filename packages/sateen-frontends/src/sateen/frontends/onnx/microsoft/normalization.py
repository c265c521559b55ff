"""Normalisations with what is added before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand, require_few
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.converters.normalization import rms_normalization
from sateen.frontends.onnx.microsoft.activations import with_bias
from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    Cast,
    Equal,
    Gather,
    GroupNormalization,
    LayerNormalization,
    Multiply,
    ReduceSum,
    RmsNormalization,
    Sigmoid,
)
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_SUM = 3
"""The output of SkipLayerNormalization that is the sum before the normalisation."""


def _simplified(node: OnnxNode) -> Operand:
    if any(node.outputs[1:]):
        raise UnsupportedError("the inverse of the standard deviation is not supported", "drop the second output")
    return rms_normalization(node)


def _skipped(node: OnnxNode, *bias: int) -> Value:
    """The sum that is normalised; it is an output, too, where the model asks for it."""
    if any(node.outputs[1:_SUM]):
        raise UnsupportedError("mean and deviation are not supported", "drop these outputs")
    present = [index for index in (1, *bias) if node.has(index)]
    total = with_bias(node, *present[:-1])
    return (
        node.result(Add(), total, node.value(present[-1]), output=_SUM)
        if _wants_sum(node)
        else with_bias(node, *present)
    )


def _wants_sum(node: OnnxNode) -> bool:
    return len(node.outputs) > _SUM and bool(node.outputs[_SUM])


def _outputs(node: OnnxNode, normal: Value, total: Value) -> Sequence[Operand]:
    return (normal, normal, normal, total) if _wants_sum(node) else (normal,)


def _skip_layer(node: OnnxNode) -> Sequence[Operand]:
    total = _skipped(node, 4)
    given = [node.value(index) for index in (2, 3) if node.has(index)]
    op = LayerNormalization(axis=total.type.rank - 1, epsilon=node.number("epsilon"))
    return _outputs(node, node.result(op, total, *given), total)


def _skip_simplified(node: OnnxNode) -> Sequence[Operand]:
    total = _skipped(node, 3)
    op = RmsNormalization(axis=total.type.rank - 1, epsilon=node.number("epsilon"))
    return _outputs(node, node.result(op, total, node.value(2)), total)


def _embed_layer(node: OnnxNode) -> Sequence[Operand]:
    """Words, segments and positions looked up, added and normalised; then the lengths of the sequences, and the sum."""
    if node.rank(0) != 2:
        raise FrontendError(f"expected ids [batch, sequence], found {list(node.shape(0))}")
    batch, length = node.static_shape(0)
    words = node.step(Gather(axis=0), node.value(2), node.value(0))
    places = node.value(8) if node.has(8) else node.positions(length)
    total = node.step(Add(), words, node.step(Gather(axis=0), node.value(3), places))
    if node.has(1) and node.has(4):
        total = node.step(Add(), total, node.step(Gather(axis=0), node.value(4), node.value(1)))
    op = LayerNormalization(axis=2, epsilon=node.number("epsilon"))
    results: list[Operand] = [node.result(op, total, node.value(5), node.value(6))]
    whole = DType.of("int32")
    if node.has(7):
        ones = node.step(Equal(), node.value(7), node.literal(1, node.dtype(7)))
        results.append(node.result(ReduceSum(axes=(1,), keepdims=False), node.step(Cast(whole), ones), output=1))
    else:
        require_few(batch)
        results.append(node.evaluated(np.zeros(batch, np.int32)))
    return (*results, total)[: len(node.outputs)]


def _group(node: OnnxNode) -> Sequence[Operand]:
    """With `activation` 1 the result is x · sigmoid(x) of what is normalised."""
    last, active = node.flag("channels_last"), node.flag("activation")
    data = node.value(0)
    if node.has(3):
        skip = node.value(3)
        data = node.step(Add(), data, skip)
        if node.has(4):
            data = node.step(Add(), data, node.value(4))
    first = to_channels_first(node, data) if last else data
    op = GroupNormalization(groups=node.integer("groups"), epsilon=node.number("epsilon"))
    normal = (node.step if last or active else node.result)(op, first, node.value(1), node.value(2))
    if active:
        normal = (node.step if last else node.result)(Multiply(), normal, node.step(Sigmoid(), normal))
    return (result_channels_last(node, normal) if last else normal, data)[: len(node.outputs)]


_SKIP = {"epsilon": 1e-12}
_GROUP = {"activation": int, "channels_last": 1, "epsilon": 1e-5, "groups": int}
NORMALIZATION: dict[str, Description] = {
    "EmbedLayerNormalization": Description(
        _embed_layer,
        "input_ids:index segment_ids:index? word_embedding position_embedding segment_embedding? gamma beta "
        "mask:index? position_ids:index?",
        3,
        {"epsilon": 1e-12, "mask_index_type": int},
    ),
    "GroupNorm": Description(_group, "X gamma beta", 1, _GROUP),
    "SkipGroupNorm": Description(_group, "X gamma beta skip bias?", 2, _GROUP),
    "SkipLayerNormalization": Description(_skip_layer, "input skip gamma beta? bias?", 4, _SKIP),
    "SkipSimplifiedLayerNormalization": Description(_skip_simplified, "input skip gamma bias?", 4, _SKIP),
}
STANDARD: dict[str, Description] = {
    "SimplifiedLayerNormalization": Description(
        _simplified, "X scale", 2, {"axis": -1, "epsilon": 1e-5, "stash_type": 1}
    ),
}
"""What onnxruntime writes into the standard's domain."""
