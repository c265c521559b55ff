"""The view that loop IR and its interpreter have of the instruction in an `Intrinsic`; `intrinsics` defines
instructions, with code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np


class Instruction(Protocol):
    """A name, and operands with a name, an element type and a constant shape each."""

    @property
    def name(self) -> str:
        """The name in errors and in the text form."""

    @property
    def inputs(self) -> Sequence[Any]:
        """The operands that it reads."""

    @property
    def outputs(self) -> Sequence[Any]:
        """The operands that it writes."""

    @property
    def operands(self) -> Sequence[Any]:
        """The outputs, then the inputs."""

    @property
    def by_warp(self) -> bool:
        """Whether the threads of a warp execute it together."""

    def is_fragment(self, operand: Any) -> bool:
        """Whether the threads of a warp hold the operand in registers, each a part of it."""

    def shape_of(self, operand: Any) -> tuple[int, ...]:
        """The shape of an operand."""

    def evaluate(self, arrays: Mapping[Any, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The outputs by definition, from an array for each input."""


InstructionType = TypeVar("InstructionType", bound=Instruction)
