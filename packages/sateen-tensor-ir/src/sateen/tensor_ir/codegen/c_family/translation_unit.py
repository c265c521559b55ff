"""What the functions of one C translation unit share: routines, constants and declarations."""

from __future__ import annotations

from dataclasses import dataclass, field

from sateen.tensor_ir.codegen.c_family.identifiers import PREFIX
from sateen.tensor_ir.functions.spelling import Routine
from sateen.tensor_ir.ir.buffer import Buffer


@dataclass(slots=True)
class TranslationUnit:
    """The shared definitions of one translation unit."""

    routines: dict[Routine, None] = field(default_factory=dict)
    constants: dict[Buffer, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    """Definitions in order, each before its use."""
    declared: dict[str, None] = field(default_factory=dict)
    """Declarations of functions that others define."""

    def require(self, routine: Routine) -> str:
        """The name of a routine, which the unit will define."""
        for required in routine.requires:
            self.require(required)
        self.routines.setdefault(routine)
        return routine.name

    def constant(self, buffer: Buffer) -> str:
        """The name of a buffer's data at file scope."""
        return self.constants.setdefault(buffer, f"{PREFIX}constant_{len(self.constants)}")
