"""Lines of one C function, with its names and the types that its dialect has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.c_family.dialects import Dialect
from sateen.tensor_ir.codegen.c_family.identifiers import Identifiers
from sateen.tensor_ir.codegen.c_family.literals import storage_type
from sateen.tensor_ir.codegen.c_family.routines import FLOAT32
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.types import INDEX, INT64


class FunctionText:
    """The text of a function as it is written; `unit` defines what it needs beside itself."""

    index: DType = INT64
    """The type in which indices are computed."""

    def __init__(self, unit: TranslationUnit, taken: frozenset[str], name: str) -> None:
        self.unit = unit
        self.dialect: Dialect = unit.dialect
        self.identifiers = Identifiers(taken, self.dialect.is_reserved)
        self.function_name = name
        self.lines: list[str] = []
        self.depth = 1
        self.mentioned: dict[Var | Buffer, None] = {}
        """The variables and buffers that the text refers to."""

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fixed(self, type_: str, name: str, value: str) -> None:
        """Add the definition of a name that keeps its value."""
        self.line(f"const {type_} {name} = {value};")

    def variable(self, type_: str, name: str, value: str = "") -> None:
        """Add the definition of a name whose value changes, or is set later."""
        self.line(f"{type_} {name}{' = ' if value else ''}{value};")

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        self.line(f"{head} {{" if head else "{")
        with self.indented():
            yield
        self.line("}")

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, node: Var | Buffer) -> str:
        """The identifier of a variable or of a buffer's first element."""
        if isinstance(node, Buffer) and node.data is not None:
            return self.unit.constant(node)
        self.mentioned.setdefault(node)
        return self.identifiers.of(node)

    def value_type(self, dtype: DType) -> str:
        """The name of the type in which values are computed."""
        return self._known(self.computed(dtype))

    def computed(self, dtype: DType) -> DType:
        """The type in which values are computed: 16-bit floats are storage, an index has the width that suffices."""
        return self.index if dtype == INDEX else FLOAT32 if dtype.is_float and dtype.bits == 16 else dtype

    def storage_type(self, dtype: DType) -> str:
        """The type of an element in memory."""
        if not (dtype.is_float and dtype.bits == 16):
            self._known(dtype)
        return storage_type(dtype, self.dialect.types)

    def _known(self, dtype: DType) -> str:
        if str(dtype) not in self.dialect.types:
            known = ", ".join(self.dialect.types)
            raise CodegenError(f"{self.function_name}: {self.dialect.name} has no type {dtype}; it has {known}")
        return self.dialect.types[str(dtype)]
