"""Recurrent layers. Their states are variables of the file: zeros when a run begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError

_ACTIVATIONS = {"NONE": ("Affine", 1.0, 0.0), "RELU": ("Relu", None, None), "TANH": ("Tanh", None, None)}
"""Fused activations as those of the graph, with their parameters."""


@dataclass(frozen=True, slots=True)
class _Places:
    """The inputs of one direction of an LSTM. Gates are input, forget, cell, output; peepholes and biases begin at
    `cells` and `biases`."""

    first: int
    hidden: int
    cell: int
    normalised: int | None = None

    @property
    def weights(self) -> range:
        return range(self.first, self.first + 4)

    @property
    def recurrence(self) -> range:
        return range(self.first + 4, self.first + 8)

    @property
    def peepholes(self) -> range:
        return range(self.first + 8, self.first + 11)

    @property
    def biases(self) -> range:
        return range(self.first + 11, self.first + 15)

    @property
    def projection(self) -> int:
        return self.first + 15


_ONE_WAY = _Places(1, 18, 19, 20)
_FORWARDS, _BACKWARDS = _Places(1, 35, 36), _Places(18, 37, 38)


def _activation(node: TfliteNode) -> tuple[str, float | None, float | None]:
    name = node.text("activation")
    if name not in _ACTIVATIONS:
        raise UnsupportedError(f"the activation {name} in a recurrent layer is not supported")
    return _ACTIVATIONS[name]


def _require_float(node: TfliteNode) -> None:
    if not node.dtype(0).is_float:
        raise UnsupportedError(
            "recurrent layers of quantised data are not supported: their kernels round each state",
            "convert the model with float data",
        )


def _time_first(node: TfliteNode, data: Value) -> Value:
    if data.type.rank != 3:
        raise FrontendError(f"expected data of 3 dimensions, found {data.type}")
    return data if node.flag("time_major") else node.step(ops.Transpose((1, 0, 2)), data)


def _finished(node: TfliteNode, values: Sequence[Value], output: int = 0) -> Operand:
    """Results [time, 1, batch, units], beside each other, as the file has them."""
    parts = []
    for value in values:
        time, _, batch, units = value.type.shape
        parts.append(node.step(ops.Reshape((time, batch, units)), value))
    joined = parts[0] if len(parts) == 1 else node.step(ops.Concat(2), *parts)
    last = ops.Identity() if node.flag("time_major") else ops.Transpose((1, 0, 2))
    return node.result(last, joined, output=output)


def _lstm(node: TfliteNode, data: Value, places: _Places, direction: str = "forward") -> Value:
    """One direction, [time, 1, batch, units].

    Without weights of its own the input gate is 1 minus the forget gate: sigmoid of its negative. The graph has it the
    other way round, and so takes the negative as its input gate.
    """
    name, alpha, beta = _activation(node)
    for option in ("cell_clip", "proj_clip"):
        if node.number(option):
            raise UnsupportedError(f"an LSTM with {option} is not supported")
    absent = [
        places.projection,
        *([] if places.normalised is None else range(places.normalised, places.normalised + 4)),
    ]
    if any(node.has(index) for index in absent):
        raise UnsupportedError("an LSTM with a projection or normalised layers is not supported")
    coupled = not node.has(places.weights[0])
    weight, recurrence = (_stacked(node, group, coupled) for group in (places.weights, places.recurrence))
    bias = _stacked(node, places.biases, coupled)
    zeros = node.step(ops.Subtract(), bias, bias)
    inputs: list[Value | None] = [
        data,
        _directed(node, weight),
        _directed(node, recurrence),
        _directed(node, node.step(ops.Concat(0), bias, zeros)),
        None,
        _directed(node, node.value(places.hidden)),
        _directed(node, node.value(places.cell)),
    ]
    if node.has(places.peepholes[1]):
        input_, forget, output = places.peepholes
        first = node.step(ops.Negative(), node.real(forget)) if coupled else node.real(input_)
        cells = node.step(ops.Concat(0), first, node.real(output), node.real(forget))
        inputs.append(_directed(node, cells))
    units = node.static_shape(places.recurrence[1])[1]
    op = ops.LSTM(
        hidden_size=units,
        direction=direction,
        activations=("Sigmoid", name, name),
        alphas=(None, alpha, alpha),
        betas=(None, beta, beta),
        input_forget=coupled,
    )
    return node.steps(op, *inputs, count=3)[0]


def _stacked(node: TfliteNode, group: range, coupled: bool) -> Value:
    """The gates of the file, input forget cell output, in the order of the graph: input output forget cell."""
    input_, forget, cell, output = group
    first = node.step(ops.Negative(), node.real(forget)) if coupled else node.real(input_)
    return node.step(ops.Concat(0), first, node.real(output), node.real(forget), node.real(cell))


def _directed(node: TfliteNode, value: Value) -> Value:
    return node.step(ops.Reshape((1, *value.type.shape)), value)


def _lstm_sequence(node: TfliteNode) -> Operand:
    _require_float(node)
    if node.flag("diagonal_recurrent_tensors"):
        raise UnsupportedError("an LSTM with diagonal weights is not supported")
    return _finished(node, [_lstm(node, _time_first(node, node.value(0)), _ONE_WAY)])


def _lstm_step(node: TfliteNode) -> Operand:
    _require_float(node)
    if node.text("kernel_type") != "FULL":
        raise UnsupportedError("an LSTM with weights in one matrix (kernel_type BASIC) is not supported")
    result = _lstm(node, _directed(node, node.value(0)), _ONE_WAY)
    return node.result(ops.Reshape(result.type.shape[2:]), result)


def _lstm_both_ways(node: TfliteNode) -> Sequence[Operand]:
    _require_float(node)
    if node.has(39):
        raise UnsupportedError("an LSTM with an auxiliary input is not supported")
    data = _time_first(node, node.value(0))
    one, other = _lstm(node, data, _FORWARDS), _lstm(node, data, _BACKWARDS, "reverse")
    return _both(node, one, other)


def _both(node: TfliteNode, one: Value, other: Value) -> Sequence[Operand]:
    if node.flag("merge_outputs"):
        return [_finished(node, [one, other])]
    return [_finished(node, [one]), _finished(node, [other], output=1)]


def _rnn(node: TfliteNode, data: Value, first: int, direction: str = "forward") -> Value:
    """One direction, [time, 1, batch, units]. Inputs from `first` on: weight, recurrence, bias, state."""
    name, alpha, beta = _activation(node)
    bias = node.real(first + 2)
    zeros = node.step(ops.Subtract(), bias, bias)
    op = ops.RNN(
        hidden_size=node.static_shape(first + 1)[0],
        direction=direction,
        activations=(name,),
        alphas=(alpha,),
        betas=(beta,),
    )
    inputs = [
        data,
        _directed(node, node.real(first)),
        _directed(node, node.real(first + 1)),
        _directed(node, node.step(ops.Concat(0), bias, zeros)),
        None,
        _directed(node, node.value(first + 3)),
    ]
    return node.steps(op, *inputs, count=2)[0]


def _rnn_step(node: TfliteNode) -> Operand:
    _require_float(node)
    result = _rnn(node, _directed(node, node.value(0)), 1)
    return node.result(ops.Reshape(result.type.shape[2:]), result)


def _rnn_sequence(node: TfliteNode) -> Operand:
    _require_float(node)
    return _finished(node, [_rnn(node, _time_first(node, node.value(0)), 1)])


def _rnn_both_ways(node: TfliteNode) -> Sequence[Operand]:
    _require_float(node)
    if node.has(9):
        raise UnsupportedError("an RNN with an auxiliary input is not supported")
    data = _time_first(node, node.value(0))
    return _both(node, _rnn(node, data, 1), _rnn(node, data, 5, "reverse"))


def _filters(node: TfliteNode) -> Operand:
    """One step of a filter of rank `rank` (Nakkiran et al. 2015): the newest product of data with each feature joins a
    memory, which the weights of time sum up."""
    _require_float(node)
    data, features, times = node.real(0), node.real(1), node.real(2)
    filters, memory = node.static_shape(2)
    rank = node.integer("rank")
    if rank < 1 or filters % rank:
        raise FrontendError(f"expected filters of rank {rank}, found {filters}")
    batch = data.type.shape[0]
    product = node.step(ops.MatMul(), data, node.step(ops.Transpose((1, 0)), features))
    newest = node.step(ops.Reshape((batch, filters, 1)), product)
    state = node.step(ops.Reshape((batch, filters, memory)), node.value(4))
    kept = node.step(ops.Slice((0, 0, 1), (batch, filters, memory), (1, 1, 1)), state)
    joined = node.step(ops.Multiply(), node.step(ops.Concat(2), kept, newest), times)
    by_unit = node.step(ops.Reshape((batch, filters // rank, rank * memory)), joined)
    total = node.step(ops.ReduceSum((2,), False), by_unit)
    return node.finish(ops.Add(), total, node.real(3)) if node.has(3) else node.finish(ops.Identity(), total)


RECURRENT: dict[str, Converter] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": _lstm_both_ways,
    "BIDIRECTIONAL_SEQUENCE_RNN": _rnn_both_ways,
    "LSTM": _lstm_step,
    "RNN": _rnn_step,
    "SVDF": _filters,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm_sequence,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _rnn_sequence,
}
