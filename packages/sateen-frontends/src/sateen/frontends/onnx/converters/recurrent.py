"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import DIRECTIONS, GRU, LSTM, RNN, Cast, Recurrent, Transpose
from sateen.runtime.display import did_you_mean
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_PARAMETERS = {
    "Affine": 2,
    "Elu": 1,
    "HardSigmoid": 2,
    "LeakyRelu": 1,
    "Relu": 0,
    "ScaledTanh": 2,
    "Sigmoid": 0,
    "Softplus": 0,
    "Softsign": 0,
    "Tanh": 0,
    "ThresholdedRelu": 1,
}
"""The number of values (alpha, beta) that an activation takes."""

_NAMES = {name.lower(): name for name in _PARAMETERS}


def _activations(node: OnnxNode, kind: type[Recurrent]) -> tuple[str, ...]:
    """The names, in upper or lower case in the model, of one direction after the other.

    The default of RNN has two names for one direction, too.
    """
    directions = node.text("direction")
    if directions not in DIRECTIONS:
        raise FrontendError(f"expected direction {', '.join(DIRECTIONS)}, found {directions!r}")
    usual = kind.usual * len(DIRECTIONS[directions])
    given = (node.attribute("activations") or usual)[: len(usual)]
    for name in given:
        if name.lower() not in _NAMES:
            close = did_you_mean(name, _PARAMETERS)
            raise FrontendError(f"expected activations of {', '.join(_PARAMETERS)}; found {name!r}{close}")
    if len(given) != len(usual):
        raise FrontendError(f"expected {len(usual)} activations, found {', '.join(given)}")
    return tuple(_NAMES[name.lower()] for name in given)


def _consumed(values: Sequence[float] | None, activations: Sequence[str], which: int) -> tuple[float | None, ...]:
    """Values handed out, in order, to the activations that take an alpha (`which` 1) or a beta (2)."""
    if not values:
        return ()
    remaining = iter(values)
    return tuple(next(remaining, None) if _PARAMETERS[name] >= which else None for name in activations)


def _recurrent(node: OnnxNode, kind: type[Recurrent], **own: bool) -> tuple[Operand, ...]:
    """With layout 1 the batch comes before time, and before directions in the states; 16-bit types are widened."""
    activations = _activations(node, kind)
    hidden = node.attribute("hidden_size")
    if node.rank(2) != 3:
        raise FrontendError(f"expected R of 3 dimensions, found {list(node.shape(2))}")
    op = kind(
        hidden_size=node.static_shape(2)[-1] if hidden is None else hidden,
        direction=node.text("direction"),
        activations=() if activations == kind.usual * len(DIRECTIONS[node.text("direction")]) else activations,
        alphas=_consumed(node.attribute("activation_alpha"), activations, 1),
        betas=_consumed(node.attribute("activation_beta"), activations, 2),
        clip=node.attribute("clip"),
        **own,
    )
    inputs = [node.value(i) if node.has(i) else None for i in range(len(node.inputs))]
    swaps, narrow = node.flag("layout"), node.dtype(0).bits < 32
    if not swaps and not narrow:
        return node.results(op, *inputs, count=1 + kind.states)
    if swaps:
        states = range(5, 5 + kind.states)
        inputs = [_swapped(node, value) if i == 0 or i in states else value for i, value in enumerate(inputs)]
    if narrow:
        inputs = [_widened(node, value) for value in inputs]
    outputs = node.steps(op, *inputs, count=1 + kind.states)
    return tuple(_finished(node, value, i, swaps, narrow) for i, value in enumerate(outputs))


def _finished(node: OnnxNode, value: Value, output: int, swaps: bool, narrow: bool) -> Operand:
    """An output with the batch first, in the type of the input."""
    permutation = (2, 0, 1, 3) if output == 0 else (1, 0, 2)
    steps: list[Operator] = [Transpose(permutation=permutation)] * swaps + [Cast(dtype=node.dtype(0))] * narrow
    *before, last = steps
    for op in before:
        value = node.step(op, value)
    return node.result(last, value, output=output)


def _widened(node: OnnxNode, value: Value | None) -> Value | None:
    """Floating-point numbers in float32: states of 16 bits would lose digits from step to step."""
    if value is None or not value.type.dtype.is_float:
        return value
    return node.step(Cast(dtype=DType.of("float32")), value)


def _swapped(node: OnnxNode, value: Value | None) -> Value | None:
    return None if value is None else node.step(Transpose(permutation=(1, 0, 2)), value)


RECURRENT: dict[str, Converter] = {
    "GRU": lambda node: _recurrent(node, GRU, linear_before_reset=node.flag("linear_before_reset")),
    "LSTM": lambda node: _recurrent(node, LSTM, input_forget=node.flag("input_forget")),
    "RNN": lambda node: _recurrent(node, RNN),
}
