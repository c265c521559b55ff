"""Tasks of parallel loops: their captures from the function around them, and the thunk that unpacks these."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.expressions import Expressions
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.targets.float_mode import FloatMode


class Captures:
    """Values of the function around a parallel loop that its task uses.

    `around` gives them there, where pointers in `noalias` reach memory that no other does; `frame` is the task's.
    """

    def __init__(self, around: Expressions, noalias: Collection[str], frame: Frame) -> None:
        self.around = around
        self.noalias = noalias
        self.frame = frame
        self.captured: dict[str, tuple[LlvmValue, LlvmValue]] = {}
        """By text: the operand of the function around the loop, and the task's own."""

    @property
    def values(self) -> list[LlvmValue]:
        """The task's own operands."""
        return [own for _, own in self.captured.values()]

    def variable(self, e: Var) -> LlvmValue:
        """The task's own operand for a variable."""
        return self.capture(self.around.value(e))

    def address(self, buffer: Buffer) -> LlvmValue:
        """The task's own operand for the address of a buffer's first element."""
        outer = self.around.addresses.base_pointer(buffer)
        own = self.capture(outer)
        if outer.text in self.noalias:
            self.frame.noalias.add(own.text)
        return own

    def capture(self, outer: LlvmValue) -> LlvmValue:
        """The task's own operand for a value of the function around it."""
        if outer.literal is not None or outer.is_global:
            return outer
        if outer.lanes:
            raise CodegenError(
                "a parallel loop inside a vectorized one can't be expressed; put the vectorized loop inside"
            )
        if outer.text not in self.captured:
            self.captured[outer.text] = (outer, LlvmValue(f"%c{len(self.captured)}", outer.kind))
        return self.captured[outer.text][1]

    def parameters(self) -> list[str]:
        """The parameters of the task's body."""
        alone = self.frame.noalias
        return [f"{v.kind} noalias {v.text}" if v.kind == "ptr" and v.text in alone else v.typed for v in self.values]


def thunk(name: str, values: Sequence[LlvmValue], index: str, mode: FloatMode | None) -> str:
    """The function that a thread runs: it unpacks the closure and calls the body, whose indices have the type `index`.

    On every thread the body runs in the caller's floating-point mode, which is at the end of the closure.
    """
    lines = [
        f"define internal signext i32 @{name}(ptr %closure, i64 %begin, i64 %end) #0 {{",
        "  %host = load ptr, ptr %closure",
    ]
    for i, v in enumerate(values):
        lines.append(f"  %p{i} = getelementptr i64, ptr %closure, i64 {i + 1}")
        lines.append(f"  {v.text} = load {v.kind}, ptr %p{i}")
    bounds = ["i64 %begin", "i64 %end"]
    if index != "i64":
        bounds = [f"{index} %first", f"{index} %last"]
        lines += [f"  %first = trunc i64 %begin to {index}", f"  %last = trunc i64 %end to {index}"]
    arguments = ", ".join(["ptr %host", *(v.typed for v in values), *bounds])
    call = f"  %result = call i32 @{name}.body({arguments})"
    if mode is None:
        lines.append(call)
    else:
        lines += [
            f"  %mode.of.thread = alloca i{mode.bits}",
            *mode.save("%mode.of.thread"),
            f"  %mode.of.caller = getelementptr i64, ptr %closure, i64 {len(values) + 1}",
            *mode.load("%mode.of.caller"),
            call,
            *mode.load("%mode.of.thread"),
        ]
    return "\n".join([*lines, "  ret i32 %result", "}"]) + "\n"
