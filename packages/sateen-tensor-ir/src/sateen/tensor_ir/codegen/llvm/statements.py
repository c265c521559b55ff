"""Statements to LLVM text: loops, branches, storage, parallel regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sateen.runtime.abi import Status
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm.instructions import Instructions
from sateen.tensor_ir.codegen.llvm.state import Lines, ModuleState, flatten
from sateen.tensor_ir.codegen.llvm.values import Value, intrinsic_suffix, literal
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
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
    Stmt,
    Store,
    Timestamp,
    While,
    lets,
)
from sateen.tensor_ir.ir.visit import unknown
from sateen.tensor_ir.lower.split_tasks import HostProgram, Task

STACK_BYTES = 4096
LOCAL_STACK_BYTES = 65536
"""Buffers of constant size up to this (the second: of scope local) are on the stack, others in the host's memory."""


class Statements(Instructions):
    """Writes one function: the kernel itself, or the task of one of its parallel loops."""

    def __init__(
        self,
        module: ModuleState,
        name: str,
        analyzer: Analyzer,
        program: HostProgram,
        parent: Statements | None = None,
    ) -> None:
        super().__init__(module, name, analyzer)
        self.program = program
        self.aliased = program.function.aliased
        self.parent = parent
        self.captured: dict[str, tuple[Value, Value]] = {}
        """Per value of the parent that a task uses: the parent's operand and the task's own."""
        self.noalias: set[str] = set()
        self.places: dict[Buffer, Value] = {}
        """Storage of constant size, used again where the statement that allocates it is written out several times."""
        self.arena_bytes = 0
        self.stack: Lines = []
        self.arena: Lines = []
        """Lines at the function's start: storage on the stack, and places in the arena."""
        self.taken: list[Value] = []
        """Memory of symbolic size that is in use here, to be given back if the function fails."""
        self.can_fail = False
        self.chunk: tuple[For, Value, Value] | None = None
        """The loop of a task, and the part of its range that one call runs."""

    def statement(self, s: Stmt) -> None:
        rule = _RULES.get(type(s))
        if rule is None:
            raise unknown(s, "the LLVM emitter")
        rule(self, s)

    def _sequence(self, s: Seq) -> None:
        for child in s.body:
            self.statement(child)

    # Values from around a parallel loop.

    def outer_variable(self, e: Var) -> Value:
        if self.parent is None:
            return super().outer_variable(e)
        self.env[e] = self.capture(self.parent.value(e))
        return self.env[e]

    def base_pointer(self, buffer: Buffer) -> Value:
        if buffer not in self.base and buffer.data is None and self.parent is not None:
            outer = self.parent.base_pointer(buffer)
            self.base[buffer] = self.capture(outer)
            if outer.text in self.parent.noalias:
                self.noalias.add(self.base[buffer].text)
        return super().base_pointer(buffer)

    def capture(self, outer: Value) -> Value:
        """The task's own operand for a value of the function around it."""
        if outer.literal is not None or outer.text.startswith("@"):
            return outer
        if outer.lanes:
            raise CodegenError(
                "a parallel loop inside a vectorized one can't be expressed; put the vectorized loop inside"
            )
        if outer.text not in self.captured:
            self.captured[outer.text] = (outer, Value(f"%c{len(self.captured)}", outer.kind))
        return self.captured[outer.text][1]

    # Loops.

    def _for(self, s: For) -> None:
        with self.analyzer.bound(s.var, s.start, s.extent):
            _LOOPS[s.kind](self, s)

    def _unrolled(self, s: For) -> None:
        start, extent = self._constant(s, s.start, "start"), self._constant(s, s.extent, "extent")
        self.unrolled[s.var] = range(start, start + extent)
        for i in self.unrolled[s.var]:
            self.env[s.var] = literal(i, "i64")
            self.statement(s.body)
        del self.env[s.var], self.unrolled[s.var]

    def _constant(self, s: For, e: Expr, what: str) -> int:
        self.memo.clear()
        value = self.value(e)
        if value.literal is None:
            raise CodegenError(f"{s.kind.value} loop {s.var.name!r}: expected a constant {what}, found {e}")
        return int(value.literal)

    def _vectorized(self, s: For) -> None:
        if self.lane is not None:
            raise CodegenError(
                f"vectorized loop {s.var.name!r} is inside vectorized loop {self.lane.name!r}; "
                "one loop is vectorized at a time"
            )
        if self._constant(s, s.start, "start") != 0:
            raise CodegenError(f"vectorized loop {s.var.name!r}: expected to start at 0, found {s.start}")
        width = self._constant(s, s.extent, "extent")
        self.lane, self.width = s.var, width
        self.statement(s.body)
        self.lane, self.width = None, 0

    def _thread(self, s: For) -> None:
        raise CodegenError(f"loop {s.var.name!r} is bound to {s.thread}; the target has no such threads")

    def _serial(self, s: For) -> None:
        if self.chunk is not None and s is self.chunk[0]:
            self._counted_loop(s.var, *self.chunk[1:], s.body, certain=True)
            return
        self.memo.clear()
        start = self.value(s.start)
        stop = self.value(ex.add(s.start, s.extent))
        if self.lane is not None and (start.lanes or stop.lanes):
            raise CodegenError(
                f"loop {s.var.name!r}: its range differs between the lanes of the vectorized loop {self.lane.name!r}"
            )
        extent = self.analyzer.constant(s.extent)
        if extent is not None and extent < 1:
            return
        certain = extent is not None or (self.analyzer.lower(self.analyzer.form(s.extent)) or 0) >= 1
        self._counted_loop(s.var, start, stop, s.body, certain)

    def _counted_loop(self, var: Var, start: Value, stop: Value, body: Stmt, certain: bool) -> None:
        """A loop tested at its end, behind a test of its own unless at least one iteration is certain."""
        loop, done = self.label("loop"), self.label("done")
        self._forget_stored(body)
        before_loop = self.open_scope().before
        entry = entry_of_loop = self.block
        if not certain:
            entry_of_loop = self.label("enter")
            nonempty = self.emit(f"icmp slt {start.typed}, {stop.text}", "i1")
            self.branch_if(nonempty, entry_of_loop, done)
            self.start_block(entry_of_loop)
        self.branch(loop)
        self.start_block(loop)
        counter = self.fresh("i")
        self.depth[counter] = len(self.scopes) - 1
        counter_line: Lines = []
        self.lines.append(counter_line)
        before = self.open_loop(all_written(body))
        self.env[var] = Value(counter, "i64")
        self.statement(body)
        self.memo.clear()
        del self.env[var]
        following = self.emit(f"add nsw i64 {counter}, 1", "i64")
        more = self.emit(f"icmp slt i64 {following.text}, {stop.text}", "i1")
        finals = self.loop_finals()
        latch = self.block
        self.branch_if(more, loop, done)
        counter_line.append(f"  {counter} = phi i64 [ {start.text}, %{entry_of_loop} ], [ {following.text}, %{latch} ]")
        self.close_loop(finals, entry_of_loop, latch)
        self.close_scope()
        self.start_block(done)
        if not certain:
            self.merge_registers(before, (entry, before_loop), self.held_registers(), latch)

    def _forget_stored(self, body: Stmt) -> None:
        self.forget_loads(all_written(body))

    def _while(self, s: While) -> None:
        head, loop, done = self.label("test"), self.label("loop"), self.label("done")
        self._forget_stored(s.body)
        self.open_scope()
        entry = self.block
        self.branch(head)
        self.start_block(head)
        self.open_loop(all_written(s.body))
        self.memo.clear()
        condition = self.value(s.condition)
        held = self.held_registers()
        self.branch_if(condition, loop, done)
        self.start_block(loop)
        self.open_scope()
        self.statement(s.body)
        self.close_scope()
        finals = self.loop_finals()
        latch = self.block
        self.branch(head)
        self.close_loop(finals, entry, latch)
        self.close_scope()
        for phi, _ in finals:
            held[phi.buffer].setdefault(phi.slot, phi.result)
        self.registers = held
        self.memo.clear()
        self.start_block(done)

    # Branches.

    def _if(self, s: If) -> None:
        self.memo.clear()
        condition = self.value(s.condition)
        if condition.lanes:
            self._masked_if(s, condition)
            return
        if condition.literal is not None:
            chosen = s.then if condition.literal else s.otherwise
            if chosen is not None:
                self.statement(chosen)
            return
        then, join = self.label("then"), self.label("join")
        otherwise = self.label("else") if s.otherwise is not None else join
        before: Lines = []
        self.lines.append(before)
        self._forget_stored(s)
        entry = self.block
        held = self.held_registers()
        self.branch_if(condition, then, otherwise)
        then_block, _ = self._arm(then, s.then, before, join)
        after_then, self.registers = self.registers, held
        end = (entry, before) if s.otherwise is None else self._arm(otherwise, s.otherwise, before, join)
        self.start_block(join)
        self.merge_registers(self.registers, end, after_then, then_block)
        self.memo.clear()

    def _arm(self, label: str, body: Stmt, before: Lines, join: str) -> tuple[str, Lines]:
        """A block of a branch; its name, and the place at its end for more lines."""
        self.start_block(label)
        frame = self.open_scope()
        frame.before = before
        self.statement(body)
        self.close_scope()
        end, more = self.block, list[Any]()
        self.lines.append(more)
        self.branch(join)
        return end, more

    def _masked_if(self, s: If, condition: Value) -> None:
        """Lanes where the condition fails take no part; nothing is skipped."""
        outer = self.mask
        arms: list[tuple[Stmt, Value]] = [(s.then, condition)]
        if s.otherwise is not None:
            arms.append((s.otherwise, self.inverted(condition)))
        for body, mask in arms:
            if mask.literal is False:
                continue
            if mask.literal is not True:
                self.mask = self.both(outer, mask)
            self.statement(body)
            self.mask = outer
        self.memo.clear()

    # Storage.

    def _allocate(self, s: Allocate) -> None:
        buffer = s.buffer
        size = buffer.size()
        if buffer.scope is Scope.REGISTER:
            if size is None:
                shape = ", ".join(map(str, buffer.shape))
                raise CodegenError(f"register buffer {buffer.name!r}: expected a constant shape, found [{shape}]")
            self.registers[buffer] = {}
            self.statement(s.body)
            del self.registers[buffer]
            return
        if size is None:
            self._symbolic_allocation(s)
            return
        if buffer not in self.places:
            self.places[buffer] = self._place(buffer, max(size, 1) * buffer.dtype.bytes)
        self.base[buffer] = self.places[buffer]
        self.statement(s.body)
        del self.base[buffer]

    def _place(self, buffer: Buffer, size_bytes: int) -> Value:
        """Storage for the time that the function runs: on the stack if it is small, else in the arena."""
        if size_bytes <= (LOCAL_STACK_BYTES if buffer.scope is Scope.LOCAL else STACK_BYTES):
            name = self.fresh("stack")
            self.stack.append(f"  {name} = alloca [{size_bytes} x i8], align {buffer.alignment}")
        else:
            name = self.fresh("memory")
            self.arena.append(f"  {name} = getelementptr i8, ptr %arena, i64 {self.arena_bytes}")
            self.arena_bytes += -(-size_bytes // 64) * 64
        self.noalias.add(name)
        return Value(name, "ptr")

    def _symbolic_allocation(self, s: Allocate) -> None:
        """Storage of a size that is known only when the kernel runs: taken and given back around its use."""
        self.can_fail = True
        last = s.buffer.offset(tuple(extent - 1 for extent in s.buffer.shape))
        total = (last + 1) * s.buffer.dtype.bytes
        self.memo.clear()
        size = self.value(ex.maximum(total, 64))
        memory = self._host_call(self.module.architecture.abi.alloc, "ptr", f"i64 {size.text}, i64 64")
        taken, failed = self.label("taken"), self.label("failed")
        null = self.emit(f"icmp eq ptr {memory.text}, null", "i1")
        self.branch_if(null, failed, taken)
        self.start_block(failed)
        self.fail(str(Status.OUT_OF_MEMORY.value))
        self.start_block(taken)
        self.base[s.buffer] = memory
        self.taken.append(memory)
        self.statement(s.body)
        self.taken.pop()
        del self.base[s.buffer]
        self._host_call(self.module.architecture.abi.free, "void", f"ptr {memory.text}")

    def fail(self, status: str) -> None:
        """End the function with a status; memory taken so far is given back."""
        for memory in self.taken:
            self._host_call(self.module.architecture.abi.free, "void", f"ptr {memory.text}")
        self.lines.append(f"  store i32 {status}, ptr %status")
        self.branch("exit")

    def _host_call(self, offset: int, result: str, arguments: str) -> Value:
        field = self.emit(f"getelementptr i8, ptr %host, i64 {offset}", "ptr")
        function = self.emit(f"load ptr, ptr {field.text}", "ptr")
        if result == "void":
            self.lines.append(f"  call void {function.text}(ptr %host, {arguments})")
            return Value("", "void")
        return self.emit(f"call {result} {function.text}(ptr %host, {arguments})", result)

    def _store(self, s: Store) -> None:
        self.memo.clear()
        value = self.value(s.value)
        if s.buffer.scope is Scope.REGISTER and s.buffer in self.registers:
            self.register_store(s, value)
            return
        form = self.offset_form(s)
        stride = self.lane_stride(form)
        value = self.narrow(value, s.buffer.dtype)
        if stride == 0 and (self.mask is not None or value.lanes):
            stride = None
        if stride is None or stride not in (0, 1):
            self._scatter(s, self.splat(value, self.width))
            self.forget_loads({s.buffer})
            return
        constant, terms = self.evaluate(form)
        if stride == 1:
            value = self.splat(value, self.width)
        mask = self.mask
        active = [i for i, on in enumerate(mask.elements or ()) if on] if mask is not None else []
        if len(active) == 1:  # LLVM 22 writes more than that lane where it narrows the value while storing it
            value, mask = self.emit(f"extractelement {value.typed}, i64 {active[0]}", value.kind), None
            constant += active[0]
        pointer = self.pointer(s.buffer, constant, terms)
        alignment = self.alignment(s.buffer, constant, terms)
        self.forget_loads({s.buffer})
        if mask is not None:
            self.module.report.masked += 1
            name = f"@llvm.masked.store.{intrinsic_suffix(value)}.p0"
            self.module.declarations[f"declare void {name}({value.type}, ptr, i32, {mask.type})"] = None
            self.lines.append(f"  call void {name}({value.typed}, ptr {pointer}, i32 {alignment}, {mask.typed})")
        else:
            self.lines.append(f"  store {value.typed}, ptr {pointer}, align {alignment}")

    def _scatter(self, s: Store, value: Value) -> None:
        self.module.report.gathers += 1
        pointers = self.lane_pointers(s)
        mask = self.mask or Value("splat (i1 true)", "i1", self.width)
        name = f"@llvm.masked.scatter.{intrinsic_suffix(value)}.v{self.width}p0"
        self.module.declarations[f"declare void {name}({value.type}, {pointers.type}, i32, {mask.type})"] = None
        self.lines.append(
            f"  call void {name}({value.typed}, {pointers.typed}, i32 {s.buffer.dtype.bytes}, {mask.typed})"
        )

    def _let(self, s: Let) -> None:
        chain, body = lets(s)
        for let in chain:
            self.memo.clear()
            self.env[let.var] = self.value(let.value)
            self.analyzer.bind_value(let.var, let.value)
        self.statement(body)
        for let in chain:
            del self.env[let.var]

    def _evaluate(self, s: Evaluate) -> None:
        self.memo.clear()
        self.value(s.value)

    def _invoke(self, s: Invoke) -> None:
        """Call another kernel; stop with its status if that is not 0."""
        self.can_fail = True
        self.memo.clear()
        operands = ["ptr %host"]
        for buffer, offset in s.arguments:
            base, step = self.base_pointer(buffer).text, self.value(offset)
            if step.literal != 0:
                base = self.emit(f"getelementptr i8, ptr {base}, i64 {step.text}", "ptr").text
            operands.append(f"ptr {base}")
        types = ", ".join("ptr" for _ in operands)
        self.module.declarations[f"declare i32 @{s.callee}.kernel({types})"] = None
        self._stop_on(self.emit(f"call i32 @{s.callee}.kernel({', '.join(operands)})", "i32"))
        self.forget_loads(set(s.buffers))

    def _stop_on(self, status: Value) -> None:
        """End the function with a status that is not 0."""
        failed, fine = self.label("failed"), self.label("fine")
        nonzero = self.emit(f"icmp ne i32 {status.text}, 0", "i1")
        self.branch_if(nonzero, failed, fine)
        self.start_block(failed)
        self.fail(status.text)
        self.start_block(fine)

    def _timestamp(self, s: Timestamp) -> None:
        """Store the processor's clock. Raises CodegenError for an architecture without one that programs can read."""
        if not self.module.architecture.clock:
            raise CodegenError("the target has no clock that a program can read, so a function for it can't be timed")
        self.module.declarations[f"declare i64 @{self.module.architecture.clock}()"] = None
        now = self.emit(f"call i64 @{self.module.architecture.clock}()", "i64")
        place = self.emit(f"getelementptr i64, ptr {self.base_pointer(s.buffer).text}, i64 {s.index}", "ptr")
        self.lines.append(f"  store {now.typed}, ptr {place.text}, align 8")
        self.forget_loads({s.buffer})

    def _prefetch(self, s: Prefetch) -> None:
        """A hint for the first lane; where the lanes' addresses are unrelated, for none."""
        self.memo.clear()
        form = self.offset_form(s)
        if self.lane_stride(form) is None:
            return
        pointer = self.pointer(s.buffer, *self.evaluate(form))
        self.module.declarations["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
        self.lines.append(f"  call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")

    def _barrier(self, s: Barrier) -> None:
        raise CodegenError(f"a barrier in {s.scope.value} memory needs threads that the target does not have")

    # Parallel regions.

    def _parallel(self, s: For) -> None:
        """The loop becomes a task of its own, run over contiguous ranges by the host's threads."""
        if not self.registers.keys().isdisjoint(all_read(s.body) | all_written(s.body)):
            raise CodegenError(
                f"parallel loop {s.var.name!r} uses a register buffer that belongs to the code around it"
            )
        self.memo.clear()
        start, extent = self.value(s.start), self.value(s.extent)
        self._forget_stored(s.body)
        name = f"{self.name}.task{len(self.module.functions)}"
        self.module.functions.append("")
        place = len(self.module.functions) - 1
        task = Statements(self.module, name, self.analyzer, self.program, self)
        first = task.capture(start)
        self.module.functions[place] = task.write_task(self.program.tasks[s], first)
        closure = self.fresh("closure")
        mode = self.module.architecture.float_mode
        count = len(task.captured) + (2 if mode else 1)
        self.stack.append(f"  {closure} = alloca [{count} x i64], align 8")
        self.lines.append(f"  store ptr %host, ptr {closure}")
        for i, (outer, _) in enumerate(task.captured.values()):
            slot = self.emit(f"getelementptr i64, ptr {closure}, i64 {i + 1}", "ptr")
            self.lines.append(f"  store {outer.typed}, ptr {slot.text}")
        if mode:
            last = self.emit(f"getelementptr i64, ptr {closure}, i64 {count - 1}", "ptr")
            self.lines += mode.save(last.text)
        parallel_for = self.module.architecture.abi.parallel_for
        status = self._host_call(parallel_for, "i32", f"ptr @{name}, ptr {closure}, {extent.typed}")
        if task.can_fail:
            self.can_fail = True
            self._stop_on(status)

    def write_task(self, task: Task, first: Value) -> str:
        """The task's text: a thunk that unpacks the closure, and the body with restrict pointers.

        The body runs in the caller's mode of floating point, which the closure ends with, on whatever thread it runs.
        """
        var = self.fresh("i")
        self.depth[var] = len(self.scopes)
        begin, end = Value("%begin", "i64"), Value("%end", "i64")
        self.chunk = task.loop, self.sum(first, begin), self.sum(first, end)
        self.statement(task.invariants.around(task.loop))
        own = [own for _, own in self.captured.values()]
        parameters = ", ".join(
            f"{v.kind} noalias {v.text}" if v.kind == "ptr" and v.text in self.noalias else v.typed for v in own
        )
        inner_parameters = ", ".join(["ptr %host", *([parameters] if parameters else []), "i64 %begin", "i64 %end"])
        text = self.define(f"{self.name}.body", inner_parameters, "internal")
        thunk = [
            f"define internal i32 @{self.name}(ptr %closure, i64 %begin, i64 %end) #0 {{",
            "  %host = load ptr, ptr %closure",
        ]
        for i, v in enumerate(own):
            thunk.append(f"  %p{i} = getelementptr i64, ptr %closure, i64 {i + 1}")
            thunk.append(f"  {v.text} = load {v.kind}, ptr %p{i}")
        arguments = ", ".join(["ptr %host", *(v.typed for v in own), "i64 %begin", "i64 %end"])
        call = f"  %result = call i32 @{self.name}.body({arguments})"
        if mode := self.module.architecture.float_mode:
            thunk += [
                f"  %mode.of.thread = alloca i{mode.bits}",
                *mode.save("%mode.of.thread"),
                f"  %mode.of.caller = getelementptr i64, ptr %closure, i64 {len(own) + 1}",
                *mode.load("%mode.of.caller"),
                call,
                *mode.load("%mode.of.thread"),
            ]
        else:
            thunk.append(call)
        thunk += ["  ret i32 %result", "}"]
        return text + "\n".join(thunk) + "\n"

    def define(self, name: str, parameters: str, linkage: str) -> str:
        """The finished function: storage, the body, whose first block is `work`, one exit that gives memory back."""
        fails = self.can_fail or self.arena_bytes > 0
        if self.arena_bytes:
            self.can_fail = True
        first = "entry" if self.arena_bytes else "work"
        head: list[str] = [f"define {linkage} i32 @{name}({parameters}) #0 {{", f"{first}:"]
        body = list(flatten([self.entry, self.lines]))
        head += flatten(self.stack)
        if not fails:
            return "\n".join([*head, *body, "  ret i32 0", "}", ""])
        head.append("  %status = alloca i32")
        head.append("  store i32 0, ptr %status")
        tail = ["  br label %exit", "exit:"]
        if self.arena_bytes:
            head += [
                f"  %host.alloc = getelementptr i8, ptr %host, i64 {self.module.architecture.abi.alloc}",
                "  %alloc = load ptr, ptr %host.alloc",
                f"  %arena = call noalias ptr %alloc(ptr %host, i64 {self.arena_bytes}, i64 64)",
                "  %no.arena = icmp eq ptr %arena, null",
                "  br i1 %no.arena, label %out.of.memory, label %work",
                "out.of.memory:",
                f"  ret i32 {Status.OUT_OF_MEMORY.value}",
                "work:",
                *flatten(self.arena),
            ]
            tail += [
                f"  %host.free = getelementptr i8, ptr %host, i64 {self.module.architecture.abi.free}",
                "  %free = load ptr, ptr %host.free",
                "  call void %free(ptr %host, ptr %arena)",
            ]
        tail += ["  %result = load i32, ptr %status", "  ret i32 %result", "}", ""]
        return "\n".join([*head, *body, *tail])


_LOOPS: dict[LoopKind, Callable[[Any, For], None]] = {
    LoopKind.SERIAL: Statements._serial,
    LoopKind.UNROLLED: Statements._unrolled,
    LoopKind.VECTORIZED: Statements._vectorized,
    LoopKind.PARALLEL: Statements._parallel,
    LoopKind.THREAD: Statements._thread,
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
    Intrinsic: Statements.instruction,
    Timestamp: Statements._timestamp,
    Prefetch: Statements._prefetch,
    Barrier: Statements._barrier,
}
