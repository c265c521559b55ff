"""What the functions of one C translation unit share: routines, constants and declarations."""

from __future__ import annotations

from dataclasses import dataclass, field

from sateen.tensor_ir.codegen.c_family.dialects import Dialect
from sateen.tensor_ir.codegen.c_family.identifiers import PREFIX
from sateen.tensor_ir.functions.spelling import Routine
from sateen.tensor_ir.ir.buffer import Buffer


@dataclass(slots=True)
class TranslationUnit:
    """The shared definitions of one translation unit in a language."""

    dialect: Dialect
    routines: dict[Routine, None] = field(default_factory=dict)
    constants: dict[Buffer, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    """Definitions in order, each before its use."""
    declared: dict[str, None] = field(default_factory=dict)
    """Declarations of functions that others define."""

    def require(self, routine: Routine) -> str:
        """The name of a routine, which the unit will define, in the language's own words where it has them."""
        spelled = self.dialect.own.get(routine.name, routine)
        for required in spelled.requires:
            self.require(required)
        self.routines.setdefault(spelled)
        return routine.name

    @property
    def headers(self) -> dict[str, None]:
        """The lines that routines need at the beginning, each once."""
        return {routine.header: None for routine in self.routines if routine.header}

    def routine_definitions(self) -> list[str]:
        """The definitions of routines, each before its use."""
        return [routine.definition(self.dialect.routine, self.dialect.types) for routine in self.routines]

    def constant(self, buffer: Buffer) -> str:
        """The name of a buffer's data at file scope."""
        return self.constants.setdefault(buffer, f"{PREFIX}constant_{len(self.constants)}")
