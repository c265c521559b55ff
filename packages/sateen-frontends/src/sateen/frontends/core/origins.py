"""What the values of a graph come from, noted when they are made: nothing walks back to the inputs to ask it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator

MOST_DECIDING = 4
"""The most inputs of the model that are kept for a value: messages name fewer."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What holds for a value and all that is computed from it.

    `deciding` are the names of the first few inputs of the model that it depends on, as far as they are known.
    `is_constant`: it depends on constants alone. `is_behind_gap`: it depends on a value that can't be computed.
    `is_evaluable`: it can be computed while importing.
    """

    deciding: tuple[str, ...] = ()
    is_constant: bool = True
    is_behind_gap: bool = False
    is_evaluable: bool = True


CONSTANT = Origin()


class Origins:
    """The origins of the values of one graph."""

    def __init__(self) -> None:
        self._origins: dict[Value, Origin] = {}

    def __getitem__(self, value: Value) -> Origin:
        return self._origins[value]

    def constant(self, value: Value) -> None:
        self._origins[value] = CONSTANT

    def input(self, value: Value, deciding: Iterable[str], is_evaluable: bool = False) -> None:
        """Note an input, which these inputs of the model decide."""
        self._origins[value] = Origin(tuple(deciding)[:MOST_DECIDING], False, False, is_evaluable)

    def mark_stand_in(self, value: Value) -> None:
        """Note that an input stands for a value that can't be computed."""
        self._origins[value] = replace(self._origins[value], is_behind_gap=True)

    def refuse(self, value: Value) -> None:
        """Note that it is too much work to compute a value while importing, and all that depends on it."""
        self._origins[value] = replace(self._origins[value], is_evaluable=False)

    def computed(self, op: Operator, inputs: Sequence[Value | None], outputs: Sequence[Value]) -> None:
        """Note the outputs of a node."""
        is_evaluable = op.is_pure and all(v.type.is_static for v in outputs)
        origin = _joined([self._origins[v] for v in inputs if v is not None], is_evaluable)
        self._origins.update((v, origin) for v in outputs)


def _joined(origins: Sequence[Origin], is_evaluable: bool) -> Origin:
    """What comes of values of these origins; the same object as before along a chain."""
    first = origins[0] if origins else CONSTANT
    if first.is_evaluable <= is_evaluable and all(origin == first for origin in origins):
        return first
    names = dict.fromkeys(name for origin in origins for name in origin.deciding)
    return Origin(
        tuple(names)[:MOST_DECIDING],
        all(origin.is_constant for origin in origins),
        any(origin.is_behind_gap for origin in origins),
        is_evaluable and all(origin.is_evaluable for origin in origins),
    )
