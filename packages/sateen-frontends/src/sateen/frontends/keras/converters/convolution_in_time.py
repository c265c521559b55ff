"""Recurrent layers whose products are convolutions, and convolutions with a kernel for each place.

Sources: keras/src/layers/rnn/conv_lstm.py, tf_keras/src/layers/locally_connected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import same_pads
from sateen.frontends.keras.converters.activations import finished
from sateen.frontends.keras.converters.convolution import bias_of, channels_first, convolution
from sateen.frontends.keras.converters.recurrent import initial_states, lstm_states, refuse_unsupported, results
from sateen.frontends.keras.converters.time_loop import Cell, Run, over_time, zeros
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Concat, Conv, MatMul, Reshape, Slice, Split, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _weight(node: KerasNode, name: str, rank: int) -> Value:
    return node.step(Transpose((rank + 1, rank, *range(rank))), node.weight(name, rank + 2))


def _conv_lstm(rank: int) -> Converter[KerasNode]:
    """LSTM over pictures: the input's convolution is that of the layer, the state's has padding same. Both are computed
    with channels first, the first for all time steps at once."""

    def convert(node: KerasNode) -> tuple[Operand, ...]:
        refuse_unsupported(node)
        sequence = node.value(0)
        if sequence.type.rank != rank + 3:
            raise FrontendError(f"expected a sequence of {rank + 3} dimensions, found {sequence.type}")
        last = node.is_channels_last
        batch, time, *others = sequence.type.shape
        data = node.step(Reshape((batch * time, *others)), sequence)
        first = (0, rank + 1, *range(1, rank + 1))
        pictures = node.step(Transpose(first), data) if last else data
        kernel = node.variable("kernel", rank + 2)
        op = convolution(node, pictures, kernel.shape[:rank], 1)
        gates = node.step(op, pictures, _weight(node, "kernel", rank), *bias_of(node))
        width, *extents = static_extents(gates.type.shape[1:], node.described(0))
        units = width // 4
        steps = node.step(Reshape((batch, time, width, *extents)), gates)
        zero = zeros(node, (batch, units, *extents))
        given = initial_states(node, 2)
        states = [node.step(Transpose(first), one) if last else one for one in given] or [zero, zero]
        weight = _weight(node, "recurrent_kernel", rank)
        reaches = node.variable("recurrent_kernel", rank + 2).shape[:rank]
        pads = same_pads(extents, (1,) * rank, reaches, node.described(0))

        def cell(inner: KerasNode, captured: Sequence[Value], x: Value, carried: Sequence[Value]) -> list[Value]:
            z = inner.step(Add(), x, inner.step(Conv(pads=pads), carried[0], captured[0]))
            return lstm_states(inner, inner.steps(Split(1, (units,) * 4), z, count=4), carried[1])

        if not last:
            return results(node, over_time(node, steps, states, Cell((weight,), cell)))
        run = over_time(node, steps, states, Cell((weight,), cell), is_result=False)
        back = (0, *range(2, rank + 2), 1)
        in_time = (0, 1, *range(3, rank + 3), 2)
        order = in_time if run.output.type.rank == rank + 3 else back
        final = tuple(node.step(Transpose(back), state) for state in run.states)
        return results(node, Run(node.result(Transpose(order), run.output), final))

    return convert


def _locally_connected(rank: int) -> Converter[KerasNode]:
    """A product for each place: its window, row by row with channels last, times its own kernel."""

    def convert(node: KerasNode) -> Operand:
        if node.setting("implementation", 1) != 1 or node.choice("padding", "valid", "same") != "valid":
            raise UnsupportedError("only implementation 1 is supported", "save it with implementation=1")
        data = channels_first(node)
        kernel, strides = node.per_axis("kernel_size", rank), node.per_axis("strides", rank)
        shape = data.type.shape
        extents = static_extents(shape[2:], node.described(0))
        counts = [(n - k) // s + 1 for n, k, s in zip(extents, kernel, strides, strict=True)]
        weight = node.weight("kernel", 3)
        places, depth, filters = weight.type.static_shape
        if places != product(counts) or depth != product(kernel) * shape[1]:
            raise FrontendError(f"expected a kernel for {counts} places, found {weight.type}")
        parts = []
        for offsets in np.ndindex(*kernel):
            ends = [o + (c - 1) * s + 1 for o, c, s in zip(offsets, counts, strides, strict=True)]
            cut = Slice((0, 0, *offsets), (*shape[:2], *ends), (1, 1, *strides))
            parts.append(node.step(Reshape((shape[0], shape[1], places)), node.step(cut, data)))
        columns = node.step(Concat(1), *parts) if len(parts) > 1 else parts[0]
        rows = node.step(Transpose((2, 0, 1)), columns)
        found = node.step(Transpose((1, 0, 2)), node.step(MatMul(), rows, weight))
        result = node.step(Reshape((shape[0], *counts, filters)), found)
        if not node.is_channels_last:
            raise UnsupportedError("channels first are not supported here", "save it with channels_last")
        if not node.flag("use_bias"):
            return finished(node, Reshape(result.type.shape), result)
        return finished(node, Add(), result, node.weight("bias"))

    return convert


CONVOLUTION_IN_TIME: Mapping[str, Converter[KerasNode]] = {
    "ConvLSTM1D": _conv_lstm(1),
    "ConvLSTM2D": _conv_lstm(2),
    "ConvLSTM3D": _conv_lstm(3),
    "LocallyConnected1D": _locally_connected(1),
    "LocallyConnected2D": _locally_connected(2),
}
