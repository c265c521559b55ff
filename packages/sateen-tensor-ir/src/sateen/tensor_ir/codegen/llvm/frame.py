"""The frame around the body of a function: its storage, calls of the host, failures, and its single exit."""

from __future__ import annotations

from collections.abc import Callable

from sateen.runtime.abi import Status
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter, Lines, flatten
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.lowering.storage import is_on_stack


class Frame:
    """The storage and the end of one function, whose body is in `writer`."""

    def __init__(self, writer: FunctionWriter) -> None:
        self.writer = writer
        self.places: dict[Buffer, LlvmValue] = {}
        """Storage of constant size, used again where the statement that allocates it is written out several times."""
        self.noalias: set[str] = set()
        """Pointers to memory that no other pointer of the function reaches."""
        self.stack = writer.stack
        self.arena: Lines = []
        """Lines at the function's start: storage on the stack, and places in the arena."""
        self.arena_bytes = 0
        self.taken: list[Callable[[], object]] = []
        """The actions that give back each memory of symbolic size or of a device in use here, also if the function
        fails.
        """
        self.before_failing: list[Callable[[], object]] = []
        """What has to end before the function may fail, as its caller gets its memory back then."""
        self.can_fail = False
        self.barrier: tuple[str, ...] = ()
        self.shuffle: str | None = None
        """The instructions that wait for the other threads of a block; none where there are no such threads."""

    def place(self, buffer: Buffer) -> LlvmValue:
        """Storage of constant size while the function runs, one place per buffer: on the stack or in the arena."""
        if buffer in self.places:
            return self.places[buffer]
        size_bytes = max(buffer.size() or 0, 1) * buffer.dtype.bytes
        if is_on_stack(buffer):
            name = self.writer.fresh("stack")
            self.stack.append(f"  {name} = alloca [{size_bytes} x i8], align {buffer.alignment}")
        else:
            name = self.writer.fresh("memory")
            self.arena.append(f"  {name} = getelementptr i8, ptr %arena, i64 {self.arena_bytes}")
            self.arena_bytes += -(-size_bytes // 64) * 64
        self.noalias.add(name)
        self.places[buffer] = LlvmValue(name, "ptr")
        return self.places[buffer]

    def take(self, size: LlvmValue) -> LlvmValue:
        """Memory from the host, of a size known only at run time; `give_back` ends its use."""
        abi = self.writer.module.architecture.abi
        memory = self.host_call(abi.alloc, "ptr", f"{self.writer.resized(size, 'i64').typed}, i64 64")
        self.hold(memory, lambda: self.host_call(abi.free, "void", f"ptr {memory.text}"))
        return memory

    def hold(self, memory: LlvmValue, give_back: Callable[[], object]) -> None:
        """Stop if no memory was given; otherwise `give_back` must end its use."""
        self.can_fail = True
        taken, failed = self.writer.label("taken"), self.writer.label("failed")
        null = self.writer.emit(f"icmp eq ptr {memory.text}, null", "i1")
        self.writer.branch_if(null, failed, taken)
        self.writer.start_block(failed)
        self.fail(str(Status.OUT_OF_MEMORY.value))
        self.writer.start_block(taken)
        self.taken.append(give_back)

    def give_back(self) -> None:
        """Give back the memory that was taken last."""
        self.taken.pop()()

    def fail(self, status: str) -> None:
        """End the function with a status; memory taken so far is given back."""
        for end in (*self.before_failing, *self.taken):
            end()
        self.writer.lines.append(f"  store i32 {status}, ptr %status")
        self.writer.branch("exit")

    def host_call(self, offset: int, result: str, arguments: str) -> LlvmValue:
        """A call of a function of the host table, at `offset` bytes from its start."""
        field = self.writer.emit(f"getelementptr i8, ptr %host, i64 {offset}", "ptr")
        function = self.writer.emit(f"load ptr, ptr {field.text}", "ptr")
        if result == "void":
            self.writer.lines.append(f"  call void {function.text}(ptr %host, {arguments})")
            return LlvmValue("", "void")
        return self.writer.emit(f"call {result} {function.text}(ptr %host, {arguments})", result)

    def stop_on(self, status: LlvmValue) -> None:
        """End the function with a status that is not 0."""
        self.can_fail = True
        failed, fine = self.writer.label("failed"), self.writer.label("fine")
        nonzero = self.writer.emit(f"icmp ne i32 {status.text}, 0", "i1")
        self.writer.branch_if(nonzero, failed, fine)
        self.writer.start_block(failed)
        self.fail(status.text)
        self.writer.start_block(fine)

    def define(self, name: str, parameters: str, linkage: str) -> str:
        """The finished function: storage, the body, whose first block is `work`, one exit that gives memory back.

        With a guard the body is a function of its own, of which nothing runs before the guard has returned 0.
        """
        if not self.writer.guard:
            return self._define(name, parameters, linkage)
        body = self._define(f"{name}.guarded", parameters, "internal")
        self.can_fail = True
        operands = ", ".join(f"{words[0]} {words[-1]}" for words in map(str.split, parameters.split(", ")))
        guarded = f"""\
define {linkage} i32 @{name}({parameters}) #0 {{
  %status = call i32 @{self.writer.guard}()
  %refused = icmp ne i32 %status, 0
  br i1 %refused, label %refuse, label %run
refuse:
  ret i32 %status
run:
  %result = call i32 @{name}.guarded({operands})
  ret i32 %result
}}
"""
        return guarded + body

    def _define(self, name: str, parameters: str, linkage: str) -> str:
        fails = self.can_fail or self.arena_bytes > 0
        if self.arena_bytes:
            self.can_fail = True
        first = "entry" if self.arena_bytes else "work"
        head: list[str] = [f"define {linkage} i32 @{name}({parameters}) #0 {{", f"{first}:"]
        body = list(flatten([self.writer.entry, self.writer.lines]))
        head += flatten(self.stack)
        if not fails:
            return "\n".join([*head, *body, "  ret i32 0", "}", ""])
        head.append("  %status = alloca i32")
        head.append("  store i32 0, ptr %status")
        tail = ["  br label %exit", "exit:"]
        if self.arena_bytes:
            head += [
                f"  %host.alloc = getelementptr i8, ptr %host, i64 {self.writer.module.architecture.abi.alloc}",
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
                f"  %host.free = getelementptr i8, ptr %host, i64 {self.writer.module.architecture.abi.free}",
                "  %free = load ptr, ptr %host.free",
                "  call void %free(ptr %host, ptr %arena)",
            ]
        tail += ["  %result = load i32, ptr %status", "  ret i32 %result", "}", ""]
        return "\n".join([*head, *body, *tail])
