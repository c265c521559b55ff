"""The nodes of a model in one form, whatever its dialect: a step has names, and knows how it is converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sateen.frontends.core.bodies import Bodies
from sateen.frontends.core.importer import Conversion, Results
from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.place import Call
from sateen.topi.operators import Operator


@dataclass(frozen=True, slots=True)
class Custom:
    """The kind of a layer that only an operator of the user's stands for, and how that converts it."""

    kind: str
    convert: Callable[[type[Operator], Call], Results]


@dataclass(frozen=True, slots=True)
class Step:
    """A layer, an operation, or what CoreML does at the borders of a network; `operator` is the format's term.

    `conversion` gives its converter. It raises UnsupportedError if it can't be converted with any inputs. `control`
    reads the graphs within it, if it has any, and gives its results; None after a gap.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    conversion: Callable[[], Conversion]
    control: Callable[[Bodies[Step]], Results | None] | None = None
    custom: Custom | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """A model as steps: declared inputs, steps, outputs, declared types of inner values, of unknown shape where it does
    not declare that, what the elements of outputs are called, and the inputs whose next values outputs are."""

    inputs: Sequence[Declaration]
    steps: Sequence[Step]
    outputs: Sequence[str]
    declared: Sequence[Declaration] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
