"""Recurrent layers: operators of the graph where these have what Keras asks for, otherwise a loop over time steps.

Sources: keras/src/layers/rnn, `rnn` of keras/src/backend/tensorflow/rnn.py. Gates are i f c o of LSTM, z r h of GRU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.gates import GRU as GRU_GATES
from sateen.frontends.core.gates import LSTM as LSTM_GATES
from sateen.frontends.core.gates import gates_in_order
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.slices import turned
from sateen.frontends.keras.converters.activations import activated, hard_sigmoid, is_linear
from sateen.frontends.keras.converters.time_loop import Cell, Run, over_time, zeros
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import (
    GRU,
    LSTM,
    RNN,
    Add,
    MatMul,
    Multiply,
    Recurrent,
    Reshape,
    Split,
    Subtract,
    Transpose,
)
from sateen.runtime.errors import FrontendError

_OPERATORS: Mapping[str, tuple[type[Recurrent], str, str]] = {
    "GRU": (GRU, "zrh", GRU_GATES),
    "LSTM": (LSTM, "ifco", LSTM_GATES),
    "SimpleRNN": (RNN, "h", "h"),
}
"""Of each layer the operator, and the order of gates in Keras and there."""
_KNOWN = {
    "linear": ("Affine", 1.0, 0.0),
    "relu": ("Relu", None, None),
    "sigmoid": ("Sigmoid", None, None),
    "softplus": ("Softplus", None, None),
    "softsign": ("Softsign", None, None),
    "tanh": ("Tanh", None, None),
}
"""Activations that the operators have: their names there, alpha and beta."""


def _recurrent(node: KerasNode) -> tuple[Operand, ...]:
    """The output, of the last time step or of all, and with return_state the states."""
    refuse_unsupported(node)
    data = node.value(0)
    if data.type.rank != 3:
        raise FrontendError(f"expected a sequence [batch, time, features], found {data.type}")
    known = _known_activations(node)
    run = _as_loop(node, data) if node.has_mask() or known is None else _as_operator(node, data, known)
    return results(node, run)


def refuse_unsupported(node: KerasNode) -> None:
    if node.layer.config.get("stateful"):
        remedy = "save it with stateful=False, and give and take the states as inputs and outputs"
        raise UnsupportedError("a layer that keeps its state between calls is not supported", remedy)
    if node.layer.config.get("time_major"):
        raise UnsupportedError("time before the batch is not supported", "save it with time_major=False")


def results(node: KerasNode, run: Run) -> tuple[Operand, ...]:
    """What a layer gives of a run."""
    return (run.output, *run.states) if node.layer.config.get("return_state") else (run.output,)


def _units(node: KerasNode) -> int:
    kind, gates, _ = _OPERATORS[node.layer.kind]
    units, width = map(int, node.variable("recurrent_kernel", 2).shape)
    if width != kind.gates * units or node.variable("kernel", 2).shape[1] != width:
        raise FrontendError(f"expected weights of {len(gates)} gates of {units} units, found {width} columns")
    return units


def _activations(node: KerasNode) -> list[object]:
    """Of the gates, then of the others, as often as the operator of the graph takes them."""
    activation = node.attribute("activation")
    if node.layer.kind == "SimpleRNN":
        return [activation]
    return [node.attribute("recurrent_activation"), *[activation] * (2 if node.layer.kind == "LSTM" else 1)]


def _known_activations(node: KerasNode) -> list[tuple[str, float | None, float | None]] | None:
    """The activations as the operator names them; None if it lacks one."""
    known = dict(_KNOWN)
    hard = hard_sigmoid(node.generation)
    known["hard_sigmoid"] = ("HardSigmoid", hard.alpha, hard.beta)
    names = ["linear" if is_linear(one) else one for one in _activations(node)]
    found = [known[name] for name in names if isinstance(name, str) and name in known]
    return found if len(found) == len(names) else None


def initial_states(node: KerasNode, count: int) -> list[Value]:
    """The states that a layer is called with; none if it begins with zeros."""
    given = [node.value(index) for index in range(1, node.input_count)]
    if given and len(given) != count:
        raise UnsupportedError(f"expected {count} initial states, found {len(given)} tensors", "leave out constants")
    return given


def _as_operator(node: KerasNode, data: Value, known: Sequence[tuple[str, float | None, float | None]]) -> Run:
    """The operator of the graph; it gives the results of a backward run in the order of time, Keras in that of the
    run."""
    kind, given, wanted = _OPERATORS[node.layer.kind]
    units, backwards = _units(node), bool(node.layer.config.get("go_backwards"))
    batch, time, _ = data.type.shape
    weights = [gates_in_order(node.variable(name, 2).T, given, wanted) for name in ("kernel", "recurrent_kernel")]
    settings = [*zip(*known, strict=True)]
    op = kind(
        hidden_size=units,
        direction="reverse" if backwards else "forward",
        activations=tuple(settings[0]),
        alphas=tuple(settings[1]),
        betas=tuple(settings[2]),
        **({"linear_before_reset": True} if _resets_after(node) else {}),
    )
    states = [node.step(Reshape((1, batch, units)), state) for state in initial_states(node, kind.states)]
    sequence, *last = node.steps(
        op,
        node.step(Transpose((1, 0, 2)), data),
        *(node.made(weight[None], role) for weight, role in zip(weights, ("weight", "recurrence"), strict=True)),
        node.made(_bias(node, given, wanted)[None], "bias"),
        None,
        *states,
        count=1 + kind.states,
    )
    final = tuple(node.step(Reshape((batch, units)), state) for state in last)
    if not node.layer.config.get("return_sequences"):
        return Run(node.result(Reshape((batch, units)), last[0]), final)
    ordered = node.step(Transpose((2, 0, 1, 3)), sequence)
    if not backwards:
        return Run(node.result(Reshape((batch, time, units)), ordered), final)
    flat = node.step(Reshape((batch, time, units)), ordered)
    return Run(node.result(turned(flat.type.shape, (1,)), flat), final)


def _resets_after(node: KerasNode) -> bool:
    """Whether GRU multiplies by the reset gate after the product with the state, as cuDNN; with a bias of its own."""
    return node.layer.kind == "GRU" and bool(node.layer.config.get("reset_after"))


def _bias(node: KerasNode, given: str, wanted: str) -> Array:
    """The biases of the input and of the state, one behind the other, with gates in another order."""
    width = node.variable("kernel", 2).shape[1]
    rows = _biases(node) if node.flag("use_bias") else []
    ordered = [gates_in_order(row, given, wanted) for row in rows]
    missing = [np.zeros(width, node.dtype_of_layer.numpy)] * (2 - len(ordered))
    return np.concatenate([*ordered, *missing])


def _biases(node: KerasNode) -> list[Array]:
    """The bias of the product with the input, and for GRU with reset_after that of the product with the state."""
    width, bias = node.variable("kernel", 2).shape[1], node.variable("bias")
    count = 2 if _resets_after(node) else 1
    if bias.size != count * width:
        raise FrontendError(f"expected {count} biases of {width} numbers, found shape {list(bias.shape)}")
    return list(bias.reshape(count, width))


def _as_loop(node: KerasNode, data: Value) -> Run:
    """A loop over time steps with the cell in elementary operators: for masks, and for any activations."""
    units = _units(node)
    batch, _, _ = data.type.shape
    product = node.step(MatMul(), data, node.weight("kernel", 2))
    if node.flag("use_bias"):
        product = node.step(Add(), product, node.made(_biases(node)[0], "bias"))
    count = 2 if node.layer.kind == "LSTM" else 1
    zero = zeros(node, (batch, units))
    states = initial_states(node, count) or [zero] * count
    cell = {"LSTM": _lstm_cell, "GRU": _gru_cell, "SimpleRNN": _simple_cell}[node.layer.kind](node)
    return over_time(node, product, states, cell)


def _lstm_cell(node: KerasNode) -> Cell:
    kernel, units = node.weight("recurrent_kernel", 2), _units(node)

    def cell(inner: KerasNode, captured: Sequence[Value], x: Value, states: Sequence[Value]) -> list[Value]:
        hidden, carried = states
        z = inner.step(Add(), x, inner.step(MatMul(), hidden, captured[0]))
        return lstm_states(inner, inner.steps(Split(1, (units,) * 4), z, count=4), carried)

    return Cell((kernel,), cell)


def lstm_states(inner: KerasNode, gates: Sequence[Value], carried: Value) -> list[Value]:
    """The next states, of gates i f c o before their activations."""
    i, f, o = (gate(inner, gates[index]) for index in (0, 1, 3))
    fresh = inner.step(Multiply(), i, other(inner, gates[2]))
    following = inner.step(Add(), inner.step(Multiply(), f, carried), fresh)
    return [inner.step(Multiply(), o, other(inner, following)), following]


def gate(node: KerasNode, data: Value) -> Value:
    """The activation of gates."""
    return _through(node, node.attribute("recurrent_activation"), data)


def other(node: KerasNode, data: Value) -> Value:
    """The activation of what is no gate."""
    return _through(node, node.attribute("activation"), data)


def _through(node: KerasNode, activation: object, data: Value) -> Value:
    return data if is_linear(activation) else activated(node, activation, data, node.step)


def _gru_cell(node: KerasNode) -> Cell:
    units, after = _units(node), _resets_after(node)
    kernel = node.variable("recurrent_kernel", 2)
    parts = [node.made(part, "recurrence") for part in (kernel[:, : 2 * units], kernel[:, 2 * units :])]
    if after and node.flag("use_bias"):
        bias = _biases(node)[1]
        parts += [node.made(part, "bias") for part in (bias[: 2 * units], bias[2 * units :])]

    def cell(inner: KerasNode, captured: Sequence[Value], x: Value, states: Sequence[Value]) -> list[Value]:
        (hidden,) = states
        gates, last, *biases = captured

        def product(state: Value, part: int) -> Value:
            found = inner.step(MatMul(), state, (gates, last)[part])
            return inner.step(Add(), found, biases[part]) if biases else found

        xz, xr, xh = inner.steps(Split(1, (units,) * 3), x, count=3)
        hz, hr = inner.steps(Split(1, (units,) * 2), product(hidden, 0), count=2)
        z, r = gate(inner, inner.step(Add(), xz, hz)), gate(inner, inner.step(Add(), xr, hr))
        if after:
            from_state = inner.step(Multiply(), r, product(hidden, 1))
        else:
            from_state = product(inner.step(Multiply(), r, hidden), 1)
        fresh = other(inner, inner.step(Add(), xh, from_state))
        kept, rest = inner.step(Multiply(), z, hidden), inner.step(Subtract(), inner.number_like(1), z)
        return [inner.step(Add(), kept, inner.step(Multiply(), rest, fresh))]

    return Cell(tuple(parts), cell)


def _simple_cell(node: KerasNode) -> Cell:
    def cell(inner: KerasNode, captured: Sequence[Value], x: Value, states: Sequence[Value]) -> list[Value]:
        return [other(inner, inner.step(Add(), x, inner.step(MatMul(), states[0], captured[0])))]

    return Cell((node.weight("recurrent_kernel", 2),), cell)


RECURRENT: Mapping[str, Converter[KerasNode]] = {
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "SimpleRNN": _recurrent,
}
