"""Operations that fill tensors: borders, constants, ranges, and what is beside a diagonal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError

MOST_NUMBERS = 1 << 20
"""The most numbers of a range."""
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def _pad(node: OperationNode) -> Operand:
    """Pads of the last axes, before and after by turns."""
    x, amounts, mode = node.take("x"), node.dimensions_of("pad"), node.text("mode")
    missing = x.type.rank - len(amounts) // 2
    if len(amounts) % 2 or missing < 0 or mode not in _MODES:
        raise FrontendError(
            f"expected pads of the last axes and a mode of {', '.join(_MODES)}, found {len(amounts)}, {mode!r}"
        )
    before, after = (*(0,) * missing, *amounts[::2]), (*(0,) * missing, *amounts[1::2])
    value = node.number("constant_val") if mode == "constant" else 0.0
    return node.result(ops.Pad(_MODES[mode], (*before, *after), value), x)


def _band(node: OperationNode) -> Operand:
    lower, upper, data = node.integer("lower"), node.integer("upper"), node.take("x")
    kinds = [ops.Trilu(upper=True, k=-lower)] * (lower >= 0) + [ops.Trilu(upper=False, k=upper)] * (upper >= 0)
    for op in kinds[:-1]:
        data = node.step(op, data)
    return node.result(kinds[-1] if kinds else ops.Identity(), data)


def _fill(node: OperationNode) -> Operand:
    value = node.data(node.at("value")) if node.given("value") else np.zeros((), np.float32)
    return node.result(ops.BroadcastTo(node.dimensions_of("shape")), node.parameter(value.reshape(1), "value"))


def _fill_like(node: OperationNode) -> Operand:
    value = node.data(node.at("value")) if node.given("value") else np.zeros((), np.float32)
    return node.result(ops.BroadcastTo(node.shape(node.at("ref_tensor"))), node.parameter(value.reshape(1), "value"))


def _range(node: OperationNode) -> Operand:
    start, end, step = (node.constant(node.at(name)).reshape(()) for name in ("start", "end", "step"))
    count = (float(end) - float(start)) / float(step) if step else 0.0
    if not 0 < count <= MOST_NUMBERS:
        raise FrontendError(f"expected a range of 1 to {MOST_NUMBERS} numbers, found {start} to {end} by {step}")
    return node.evaluated(np.arange(start.item(), end.item(), step.item(), dtype=start.dtype))


FILLING: Mapping[str, Converter] = {
    "band_part": defaulting(_band, lower=-1, upper=-1),
    "fill": _fill,
    "fill_like": _fill_like,
    "pad": defaulting(_pad, mode="constant", constant_val=0.0),
    "range_1d": _range,
}
