"""Checks between passes that a function of loop IR is well formed: scopes, types, and the rules of each kind of
loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sateen.runtime.device import DeviceKind
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Queue, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.expression_verifier import ExpressionVerifier, described
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import (
    BLOCKS,
    DENORMALS,
    THREAD_TAGS,
    THREADS,
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    If,
    Intrinsic,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Timestamp,
    While,
)
from sateen.tensor_ir.ir.types import INDEX, INT64
from sateen.tensor_ir.ir.visit import children, free_vars, unknown


def verify(function: Function, after: str | None = None, scalars: Iterable[Var] = ()) -> None:
    """Raise LoweringError if `function` is malformed; the error names the pass `after` which it was found and the line.
    `scalars` are variables of the function besides its parameters.

    Every variable is bound once, and before its use; a buffer is used under its Allocate, or is a parameter or
    constant; indices are as many as dimensions, of type index, which elements and what calls take are not; types
    agree; only outputs and allocated buffers are stored to; no tensor or reduction is left. Vectorised and unrolled
    loops have constant extents, and register buffers constant shapes; the number of a symbol is an input without
    dimensions; a vectorised loop holds no other and no intrinsic, whose regions have the types and extents of its
    operands and, as far as literals tell, are inside of their buffers; thread loops have a legal axis; inside a
    loop over the threads of a block may be another over the same ones, but not so for blocks. Work of a device is
    in serial loops alone, on memory of that device, whose elements nothing else accesses.
    """
    _Verifier(function, after, scalars).function_()


class _Verifier(ExpressionVerifier):
    def function_(self) -> None:
        f = self.function
        if len(self.buffers) != len(f.parameters):
            self.fail("a buffer is a parameter twice")
        self.expect(f.denormals in DENORMALS, f"denormals expects {' or '.join(DENORMALS)}, found {f.denormals!r}")
        for kind, buffers in (("output", f.outputs), ("aliased buffer", f.aliased)):
            for buffer in buffers - self.buffers:
                self.fail(f"{kind} {buffer.name!r} is no parameter")
        for symbol, number in f.numbers:
            is_number = not number.shape and number.dtype == INT64 and number.on_device is None
            fits = number in self.buffers - f.outputs and is_number and symbol.dtype == INDEX
            self.expect(
                fits and symbol not in self.variables,
                f"symbol {symbol.name!r} expects an int64 of the host as its "
                f"number, an input of the function, found {number!r}",
            )
            self.variables.add(symbol)
        for parameter in f.parameters:
            self.element(parameter)
            for e in (*parameter.shape, *(parameter.strides or ())):
                self.variables |= free_vars(e)
                self.expect_index(e, f"an extent of parameter {parameter.name!r}")
        for r in f.requirements:
            self.expect(r.parameter in self.buffers, f"requirement of {r.parameter.name!r}, which is no parameter")
            self.expect(
                r.dimension in range(len(r.parameter.shape)),
                f"requirement of dimension {r.dimension} of {r.parameter!r}",
            )
            for v in free_vars(r.slack) - self.variables:
                self.fail(f"requirement of {r.parameter.name!r} by {v.name!r}, which no parameter gives")
            self.expect_index(r.slack, f"requirement of parameter {r.parameter.name!r}")
        self.once_bound |= self.variables
        self.statement(f.body)

    def statement(self, s: Stmt) -> None:
        self.statement_at, self.checked = s, set()
        for child in children(s):
            if isinstance(child, Expr):
                self.expr(child)
        match s:
            case For():
                self.loop(s)
            case If():
                self.expect(s.condition.dtype.is_bool, f"a condition expects bool, found {s.condition.dtype}")
                self.statement(s.then)
                if s.otherwise is not None:
                    self.statement(s.otherwise)
            case While():
                self.expect(s.condition.dtype.is_bool, f"a condition expects bool, found {s.condition.dtype}")
                self.statement(s.body)
            case Let():
                self.expect_type(s.value, s.var.dtype, f"variable {s.var.name!r}")
                with self.binding(s.var):
                    self.statement(s.body)
            case Allocate():
                self.allocate(s)
            case Store():
                self.access(s.buffer, s.indices)
                self.expect_type(s.value, s.buffer.dtype, f"buffer {s.buffer.name!r}")
                self.writable(s.buffer)
            case Prefetch():
                self.access(s.buffer, s.indices)
            case Invoke():
                for buffer, offset in s.arguments:
                    self.declared(buffer)
                    self.byte_count(offset, f"the offset of buffer {buffer.name!r}")
                    if buffer.on_device is not None:
                        self.fail(f"kernel {s.callee!r} expects memory of the host, found {described(buffer)}")
            case Launch():
                self.launch(s)
            case Copy():
                self.copy(s)
            case Wait():
                self.queue(s.queue)
                if s.by is not None:
                    self.queue(s.by)
                    same = s.by.device == s.queue.device
                    self.expect(same, f"a queue waits for one of its own device, found {s.by} for {s.queue}")
            case Intrinsic():
                self.intrinsic(s)
            case Shuffle():
                self.access(s.buffer, s.indices)
                self.expect_type(s.value, s.buffer.dtype, f"buffer {s.buffer.name!r}")
                own = s.buffer.scope.rank < Scope.WARP.rank
                self.expect(own, f"a shuffle expects memory of one thread, found {described(s.buffer)}")
                self.expect(s.value.dtype.bytes == 4, f"a shuffle expects a value of 4 bytes, found {s.value.dtype}")
                self.expect(s.lane.dtype == INDEX, f"the lane of a shuffle expects index, found {s.lane.dtype}")
            case Timestamp():
                self.access(s.buffer, (ex.const(s.index),))
                self.expect(s.buffer.dtype == INT64, f"a timestamp expects int64, found {s.buffer.dtype}")
            case Seq():
                for child in s.body:
                    self.statement(child)
            case Evaluate() | Barrier():
                pass
            case _:
                raise unknown(s, "the verifier")

    def intrinsic(self, s: Intrinsic[Instruction]) -> None:
        name = s.instruction.name
        for outer in self.loops:
            if outer.kind is LoopKind.VECTORIZED:
                self.fail(f"intrinsic {name!r} is inside of the vectorized loop {outer.var.name!r}")
        for operand, region in zip(s.instruction.operands, s.regions, strict=True):
            buffer, what = region.buffer, f"operand {operand.name!r} of intrinsic {name!r}"
            self.access(buffer, region.indices)
            self.expect(
                buffer.dtype == operand.dtype,
                f"{what} expects {operand.dtype}, found buffer {buffer.name!r} of {buffer.dtype}",
            )
            shapes = (s.instruction.shape_of(operand), region.extents)
            expected, found = ([extent for extent in shape if extent != 1] for shape in shapes)
            self.expect(expected == found, f"{what} expects extents {expected}, found {found} of {buffer.name!r}")
            for index, length, extent in zip(region.indices, region.extents, buffer.shape, strict=True):
                first = int(index.value) if isinstance(index, ex.Const) else 0
                end = int(extent.value) if isinstance(extent, ex.Const) else first + length
                if first < 0 or first + length > end:
                    reached = f"[{first}, {first + length}) of {buffer.name!r}"
                    self.fail(f"{what} is outside of its buffer: expected within [0, {end}), found {reached}")
        for region in s.outputs:
            self.writable(region.buffer)

    def queue(self, queue: Queue) -> None:
        self.expect(
            queue.device.kind is not DeviceKind.CPU, f"a queue expects a device other than the host, found {queue}"
        )
        for outer in self.loops:
            if outer.kind is not LoopKind.SERIAL:
                self.fail(f"work of {queue} is inside of the {outer.kind.value} loop {outer.var.name!r}, not a host's")

    def launch(self, s: Launch) -> None:
        self.queue(s.queue)
        for buffer, offset in s.arguments:
            self.declared(buffer)
            self.byte_count(offset, f"the offset of buffer {buffer.name!r}")
            if buffer.on_device != s.queue.device:
                self.fail(f"kernel {s.kernel!r} expects memory of {s.queue.device}, found {described(buffer)}")
        for e in (*s.grid, *s.scalars):
            self.expect_index(e, f"a scalar or an extent of the grid of kernel {s.kernel!r}")

    def copy(self, s: Copy) -> None:
        self.queue(s.queue)
        for buffer, offset in ((s.target, s.target_offset), (s.source, s.source_offset)):
            self.declared(buffer)
            self.byte_count(offset, f"the offset of buffer {buffer.name!r}")
            if buffer.on_device not in (s.queue.device, None) or buffer.scope is not Scope.GLOBAL:
                expected = f"a copy on {s.queue} expects memory of that device and the host, of scope global"
                self.fail(f"{expected}; found {described(buffer)}")
        if s.target.on_device is s.source.on_device is None:
            self.fail(f"a copy on {s.queue} expects memory of that device, found two buffers of the host")
        self.byte_count(s.size, "the size of a copy")
        self.writable(s.target)

    def byte_count(self, e: Expr, what: str) -> None:
        self.expect_index(e, what)
        self.expect(not isinstance(e, ex.Const) or e.value >= 0, f"{what} expects bytes of 0 or more, found {e}")

    def loop(self, s: For) -> None:
        for e in (s.start, s.extent):
            self.expect_index(e, f"the range of loop {s.var.name!r}")
        self.expect(s.var.dtype == INDEX, f"loop variable {s.var.name!r} expects index, found {s.var.dtype}")
        if s.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED) and not isinstance(s.extent, ex.Const):
            self.fail(f"the {s.kind.value} loop {s.var.name!r} expects a constant extent, found {s.extent}")
        for outer in self.loops:
            if s.kind is outer.kind is LoopKind.VECTORIZED:
                self.fail(f"the vectorized loop {s.var.name!r} is inside of the vectorized loop {outer.var.name!r}")
        self.thread_axis(s)
        self.loops.append(s)
        with self.binding(s.var):
            self.statement(s.body)
        self.loops.pop()

    def thread_axis(self, s: For) -> None:
        if s.kind is not LoopKind.THREAD:
            self.expect(s.thread is None, f"the {s.kind.value} loop {s.var.name!r} has the thread axis {s.thread}")
            return
        if s.thread not in THREAD_TAGS:
            self.fail(f"thread loop {s.var.name!r} expects an axis of {', '.join(THREAD_TAGS)}; found {s.thread}")
        for outer in self.loops:
            if outer.thread == s.thread and s.thread in BLOCKS:
                self.fail(f"thread loop {s.var.name!r} of {s.thread} is inside of {outer.var.name!r} of the same axis")
            if outer.thread in THREADS and s.thread in BLOCKS:
                self.fail(f"thread loop {s.var.name!r} of {s.thread} is inside of {outer.var.name!r} of {outer.thread}")

    def allocate(self, s: Allocate) -> None:
        buffer = s.buffer
        self.expect(buffer not in self.buffers, f"buffer {buffer.name!r} is allocated inside of its own scope")
        self.expect(buffer.data is None, f"buffer {buffer.name!r} is allocated, but is a constant")
        for e in (*buffer.shape, *(buffer.strides or ())):
            self.expr(e)
            self.expect_index(e, f"an extent of buffer {buffer.name!r}")
            if buffer.scope is Scope.REGISTER and not isinstance(e, ex.Const):
                self.fail(f"register buffer {buffer.name!r} expects a constant shape, found extent {e}")
        self.element(buffer)
        if buffer.on_device is not None and buffer.scope is not Scope.GLOBAL:
            self.fail(f"memory of a device expects scope global, found {described(buffer)}")
        self.buffers.add(buffer)
        self.statement(s.body)
        self.buffers.discard(buffer)

    @contextmanager
    def binding(self, var: Var) -> Iterator[None]:
        self.expect(var not in self.once_bound, f"variable {var.name!r} is bound twice")
        self.once_bound.add(var)
        self.variables.add(var)
        yield
        self.variables.discard(var)

    def element(self, buffer: Buffer) -> None:
        found = f"buffer {buffer.name!r} has elements of index, which memory does not hold"
        self.expect(buffer.dtype != INDEX, found)
