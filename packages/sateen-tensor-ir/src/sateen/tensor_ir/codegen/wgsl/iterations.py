"""How often a thread goes through loops: drivers of WebGPU may end those that take long (docs/targets.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.wgsl.memory import is_part_of_word
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Const, Expr
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, For, Let, Stmt, Store, While, lets
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, walk

_WORD_BYTES = 4
"""A store of a part of a word goes on while threads of the same step store to other parts of it."""
_DIVISIONS = (ex.FloorDiv, ex.FloorMod)
_BITS_OF_QUOTIENTS = 64
"""The iterations of a division of integers of 64 bits, which finds a bit of the quotient in each."""


SHORT, MOST_COPIES = 8, 64
"""A loader may unroll loops of constant length up to `SHORT`, which have no longer ones within, to so many copies."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """The most iterations of all loops, as they are and once short loops are unrolled; and then the most copies of a
    statement, None if loops are left."""

    all: int = 0
    unrolled: int = 0
    copies: int | None = 1

    def __add__(self, other: Iterations) -> Iterations:
        is_left = self.copies is None or other.copies is None
        copies = None if is_left else max(self.copies or 1, other.copies or 1)
        return Iterations(self.all + other.all, self.unrolled + other.unrolled, copies)

    def repeated(self, times: int, *, is_constant: bool) -> Iterations:
        """Those of a loop around."""
        if is_constant and times <= SHORT and self.copies is not None and times * self.copies <= MOST_COPIES:
            return Iterations(times * (1 + self.all), times * self.unrolled, max(times, 1) * self.copies)
        return Iterations(times * (1 + self.all), times * (1 + self.unrolled), None)


def most_iterations(kernel: Kernel) -> Iterations | None:
    """The most iterations of all loops that the threads of a kernel which run in step go through, one after the other;
    None if no bound is known. Both sides of a condition count, since such threads may take either."""
    analyzer, extents = Analyzer(), (*kernel.grid, *kernel.block)
    for tag, var in kernel.axes.items():
        analyzer.bind(var, 0, extents[THREAD_TAGS.index(tag)])
    return _Counter(kernel, analyzer).of(kernel.body)


class _Counter:
    def __init__(self, kernel: Kernel, analyzer: Analyzer) -> None:
        self.kernel = kernel
        self.analyzer = analyzer

    def of(self, s: Stmt) -> Iterations | None:
        match s:
            case While():
                return None
            case Let():
                chain, rest = lets(s)
                own = sum(self._of_expression(let.value) for let in chain)
                for let in chain:
                    self.analyzer.bind_value(let.var, let.value)
                return _sum(Iterations(own, own), [self.of(rest)])
            case For():
                _, most = self.analyzer.interval(self.analyzer.form(s.extent))
                with self.analyzer.bound(s.var, s.start, s.extent):
                    body = self.of(s.body)
                if most is None or body is None:
                    return None
                is_constant = self.kernel.index_bits == 32 and all(isinstance(e, Const) for e in (s.start, s.extent))
                return self._own(s) + body.repeated(max(most, 0), is_constant=is_constant)
            case Store(buffer=buffer) if buffer in self.kernel.buffers and is_part_of_word(buffer.dtype):
                tries = _WORD_BYTES // buffer.dtype.bytes
                return self._own(s) + Iterations(tries, tries, None)
        return _sum(self._own(s), [self.of(child) for child in children(s) if isinstance(child, Stmt)])

    def _own(self, s: Stmt) -> Iterations:
        """Those of the expressions of a statement."""
        own = sum(self._of_expression(e) for e in children(s) if isinstance(e, Expr))
        return Iterations(own, own)

    def _of_expression(self, e: Expr) -> int:
        return sum(_BITS_OF_QUOTIENTS for node in walk(e) if self._is_long_division(node))

    def _is_long_division(self, node: object) -> bool:
        if not isinstance(node, _DIVISIONS):
            return False
        return self.kernel.index_bits == 64 if node.dtype == INDEX else node.dtype.bits == 64


def _sum(first: Iterations, others: Sequence[Iterations | None]) -> Iterations | None:
    return None if None in others else reduce(add, filter(None, others), first)
