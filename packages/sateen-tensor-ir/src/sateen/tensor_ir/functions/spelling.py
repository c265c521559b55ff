"""How emitters write a function: a small value for each way of writing. Functions that an emitter lacks become
formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, slots=True)
class LlvmIntrinsic:
    """A call of `llvm.NAME`, whose suffix names the types of the first `overloads` operands.

    A processor without `feature` has no instruction for it, so formulas are better there.
    """

    name: str
    overloads: int = 1
    feature: str = ""


@dataclass(frozen=True, slots=True)
class LlvmInstruction:
    """An instruction of LLVM on two integers: its word for signed ones, and for unsigned ones."""

    signed: str
    unsigned: str


LlvmSpelling = LlvmIntrinsic | LlvmInstruction


@dataclass(frozen=True, slots=True)
class Routine:
    """A static function of generated C: its name, its definition and the routines that it calls.

    The text begins with the type of the result. It names types by sateen's names (`$uint32`); each dialect substitutes
    its own. `header` is a line that it needs at the beginning of the unit.
    """

    name: str
    text: str
    requires: tuple[Routine, ...] = ()
    header: str = ""

    def definition(self, words: str, types: Mapping[str, str]) -> str:
        """The definition in a dialect: the words before it, and its names of types."""
        return f"{words} {Template(self.text.strip()).substitute(types)}".strip()


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function of the dialect's library: in C99 that of float64, whose float32 version has the suffix f."""

    name: str


@dataclass(frozen=True, slots=True)
class InfixOperator:
    """An operator of C between two integers; with `wraps` it acts on unsigned ones, whose overflow is defined."""

    symbol: str
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class RoutineCall:
    """A call of one of our routines, whose operand is the unsigned integer with the same bits."""

    routine: Routine


CSpelling = LibraryFunction | InfixOperator | RoutineCall
