"""Recurrent layers: blobs [Seq, Batch, C, 1, 1], gates in the graph's order, and what the format clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.frontends.coreml.network.weights import array_of
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError

CLIP = 50.0
"""What the arguments of activations are limited to, and the state of an LSTM cell by default (NeuralNetwork.proto)."""
_LSTM_GATES = ("inputGate", "outputGate", "forgetGate", "blockInput")
"""The graph's i o f c, by their names in the format."""
_GRU_GATES = ("updateGate", "resetGate", "outputGate")
"""The graph's z r h; its update gate keeps the old state, as the format's does."""
_PEEPHOLES = ("inputGate", "outputGate", "forgetGate")
_NAMES = {
    "linear": "Affine", "sigmoid": "Sigmoid", "tanh": "Tanh", "ReLU": "Relu", "scaledTanh": "ScaledTanh",
    "sigmoidHard": "HardSigmoid",
}  # fmt: skip
"""The activations that recurrent layers take, and the graph's names of them."""
_BOUNDED = frozenset({"sigmoid", "sigmoidHard", "tanh"})
"""Activations within [-1, 1]."""
_SATURATED = frozenset({"sigmoid", "tanh"})
"""Activations that are the same from `CLIP` on."""


def _settings(activations: Sequence[Message], count: int) -> dict[str, Any]:
    """Activations in the form of the graph's operators."""
    if len(activations) != count:
        raise FrontendError(f"expected {count} activations, found {len(activations)}")
    kinds = [activation.WhichOneof("nonlinearity_type") for activation in activations]
    unknown = [kind for kind in kinds if kind not in _NAMES]
    if unknown:
        raise UnsupportedError(f"a recurrent layer takes activations {', '.join(_NAMES)}, found {unknown[0]}")
    given = [getattr(activation, kind) for activation, kind in zip(activations, kinds, strict=True)]
    return {
        "activations": tuple(_NAMES[kind] for kind in kinds),
        "alphas": tuple(getattr(parameters, "alpha", None) for parameters in given),
        "betas": tuple(getattr(parameters, "beta", None) for parameters in given),
        "clip": CLIP,
    }


def _sequence(node: LayerNode, index: int = 0) -> Value:
    """A blob of vectors as [time, batch, features]."""
    shape = node.shape(index)
    if len(shape) != 4 + node.has_batch or shape[-2:] != (1, 1):
        raise FrontendError(f"expected a blob [Seq, Batch, C, 1, 1], found {node.operand_text(index)}")
    batch = shape[1] if node.has_batch else 1
    return node.step(ops.Reshape((shape[0], batch, shape[-3])), node.value(index))


def _blob(node: LayerNode, vectors: Value, output: int = 0) -> Value:
    """The node's result of [time, batch, features]."""
    time, batch, features = vectors.type.shape
    shape = (time, batch, features, 1, 1) if node.has_batch else (time, features, 1, 1)
    return node.result(ops.Reshape(shape), vectors, output=output)


def _joined(weights: Sequence[Array]) -> Array:
    return np.concatenate(weights)[None]


def _outputs(node: LayerNode, sequence: Value, states: Sequence[Value], gives_sequence: bool) -> tuple[Operand, ...]:
    """Results of y [time, direction, batch, hidden] and states [direction, batch, hidden].

    They are y or its last, then hidden and cell state of each direction.
    """
    time, directions, batch, hidden = sequence.type.shape
    assert isinstance(directions, int)
    if gives_sequence:
        turned = node.step(ops.Transpose((0, 2, 1, 3)), sequence)
        joined = node.step(ops.Reshape((time, batch, directions * hidden)), turned)
    else:
        turned = node.step(ops.Transpose((1, 0, 2)), states[0])
        joined = node.step(ops.Reshape((1, batch, directions * hidden)), turned)
    found = [_blob(node, joined)]
    if len(node.outputs) > 1:
        each = [_of_directions(node, state, directions) for state in states]
        ordered = [each[kind][d] for d in range(directions) for kind in range(len(states))]
        found += [_blob(node, state, output) for output, state in enumerate(ordered[: len(node.outputs) - 1], 1)]
    if len(found) < len(node.outputs):
        raise FrontendError(f"expected at most {len(found)} outputs, found {len(node.outputs)}")
    return tuple(found)


def _of_directions(node: LayerNode, state: Value, directions: int) -> Sequence[Value]:
    if directions == 1:
        return [state]
    return node.steps(ops.Split(axis=0, sizes=(1,) * directions), state, count=directions)


def _direction(node: LayerNode) -> str:
    given = node.parameters
    if not given.reverseInput:
        return "forward"
    if getattr(given, "sequenceOutput", False) or (hasattr(given, "params") and given.params.sequenceOutput):
        raise UnsupportedError(
            "the format does not say in which order a reversed layer gives its sequence",
            "reverse the sequence by a layer before it",
        )
    return "reverse"


def _initial(node: LayerNode, states: int, directions: int) -> list[Value | None]:
    """The states that the inputs give after the sequence: for each direction, hidden and cell."""
    if len(node.inputs) == 1:
        return [None] * states
    if len(node.inputs) != 1 + states * directions:
        raise FrontendError(f"expected 1 or {1 + states * directions} inputs, found {len(node.inputs)}")
    given = [_sequence(node, index) for index in range(1, len(node.inputs))]
    if directions == 1:
        return list(given)
    return [node.step(ops.Concat(axis=0), *given[kind::states]) for kind in range(states)]


def _simple(node: LayerNode) -> Sequence[Operand]:
    given, x = node.parameters, _sequence(node)
    inputs, hidden = given.inputVectorSize, given.outputVectorSize
    bias = [node.weights("biasVector", (hidden,)), np.zeros(hidden, np.float32)] if given.hasBiasVector else None
    op = ops.RNN(hidden, _direction(node), **_settings([given.activation], 1))
    operands = [
        node.parameter(node.weights("weightMatrix", (hidden, inputs))[None], "weightMatrix"),
        node.parameter(node.weights("recursionMatrix", (hidden, hidden))[None], "recursionMatrix"),
        None if bias is None else node.parameter(_joined(bias), "biasVector"),
        None,
        *_initial(node, 1, 1),
    ]
    sequence, *states = node.steps(op, x, *operands, count=2)
    return _outputs(node, sequence, states, given.sequenceOutput)


def _gru(node: LayerNode) -> Sequence[Operand]:
    given, x = node.parameters, _sequence(node)
    inputs, hidden = given.inputVectorSize, given.outputVectorSize
    bias = None
    if given.hasBiasVectors:
        parts = [node.weights(f"{gate}BiasVector", (hidden,)) for gate in _GRU_GATES]
        bias = node.parameter(_joined([*parts, np.zeros(3 * hidden, np.float32)]), "biasVectors")
    op = ops.GRU(hidden, _direction(node), **_settings(given.activations, 2))
    weight = _joined([node.weights(f"{gate}WeightMatrix", (hidden, inputs)) for gate in _GRU_GATES])
    recursion = _joined([node.weights(f"{gate}RecursionMatrix", (hidden, hidden)) for gate in _GRU_GATES])
    operands = [node.parameter(weight, "weightMatrices"), node.parameter(recursion, "recursionMatrices"), bias, None]
    sequence, *states = node.steps(op, x, *operands, *_initial(node, 1, 1), count=2)
    return _outputs(node, sequence, states, given.sequenceOutput)


def _lstm(node: LayerNode) -> Sequence[Operand]:
    given = node.parameters
    return _long_short_term(node, [given.weightParams], _direction(node), given.activations)


def _bidirectional(node: LayerNode) -> Sequence[Operand]:
    given = node.parameters
    if len(given.weightParams) != 2:
        raise FrontendError(f"expected the weights of two directions, found {len(given.weightParams)}")
    activations = [*given.activationsForwardLSTM, *given.activationsBackwardLSTM]
    return _long_short_term(node, list(given.weightParams), "bidirectional", activations)


def _long_short_term(
    node: LayerNode, weights: Sequence[Message], direction: str, activations: Sequence[Message]
) -> Sequence[Operand]:
    given, settings, x = node.parameters, node.parameters.params, _sequence(node)
    inputs, hidden, count = given.inputVectorSize, given.outputVectorSize, len(weights)
    initial = _initial(node, 2, count)
    _require_unclipped(x, settings, activations, _largest_cell(node), has_state=initial[1] is not None)
    if settings.forgetBias and not settings.hasBiasVectors:
        raise UnsupportedError(
            "the format does not say whether forgetBias counts without bias vectors", "set hasBiasVectors, with zeros"
        )
    op = ops.LSTM(
        hidden, direction, **_settings(activations, 3 * count), input_forget=settings.coupledInputAndForgetGate
    )
    bias = peepholes = None
    if settings.hasBiasVectors:
        bias = node.parameter(
            np.concatenate([_lstm_bias(w, hidden, settings.forgetBias) for w in weights]), "biasVectors"
        )
    if settings.hasPeepholeVectors:
        peepholes = node.parameter(_of_gates(weights, _PEEPHOLES, "PeepholeVector", (hidden,)), "peepholeVectors")
    weight = node.parameter(_of_gates(weights, _LSTM_GATES, "WeightMatrix", (hidden, inputs)), "weightMatrices")
    recursion = node.parameter(
        _of_gates(weights, _LSTM_GATES, "RecursionMatrix", (hidden, hidden)), "recursionMatrices"
    )
    sequence, state, cell = node.steps(op, x, weight, recursion, bias, None, *initial, peepholes, count=3)
    if initial[1] is not None:
        threshold = settings.cellClipThreshold or CLIP
        cell = node.step(ops.Clip(-threshold, threshold), cell)
    return _outputs(node, sequence, [state, cell], settings.sequenceOutput)


def _of_gates(weights: Sequence[Message], gates: Sequence[str], kind: str, shape: tuple[int, ...]) -> Array:
    """Weights [direction, gates · rows, …]."""
    return np.concatenate([
        _joined([array_of(getattr(w, f"{gate}{kind}"), shape, f"{gate}{kind}") for gate in gates]) for w in weights
    ])  # fmt: skip


def _lstm_bias(weights: Message, hidden: int, adds_one: bool) -> Array:
    parts = {
        gate: array_of(getattr(weights, f"{gate}BiasVector"), (hidden,), f"{gate}BiasVector") for gate in _LSTM_GATES
    }
    if adds_one:
        parts["forgetGate"] = parts["forgetGate"] + np.float32(1)
    return _joined([*parts.values(), np.zeros(4 * hidden, np.float32)])


def _largest_cell(node: LayerNode) -> float | None:
    """The largest number of the cells' initial states; None if they are computed."""
    cells = range(2, len(node.inputs), 2)
    if not all(map(node.is_known, cells)):
        return None
    return max((float(np.abs(node.constant(index)).max(initial=0)) for index in cells), default=0.0)


def _require_unclipped(
    x: Value, settings: Message, activations: Sequence[Message], largest: float | None, *, has_state: bool
) -> None:
    """Raises UnsupportedError if the state of a cell may reach the threshold that the format limits it to, and what it
    gives depends on that.

    With gates and inputs within [-1, 1] a state grows by at most 1 in a step, from `largest` at first; None: from any
    number. One step from a given state can reach the threshold, but bounded activations of 50 are those of any larger
    number, so that only the state that is given out is limited.
    """
    threshold = settings.cellClipThreshold or CLIP
    (steps,) = static_extents(x.type.shape[:1], "the length of the sequence, which decides whether cells are clipped,")
    kinds = [activation.WhichOneof("nonlinearity_type") for activation in activations]
    inner = all(kind in _BOUNDED for index, kind in enumerate(kinds) if index % 3 != 2)
    outer = all(kind in _SATURATED for kind in kinds[2::3])
    if has_state and steps == 1 and threshold >= CLIP and outer and not settings.hasPeepholeVectors:
        return
    if largest is None or not inner or largest + steps > threshold:
        reason = f"{steps} steps{' from an initial state' * has_state}" if inner else "such activations"
        raise UnsupportedError(
            f"with {reason} the cells' state may exceed {threshold:g}, where the format clips it",
            "read shorter sequences, those with an initial state step by step, or make that a constant of the model"
            if has_state
            else "raise cellClipThreshold, or read shorter sequences",
        )


RECURRENT: Mapping[str, Converter] = {
    "biDirectionalLSTM": _bidirectional,
    "gru": _gru,
    "simpleRecurrent": _simple,
    "uniDirectionalLSTM": _lstm,
}
