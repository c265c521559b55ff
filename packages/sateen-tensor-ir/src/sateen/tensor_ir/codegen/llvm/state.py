"""What the emitter keeps while it writes one LLVM function: lines, scopes, names, caches.

Scopes are nested regions of control flow. Each begins with an empty list of lines in its parent, its `before`: pure
address arithmetic whose operands are defined further out is written there, so that loop-invariant code is hoisted as
it is emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sateen.tensor_ir.codegen.llvm.values import Value, intrinsic_suffix, literal, splat_literal
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.targets import Architecture

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
    """One open region: where to hoist to, and what has been computed that is still valid here."""

    before: Lines
    products: dict[tuple[str, int], Value] = field(default_factory=dict)
    pointers: dict[Any, str] = field(default_factory=dict)
    splats: dict[tuple[str, int], Value] = field(default_factory=dict)
    loads: dict[Any, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """What code generation counts for `explain`: memory accesses that were not plain."""

    gathers: int = 0
    masked: int = 0
    scalarised: int = 0


class ModuleState:
    """What functions of one module share: declarations of intrinsics, constant data, finished functions."""

    def __init__(self, architecture: Architecture, triple: str, features: frozenset[str]) -> None:
        self.architecture = architecture
        self.triple = triple
        self.features = features
        """What the processor has, by LLVM's names."""
        self.declarations: dict[str, None] = {}
        self.constants: dict[Buffer, str] = {}
        self.functions: list[str] = []
        self.report = Report()


class FunctionState:
    """Lines, names and scopes of the function that is being written."""

    def __init__(self, module: ModuleState, name: str) -> None:
        self.module = module
        self.name = name
        self.entry: Lines = []
        self.lines: Lines = []
        self.scopes: list[ScopeFrame] = [ScopeFrame(self.entry)]
        self.block = "work"
        self._counter = 0
        self.env: dict[Var, Value] = {}
        self.unrolled: dict[Var, range] = {}
        """What the variables of open unrolled loops run through."""
        self.depth: dict[str, int] = {}
        """The scope in which an SSA value was defined; operands not listed are defined at the function's start."""
        self.lane: Var | None = None
        self.width = 0
        self.mask: Value | None = None
        self.memo: dict[int, tuple[Any, Value]] = {}
        self.aliased: frozenset[Buffer] = frozenset()
        """Parameters that may overlap each other."""

    # Names and lines.

    def fresh(self, prefix: str = "v") -> str:
        self._counter += 1
        return f"%{prefix}{self._counter}"

    def emit(self, operation: str, kind: str, lanes: int = 0) -> Value:
        """Append `%v = operation`; the value is defined in the current scope."""
        name = self.fresh()
        self.lines.append(f"  {name} = {operation}")
        self.depth[name] = len(self.scopes) - 1
        return Value(name, kind, lanes)

    def emit_at(self, scope: int, operation: str, kind: str) -> Value:
        """Append `%v = operation` where scope `scope` is straight-line code: here, or before the region inside it."""
        if scope >= len(self.scopes) - 1:
            return self.emit(operation, kind)
        name = self.fresh()
        self.scopes[scope + 1].before.append(f"  {name} = {operation}")
        self.depth[name] = scope
        return Value(name, kind)

    @contextmanager
    def writing_to(self, lines: Lines) -> Iterator[None]:
        """Append to another place, such as the end of a block that is finished but for its branch."""
        here, self.lines = self.lines, lines
        yield
        self.lines = here

    def label(self, prefix: str) -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    def start_block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        self.lines.append(f"  br i1 {condition.text}, label %{then}, label %{otherwise}")

    def intrinsic(self, name: str, result: str, *arguments: Value, overloads: int = 1) -> str:
        """A call of an LLVM intrinsic, declared at first use; its suffix names the types of the first operands."""
        suffix = ".".join(map(intrinsic_suffix, arguments[:overloads]))
        full = f"@llvm.{name}.{suffix}"
        types = ", ".join(a.type for a in arguments)
        self.module.declarations[f"declare {result} {full}({types})"] = None
        return f"call {result} {full}({', '.join(a.typed for a in arguments)})"

    # Scopes.

    def open_scope(self) -> ScopeFrame:
        before: Lines = []
        self.lines.append(before)
        frame = ScopeFrame(before)
        self.scopes.append(frame)
        return frame

    def close_scope(self) -> None:
        self.scopes.pop()

    def forget_loads(self, buffers: set[Buffer] | frozenset[Buffer]) -> None:
        """Drop remembered loads of memory that is about to change."""
        if not self.aliased.isdisjoint(buffers):
            buffers = buffers | self.aliased
        for scope in self.scopes:
            for key in [k for k in scope.loads if k[0] in buffers]:
                del scope.loads[key]

    def depth_of(self, value: Value) -> int:
        return self.depth.get(value.text, 0)

    # Small arithmetic on i64, folded where operands are literals.

    def splat(self, value: Value, lanes: int) -> Value:
        """The value in every lane; a vector of that width stands for itself."""
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

    def plain_splat(self, value: Value, lanes: int) -> Value:
        """A scalar in every lane, not remembered: for code that is written in another place."""
        if value.literal is not None:
            return splat_literal(literal(value.literal, value.kind), lanes)
        first = self.emit(f"insertelement <{lanes} x {value.kind}> poison, {value.typed}, i64 0", value.kind, lanes)
        picks = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {first.typed}, {first.type} poison, {picks}", value.kind, lanes)

    def product(self, value: Value, factor: int) -> Value:
        """value · factor as i64, written where `value` is defined."""
        if value.literal is not None:
            return literal(int(value.literal) * factor, "i64")
        if factor == 1:
            return value
        scope = self.depth_of(value)
        cache = self.scopes[min(scope, len(self.scopes) - 1)].products
        key = (value.text, factor)
        if key not in cache:
            cache[key] = self.emit_at(scope, f"mul i64 {value.text}, {factor}", "i64")
        return cache[key]

    def sum(self, a: Value, b: Value) -> Value:
        if a.literal is not None and b.literal is not None:
            return literal(int(a.literal) + int(b.literal), "i64")
        if b.literal == 0:
            return a
        if a.literal == 0:
            return b
        scope = max(self.depth_of(a), self.depth_of(b))
        return self.emit_at(scope, f"add i64 {a.text}, {b.text}", "i64")
