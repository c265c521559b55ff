"""Layers that remember: the state of the call before is an input, that for the next call an output."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.activations import Give, activated
from sateen.frontends.darknet.converters.normalization import EPSILON
from sateen.frontends.darknet.node import Converter, DarknetNode
from sateen.frontends.darknet.sizes import RecurrentWindow, recurrent_window_of
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, BatchNormalization, Conv, MatMul, Reshape, Transpose


def _rnn(node: DarknetNode) -> Sequence[Operand]:
    """The next state is the sum of a layer connected on the input and one on the state, and with `shortcut` of the
    state; a third on that is the result, each with the activation (rnn_layer.c, forward_rnn_layer)."""
    node.section.require_zero({"logistic": "another activation for the state is not supported"})
    data, state = node.value(0), node.value(1)
    inputs = prod(static_extents(data.type.shape[1:], node.described(0)))
    rows = data if data.type.rank == 2 else node.step(Reshape((data.type.shape[0], inputs)), data)
    seen, kept = _connected(node, "input", rows, node.step), _connected(node, "self", state, node.step)
    if node.section.flag("shortcut"):
        seen = node.step(Add(), seen, state)
    following = node.result(Add(), seen, kept, output=1)
    return [_connected(node, "output", following, node.result), following]


def _connected(node: DarknetNode, part: str, rows: Value, give: Give) -> Value:
    """One of the three layers connected of a layer rnn."""
    weight = node.step(Transpose((1, 0)), node.weight(f"{part}.weights"))
    total = node.step(MatMul(), rows, weight)
    if not node.section.flag("batch_normalize"):
        return activated(node, Add(), total, node.weight(f"{part}.biases"), give=give, default="logistic")
    roles = [node.weight(f"{part}.{role}") for role in ("scales", "biases", "mean", "variance")]
    return activated(node, BatchNormalization(epsilon=EPSILON), total, *roles, give=give, default="logistic")


def _crnn(node: DarknetNode) -> Sequence[Operand]:
    """The same with convolutions of pictures, which must keep their size: darknet asserts it (crnn_layer.c)."""
    section, window = node.section, recurrent_window_of(node.section)
    section.require_zero({"xnor": "binary products are not supported"})
    if window.stride != 1 or 2 * window.pad != window.size - 1 or window.dilation < 1:
        raise UnsupportedError("windows that change the size of the picture don't fit the state", "use pad=1, stride=1")
    data, state = node.picture(0), node.picture(1)
    seen = _convolved(node, "input", data, window, node.step)
    kept = _convolved(node, "self", state, window, node.step)
    if section.flag("shortcut"):
        seen = node.step(Add(), seen, state)
    following = node.result(Add(), seen, kept, output=1)
    return [_convolved(node, "output", following, window, node.result), following]


def _convolved(node: DarknetNode, part: str, data: Value, window: RecurrentWindow, give: Give) -> Value:
    """One of the three convolutions of a layer crnn."""
    dilation = 1 if window.size == 1 else window.dilation
    pads = (window.pad * dilation,) * 4
    op = Conv(strides=(1, 1), pads=pads, dilations=(dilation, dilation), groups=window.groups)
    weight = node.weight(f"{part}.weights")
    if not node.section.flag("batch_normalize"):
        return activated(node, op, data, weight, node.weight(f"{part}.biases"), give=give, default="logistic")
    roles = [node.weight(f"{part}.{role}") for role in ("scales", "biases", "mean", "variance")]
    norm = BatchNormalization(epsilon=EPSILON)
    return activated(node, norm, node.step(op, data, weight), *roles, give=give, default="logistic")


RECURRENT: dict[str, Converter] = {"crnn": _crnn, "rnn": _rnn}
