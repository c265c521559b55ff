"""Loops and branches: blocks of instructions, and the values of registers where these join."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.expressions import Expressions
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter, Lines
from sateen.tensor_ir.ir.access import all_written
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import If, Stmt, While


class ControlFlow:
    """Writes loops and branches around statements, which `statement` writes."""

    def __init__(
        self,
        writer: FunctionWriter,
        environment: Environment,
        expressions: Expressions,
        statement: Callable[[Stmt], None],
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.expressions = expressions
        self.registers = expressions.registers
        self.memory = expressions.memory
        self.statement = statement

    def counted_loop(
        self, var: Var, start: LlvmValue, stop: LlvmValue, body: Stmt, certain: bool, backwards: LlvmValue | None = None
    ) -> None:
        """A loop tested at its end, with a test before it unless at least one iteration is certain.

        Where `backwards` holds, the iterations run from the last to the first.
        """
        index, loop, done = self.writer.index, self.writer.label("loop"), self.writer.label("done")
        self._forget_stored(body)
        self.registers.join_blocks(all_written(body))
        before_loop = self.writer.open_scope().before
        entry = entry_of_loop = self.writer.block
        if not certain:
            entry_of_loop = self.writer.label("enter")
            nonempty = self.writer.emit(f"icmp slt {start.typed}, {stop.text}", "i1")
            self.writer.branch_if(nonempty, entry_of_loop, done)
            self.writer.start_block(entry_of_loop)
        self.writer.branch(loop)
        self.writer.start_block(loop)
        counter = self.writer.fresh("i")
        self.writer.depth[counter] = len(self.writer.scopes) - 1
        counter_line: Lines = []
        self.writer.lines.append(counter_line)
        before = self.registers.open_loop(all_written(body))
        value = LlvmValue(counter, index)
        self.environment.variables[var] = value if backwards is None else self._turned(value, start, stop, backwards)
        self.statement(body)
        self.expressions.memo.clear()
        del self.environment.variables[var]
        following = self.writer.emit(f"add nsw {index} {counter}, 1", index)
        more = self.writer.emit(f"icmp slt {following.typed}, {stop.text}", "i1")
        finals = self.registers.loop_finals()
        latch = self.writer.block
        self.writer.branch_if(more, loop, done)
        arms = f"[ {start.text}, %{entry_of_loop} ], [ {following.text}, %{latch} ]"
        counter_line.append(f"  {counter} = phi {index} {arms}")
        self.registers.close_loop(finals, entry_of_loop, latch)
        self.writer.close_scope()
        self.writer.start_block(done)
        if not certain:
            self.registers.merge(before, (entry, before_loop), self.registers.snapshot(), latch)

    def _turned(self, counter: LlvmValue, start: LlvmValue, stop: LlvmValue, backwards: LlvmValue) -> LlvmValue:
        """A counter of a loop, counted from the end where `backwards` holds."""
        before = self.writer.emit(f"sub nsw {counter.typed}, {start.text}", counter.kind)
        last = self.writer.emit(f"sub nsw {stop.typed}, 1", counter.kind)
        place = self.writer.emit(f"sub nsw {last.typed}, {before.text}", counter.kind)
        return self.writer.emit(f"select i1 {backwards.text}, {place.typed}, {counter.typed}", counter.kind)

    def repeat(self, s: While) -> None:
        """A loop that is tested at its beginning."""
        head, loop, done = self.writer.label("test"), self.writer.label("loop"), self.writer.label("done")
        self._forget_stored(s.body)
        self.registers.join_blocks(all_written(s.body))
        self.writer.open_scope()
        entry = self.writer.block
        self.writer.branch(head)
        self.writer.start_block(head)
        self.registers.open_loop(all_written(s.body))
        self.expressions.memo.clear()
        condition = self.expressions.value(s.condition)
        if condition.lanes:
            assert self.environment.lane is not None
            raise CodegenError(
                f"a while loop: its condition {s.condition} differs between the lanes of the vectorized loop "
                f"{self.environment.lane.name!r}; leave that loop serial"
            )
        held = self.registers.snapshot()
        self.writer.branch_if(condition, loop, done)
        self.writer.start_block(loop)
        self.writer.open_scope()
        self.statement(s.body)
        self.writer.close_scope()
        finals = self.registers.loop_finals()
        latch = self.writer.block
        self.writer.branch(head)
        self.registers.close_loop(finals, entry, latch)
        self.writer.close_scope()
        for phi, _ in finals:
            held[phi.buffer].setdefault(phi.slot, phi.result)
        self.registers.slots = held
        self.expressions.memo.clear()
        self.writer.start_block(done)

    def branch(self, s: If) -> None:
        """A branch; a mask where lanes go different ways."""
        self.expressions.memo.clear()
        condition = self.expressions.value(s.condition)
        if condition.lanes:
            self._masked_branch(s, condition)
            return
        if condition.literal is not None:
            chosen = s.then if condition.literal else s.otherwise
            if chosen is not None:
                self.statement(chosen)
            return
        then, join = self.writer.label("then"), self.writer.label("join")
        otherwise = self.writer.label("else") if s.otherwise is not None else join
        before: Lines = []
        self.writer.lines.append(before)
        self._forget_stored(s)
        entry = self.writer.block
        held = self.registers.snapshot()
        self.writer.branch_if(condition, then, otherwise)
        then_block, _ = self._arm(then, s.then, before, join)
        after_then, self.registers.slots = self.registers.slots, held
        end = (entry, before) if s.otherwise is None else self._arm(otherwise, s.otherwise, before, join)
        self.writer.start_block(join)
        self.registers.merge(self.registers.slots, end, after_then, then_block)
        self.expressions.memo.clear()

    def _arm(self, label: str, body: Stmt, before: Lines, join: str) -> tuple[str, Lines]:
        """A block of a branch; its name, and the place at its end for more lines."""
        self.writer.start_block(label)
        frame = self.writer.open_scope()
        frame.before = before
        self.statement(body)
        self.writer.close_scope()
        end, more = self.writer.block, list[Any]()
        self.writer.lines.append(more)
        self.writer.branch(join)
        return end, more

    def _masked_branch(self, s: If, condition: LlvmValue) -> None:
        """Lanes where the condition fails take no part; nothing is skipped."""
        outer = self.environment.mask
        arms: list[tuple[Stmt, LlvmValue]] = [(s.then, condition)]
        if s.otherwise is not None:
            arms.append((s.otherwise, self.expressions.masks.inverted(condition)))
        for body, mask in arms:
            if mask.literal is False:
                continue
            if mask.literal is not True:
                self.environment.mask = self.expressions.masks.both(outer, mask)
            self.statement(body)
            self.environment.mask = outer
        self.expressions.memo.clear()

    def _forget_stored(self, body: Stmt) -> None:
        self.memory.forget_loads(all_written(body))
