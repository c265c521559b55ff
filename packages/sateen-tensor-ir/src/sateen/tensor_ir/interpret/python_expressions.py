"""Expressions of loop IR as text of Python, with lines before it where an operand may stay unevaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.calls import meaning_of_values
from sateen.tensor_ir.interpret.current_worker import CurrentWorker
from sateen.tensor_ir.interpret.python_text import ProgramText
from sateen.tensor_ir.interpret.scalars import Trap
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import PACKED, function_name
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.types import INDEX, wrap
from sateen.tensor_ir.ir.visit import children, unknown

MAX_TEXT = 400
"""The most characters of one Python expression, since CPython limits it to 200 nested parentheses."""


class PythonExpressions:
    """Writes expressions of one statement after the other; `functions` are meanings of calls that are not native."""

    def __init__(self, text: ProgramText, worker: CurrentWorker, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.text = text
        self.worker = worker
        self.functions = functions
        self.shared_nodes: set[int] = set()
        self.texts: dict[int, str] = {}
        """The text of each expression, by id, that has one at this point of the statement."""
        text.program.namespace |= {
            "minimum": scalars.minimum, "maximum": scalars.maximum, "no_branch": _no_branch,
        }  # fmt: skip

    def begin(self, s: Stmt) -> None:
        """Start a statement, which evaluates none of the expressions of others."""
        self.texts = {}
        self.shared_nodes = _shared_nodes(s)

    def indices(self, indices: tuple[Expr, ...]) -> str:
        return f"({''.join(f'{self.expr(i)}, ' for i in indices)})"

    def expr(self, e: Expr) -> str:
        """Python text of the value; a node that the statement uses several times is evaluated once, into a name.

        Operands that are always evaluated get names first, so that only chosen ones recurse.
        """
        pending = [e]
        while pending:
            node = pending[-1]
            waiting = [c for c in _always_evaluated(node) if id(c) not in self.texts]
            if waiting:
                pending += reversed(waiting)
                continue
            pending.pop()
            if id(node) not in self.texts:
                self.texts[id(node)] = self.operation_or_name(node)
        return self.texts[id(e)]

    def operation_or_name(self, e: Expr) -> str:
        text = self.operation(e)
        if id(e) not in self.shared_nodes and len(text) < MAX_TEXT:
            return text
        name = self.text.fresh("t")
        self.text.line(f"{name} = {text}")
        return name

    def operation(self, e: Expr) -> str:
        match e:
            case ex.Const():
                value = scalars.literal(e.value, e.dtype)
                return self.text.constant(value) if e.dtype.is_float else f"({value})"
            case Var():
                return self.text.name(e)
            case Load():
                by = f".load_by({self.worker.text}, " if self.worker.is_contested(e.buffer) else "["
                return f"{self.text.name(e.buffer)}{by}{self.indices(e.indices)}{']' if by == '[' else ')'}"
            case Address():
                return f"{self.text.name(e.buffer)}.flat({self.expr(e.offset)}, {e.access!r})"
            case ex.And():
                return self.choice(e.a, e.b, ex.FALSE)
            case ex.Or():
                return self.choice(e.a, ex.TRUE, e.b)
            case ex.Select():
                return self.choice(e.condition, e.then, e.otherwise)
            case ex.Piecewise():
                return self.piecewise(e)
            case ex.Min() | ex.Max():
                return f"{'minimum' if isinstance(e, ex.Min) else 'maximum'}({self.expr(e.a)}, {self.expr(e.b)})"
            case ex.Compare():
                return f"({self.expr(e.a)} {e.symbol} {self.expr(e.b)})"
            case ex.Binary():
                text = f"({self.expr(e.a)} {e.symbol} {self.expr(e.b)})"
                return self.wrapped(text, e) if e.dtype.is_int else text
            case ex.Not():
                return f"(not {self.expr(e.value)})"
            case ex.Cast():
                return f"{self.text.constant(scalars.conversion(e.value.dtype, e.dtype))}({self.expr(e.value)})"
            case ex.Reinterpret():
                return f"{self.text.constant(scalars.reinterpretation(e.value.dtype, e.dtype))}({self.expr(e.value)})"
            case ex.Call():
                return self.call(e)
        raise unknown(e, "the interpreter")

    def wrapped(self, text: str, e: Expr) -> str:
        """Integers of data wrap, an index does not (docs/semantics.md 2.1, 3.1)."""
        if isinstance(e, ex.FloorMod) or e.dtype == INDEX:
            return text
        return f"{self.text.constant(partial(wrap, dtype=e.dtype))}({text})"

    def choice(self, condition: Expr, then: Expr, otherwise: Expr) -> str:
        """One of two operands: only that one is evaluated."""
        test = self.expr(condition)
        branches = [self.branch(then), self.branch(otherwise)]
        (then_lines, then_text), (else_lines, else_text) = branches
        if not then_lines and not else_lines:
            return f"({then_text} if {test} else {else_text})"
        return self.cases([(test, *branches[0]), ("True", *branches[1])])

    def piecewise(self, e: ex.Piecewise) -> str:
        index = self.expr(e.index)
        cases = [(f"{index} == {i}", *self.branch(b)) for i, b in enumerate(e.branches)]
        return self.cases([*cases, ("True", [], f"no_branch({index}, {len(e.branches)})")])

    def branch(self, e: Expr) -> tuple[list[str], str]:
        """The lines that an operand needs, at the depth of a block, and its text; its names are local to it."""
        lines, origins = self.text.program.lines, self.text.program.origins
        known, mark = len(self.texts), len(lines)
        with self.text.indented():
            text = self.expr(e)
        while len(self.texts) > known:
            self.texts.popitem()
        own = lines[mark:]
        del lines[mark:], origins[mark:]
        return own, text

    def cases(self, cases: list[tuple[str, list[str], str]]) -> str:
        """The text of the first case whose test holds."""
        result = self.text.fresh("t")
        for position, (test, lines, text) in enumerate(cases):
            self.text.line(f"{'el' if position else ''}if {test}:")
            with self.text.indented():
                self.text.program.lines.extend(lines)
                self.text.program.origins.extend([self.text.origin] * len(lines))
                self.text.line(f"{result} = {text}")
        return result

    def call(self, e: ex.Call) -> str:
        listed = ", ".join(
            f"{self.text.name(a.buffer)}.whole({a.access!r})"
            if isinstance(a, Address) and e.name.startswith(PACKED)
            else self.expr(a)
            for a in e.args
        )
        meaning = meaning_of_values(e, self.functions)
        if meaning is None:
            raise ExecutionError(
                f"call of {function_name(e.name)!r}, which is no native function; give its meaning in functions="
            )
        return f"{self.text.constant(meaning)}({listed})"


def _no_branch(index: int, count: int) -> None:
    raise Trap(f"piecewise expects an index in [0, {count}), found {index}")


def _always_evaluated(e: Expr) -> tuple[Expr, ...]:
    """The operands that are evaluated wherever `e` is."""
    match e:
        case ex.And() | ex.Or():
            return (e.a,)
        case ex.Select():
            return (e.condition,)
        case ex.Piecewise():
            return (e.index,)
    return tuple(c for c in children(e) if isinstance(c, Expr))


def _shared_nodes(s: Stmt) -> set[int]:
    """The expressions (by id) that the statement itself uses more than once; leaves do not count."""
    uses: Counter[int] = Counter()
    stack: list[Expr] = [c for c in children(s) if isinstance(c, Expr)]
    while stack:
        e = stack.pop()
        uses[id(e)] += 1
        if uses[id(e)] == 1:
            stack.extend(c for c in children(e) if isinstance(c, Expr) and not isinstance(c, (ex.Const, Var)))
    return {key for key, number in uses.items() if number > 1}
