"""Statements to LLVM text: loops, branches, storage, parallel regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.control_flow import ControlFlow
from sateen.tensor_ir.codegen.llvm.devices import Devices
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.expressions import Expressions, Outside
from sateen.tensor_ir.codegen.llvm.external import PackedCalls
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.instructions import Instructions, block_of
from sateen.tensor_ir.codegen.llvm.tasks import Captures, thunk
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.external import PACKED
from sateen.tensor_ir.ir.stmt import (
    Allocate,
    Barrier,
    Evaluate,
    For,
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
    lets,
)
from sateen.tensor_ir.ir.visit import unknown, walk
from sateen.tensor_ir.lowering.split_tasks import HostProgram, Task


class Statements:
    """Writes the statements of one function: the kernel itself, or the task of one of its parallel loops."""

    def __init__(
        self, writer: FunctionWriter, environment: Environment, outside: Outside, frame: Frame, program: HostProgram
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.frame = frame
        self.program = program
        self.expressions = Expressions(writer, environment, outside, program.function.aliased)
        self.addresses = self.expressions.addresses
        self.registers = self.expressions.registers
        self.memory = self.expressions.memory
        self.control_flow = ControlFlow(writer, environment, self.expressions, self.statement)
        self.instructions = Instructions(self.expressions)
        self.devices = Devices(writer, frame, self.addresses, self.expressions.value)
        self.packed = PackedCalls(writer, frame, self.addresses, self.expressions.value)
        self.chunk: tuple[Task, LlvmValue, LlvmValue] | None = None
        """A task, and the part of its loop's range that one call runs."""

    def statement(self, s: Stmt) -> None:
        """Write one statement."""
        rule = _RULES.get(type(s))
        if rule is None:
            raise unknown(s, "the LLVM emitter")
        rule(self, s)

    def _sequence(self, s: Seq) -> None:
        for child in s.body:
            self.statement(child)

    # Loops.

    def _for(self, s: For) -> None:
        with self.environment.analyzer.bound(s.var, s.start, s.extent):
            _LOOPS[s.kind](self, s)

    def _unrolled(self, s: For) -> None:
        start, extent = self._constant(s, s.start, "start"), self._constant(s, s.extent, "extent")
        self.environment.unrolled[s.var] = range(start, start + extent)
        for i in self.environment.unrolled[s.var]:
            self.environment.variables[s.var] = literal(i, self.writer.index)
            self.statement(s.body)
        del self.environment.variables[s.var], self.environment.unrolled[s.var]

    def _constant(self, s: For, e: Expr, what: str) -> int:
        self.expressions.memo.clear()
        value = self.expressions.value(e)
        if value.literal is None:
            raise CodegenError(f"{s.kind.value} loop {s.var.name!r}: expected a constant {what}, found {e}")
        return int(value.literal)

    def _vectorized(self, s: For) -> None:
        if self.environment.lane is not None:
            raise CodegenError(
                f"vectorized loop {s.var.name!r} is inside vectorized loop {self.environment.lane.name!r}; "
                "one loop is vectorized at a time"
            )
        if self._constant(s, s.start, "start") != 0:
            raise CodegenError(f"vectorized loop {s.var.name!r}: expected to start at 0, found {s.start}")
        width = self._constant(s, s.extent, "extent")
        self.environment.lane, self.environment.width = s.var, width
        self.statement(s.body)
        self.environment.lane, self.environment.width = None, 0

    def _thread(self, s: For) -> None:
        raise CodegenError(
            f"loop {s.var.name!r} is bound to {s.thread}; processors have no such threads: build for a device, such as "
            "opencl, or call parallel or vectorize instead of bind"
        )

    def _serial(self, s: For) -> None:
        if self.chunk is not None and s is self.chunk[0].loop:
            task, begin, end = self.chunk
            self.expressions.memo.clear()
            backwards = None if task.backwards is None else self.expressions.value(task.backwards)
            self.control_flow.counted_loop(s.var, begin, end, s.body, True, backwards)
            return
        self.expressions.memo.clear()
        start = self.expressions.value(s.start)
        stop = self.expressions.value(ex.add(s.start, s.extent))
        if self.environment.lane is not None and (start.lanes or stop.lanes):
            raise CodegenError(
                f"loop {s.var.name!r}: its range differs between the lanes of the vectorized loop "
                f"{self.environment.lane.name!r}"
            )
        extent = self.environment.analyzer.constant(s.extent)
        if extent is not None and extent < 1:
            return
        certain = (
            extent is not None or (self.environment.analyzer.lower(self.environment.analyzer.form(s.extent)) or 0) >= 1
        )
        self.control_flow.counted_loop(s.var, start, stop, s.body, certain)

    def _while(self, s: While) -> None:
        self.control_flow.repeat(s)

    def _if(self, s: If) -> None:
        self.control_flow.branch(s)

    # Storage.

    def _allocate(self, s: Allocate) -> None:
        buffer = s.buffer
        if buffer.on_device is not None:
            self._device_allocation(s)
            return
        size = buffer.size()
        if buffer.scope is Scope.REGISTER:
            if size is None:
                shape = ", ".join(map(str, buffer.shape))
                raise CodegenError(f"register buffer {buffer.name!r}: expected a constant shape, found [{shape}]")
            self.registers.slots[buffer] = {}
            blocks = [
                block
                for n in walk(s.body)
                if isinstance(n, Intrinsic) and (block := block_of(buffer, n, self.writer.module.features))
            ]
            if blocks:
                self.registers.blocks[buffer] = max(blocks)
            self.statement(s.body)
            del self.registers.slots[buffer]
            return
        if size is None:
            self._symbolic_allocation(s)
            return
        self.addresses.base[buffer] = self.frame.place(buffer)
        self.statement(s.body)
        del self.addresses.base[buffer]

    def _symbolic_allocation(self, s: Allocate) -> None:
        """Storage of a size known only at run time: taken and given back around its use."""
        last = s.buffer.offset(tuple(extent - 1 for extent in s.buffer.shape))
        total = (last + 1) * s.buffer.dtype.bytes
        self.expressions.memo.clear()
        self.addresses.base[s.buffer] = self.frame.take(self.expressions.value(ex.maximum(total, 64)))
        self.statement(s.body)
        del self.addresses.base[s.buffer]
        self.frame.give_back()

    def _device_allocation(self, s: Allocate) -> None:
        self.expressions.memo.clear()
        self.devices.allocate(s.buffer, self.expressions.value(ex.maximum(s.buffer.span_bytes(), 1)))
        self.statement(s.body)
        del self.addresses.base[s.buffer], self.devices.offsets[s.buffer]
        self.frame.give_back()

    def _launch(self, s: Launch) -> None:
        self.expressions.memo.clear()
        self.devices.launch(s)

    def _copy(self, s: Copy) -> None:
        self.expressions.memo.clear()
        self.devices.copy(s)
        self.memory.forget_loads({s.target})

    def _wait(self, s: Wait) -> None:
        self.devices.wait(s)

    def _store(self, s: Store) -> None:
        self.expressions.memo.clear()
        value = self.expressions.value(s.value)
        if self.registers.holds(s.buffer):
            self.registers.store(s, value)
        else:
            self.memory.store(s, value)

    def _let(self, s: Let) -> None:
        chain, body = lets(s)
        for let in chain:
            self.expressions.memo.clear()
            self.environment.variables[let.var] = self.expressions.value(let.value)
            self.environment.analyzer.bind_value(let.var, let.value)
        self.statement(body)
        for let in chain:
            del self.environment.variables[let.var]

    def _evaluate(self, s: Evaluate) -> None:
        self.expressions.memo.clear()
        if isinstance(s.value, ex.Call) and s.value.name.startswith(PACKED):
            self.packed.call(s.value)
        else:
            self.expressions.value(s.value)
        self.memory.forget_loads(all_written(s))

    def _invoke(self, s: Invoke) -> None:
        """Call another kernel; stop with its status if that is not 0."""
        self.expressions.memo.clear()
        operands = ["ptr %host"]
        for buffer, offset in s.arguments:
            base, step = self.addresses.base_pointer(buffer).text, self.expressions.value(offset)
            if step.literal != 0:
                base = self.writer.emit(f"getelementptr i8, ptr {base}, {step.typed}", "ptr").text
            operands.append(f"ptr {base}")
        types = ", ".join("ptr" for _ in operands)
        self.writer.module.declarations[f"declare i32 @{s.callee}.kernel({types})"] = None
        self.frame.stop_on(self.writer.emit(f"call i32 @{s.callee}.kernel({', '.join(operands)})", "i32"))
        self.memory.forget_loads(set(s.buffers))

    def _instruction(self, s: Intrinsic[TensorIntrinsic]) -> None:
        self.expressions.memo.clear()
        self.instructions.call(s)

    def _timestamp(self, s: Timestamp) -> None:
        """Store the processor's clock. Raises CodegenError for an architecture without one that programs can read."""
        if not self.writer.module.architecture.clock:
            raise CodegenError("the target has no clock that a program can read, so a function for it can't be timed")
        self.writer.module.declarations[f"declare i64 @{self.writer.module.architecture.clock}()"] = None
        now = self.writer.emit(f"call i64 @{self.writer.module.architecture.clock}()", "i64")
        place = self.writer.emit(
            f"getelementptr i64, ptr {self.addresses.base_pointer(s.buffer).text}, i64 {s.index}", "ptr"
        )
        self.writer.lines.append(f"  store {now.typed}, ptr {place.text}, align 8")
        self.memory.forget_loads({s.buffer})

    def _prefetch(self, s: Prefetch) -> None:
        self.expressions.memo.clear()
        self.memory.prefetch(s)

    def _barrier(self, s: Barrier) -> None:
        if not self.frame.barrier:
            raise CodegenError(f"a barrier in {s.scope.value} memory needs threads that the target does not have")
        self.writer.lines += (f"  {line}" for line in self.frame.barrier)
        self.memory.forget_all()

    def _shuffle(self, s: Shuffle) -> None:
        """The value of another thread of the warp (PTX ISA, shfl.sync). Raises CodegenError for other targets."""
        if self.frame.shuffle is None:
            raise CodegenError("a shuffle needs threads in warps that the target does not have")
        self.expressions.memo.clear()
        value, lane = self.expressions.value(s.value), self.writer.resized(self.expressions.value(s.lane), "i32")
        name = f"{self.frame.shuffle}{'f32' if value.kind == 'float' else value.kind}"
        self.writer.module.declarations[f"declare {value.type} @{name}(i32, {value.type}, i32, i32)"] = None
        taken = self.writer.emit(
            f"call {value.type} @{name}(i32 -1, {value.typed}, {lane.typed}, i32 {s.width - 1})", value.kind
        )
        store = Store(s.buffer, s.indices, s.value)
        if self.registers.holds(s.buffer):
            self.registers.store(store, taken)
        else:
            self.memory.store(store, taken)

    # Parallel regions.

    def _parallel(self, s: For) -> None:
        """The loop becomes a task, which the host's threads run over contiguous ranges."""
        if not self.registers.slots.keys().isdisjoint(all_read(s.body) | all_written(s.body)):
            raise CodegenError(
                f"parallel loop {s.var.name!r} uses a register buffer that belongs to the code around it"
            )
        self.expressions.memo.clear()
        start, extent = self.expressions.value(s.start), self.expressions.value(s.extent)
        self.memory.forget_loads(all_written(s.body))
        functions = self.writer.module.functions
        name, place = f"{self.writer.name}.task{len(functions)}", len(functions)
        functions.append("")
        captures, functions[place] = self._task(name, self.program.tasks[s], start)
        closure = self.writer.fresh("closure")
        mode = self.writer.module.architecture.float_mode
        count = len(captures.captured) + (2 if mode else 1)
        self.frame.stack.append(f"  {closure} = alloca [{count} x i64], align 8")
        self.writer.lines.append(f"  store ptr %host, ptr {closure}")
        for i, (outer, _) in enumerate(captures.captured.values()):
            slot = self.writer.emit(f"getelementptr i64, ptr {closure}, i64 {i + 1}", "ptr")
            self.writer.lines.append(f"  store {outer.typed}, ptr {slot.text}")
        if mode:
            last = self.writer.emit(f"getelementptr i64, ptr {closure}, i64 {count - 1}", "ptr")
            self.writer.lines += mode.save(last.text)
        iterations = self.writer.resized(extent, "i64")
        parallel_for = self.writer.module.architecture.abi.parallel_for
        status = self.frame.host_call(parallel_for, "i32", f"ptr @{name}, ptr {closure}, {iterations.typed}")
        if captures.frame.can_fail:
            self.frame.stop_on(status)

    def _task(self, name: str, task: Task, start: LlvmValue) -> tuple[Captures, str]:
        """The captures of a task, and its text: a thunk that unpacks the closure, and the body with restrict
        pointers."""
        index = self.writer.index
        writer = FunctionWriter(self.writer.module, name, index)
        captures = Captures(self.expressions, self.frame.noalias, Frame(writer))
        first = captures.capture(start)
        own = Statements(writer, Environment(self.environment.analyzer), captures, captures.frame, self.program)
        var = writer.fresh("i")
        writer.depth[var] = len(writer.scopes)
        begin, end = LlvmValue("%begin", index), LlvmValue("%end", index)
        own.chunk = task, writer.sum(first, begin), writer.sum(first, end)
        own.statement(task.invariants.around(task.loop))
        parameters = ", ".join(["ptr %host", *captures.parameters(), begin.typed, end.typed])
        text = captures.frame.define(f"{name}.body", parameters, "internal")
        return captures, text + thunk(name, captures.values, index, self.writer.module.architecture.float_mode)


_LOOPS: dict[LoopKind, Callable[[Any, For], None]] = {
    LoopKind.SERIAL: Statements._serial,
    LoopKind.UNROLLED: Statements._unrolled,
    LoopKind.VECTORIZED: Statements._vectorized,
    LoopKind.PARALLEL: Statements._parallel,
    LoopKind.THREAD: Statements._thread,
    LoopKind.VTHREAD: Statements._serial,
}

_RULES: dict[type[Stmt], Callable[[Any, Any], None]] = {
    Seq: Statements._sequence,
    For: Statements._for,
    If: Statements._if,
    While: Statements._while,
    Let: Statements._let,
    Allocate: Statements._allocate,
    Store: Statements._store,
    Evaluate: Statements._evaluate,
    Invoke: Statements._invoke,
    Intrinsic: Statements._instruction,
    Timestamp: Statements._timestamp,
    Launch: Statements._launch,
    Copy: Statements._copy,
    Wait: Statements._wait,
    Prefetch: Statements._prefetch,
    Barrier: Statements._barrier,
    Shuffle: Statements._shuffle,
}
