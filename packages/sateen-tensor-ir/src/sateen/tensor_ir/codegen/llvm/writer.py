"""The text of one LLVM function while it is written: lines, names, scopes, and arithmetic of operands.

Scopes are nested regions of control flow. Each begins with an empty list of lines in its parent, its `before`: pure
address arithmetic whose operands are defined further out is written there. So loop-invariant code is hoisted while it
is emitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.llvm.module_state import ModuleState
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, intrinsic_suffix, literal, scalar_type, splat_literal
from sateen.tensor_ir.ir.types import INDEX

Lines = list[Any]
"""Lines of text, and nested Lines."""


def flatten(lines: Lines) -> Iterator[str]:
    """The text in order."""
    for line in lines:
        if isinstance(line, str):
            yield line
        else:
            yield from flatten(line)


@dataclass(slots=True)
class ScopeFrame:
    """One open region: the place to hoist to, and the values that are still valid here."""

    before: Lines
    products: dict[tuple[str, int], LlvmValue] = field(default_factory=dict)
    pointers: dict[Any, LlvmValue] = field(default_factory=dict)
    splats: dict[tuple[str, int], LlvmValue] = field(default_factory=dict)
    loads: dict[Any, LlvmValue] = field(default_factory=dict)


class FunctionWriter:
    """Lines, names and scopes of the function that is being written."""

    def __init__(self, module: ModuleState, name: str, index: str = "i64") -> None:
        self.module = module
        self.name = name
        self.index = index
        """The type in which the function computes indices."""
        self.entry: Lines = []
        self.stack: Lines = []
        """Storage on the stack, taken where the function begins."""
        self.guard = ""
        """The function that is called before this one, and returns a status; "" for none."""
        self.lines: Lines = []
        self.scopes: list[ScopeFrame] = [ScopeFrame(self.entry)]
        self.block = "work"
        self._counter = 0
        self.depth: dict[str, int] = {}
        """The scope in which an SSA value was defined; operands not listed are defined at the function's start."""

    # Names and lines.

    def fresh(self, prefix: str = "v") -> str:
        """A name that no other value of the function has."""
        self._counter += 1
        return f"%{prefix}{self._counter}"

    def emit(self, operation: str, kind: str, lanes: int = 0) -> LlvmValue:
        """Append `%v = operation`; the value is defined in the current scope."""
        name = self.fresh()
        self.lines.append(f"  {name} = {operation}")
        self.depth[name] = len(self.scopes) - 1
        return LlvmValue(name, kind, lanes)

    def emit_at(self, scope: int, operation: str, kind: str) -> LlvmValue:
        """Append `%v = operation` where scope `scope` is straight-line code: here, or before the region inside it."""
        if scope >= len(self.scopes) - 1:
            return self.emit(operation, kind)
        name = self.fresh()
        self.scopes[scope + 1].before.append(f"  {name} = {operation}")
        self.depth[name] = scope
        return LlvmValue(name, kind)

    @contextmanager
    def writing_to(self, lines: Lines) -> Iterator[None]:
        """Append to another place, such as the end of a block that lacks only its branch."""
        here, self.lines = self.lines, lines
        yield
        self.lines = here

    def label(self, prefix: str) -> str:
        """A name that no other block has."""
        self._counter += 1
        return f"{prefix}{self._counter}"

    def start_block(self, label: str) -> None:
        """Open a block for the lines that follow."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        """End the open block with a jump."""
        self.lines.append(f"  br label %{label}")

    def branch_if(self, condition: LlvmValue, then: str, otherwise: str) -> None:
        """End the open block with a choice of two."""
        self.lines.append(f"  br i1 {condition.text}, label %{then}, label %{otherwise}")

    def intrinsic(self, name: str, result: str, *arguments: LlvmValue, overloads: int = 1) -> str:
        """A call of an LLVM intrinsic, declared at first use; its suffix names the types of the first operands."""
        suffix = ".".join(map(intrinsic_suffix, arguments[:overloads]))
        full = f"@llvm.{name}.{suffix}"
        types = ", ".join(a.type for a in arguments)
        self.module.declarations[f"declare {result} {full}({types})"] = None
        return f"call {result} {full}({', '.join(a.typed for a in arguments)})"

    # Scopes.

    def open_scope(self) -> ScopeFrame:
        """Enter a region of control flow; text can be hoisted before it."""
        before: Lines = []
        self.lines.append(before)
        frame = ScopeFrame(before)
        self.scopes.append(frame)
        return frame

    def close_scope(self) -> None:
        """Leave the innermost region and forget the values computed in it."""
        self.scopes.pop()

    def depth_of(self, value: LlvmValue) -> int:
        """The scope in which a value was defined."""
        return self.depth.get(value.text, 0)

    # Types.

    def value_type(self, dtype: DType) -> str:
        """The LLVM type of a value in registers."""
        return self.index if dtype == INDEX else scalar_type(dtype)

    def resized(self, value: LlvmValue, kind: str) -> LlvmValue:
        """A scalar integer as one of another width, which holds it."""
        if value.literal is not None:
            return literal(value.literal, kind)
        if value.kind == kind:
            return value
        word = "trunc" if int(kind[1:]) < int(value.kind[1:]) else "sext"
        return self.emit(f"{word} {value.typed} to {kind}", kind)

    # Small arithmetic on indices, folded where operands are literals.

    def splat(self, value: LlvmValue, lanes: int) -> LlvmValue:
        """The value in every lane; a vector of that width stays as it is."""
        if value.lanes == lanes:
            return value
        if value.literal is not None:
            return self.plain_splat(value, lanes)
        key = (value.text, lanes)
        for scope in reversed(self.scopes):
            if key in scope.splats:
                return scope.splats[key]
        result = self.scopes[-1].splats[key] = self.plain_splat(value, lanes)
        return result

    def plain_splat(self, value: LlvmValue, lanes: int) -> LlvmValue:
        """A scalar in every lane, not remembered: for code that is written in another place."""
        if value.literal is not None:
            return splat_literal(literal(value.literal, value.kind), lanes)
        first = self.emit(f"insertelement <{lanes} x {value.kind}> poison, {value.typed}, i64 0", value.kind, lanes)
        picks = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {first.typed}, {first.type} poison, {picks}", value.kind, lanes)

    def product(self, value: LlvmValue, factor: int) -> LlvmValue:
        """value · factor as an index, written where `value` is defined."""
        if value.literal is not None:
            return literal(int(value.literal) * factor, self.index)
        if factor == 1:
            return value
        scope = self.depth_of(value)
        cache = self.scopes[min(scope, len(self.scopes) - 1)].products
        key = (value.text, factor)
        if key not in cache:
            cache[key] = self.emit_at(scope, f"mul {self.index} {value.text}, {factor}", self.index)
        return cache[key]

    def sum(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        """a + b as an index, written where both are defined."""
        if a.literal is not None and b.literal is not None:
            return literal(int(a.literal) + int(b.literal), self.index)
        if b.literal == 0:
            return a
        if a.literal == 0:
            return b
        scope = max(self.depth_of(a), self.depth_of(b))
        return self.emit_at(scope, f"add {self.index} {a.text}, {b.text}", self.index)

    # Vectors.

    def match_widths(self, *values: LlvmValue) -> list[LlvmValue]:
        """The operands, scalars repeated in every lane if one of them is a vector."""
        lanes = max(v.lanes for v in values)
        return [self.splat(v, lanes) if lanes and not v.lanes else v for v in values]

    def binary(self, operation: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        """An operation on two operands of one kind, of which one may be a vector."""
        a, b = self.match_widths(a, b)
        return self.emit(f"{operation} {a.typed}, {b.text}", a.kind, a.lanes)

    def shuffle(self, a: LlvmValue, b: LlvmValue | None, picks: Sequence[int | None]) -> LlvmValue:
        """Lanes of two vectors of one type, counted through; None is any."""
        if b is None and list(picks) == list(range(a.lanes)):
            return a
        order = ", ".join("i32 poison" if pick is None else f"i32 {pick}" for pick in picks)
        second = f"{a.type} poison" if b is None else b.typed
        return self.emit(f"shufflevector {a.typed}, {second}, <{len(picks)} x i32> <{order}>", a.kind, len(picks))
