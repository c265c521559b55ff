"""Writes a loop-IR function as a Python function that executes it on `TrappingMemory`.

Loops become `for`, a condition on which operand is evaluated becomes `if`. Every line of the program belongs to a
statement, so that traps name it. A kernel (an outermost loop over blocks or threads) is executed as plain loops, or as
on hardware: each thread is a generator that runs the whole kernel and yields at barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.blocks import MemoryPlace, Window, copy
from sateen.tensor_ir.interpret.current_worker import CurrentWorker
from sateen.tensor_ir.interpret.instructions import Execution
from sateen.tensor_ir.interpret.memory import Clock, SharedMemory, TrappingMemory, interleave, lane_of, taken
from sateen.tensor_ir.interpret.python_expressions import PythonExpressions
from sateen.tensor_ir.interpret.python_text import Program, ProgramText
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_written, read_by
from sateen.tensor_ir.ir.buffer import Address, Buffer, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import (
    BLOCKS,
    LANE,
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
from sateen.tensor_ir.ir.visit import free_vars, unknown, walk

MAX_LOOPS = 15
"""The most nested loops in one Python function, which CPython limits to 20; inner ones become separate functions."""


class Callees(Protocol):
    """Executes kernels that a function names, at places in its memory."""

    def invoke(self, name: str, places: Sequence[MemoryPlace]) -> None: ...

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        places: Sequence[MemoryPlace],
        scalars: Sequence[int],
    ) -> None: ...


def passed_on(function: Function) -> set[Buffer]:
    """The buffers that are passed on as places in memory, so that their bytes matter."""
    passed: set[Buffer] = set()
    for node in walk(function.body):
        if isinstance(node, (Invoke, Launch)):
            passed.update(node.buffers)
        elif isinstance(node, Copy):
            passed |= {node.target, node.source}
        elif isinstance(node, Address):
            passed.add(node.buffer)
    return passed


def write_program(
    function: Function,
    memories: Mapping[Buffer, TrappingMemory],
    symbols: Mapping[Var, float],
    clock: Clock,
    functions: Mapping[str, Callable[..., Any]],
    simt: bool | None,
    callees: Callees,
) -> Program:
    """The program of `function` over the memories of its parameters.

    `simt`: whether kernels are executed as on hardware; None: only those with a barrier. `callees` execute other
    kernels. Raises ExecutionError if the function calls one that is neither native nor in `functions`.
    """
    text = ProgramText(
        {
            "SharedMemory": SharedMemory, "Window": Window, "interleave": interleave, "clock": clock,
            "lane_of": lane_of, "taken": taken, "product": product, "copy": copy,
            "invoke": callees.invoke, "launch": callees.launch,
        }
    )  # fmt: skip
    worker = CurrentWorker(all_written(function.body))
    passed = passed_on(function)
    writer = _Writer(text, worker, PythonExpressions(text, worker, functions), passed, simt)
    for var, value in symbols.items():
        text.bind(var, value)
    for buffer, memory in memories.items():
        text.bind(buffer, memory)
    for node in walk(function.body):
        for buffer in read_by(node):
            if buffer.data is not None and buffer not in text.program.names:
                kind = Window.alone if buffer in passed else SharedMemory
                text.bind(buffer, kind(buffer, buffer.data.shape, buffer.data))
    text.line("def main():")
    with text.indented():
        text.line("pass")
        writer.statement(function.body)
    return text.program


class _Writer:
    """Statements, the loops of kernels among them."""

    def __init__(
        self,
        text: ProgramText,
        worker: CurrentWorker,
        expressions: PythonExpressions,
        passed: set[Buffer],
        simt: bool | None,
    ) -> None:
        self.text = text
        self.worker = worker
        self.expressions = expressions
        self.passed = passed
        """Buffers that kernels are given places in."""
        self.simt = simt
        self.loops = 0
        self.threads: dict[str, str] = {}
        """In a kernel on hardware: the position of this thread along each axis, as text."""
        self.warps = ""
        """The memory of the warps of a block, by buffer and position along the other axes."""

    def statement(self, s: Stmt) -> None:
        if isinstance(s, Seq):
            for child in s.body:
                self.statement(child)
            return
        self.text.origin = s
        self.expressions.begin(s)
        match s:
            case For():
                self.loop(s)
            case If():
                self.text.line(f"if {self.expressions.expr(s.condition)}:")
                self.block(s.then)
                if s.otherwise is not None:
                    self.text.line("else:")
                    self.block(s.otherwise)
            case While():
                self.text.line("while True:")
                with self.text.indented():
                    self.text.line(f"if not {self.expressions.expr(s.condition)}: break")
                self.block(s.body)
            case Let():
                self.text.line(f"{self.text.name(s.var)} = {self.expressions.expr(s.value)}")
                self.statement(s.body)
            case Allocate():
                if s.scope is Scope.WARP and self.threads:
                    self.allocate_for_warp(s.buffer)
                elif s.scope is not Scope.SHARED or not self.threads:
                    self.allocate(s.buffer)
                self.statement(s.body)
            case Store():
                self.store(s)
            case Evaluate():
                self.text.line(self.expressions.expr(s.value))
            case Barrier():
                self.text.line("yield 'barrier'" if self.threads else "pass")
            case Shuffle():
                self.shuffle(s)
            case Prefetch():
                self.text.line("pass")
            case Invoke():
                self.text.line(f"invoke({s.callee!r}, {self.places(s.arguments)})")
            case Launch():
                grid, given = self.expressions.indices(s.grid), self.expressions.indices(s.scalars)
                self.text.line(f"launch({s.kernel!r}, {grid}, {s.block}, {self.places(s.arguments)}, {given})")
            case Copy():
                target, source = self.place(s.target, s.target_offset), self.place(s.source, s.source_offset)
                self.text.line(f"copy({target}, {source}, {self.expressions.expr(s.size)})")
            case Wait():
                self.text.line("pass")
            case Intrinsic():
                self.intrinsic(s)
            case Timestamp():
                self.text.line(f"{self.text.name(s.buffer)}.store(({s.index},), clock.tick())")
            case _:
                raise unknown(s, "the interpreter")

    def place(self, buffer: Buffer, offset: Expr) -> str:
        """A `blocks.MemoryPlace`."""
        return f"({self.text.name(buffer)}, {self.expressions.expr(offset)})"

    def places(self, arguments: Iterable[tuple[Buffer, Expr]]) -> str:
        return f"({''.join(f'{self.place(buffer, offset)}, ' for buffer, offset in arguments)})"

    def block(self, s: Stmt) -> None:
        with self.text.indented():
            self.text.line("pass")
            self.statement(s)

    def allocate(self, buffer: Buffer) -> None:
        self.worker.owned_by[buffer] = self.worker.current
        given = f"{self.text.constant(buffer)}, {self.expressions.indices(buffer.shape)}"
        if buffer in self.passed:
            strides = None if buffer.strides is None else self.expressions.indices(buffer.strides)
            memory = f"Window.alone({given}, strides={strides})"
        else:
            memory = f"SharedMemory({given})"
        self.text.line(f"{self.text.name(buffer)} = {memory}")

    def allocate_for_warp(self, buffer: Buffer) -> None:
        """Memory that the threads along threadIdx.x have in common: the first of them allocates it."""
        warp = "".join(f"{name}, " for axis, name in self.threads.items() if axis in THREADS and axis != LANE)
        place = f"{self.warps}[({self.text.constant(buffer)}, {warp})]"
        self.text.line(f"if ({self.text.constant(buffer)}, {warp}) not in {self.warps}:")
        with self.text.indented():
            worker, self.worker.current = self.worker.current, ()
            self.allocate(buffer)
            self.worker.current = worker
            self.text.line(f"{place} = {self.text.name(buffer)}")
        self.text.line(f"{self.text.name(buffer)} = {place}")

    def store(self, s: Store) -> None:
        value = self.expressions.expr(s.value)
        if s.buffer.dtype.is_bool:
            value = f"bool({value})"
        elif s.buffer.dtype.is_float and s.buffer.dtype.bits < 32:
            value = f"{self.text.constant(scalars.rounded(s.buffer.dtype))}({value})"
        by = f"_by({self.worker.text}, " if self.worker.is_contested(s.buffer) else "("
        self.text.line(f"{self.text.name(s.buffer)}.store{by}{self.expressions.indices(s.indices)}, {value})")

    def shuffle(self, s: Shuffle) -> None:
        """Each thread lays its value down, all wait, and each takes another one's; a value stays until all have."""
        if LANE not in self.threads:
            raise ExecutionError(f"{str(s).splitlines()[0]!r} is executed by threads along {LANE}, found none")
        around = "".join(f"{name}, " for axis, name in self.threads.items() if axis in THREADS and axis != LANE)
        own, key = self.threads[LANE], self.text.constant(s)
        self.text.line(f"{self.warps}[({key}, {around}{own})] = {self.expressions.expr(s.value)}")
        self.text.line("yield 'shuffle'")
        lane = f"{own} // {s.width} * {s.width} + lane_of({self.expressions.expr(s.lane)}, {s.width})"
        taken = f"taken({self.warps}, ({key}, {around}{lane}))"
        self.text.line(f"{self.text.name(s.buffer)}.store({self.expressions.indices(s.indices)}, {taken})")
        self.text.line("yield 'shuffle'")

    def intrinsic(self, s: Intrinsic[Instruction]) -> None:
        starts = "".join(f"{self.expressions.indices(region.indices)}, " for region in s.regions)
        memories = "".join(f"{self.text.name(buffer)}, " for buffer in s.buffers)
        execution = self.text.constant(Execution(s, [self.worker.is_contested(buffer) for buffer in s.buffers]))
        self.text.line(f"{execution}({self.worker.text}, ({memories}), ({starts}))")

    def loop(self, s: For) -> None:
        start, extent = self.expressions.expr(s.start), self.expressions.expr(s.extent)
        domain = f"range({extent})" if ex.is_const(s.start, 0) else f"range({start}, {start} + {extent})"
        if s.kind is LoopKind.THREAD and self.threads:
            self.own_iteration(s, start, extent)
        elif s.kind is LoopKind.THREAD and self.is_simt(s):
            self.kernel(s)
        elif s.kind in (LoopKind.PARALLEL, LoopKind.THREAD, LoopKind.VTHREAD):
            self.concurrent_loop(s, domain)
        else:
            self.plain_loop(s, domain)

    def plain_loop(self, s: For, domain: str) -> None:
        if self.loops == MAX_LOOPS:
            self.outlined(s, domain)
            return
        self.text.line(f"for {self.text.name(s.var)} in {domain}:")
        self.loops += 1
        self.block(s.body)
        self.loops -= 1

    def outlined(self, s: For, domain: str) -> None:
        """The loop as a separate function."""
        body, outside = self.text.fresh("body"), self.loops
        self.text.line(f"def {body}():")
        with self.text.indented():
            self.loops = 0
            self.plain_loop(s, domain)
            self.loops = outside
            if self.threads:
                self.text.line("yield from ()")
        self.text.origin = s
        self.text.line(f"yield from {body}()" if self.threads else f"{body}()")

    def concurrent_loop(self, s: For, domain: str) -> None:
        """A loop whose iterations have no order."""
        execution, outside = self.text.fresh("execution"), self.worker.current
        self.text.line(f"{execution} = clock.tick()")
        self.worker.current = (*outside, execution, self.text.name(s.var))
        self.plain_loop(s, domain)
        self.worker.current = outside

    def is_simt(self, kernel: For) -> bool:
        if self.simt is None:
            return any(isinstance(n, (Barrier, Shuffle)) for n in walk(kernel))
        return self.simt

    def kernel(self, s: For) -> None:
        """As many blocks and threads as the loops need; shared memory is allocated once for each block."""
        loops = [n for n in walk(s) if isinstance(n, For) and n.kind is LoopKind.THREAD]
        counts: dict[str, list[str]] = {}
        inner = {n.var for n in walk(s) if isinstance(n, (For, Let))}
        for loop in loops:
            if free_vars(loop.extent) & inner:
                raise ExecutionError(f"thread loop {loop.var.name!r}: extent {loop.extent} differs within its kernel")
            counts.setdefault(str(loop.thread), []).append(self.expressions.expr(loop.extent))
        axes = {axis: self.text.fresh("axis") for axis in counts}
        ranges = {axis: f"range(max({', '.join(listed)}, 0))" for axis, listed in counts.items()}
        blocks, threads = ([a for a in axes if a in kind] for kind in (BLOCKS, THREADS))
        thread, outside = self.text.fresh("thread"), (self.loops, self.worker.current)
        at_block = ", ".join(axes[a] for a in blocks)
        self.text.line(f"for {at_block}, in product({', '.join(ranges[a] for a in blocks)}):" if blocks else "if True:")
        with self.text.indented():
            for node in walk(s):
                if isinstance(node, Allocate) and node.scope is Scope.SHARED:
                    self.allocate(node.buffer)
            self.warps = self.text.fresh("warps")
            self.text.line(f"{self.warps} = {{}}")
            position = self.text.fresh("position")
            self.text.line(f"def {thread}({position}):")
            with self.text.indented():
                self.text.line(f"({''.join(f'{axes[a]}, ' for a in threads)}) = {position}")
                self.threads, self.worker.current, self.loops = axes, ("clock.now", position), 0
                self.statement(s)
                self.text.line("yield from ()")
                self.threads, self.loops, self.worker.current = {}, *outside
            self.text.origin = s
            self.text.line("clock.tick()")
            positions = f"product({', '.join(ranges[a] for a in threads)})"
            self.text.line(f"for reason in interleave(map({thread}, {positions})):")
            self.text.line(" if reason == 'barrier': clock.tick()")
            self.text.line("clock.tick()")

    def own_iteration(self, s: For, start: str, extent: str) -> None:
        """The iteration of a thread loop for this block or thread, if there is one."""
        own = self.threads[str(s.thread)]
        self.text.line(f"if {own} < {extent}:")
        with self.text.indented():
            self.text.line(f"{self.text.name(s.var)} = {start} + {own}")
            self.statement(s.body)
