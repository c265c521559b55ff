"""The text of a Python program while it is being written: its lines, the names in it, and what these stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import Stmt


@dataclass(slots=True)
class Program:
    """A Python function without arguments, named `main`, and the values that it refers to."""

    lines: list[str] = field(default_factory=list)
    origins: list[Stmt | None] = field(default_factory=list)
    """The statement to which each line belongs."""
    namespace: dict[str, Any] = field(default_factory=dict)
    names: dict[Var | Buffer, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return "\n".join(self.lines)


class ProgramText:
    """A program, to which lines are added at a depth and on behalf of a statement, `origin`."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.program = Program(namespace=dict(namespace))
        self.numbers = count()
        self.depth = 0
        self.origin: Stmt | None = None

    def line(self, text: str) -> None:
        self.program.lines.append(" " * self.depth + text)
        self.program.origins.append(self.origin)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers)}"

    def name(self, node: Var | Buffer) -> str:
        """The Python name of a variable or buffer."""
        names = self.program.names
        if node not in names:
            names[node] = f"{'v' if isinstance(node, Var) else 'm'}{len(names)}"
        return names[node]

    def bind(self, node: Var | Buffer, value: object) -> None:
        self.program.namespace[self.name(node)] = value

    def constant(self, value: object) -> str:
        """The name of a value that the program refers to."""
        name = f"c{len(self.program.namespace)}"
        self.program.namespace[name] = value
        return name
