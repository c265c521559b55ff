"""The source of a function: its syntax tree with true lines and columns, and errors that show the place."""

from __future__ import annotations

import ast
import inspect
import linecache
from dataclasses import dataclass
from types import FunctionType

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.span import Span


class ScriptError(ExpressionError):
    """A script that te can't take: `line` and `column` of `file`, counted from 1 in characters, are the place."""

    def __init__(self, message: str, file: str, line: int, column: int) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The definition of a function in a file."""

    name: str
    file: str
    lines: tuple[str, ...]
    definition: ast.FunctionDef

    def span(self, node: ast.stmt | ast.expr) -> Span:
        """The place of a node for those that are made of it."""
        return Span(self.file, node.lineno)

    def fault(self, node: ast.AST, message: str) -> ScriptError:
        """An error at a node, with its line of source."""
        line = getattr(node, "lineno", self.definition.lineno)
        text = self.lines[line - 1].rstrip("\n")
        column = len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace"))
        margin = "".join("\t" if c == "\t" else " " for c in text[:column])
        place = f"{self.file}:{line}:{column + 1}"
        return ScriptError(
            f"{message}\n  in {place}, script {self.name!r}\n    {text}\n    {margin}^", self.file, line, column + 1
        )


def source_of(function: object) -> Source:
    """The source of a function that `def` made.

    Raises ExpressionError for anything else: a lambda, what another decorator made, a function whose source is nowhere
    or has changed since it was loaded.
    """
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        found = f"{type(function).__name__} {getattr(function, '__name__', function)!r:.80}"
        raise ExpressionError(f"hybrid.script expects a function directly above its def, found {found}")
    name, code = function.__name__, function.__code__
    if name == "<lambda>":
        raise ExpressionError("hybrid.script expects a function that def made, found a lambda; give it a name")
    file = code.co_filename
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file, function.__globals__))
    if not lines:
        raise ExpressionError(f"hybrid.script expects the source of {name!r}, found none in {file!r}; put it in a file")
    definition = _definition(lines, code.co_firstlineno)
    if isinstance(definition, ast.AsyncFunctionDef):
        raise ExpressionError(f"hybrid.script expects a function without async, found {name!r}")
    if definition is None or definition.name != name:
        raise ExpressionError(
            f"hybrid.script expects the source of {name!r} at {file}:{code.co_firstlineno}, found another text; "
            "load the file again"
        )
    return Source(name, file, lines, definition)


def _definition(lines: tuple[str, ...], first: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that begins in line `first`, with the lines and columns of the file; None if none does."""
    block = "".join(inspect.getblock(lines[first - 1 :]))
    is_nested = block[:1].isspace()
    try:
        (node,) = ast.parse(f"if True:\n{block}" if is_nested else block).body
    except (SyntaxError, ValueError):
        return None
    if is_nested:
        assert isinstance(node, ast.If)
        node = node.body[0]
    ast.increment_lineno(node, first - 1 - is_nested)
    return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
