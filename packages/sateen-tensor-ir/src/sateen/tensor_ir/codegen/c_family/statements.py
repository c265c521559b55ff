"""Statements as C text: the common part of all dialects. They differ in loops that threads share and in memory."""

from __future__ import annotations

from string import Template

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.c_family.expressions import Expressions
from sateen.tensor_ir.codegen.c_family.literals import UNARY, Code
from sateen.tensor_ir.codegen.missing_code import no_code
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.storage import strides_of
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
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
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import unknown


class Statements(Expressions):
    """`statement(s)` adds the lines of a statement. Unrolled and vectorized loops are left to the C compiler."""

    def statement(self, s: Stmt) -> None:
        match s:
            case Seq():
                for child in s.body[:-1]:
                    self._apart(child)
                if s.body:
                    self.statement(s.body[-1])
            case For():
                self._for(s)
            case If():
                self._if(s)
            case While():
                self._while(s)
            case Let():
                self._let(s)
            case Allocate():
                self.allocate(s)
            case Store():
                self.begin(*s.indices, s.value)
                self.store(s)
            case Evaluate(value=ex.Call() as call) if call.name.startswith(PACKED):
                self.begin(call)
                self.packed(call)
            case Evaluate():
                self.begin(s.value)
                self.discard(self.code(s.value))
            case Prefetch():
                pass  # a hint, for which neither language has words that are safe beyond the end of an array
            case Barrier():
                self.barrier(s)
            case Shuffle():
                self.shuffle(s)
            case Invoke():
                self.invoke(s)
            case Launch() | Copy() | Wait():
                raise CodegenError(
                    f"{self.function_name}: {self.dialect.name} gives no work to devices, found work of {s.queue}; "
                    "build for llvm"
                )
            case Intrinsic():
                self.intrinsic(s)
            case Timestamp():
                raise CodegenError(f"{self.function_name}: {self.dialect.name} has no clock to read; build for llvm")
            case _:
                raise unknown(s, f"{self.function_name}: the emitter of {self.dialect.name}")

    def store(self, s: Store) -> None:
        """The assignment to an element."""
        value = self.stored(s.value, s.buffer.dtype)
        self.line(f"{self.element(s.buffer, s.indices)} = {value};")

    def discard(self, value: Code) -> None:
        """An expression of which nobody needs the value."""
        self.line(f"(void){value.within(UNARY)};")

    def invoke(self, s: Invoke) -> None:
        """A call of another kernel. Raises CodegenError: only code of a host calls those that are beside it."""
        raise CodegenError(
            f"{self.function_name}: {self.dialect.name} has each kernel on its own, found a call of {s.callee!r}; "
            "build for llvm"
        )

    def packed(self, e: ex.Call) -> None:
        """A call of a function of the ABI."""
        self.external(e)

    def intrinsic(self, s: Intrinsic[TensorIntrinsic]) -> None:
        """The instruction's statements in a block, its operands as pointers."""
        code = self.dialect.instruction(s.instruction)
        if code is None:
            raise no_code(s, self.function_name, self.dialect.name)
        strides = strides_of(s, Analyzer())
        self.begin(*s.indices, *strides.values())
        operands = zip(s.instruction.operands, s.regions, strict=True)
        names = {o.name: f"(&{self.element(r.buffer, r.indices)})" for o, r in operands}
        names |= {variable.name: f"({self.text(value)})" for variable, value in strides.items()}
        with self.braces(""):
            for line in Template(code.text.strip("\n")).substitute(self.dialect.types, **names).splitlines():
                self.line(line)

    def _apart(self, s: Stmt) -> None:
        """A statement among others, in a block of its own if it declares names."""
        if isinstance(s, (Let, Allocate)):
            with self.braces(""):
                self.statement(s)
        else:
            self.statement(s)

    def _for(self, s: For) -> None:
        if s.kind is LoopKind.PARALLEL:
            self.parallel_loop(s)
        elif s.kind is LoopKind.THREAD:
            self.thread_loop(s)
        else:
            self.serial_loop(s)

    def serial_loop(self, s: For) -> None:
        """The loop as a `for`; its bounds are evaluated once."""
        self.begin(s.start, s.extent)
        start, stop = self.text(s.start), self.bound(s.var, ex.add(s.start, s.extent))
        self.counted_loop(s, start, stop)

    def counted_loop(self, s: For, start: str, stop: str) -> None:
        """The loop from one C expression to another; its body changes neither."""
        with self.braces(self.counting(self.value_type(s.var.dtype), self.name(s.var), start, stop)):
            self.loop_body(s)

    def loop_body(self, s: For) -> None:
        """What an iteration of a loop does."""
        if self.is_nonnegative(s.start):
            self.nonnegative.add(s.var)
        self.statement(s.body)

    def counting(self, type_: str, var: str, start: str, stop: str) -> str:
        """The head of a loop over [start, stop)."""
        return f"for ({type_} {var} = {start}; {var} < {stop}; ++{var})"

    def bound(self, var: Var, stop: Expr) -> str:
        """The end of a loop, as a constant unless it is as simple as one."""
        code = self.code(stop)
        if isinstance(stop, (ex.Const, Var)):
            return code.text
        return self.constant(f"{var.name}_end", self.value_type(stop.dtype), code).text

    def parallel_loop(self, s: For) -> None:
        self.serial_loop(s)

    def thread_loop(self, s: For) -> None:
        self.serial_loop(s)

    def _if(self, s: If) -> None:
        self.begin(s.condition)
        with self.braces(f"if ({self.text(s.condition)})"):
            self.statement(s.then)
        if s.otherwise is not None:
            self.lines.pop()
            with self.braces("} else"):
                self.statement(s.otherwise)

    def _while(self, s: While) -> None:
        self.begin(s.condition)
        with self.captured() as lines, self.indented():
            condition = self.code(s.condition)
        if not lines:
            with self.braces(f"while ({condition.text})"):
                self.statement(s.body)
            return
        with self.braces("for (;;)"):
            self.lines += lines
            self.leave_unless(condition)
            self.statement(s.body)

    def leave_unless(self, condition: Code) -> None:
        """The end of a loop."""
        self.line(f"if (!{condition.within(UNARY)}) break;")

    def _let(self, s: Let) -> None:
        """A constant for each let of a chain that is used."""
        chain, rest = lets(s)
        for let in chain:
            if let.var.dtype == INDEX and self.is_nonnegative(let.value):
                self.nonnegative.add(let.var)
        with self.captured() as body:
            self.statement(rest)
        blocks = [body]
        for let in reversed(chain):
            if let.var in self.mentioned:  # by the body, or by the value of a let further in
                with self.captured() as definition:
                    self.begin(let.value)
                    text = self.code(let.value).text
                    self.fixed(self.value_type(let.var.dtype), self.name(let.var), text)
                blocks.append(definition)
        for block in reversed(blocks):
            self.lines += block

    def allocate(self, s: Allocate) -> None:
        """Storage for a buffer, then the body."""
        self.private_array(s)

    def private_array(self, s: Allocate) -> None:
        """A thread's own storage: a C array, if it is used."""
        with self.captured() as body:
            self.statement(s.body)
        if s.buffer in self.mentioned:
            self.array(self.name(s.buffer), s.buffer)
        self.lines += body

    def array(self, name: str, buffer: Buffer) -> None:
        """Add the definition of an array that holds a buffer."""
        self.line(f"{self.storage_type(buffer.dtype)} {name}[{self.constant_size(buffer)}];")

    def constant_size(self, buffer: Buffer) -> int:
        """The length of an array that holds the buffer, at least 1."""
        size = buffer.size()
        if size is None:
            raise CodegenError(
                f"{self.function_name}: {buffer.name!r} in scope {buffer.scope.value} expects a constant size in "
                f"{self.dialect.name}, found [{', '.join(map(str, buffer.shape))}]"
            )
        return max(size, 1)

    def shuffle(self, s: Shuffle) -> None:
        raise CodegenError(
            f"{self.function_name}: {self.dialect.name} has no threads of a warp that give values to each other, "
            f"found {str(s).splitlines()[0].strip()!r}"
        )

    def barrier(self, s: Barrier) -> None:
        raise CodegenError(
            f"{self.function_name}: {self.dialect.name} has no threads to wait for at a barrier {s.scope.value}"
        )
