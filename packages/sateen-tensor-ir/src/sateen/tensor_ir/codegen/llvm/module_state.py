"""The shared state of the functions in one module of LLVM text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.targets import Architecture


@dataclass(slots=True)
class CodeReport:
    """The counts of code generation for `explain`: memory accesses that are not plain."""

    gathers: int = 0
    masked: int = 0
    scalarised: int = 0


class ModuleState:
    """The shared state of the functions in one module: declarations of intrinsics, constant data, finished
    functions."""

    def __init__(
        self,
        architecture: Architecture,
        triple: str,
        features: frozenset[str],
        *,
        constant_space: int = 0,
        freezes_addresses: bool = True,
    ) -> None:
        self.architecture = architecture
        self.triple = triple
        self.features = features
        """The processor's features, by LLVM's names."""
        self.constant_space = constant_space
        """The address space of constant data; processors have one space, 0."""
        self.freezes_addresses = freezes_addresses
        """Whether LLVM is to take addresses from outside a loop as given, so that it compiles faster."""
        self.declarations: dict[str, None] = {}
        self.constants: dict[Buffer, str] = {}
        self.functions: list[str] = []
        self.routines: dict[str, None] = {}
        """Text of functions that others call, each once."""
        self.intrinsics: dict[str, None] = {}
        """Intrinsics of LLVM that users call by name."""
        self.imports: dict[str, str] = {}
        """LLVM texts of users', and where errors say that they are from."""
        self._texts: dict[str, str] = {}
        self.report = CodeReport()

    @property
    def converts_half(self) -> bool:
        """Whether the processor has instructions that convert float16."""
        needed = self.architecture.half_feature
        return not needed or needed in self.features

    def constant(self, buffer: Buffer) -> str:
        """The name of the constant that holds the buffer's data."""
        return self.constants.setdefault(buffer, f"@constant.{len(self.constants)}")

    def text_constant(self, text: str) -> str:
        """The name of a constant that holds a zero-terminated text."""
        return self._texts.setdefault(text, f"@text.{len(self._texts)}")

    @property
    def texts(self) -> Mapping[str, str]:
        """The names of constants that hold texts, by text."""
        return self._texts
