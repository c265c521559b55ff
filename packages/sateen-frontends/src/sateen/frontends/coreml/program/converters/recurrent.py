"""Recurrent operations on x [time, batch, features], in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.gates import gates_in_order
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
"""Activations without parameters; the format does not say those of hard_sigmoid, scaled_tanh and linear."""


def _activation(node: OperationNode, name: str) -> str:
    given = node.text(name)
    if given not in _ACTIVATIONS:
        raise UnsupportedError(
            f"{name} {given!r}, whose parameters the format does not say", "use sigmoid, tanh or relu"
        )
    return _ACTIVATIONS[given]


def _direction(node: OperationNode, known: Sequence[str]) -> str:
    direction = node.text("direction")
    if direction not in known:
        raise FrontendError(f"expected a direction of {', '.join(known)}, found {direction!r}")
    if direction == "reverse" and node.flag("output_sequence"):
        raise UnsupportedError(
            "the format does not say in which order a reversed layer gives its sequence",
            "reverse the sequence by an operation before it",
        )
    return direction


def _weight(node: OperationNode, name: str, given: str, wanted: str) -> Array:
    """Weights with their gates in the graph's order."""
    data = node.constant(node.at(name)).astype(np.float32)
    if data.ndim != (2 if name.startswith("weight") else 1):
        raise FrontendError(f"expected {name} of a row for each element of the gates, found shape {list(data.shape)}")
    return gates_in_order(data, given, wanted)


def _float(node: OperationNode, value: Value) -> Value:
    return value if value.type.dtype == FLOAT else node.step(ops.Cast(FLOAT), value)


def _stacked(node: OperationNode, parts: Sequence[Array], role: str) -> Value:
    return node.parameter(np.stack(parts), role)


def _operands(node: OperationNode, backs: Sequence[str], given: str, wanted: str) -> list[Value | None]:
    """Weight, recurrence and bias of all directions; the bias is added to the input's products."""
    weight = _stacked(node, [_weight(node, f"weight_ih{back}", given, wanted) for back in backs], "weight_ih")
    recurrence = _stacked(node, [_weight(node, f"weight_hh{back}", given, wanted) for back in backs], "weight_hh")
    if not any(node.given(f"bias{back}") for back in backs):
        return [weight, recurrence, None]
    width = weight.type.static_shape[1]
    biases = []
    for back in backs:
        own = _weight(node, f"bias{back}", given, wanted) if node.given(f"bias{back}") else np.zeros(width, np.float32)
        biases.append(np.concatenate([own, np.zeros(width, np.float32)]))
    return [weight, recurrence, _stacked(node, biases, "bias")]


def _state(node: OperationNode, name: str, directions: int) -> Value:
    """A state [batch, directions · hidden] as [directions, batch, hidden]."""
    value = _float(node, node.take_of_rank(name, 2))
    batch, width = value.type.shape
    if not isinstance(width, int) or width % directions:
        raise FrontendError(f"expected {name} of {directions} directions, found {value.type}")
    split = node.step(ops.Reshape((batch, directions, width // directions)), value)
    return node.step(ops.Transpose((1, 0, 2)), split)


def _results(node: OperationNode, op: Any, operands: Sequence[Value | None], states: int) -> tuple[Operand, ...]:
    """y [time, batch, directions · hidden], or its last, and the states [batch, directions · hidden]."""
    sequence, *last = node.steps(op, *operands, count=1 + states)
    time, directions, batch, hidden = sequence.type.shape
    assert isinstance(directions, int)
    flat = [
        node.step(ops.Reshape((batch, directions * hidden)), node.step(ops.Transpose((1, 0, 2)), state))
        for state in last
    ]
    if node.flag("output_sequence"):
        turned = node.step(ops.Transpose((0, 2, 1, 3)), sequence)
        y = node.step(ops.Reshape((time, batch, directions * hidden)), turned)
    else:
        y = node.step(ops.Reshape((1, batch, directions * hidden)), flat[0])
    return tuple(node.typed(value, output) for output, value in enumerate([y, *flat][: len(node.outputs)]))


def _lstm(node: OperationNode) -> tuple[Operand, ...]:
    """Gates i f o c; peepholes i f o. The clip of cells is refused."""
    if node.given("clip"):
        raise UnsupportedError("cells of an LSTM that are clipped are not supported", "convert without clip")
    direction = _direction(node, ("forward", "reverse", "bidirectional"))
    backs = ("", "_back") if direction == "bidirectional" else ("",)
    names = [_activation(node, name) for name in ("recurrent_activation", "cell_activation", "activation")]
    x = _float(node, node.take("x"))
    weights = _operands(node, backs, "ifoc", "iofc")
    hidden = node.shape(node.at("weight_hh"))[1]
    assert isinstance(hidden, int)
    peepholes = None
    if node.given("peephole"):
        peepholes = _stacked(node, [_weight(node, f"peephole{back}", "ifo", "iof") for back in backs], "peephole")
    states = [_state(node, name, len(backs)) for name in ("initial_h", "initial_c")]
    op = ops.LSTM(hidden, direction, activations=tuple(names) * len(backs))
    return _results(node, op, [x, *weights, None, *states, peepholes], 2)


def _gru(node: OperationNode) -> tuple[Operand, ...]:
    """Gates r o z. The reset gate is applied before the product, as in the layer that coremltools makes of it."""
    if node.flag("reset_after") or node.given("input_bias"):
        raise UnsupportedError(
            "a gru with reset_after or an input_bias, whose formula the format does not say", "convert without them"
        )
    names = [_activation(node, name) for name in ("recurrent_activation", "activation")]
    x = _float(node, node.take("x"))
    weights = _operands(node, ("",), "rhz", "zrh")
    hidden = node.shape(node.at("weight_hh"))[1]
    assert isinstance(hidden, int)
    op = ops.GRU(hidden, _direction(node, ("forward", "reverse")), activations=tuple(names))
    return _results(node, op, [x, *weights, None, _state(node, "initial_h", 1)], 1)


def _rnn(node: OperationNode) -> tuple[Operand, ...]:
    x = _float(node, node.take("x"))
    weights = _operands(node, ("",), "h", "h")
    hidden = node.shape(node.at("weight_hh"))[1]
    assert isinstance(hidden, int)
    op = ops.RNN(hidden, _direction(node, ("forward", "reverse")), activations=(_activation(node, "activation"),))
    return _results(node, op, [x, *weights, None, _state(node, "initial_h", 1)], 1)


RECURRENT: Mapping[str, Converter] = {
    "gru": defaulting(
        _gru, direction="forward", output_sequence=False, recurrent_activation="sigmoid", activation="tanh",
        reset_after=False,
    ),
    "lstm": defaulting(
        _lstm, direction="forward", output_sequence=False, recurrent_activation="sigmoid", cell_activation="tanh",
        activation="tanh",
    ),
    "rnn": defaulting(_rnn, direction="forward", output_sequence=False, activation="tanh"),
}  # fmt: skip
