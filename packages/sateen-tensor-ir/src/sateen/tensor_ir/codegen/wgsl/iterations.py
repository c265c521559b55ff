"""How often a thread goes through loops: drivers of WebGPU may end those that take long (docs/targets.md)."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.wgsl.memory import is_part_of_word
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, For, Let, Stmt, Store, While, lets
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, walk

_WORD_BYTES = 4
"""A store of a part of a word goes on while threads of the same step store to other parts of it."""
_DIVISIONS = (ex.FloorDiv, ex.FloorMod)
_BITS_OF_QUOTIENTS = 64
"""The iterations of a division of integers of 64 bits, which finds a bit of the quotient in each."""


def most_iterations(kernel: Kernel) -> int | None:
    """The most iterations of all loops that the threads of a kernel which run in step go through, one after the other;
    None if no bound is known. Both sides of a condition count, since such threads may take either."""
    analyzer, extents = Analyzer(), (*kernel.grid, *kernel.block)
    for tag, var in kernel.axes.items():
        analyzer.bind(var, 0, extents[THREAD_TAGS.index(tag)])
    return _Iterations(kernel, analyzer).of(kernel.body)


class _Iterations:
    def __init__(self, kernel: Kernel, analyzer: Analyzer) -> None:
        self.kernel = kernel
        self.analyzer = analyzer

    def of(self, s: Stmt) -> int | None:
        if isinstance(s, Let):
            return self._of_chain(s)
        own = sum(self._of_expression(e) for e in children(s) if isinstance(e, Expr))
        match s:
            case While():
                return None
            case For():
                _, most = self.analyzer.interval(self.analyzer.form(s.extent))
                with self.analyzer.bound(s.var, s.start, s.extent):
                    body = self.of(s.body)
                return None if most is None or body is None else own + max(most, 0) * (1 + body)
            case Store(buffer=buffer) if buffer in self.kernel.buffers and is_part_of_word(buffer.dtype):
                own += _WORD_BYTES // buffer.dtype.bytes
        inner = [self.of(child) for child in children(s) if isinstance(child, Stmt)]
        return None if None in inner else own + sum(filter(None, inner))

    def _of_chain(self, s: Let) -> int | None:
        chain, rest = lets(s)
        own = 0
        for let in chain:
            own += self._of_expression(let.value)
            self.analyzer.bind_value(let.var, let.value)
        inner = self.of(rest)
        return None if inner is None else own + inner

    def _of_expression(self, e: Expr) -> int:
        return sum(_BITS_OF_QUOTIENTS for node in walk(e) if self._is_long_division(node))

    def _is_long_division(self, node: object) -> bool:
        if not isinstance(node, _DIVISIONS):
            return False
        return self.kernel.index_bits == 64 if node.dtype == INDEX else node.dtype.bits == 64
