"""The fused recurrent layer, RNN, whose gates are in cuDNN's order (src/operator/rnn-inl.h)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sateen.frontends.core.gates import gates_in_order
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.recurrence import GATES, LayerWeights, recurrent_layer, recurrent_layers
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError


@dataclass(frozen=True, slots=True)
class _Weights:
    """The parameters of a layer, directions first, with gates in the graph's order."""

    data: Array
    recurrence: Array
    bias: Array


def _layers(
    parameters: Array, mode: str, features: int, hidden: int, count: int, directions: int
) -> Iterator[_Weights]:
    """The parameters of each layer. The vector has the weights of all layers, [gates·hidden, in] and
    [gates·hidden, hidden] of each direction, and after them all biases in this order (GetRnnParamSize of
    src/operator/rnn-inl.h)."""
    width = len(GATES[mode][0]) * hidden
    inner = [features, *[hidden * directions] * (count - 1)]
    expected = sum(directions * width * (n + hidden + 2) for n in inner)
    if parameters.shape != (expected,):
        raise FrontendError(f"expected {expected} parameters, found {list(parameters.shape)}")
    sizes = [size for n in inner for _ in range(directions) for size in (width * n, width * hidden)]
    sizes += [width] * (2 * directions * count)
    parts = iter(np.split(parameters, np.cumsum(sizes)[:-1]))
    weights = [[(next(parts), next(parts)) for _ in range(directions)] for _ in inner]
    biases = [[(next(parts), next(parts)) for _ in range(directions)] for _ in inner]
    for n, pairs, more in zip(inner, weights, biases, strict=True):
        yield _Weights(
            np.stack([_reordered(data.reshape(width, n), mode) for data, _ in pairs]),
            np.stack([_reordered(recurrence.reshape(width, hidden), mode) for _, recurrence in pairs]),
            np.stack([np.concatenate([_reordered(part, mode) for part in pair]) for pair in more]),
        )


def _reordered(weights: Array, mode: str) -> Array:
    given, wanted = GATES[mode]
    return gates_in_order(weights, given, wanted)


def _rnn(node: MxnetNode) -> tuple[Operand, ...]:
    """Layers over data [time, batch, in]; the outputs are [time, batch, directions·hidden], and with state_outputs the
    last states [layers·directions, batch, hidden]. Dropout between layers (p) is for training."""
    mode = node.choice("mode", *GATES)
    is_clipped = any(node.attribute(f"lstm_state_clip_{name}") is not None for name in ("min", "max"))
    if node.attribute("projection_size") is not None or is_clipped:
        raise UnsupportedError("projected and clipped LSTM layers are not supported")
    if node.flag("use_sequence_length"):
        raise UnsupportedError("use_sequence_length is not supported; MXNet ignores it on a processor, not on a GPU")
    if node.rank(0) != 3:
        raise FrontendError(f"expected data [time, batch, in], found {node.rank(0)} axes")
    features = node.static_shape(0)[2]
    hidden, count, directions = node.integer("state_size"), node.integer("num_layers"), 1 + node.flag("bidirectional")
    if hidden < 1 or not 1 <= count <= 1000:
        raise FrontendError(f"expected a state_size of 1 or more and 1 to 1000 layers, found {hidden} and {count}")
    kinds = 2 if mode == "lstm" else 1
    starts = [_states(node, 2 + kind, count, directions, hidden) for kind in range(kinds)]
    op = recurrent_layer(mode, hidden, directions)
    layers = enumerate(_layers(node.constant(1), mode, features, hidden, count, directions))
    weights = [_parameters(node, weights, layer) for layer, weights in layers]
    value, after = recurrent_layers(node, op, node.value(0), weights, list(zip(*starts, strict=True)))
    results: list[Operand] = [node.result(ops.Identity(), value)]
    if node.flag("state_outputs"):
        ends = zip(*after, strict=True)
        results += [node.result(ops.Concat(axis=0), *states, output=1 + i) for i, states in enumerate(ends)]
    return tuple(results)


def _parameters(node: MxnetNode, weights: _Weights, layer: int) -> LayerWeights:
    return (
        node.parameter(weights.data, f"weight{layer}"),
        node.parameter(weights.recurrence, f"recurrence{layer}"),
        node.parameter(weights.bias, f"bias{layer}"),
    )


def _states(node: MxnetNode, index: int, count: int, directions: int, hidden: int) -> list[Value]:
    """The first states of each layer; a batch of 1, as of zeros of unknown batch, counts for all."""
    shape = (count * directions, node.shape(0)[1], hidden)
    state = node.value(index)
    if state.type.shape == (shape[0], 1, hidden) and shape[1] != 1:
        state = node.step(ops.BroadcastTo(shape=shape), state)
    if state.type.shape != shape:
        raise FrontendError(f"expected {node.input_name(index)} of {list(shape)}, found {list(state.type.shape)}")
    if count == 1:
        return [state]
    return list(node.steps(ops.Split(axis=0, sizes=(directions,) * count), state, count=count))


RECURRENT = {
    "RNN": operator(
        _rnn,
        "data parameters state state_cell sequence_length",
        "output state_output statecell_output",
        state_size=REQUIRED,
        num_layers=REQUIRED,
        bidirectional=False,
        mode=REQUIRED,
        p=0.0,
        state_outputs=False,
        projection_size=None,
        lstm_state_clip_min=None,
        lstm_state_clip_max=None,
        lstm_state_clip_nan=False,
        use_sequence_length=False,
    )
}
