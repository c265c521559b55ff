"""The operands and settings of recurrent layers, and checks that they fit."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.arguments import (
    require,
    require_floats,
    require_one_of,
    require_rank,
    require_shape,
    require_views,
)
from sateen.topi.computations.recurrent.activations import ACTIVATIONS, Activation
from sateen.topi.computations.recurrent.methods import USUAL_VECTORS
from sateen.topi.types import Block, Layout, View


@dataclass(frozen=True, slots=True)
class Inputs:
    """The operands, None if absent.

    x [time, batch, in], weight [direction, gates·hidden, in], recurrence [direction, gates·hidden, hidden],
    bias [direction, 2·gates·hidden], lengths [batch], initial states hidden and cell [direction, batch, hidden],
    peepholes [direction, 3·hidden].
    """

    x: View
    weight: View
    recurrence: View
    bias: View | None = None
    lengths: View | None = None
    hidden: View | None = None
    cell: View | None = None
    peepholes: View | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The common settings of layers: activations and whether time runs backwards, per direction; a limit of gates."""

    activations: tuple[tuple[Activation, ...], ...]
    backwards: tuple[bool, ...]
    clip: float | None = None


def weight_layout(machine: Machine, dtype: DType, vectors: int = USUAL_VECTORS) -> Layout | None:
    """The layout of weights of a type for a machine: in reading order, panels of `vectors` vectors of gates, term by
    term. None is row-major, for devices whose threads read a row together."""
    if machine.gpu is not None and machine.gpu.runs_in_step:
        return None
    return Layout((0, 1, 2, Block(1, vectors * machine.lanes(dtype))))


def require_layer(operator: str, inputs: Inputs, settings: Settings, gates: int, activations: int) -> None:
    """Check that operands fit each other and the number of directions in the settings."""
    require(isinstance(inputs, Inputs), operator, "Inputs", type(inputs).__name__)
    require(isinstance(settings, Settings), operator, "Settings", type(settings).__name__)
    given = {f.name: v for f in fields(inputs) if (v := getattr(inputs, f.name)) is not None}
    require_views(operator, **given)
    require_floats(operator, **{name: v for name, v in given.items() if name != "lengths"})
    require_rank(operator, "x [time, batch, in]", inputs.x, 3)
    require_rank(operator, "recurrence [direction, gates·hidden, hidden]", inputs.recurrence, 3)
    _, batch, features = inputs.x.shape
    directions, hidden = len(settings.backwards), inputs.recurrence.shape[2]
    state = (directions, batch, hidden)
    for name, shape in (
        ("weight", (directions, gates * hidden, features)), ("recurrence", (directions, gates * hidden, hidden)),
        ("bias", (directions, 2 * gates * hidden)), ("lengths", (batch,)), ("hidden", state), ("cell", state),
        ("peepholes", (directions, 3 * hidden)),
    ):  # fmt: skip
        if name in given:
            require_shape(operator, name, given[name], shape)
    require(len(settings.activations) == directions, operator, f"activations for {directions} directions", settings)
    for own in settings.activations:
        require(len(own) == activations, operator, f"{activations} activations for each direction", len(own))
        for activation in own:
            require_one_of(operator, "activation", activation.name, ACTIVATIONS)
