"""What loop IR and its interpreter know of the instruction of an `Intrinsic`; `intrinsics` makes them, with code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np


class Instruction(Protocol):
    """A name, and operands with a name, an element type and a constant shape each."""

    @property
    def name(self) -> str:
        """As errors and the text form call it."""

    @property
    def inputs(self) -> Sequence[Any]:
        """The operands that it reads."""

    @property
    def outputs(self) -> Sequence[Any]:
        """The operands that it writes."""

    @property
    def operands(self) -> Sequence[Any]:
        """The outputs, then the inputs."""

    def shape_of(self, operand: Any) -> tuple[int, ...]:
        """The shape of an operand."""

    def evaluate(self, arrays: Mapping[Any, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The outputs by definition, of an array for each input."""


InstructionType = TypeVar("InstructionType", bound=Instruction)
