"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from weft.frontends.onnx.emitter import Operand
from weft.frontends.onnx.node import Converter, ImportedNode
from weft.graph_ir.graph import Value
from weft.graph_ir.ops.recurrent import DIRECTIONS, GRU, LSTM, RNN, Recurrent
from weft.graph_ir.ops.shape import Transpose
from weft.runtime.errors import FrontendError

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
"""How many of alpha and beta an activation takes."""

_NAMES = {name.lower(): name for name in _PARAMETERS}


def _activations(node: ImportedNode, kind: type[Recurrent]) -> tuple[str, ...]:
    """The names, in upper or lower case in the model, of one direction after the other.

    The default of RNN has two names for one direction, too.
    """
    directions = node.text("direction")
    if directions not in DIRECTIONS:
        raise FrontendError(f"expected direction {', '.join(DIRECTIONS)}, found {directions!r}")
    usual = kind.usual * len(DIRECTIONS[directions])
    given = (node.attribute("activations") or usual)[: len(usual)]
    unknown = [name for name in given if name.lower() not in _NAMES]
    if unknown or len(given) != len(usual):
        raise FrontendError(f"expected {len(usual)} activations of {', '.join(_PARAMETERS)}, found {list(given)}")
    return tuple(_NAMES[name.lower()] for name in given)


def _consumed(values: Sequence[float] | None, activations: Sequence[str], which: int) -> tuple[float | None, ...]:
    """Values handed out, in order, to the activations that take an alpha (`which` 1) or a beta (2)."""
    if not values:
        return ()
    remaining = iter(values)
    return tuple(next(remaining, None) if _PARAMETERS[name] >= which else None for name in activations)


def _recurrent(node: ImportedNode, kind: type[Recurrent], **own: bool) -> tuple[Operand, ...]:
    """With layout 1 the batch comes before time, and before directions in the states."""
    activations = _activations(node, kind)
    hidden = node.attribute("hidden_size")
    if node.rank(2) != 3:
        raise FrontendError(f"expected R of 3 dimensions, found {list(node.shape(2))}")
    op = kind(  # type: ignore[call-arg]  # a dataclass, as all subclasses are
        hidden_size=node.shape(2)[-1] if hidden is None else hidden,
        direction=node.text("direction"),
        activations=() if activations == kind.usual * len(DIRECTIONS[node.text("direction")]) else activations,
        alphas=_consumed(node.attribute("activation_alpha"), activations, 1),
        betas=_consumed(node.attribute("activation_beta"), activations, 2),
        clip=node.attribute("clip"),
        **own,
    )
    inputs = [node.value(i) if node.has(i) else None for i in range(len(node.inputs))]
    if not node.flag("layout"):
        return node.results(op, *inputs, count=1 + kind.states)
    states = range(5, 5 + kind.states)
    swapped = [_swapped(node, value) if i == 0 or i in states else value for i, value in enumerate(inputs)]
    y, *last = node.steps(op, *swapped, count=1 + kind.states)
    first = node.result(Transpose(permutation=(2, 0, 1, 3)), y)
    return first, *(node.result(Transpose(permutation=(1, 0, 2)), s, output=i) for i, s in enumerate(last, 1))


def _swapped(node: ImportedNode, value: Value | None) -> Value | None:
    return None if value is None else node.step(Transpose(permutation=(1, 0, 2)), value)


RECURRENT: dict[str, Converter] = {
    "GRU": lambda node: _recurrent(node, GRU, linear_before_reset=node.flag("linear_before_reset")),
    "LSTM": lambda node: _recurrent(node, LSTM, input_forget=node.flag("input_forget")),
    "RNN": lambda node: _recurrent(node, RNN),
}
