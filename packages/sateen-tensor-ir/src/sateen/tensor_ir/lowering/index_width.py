"""Finds indices that fit into fewer bits than 64 (docs/semantics.md, 2.5)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from sateen.tensor_ir.arith import Analyzer, Linear, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import devices_of
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import (
    THREAD_TAGS,
    Allocate,
    For,
    Function,
    If,
    Intrinsic,
    Let,
    Prefetch,
    Shuffle,
    Stmt,
    Store,
    lets,
)
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, walk
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram
from sateen.tensor_ir.lowering.split_tasks import HostProgram


def shorten_indices(program: DeviceProgram, bits: int) -> DeviceProgram:
    """Let kernels whose indices are known to fit into `bits` signed bits compute them in that width, the others in 64
    bits."""
    kernels = tuple(replace(k, index_bits=bits) if _kernel_fits(k, bits) else k for k in program.kernels)
    return replace(program, kernels=kernels)


def shorten_host_indices(program: HostProgram, bits: int) -> HostProgram:
    """Let a function whose indices are known to fit into `bits` signed bits compute them in that width, another one in
    64 bits.

    A machine whose pointers have `bits` has no array of 2^(bits - 1) bytes. So a symbolic extent counts as one that
    keeps the arrays with it below that; the function refuses a greater one.
    """
    if bits >= program.index_bits or devices_of(program.function):
        return program
    analyzer, greatest = Analyzer(), _greatest(program.function, (1 << (bits - 1)) - 1)
    for var, most in greatest.items():
        analyzer.bind_form(var, constant(0), constant(most))
    if not indices_fit(program.function.body, analyzer, bits):
        return program
    return replace(program, index_bits=bits, greatest=greatest)


def shorten_fixed_indices(program: HostProgram, bits: int) -> HostProgram:
    """The same where nothing is known of the machine: any symbolic extent keeps 64 bits."""
    if bits >= program.index_bits or devices_of(program.function):
        return program
    return replace(program, index_bits=bits) if indices_fit(program.function.body, Analyzer(), bits) else program


def _greatest(function: Function, most_bytes: int) -> dict[Var, int]:
    """The greatest value of each symbolic extent at which no parameter takes more bytes, others being 1."""
    greatest: dict[Var, int] = {}
    for b in function.parameters:
        step = b.dtype.bytes * prod(int(e.value) for e in b.shape if isinstance(e, Const) and e.value)
        for extent in b.shape:
            if isinstance(extent, Var):
                greatest[extent] = min(greatest.get(extent, most_bytes), most_bytes // step)
    return greatest


def _kernel_fits(kernel: Kernel, bits: int) -> bool:
    analyzer = Analyzer()
    extents: tuple[Expr | int, ...] = (*kernel.grid, *kernel.block)
    for tag, var in kernel.axes.items():
        analyzer.bind(var, 0, extents[THREAD_TAGS.index(tag)])
    return indices_fit(kernel.body, analyzer, bits)


def indices_fit(statement: Stmt, analyzer: Analyzer, bits: int) -> bool:
    """Whether all index values of a statement are known to fit into `bits` signed bits: all expressions of type index,
    the differences of those that are compared, the ends of loops, the sizes of storage, and the offsets of elements
    with their partial sums.

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
        accesses = (s,) if isinstance(s, (Store, Prefetch, Shuffle)) else s.regions if isinstance(s, Intrinsic) else ()
        if not all(self._expression(access.buffer.offset(access.indices)) for access in accesses):
            return False
        if isinstance(s, Allocate) and not self._expression(s.buffer.span_bytes()):
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
            difference = self.analyzer.slack(node)
            if difference is not None and not self._form(difference):
                return False
            if isinstance(node, Load) and not self._expression(node.buffer.offset(node.indices)):
                return False
        return True

    def _form(self, form: Linear) -> bool:
        low, high = self.analyzer.interval(form)
        return low is not None and high is not None and self.least <= low and high <= self.most
