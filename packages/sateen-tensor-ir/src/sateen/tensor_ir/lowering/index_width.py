"""Finds indices that fit into fewer bits than 64 (docs/semantics.md, 2.5)."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer, Linear
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, For, If, Intrinsic, Let, Prefetch, Stmt, Store, lets
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, walk
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram


def shorten_indices(program: DeviceProgram, bits: int) -> DeviceProgram:
    """Let kernels whose indices are known to fit into `bits` signed bits compute them in that width, the others in 64
    bits."""
    kernels = tuple(replace(k, index_bits=bits) if _kernel_fits(k, bits) else k for k in program.kernels)
    return replace(program, kernels=kernels)


def _kernel_fits(kernel: Kernel, bits: int) -> bool:
    analyzer = Analyzer()
    extents: tuple[Expr | int, ...] = (*kernel.grid, *kernel.block)
    for tag, var in kernel.axes.items():
        analyzer.bind(var, 0, extents[THREAD_TAGS.index(tag)])
    return indices_fit(kernel.body, analyzer, bits)


def indices_fit(statement: Stmt, analyzer: Analyzer, bits: int) -> bool:
    """Whether all index values of a statement are known to fit into `bits` signed bits: all expressions of type index,
    the ends of loops, and the offsets of elements with their partial sums.

    `analyzer` has the ranges of the variables that the statement doesn't bind; if a range is missing, the answer is no.
    """
    return _Widths(analyzer, bits).fits(statement)


class _Widths:
    def __init__(self, analyzer: Analyzer, bits: int) -> None:
        self.analyzer = analyzer
        self.least, self.most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def fits(self, s: Stmt) -> bool:
        if isinstance(s, Let):
            return self._chain(s)
        if not all(self._expression(e) for e in children(s) if isinstance(e, Expr)):
            return False
        accesses = (s,) if isinstance(s, (Store, Prefetch)) else s.regions if isinstance(s, Intrinsic) else ()
        if not all(self._expression(access.buffer.offset(access.indices)) for access in accesses):
            return False
        inner = [child for child in children(s) if isinstance(child, Stmt)]
        match s:
            case For():
                if not self._expression(ex.add(s.start, s.extent)):
                    return False
                with self.analyzer.bound(s.var, s.start, s.extent):
                    return all(map(self.fits, inner))
            case If():
                with self.analyzer.assuming(s.condition):
                    then = self.fits(s.then)
                return then and (s.otherwise is None or self.fits(s.otherwise))
        return all(map(self.fits, inner))

    def _chain(self, s: Let) -> bool:
        chain, body = lets(s)
        for let in chain:
            if not self._expression(let.value):
                return False
            self.analyzer.bind_value(let.var, let.value)
        return self.fits(body)

    def _expression(self, e: Expr) -> bool:
        for node in walk(e):
            assert isinstance(node, Expr)
            if node.dtype == INDEX and not self._form(self.analyzer.form(node)):
                return False
            if isinstance(node, Load) and not self._expression(node.buffer.offset(node.indices)):
                return False
        return True

    def _form(self, form: Linear) -> bool:
        low, high = self.analyzer.interval(form)
        return low is not None and high is not None and self.least <= low and high <= self.most
