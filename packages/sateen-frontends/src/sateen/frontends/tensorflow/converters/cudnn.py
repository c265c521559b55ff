"""Recurrent layers by cuDNN, as Keras writes them on a machine with such a GPU: the layers of the graph.

Their weights are one vector: for each gate that of the input, for each that of the state, both [units, …], and then for
each gate both biases. Source: keras/src/backend/tensorflow/rnn.py (_standardize_cudnn_weights), which makes this vector
of the weights of a layer; the order of gates is cuDNN's (cudnnGetRNNLinLayerMatrixParams).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sateen.frontends.core import gates
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

_REMEDY = "export the layer for CPUs"
_USUAL: Mapping[str, tuple[object, ...]] = {
    "input_mode": ("linear_input", "auto_select"),
    "direction": ("unidirectional",),
    "num_proj": (0, None),
}
"""The values of attributes that are read."""


@dataclass(frozen=True, slots=True)
class _Mode:
    """A kind of layer: cuDNN's order of gates, and the graph's."""

    given: str
    wanted: str


_MODES = {
    "gru": _Mode("rzh", gates.GRU),
    "lstm": _Mode("ifco", gates.LSTM),
    "rnn_relu": _Mode("h", "h"),
    "rnn_tanh": _Mode("h", "h"),
}


def _layer(node: TensorflowNode) -> tuple[Operand, ...]:
    """Inputs: data [time, batch, features], the first states [1, batch, units], of which a layer without cells reads
    one, the weights, and in V3 the lengths of the sequences; time_major=False has the batch first. Outputs: those of
    all steps, and the last states. Dropout is between layers, of which there is one."""
    mode = node.text("rnn_mode")
    if mode not in _MODES:
        raise FrontendError(f"expected rnn_mode {', '.join(_MODES)}, found {mode!r}")
    for name, usual in _USUAL.items():
        if node.attribute(name) not in usual:
            raise UnsupportedError(f"{name} {node.attribute(name)!r} is not supported", _REMEDY)
    batch_first = node.operator == "CudnnRNNV3" and not node.flag("time_major")
    data, *states = (_time_first(node, node.value(i), batch_first) for i in range(3 if mode == "lstm" else 2))
    layers, units = static_extents((states[0].type.shape[0], states[0].type.shape[-1]), node.described(1))
    if layers != 1:
        raise UnsupportedError(f"{layers} layers in one operator are not supported", _REMEDY)
    op = _operator(mode, units)
    weights = _weights(node, _MODES[mode], units, *static_extents(data.type.shape[-1:], node.described(0)))
    lengths = node.value(4) if node.operator == "CudnnRNNV3" else None
    outputs, *last = node.steps(op, data, *weights, lengths, *states, count=1 + op.states)
    time, _, batch, _ = outputs.type.shape
    if batch_first:
        outputs = node.step(ops.Transpose(permutation=(2, 0, 1, 3)), outputs)
    shape = (batch, time, units) if batch_first else (time, batch, units)
    order = ops.Transpose(permutation=(1, 0, 2)) if batch_first else ops.Identity()
    ends = [node.result(order, state, output=index) for index, state in enumerate(last, start=1)]
    return node.result(ops.Reshape(shape=shape), outputs), *ends


def _operator(mode: str, units: int) -> ops.LSTM | ops.GRU | ops.RNN:
    """The candidate of a GRU reads the state behind its product with weights, as reset_after of Keras does."""
    if mode == "lstm":
        return ops.LSTM(units)
    if mode == "gru":
        return ops.GRU(units, linear_before_reset=True)
    return ops.RNN(units, activations=("Relu",) if mode == "rnn_relu" else ())


def _time_first(node: TensorflowNode, value: Value, batch_first: bool) -> Value:
    """Data as [time, batch, features], states as [1, batch, units]."""
    if value.type.rank != 3:
        raise FrontendError(f"expected data and states of three axes, found {value.type}")
    return node.step(ops.Transpose(permutation=(1, 0, 2)), value) if batch_first else value


def _weights(node: TensorflowNode, mode: _Mode, units: int, features: int) -> tuple[Value, Value, Value]:
    """The weights of inputs, of states, and the biases, with the gates in the graph's order."""
    count = len(mode.given)
    extents = (count * units * features, count * units * units, 2 * count * units)
    if node.shape(3) != (sum(extents),):
        raise UnsupportedError(f"expected {sum(extents)} weights and biases, found {listed(node.shape(3))}", _REMEDY)
    order = node.parameter(np.array([mode.given.index(gate) for gate in mode.wanted], INT64.numpy), "gates")
    inputs, recurrence, biases = node.steps(ops.Split(axis=0, sizes=extents), node.value(3), count=3)
    shapes = ((1, count, units * features), (1, count, units * units), (2, count, units))
    wanted = ((1, count * units, features), (1, count * units, units), (1, 2 * count * units))
    found = []
    for part, apart, together in zip((inputs, recurrence, biases), shapes, wanted, strict=True):
        ordered = node.step(ops.Gather(axis=1), node.step(ops.Reshape(shape=apart), part), order)
        found.append(node.step(ops.Reshape(shape=together), ordered))
    weight, state, bias = found
    return weight, state, bias


CUDNN: dict[str, Converter] = {"CudnnRNN": _layer, "CudnnRNNV2": _layer, "CudnnRNNV3": _layer}
