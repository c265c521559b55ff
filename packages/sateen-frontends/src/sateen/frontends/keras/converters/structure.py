"""Layers that do nothing at inference, and those around other layers."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.slices import turned
from sateen.frontends.keras.node import KerasNode
from sateen.frontends.keras.steps import ALIAS, FOLD, UNFOLD
from sateen.graph_ir.ops import Add, Cast, Concat, Equal, Multiply, Not, ReduceMax, Reshape, Where
from sateen.runtime.dtype import DType


def _same(node: KerasNode) -> Operand:
    return node.operand(0)


def _fold(node: KerasNode) -> Operand:
    """[N, T, …] as [N * T, …]."""
    batch, time, *others = node.shape(0)
    if node.has_mask():
        _require_no_use_of_mask(node)
    return node.result(Reshape((batch * time, *others)), node.raw(0))


def _require_no_use_of_mask(node: KerasNode) -> None:
    inner = node.layer.part("layer")
    if inner.network is not None or inner.kind in _USING_MASKS:
        raise UnsupportedError("a layer that uses masks can't have one for each time step", "leave out the mask")


_USING_MASKS = {"LSTM", "GRU", "SimpleRNN", "Bidirectional", "Attention", "GlobalAveragePooling1D", "Softmax"}


def _unfold(node: KerasNode) -> Operand:
    """[N * T, …] as [N, T, …]; N and T are those of the layer's own input, the second here."""
    batch, time = node.shape(1)[:2]
    return node.result(Reshape((batch, time, *node.shape(0)[1:])), node.raw(0))


def _bidirectional(node: KerasNode) -> Operand | tuple[Operand, ...]:
    """Both directions merged; the sequence of the second is turned around (keras/src/layers/rnn/bidirectional.py)."""
    forward = node.layer.part("forward_layer")
    count = node.input_count // 2
    first, second = node.value(0), node.value(count)
    if forward.config.get("return_sequences"):
        second = node.step(turned(second.type.shape, (1,)), second)
    states = tuple(node.value(i) for i in (*range(1, count), *range(count + 1, 2 * count)))
    match node.attribute("merge_mode"):
        case "concat":
            merged: tuple[Operand, ...] = (node.result(Concat(first.type.rank - 1), first, second),)
        case "sum":
            merged = (node.result(Add(), first, second),)
        case "mul":
            merged = (node.result(Multiply(), first, second),)
        case "ave":
            merged = (node.result(Multiply(), node.step(Add(), first, second), node.number_like(0.5)),)
        case None:
            merged = (first, second)
        case other:
            raise UnsupportedError(f"merge_mode {other!r} is not known", "use concat, sum, mul, ave or None")
    return (*merged, *states)


def _masking(node: KerasNode) -> tuple[Operand, ...]:
    """Time steps all of whose features are mask_value become 0, and false in the mask (keras/src/layers/core)."""
    data = node.value(0)
    axis = data.type.rank - 1
    differs = node.step(Not(), node.step(Equal(), data, node.number_like(node.number("mask_value"))))
    numbers = node.step(Cast(DType.of("int32")), differs)
    kept = node.step(Cast(DType.of("bool")), node.step(ReduceMax(axes=(axis,), keepdims=True), numbers))
    mask = node.result(Reshape(data.type.shape[:-1]), kept, output=1)
    return node.result(Where(), kept, data, node.number_like(0)), mask


STRUCTURE: Mapping[str, Converter[KerasNode]] = {
    ALIAS: _same,
    FOLD: _fold,
    UNFOLD: _unfold,
    "ActivityRegularization": _same,
    "AlphaDropout": _same,
    "Bidirectional": _bidirectional,
    "Dropout": _same,
    "GaussianDropout": _same,
    "GaussianNoise": _same,
    "Identity": _same,
    "Masking": _masking,
    "SpatialDropout1D": _same,
    "SpatialDropout2D": _same,
    "SpatialDropout3D": _same,
    "ops.Identity": _same,
    "ops.StopGradient": _same,
}
