"""Loads and stores of memory: single elements and vectors, masked, by windows, or lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.codegen.llvm.addresses import Addresses, Terms
from sateen.tensor_ir.codegen.llvm.conversions import Conversions
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, intrinsic_suffix, literal, scalar_type, storage_type
from sateen.tensor_ir.codegen.llvm.windows import Windows
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Prefetch, Store
from sateen.tensor_ir.ir.types import FLOAT32, INT64
from sateen.tensor_ir.ir.visit import substitute, walk

_NOTHING = Buffer("nothing", (ex.const(1),), INT64, data=np.zeros(1, np.int64))
"""The memory that a load reads if it must not run: zero bytes of the size of the largest element."""


def _texts(terms: Terms) -> tuple[tuple[str, int], ...]:
    return tuple((v.text, c) for v, c in terms)


class Memory:
    """Accesses of buffers in memory.

    A load is reused until its memory may have changed. Buffers in `aliased` may overlap each other.
    """

    def __init__(
        self,
        writer: FunctionWriter,
        environment: Environment,
        addresses: Addresses,
        conversions: Conversions,
        aliased: frozenset[Buffer],
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.addresses = addresses
        self.conversions = conversions
        self.aliased = aliased
        self.windows = Windows(writer, environment, addresses, self.neighbours)

    def forget_loads(self, buffers: set[Buffer] | frozenset[Buffer]) -> None:
        """Drop remembered loads of memory that is about to change."""
        if not self.aliased.isdisjoint(buffers):
            buffers = buffers | self.aliased
        for scope in self.writer.scopes:
            for key in [k for k in scope.loads if k[0] in buffers]:
                del scope.loads[key]

    def forget_all(self) -> None:
        """Drop all remembered loads: other threads may have changed any memory."""
        for scope in self.writer.scopes:
            scope.loads.clear()

    def load(self, e: Load) -> LlvmValue:
        """The value of an element, or of the lanes' elements; known data is not loaded."""
        if e.buffer.data is not None:
            folded = self.addresses.literal_element(e)
            if folded is not None:
                return folded
        form = self.addresses.offset_form(e)
        stride = self.addresses.lane_stride(form)
        safe = self.environment.mask is None or self.addresses.is_in_bounds(e)
        if stride not in (0, 1):
            active = None if safe or self.environment.mask is None else self.environment.mask.elements
            found = self.windows.load(e, active) if safe or active is not None else None
            return self._gather(e) if found is None else found
        lanes = self.environment.width if stride == 1 else 0
        if safe:
            found = self._term_of_several(e, form) if not lanes else None
            return self.neighbours(e, form, lanes) if found is None else found
        return self._masked_load(e, form) if lanes else self._shared_load(e, form)

    def _term_of_several(self, e: Load, form: Linear) -> LlvmValue | None:
        """An element that all lanes read, out of a register of those that an unrolled loop reads one after the other.

        None where there is no such loop, and where instructions don't multiply by an element of a register.
        """
        architecture = self.writer.module.architecture
        if self.environment.lane is None or not architecture.multiplies_by_element or e.dtype != FLOAT32:
            return None
        for var, iterations in self.environment.unrolled.items():
            own = self.environment.variables[var].literal
            if (
                own is not None
                and form.terms.get(var) == 1
                and len(iterations) * e.dtype.bytes == architecture.vectors_of(self.writer.module.features).bytes
                and not any(node is var for atom in form.terms if atom is not var for node in walk(atom))
                and self.addresses.is_in_bounds(e)
            ):
                several = self.neighbours(e, form.without(var) + iterations.start, len(iterations))
                place = int(own) - iterations.start
                return self.writer.emit(f"extractelement {several.typed}, i64 {place}", several.kind)
        return None

    def neighbours(self, access: Load, form: Linear, lanes: int) -> LlvmValue:
        """Consecutive elements from the place that `form` points to, unconditionally; 0 lanes: the one there."""
        constant, terms = self.addresses.evaluate(form)
        kind = storage_type(access.dtype)
        type_ = f"<{lanes} x {kind}>" if lanes else kind

        def load() -> LlvmValue:
            pointer = self.addresses.pointer(access.buffer, constant, terms)
            alignment = self.addresses.alignment(access.buffer, constant, terms)
            return self.writer.emit(f"load {type_}, {pointer.typed}, align {alignment}", kind, lanes)

        return self._loaded_once(access, (access.buffer, constant, _texts(terms), lanes, ""), load)

    def _masked_load(self, e: Load, form: Linear) -> LlvmValue:
        assert self.environment.mask is not None
        mask = self.environment.mask
        constant, terms = self.addresses.evaluate(form)
        vector = LlvmValue("zeroinitializer", storage_type(e.dtype), self.environment.width)

        def load() -> LlvmValue:
            pointer = self.addresses.pointer(e.buffer, constant, terms)
            alignment = self.addresses.alignment(e.buffer, constant, terms)
            self.writer.module.report.masked += 1
            name = f"@llvm.masked.load.{intrinsic_suffix(vector)}.{intrinsic_suffix(pointer)}"
            parameters = f"{pointer.type}, i32, <{self.environment.width} x i1>, {vector.type}"
            self.writer.module.declarations[f"declare {vector.type} {name}({parameters})"] = None
            arguments = f"{pointer.typed}, i32 {alignment}, {mask.typed}, {vector.typed}"
            return self.writer.emit(f"call {vector.type} {name}({arguments})", vector.kind, self.environment.width)

        return self._loaded_once(e, (e.buffer, constant, _texts(terms), self.environment.width, mask.text), load)

    def _shared_load(self, e: Load, form: Linear) -> LlvmValue:
        """The element that all lanes read, a scalar; zero if no lane is active."""
        assert self.environment.mask is not None
        mask = self.environment.mask
        if mask.elements is not None or mask.literal is not None:
            is_active = mask.literal if mask.elements is None else any(mask.elements)
            return self.neighbours(e, form, 0) if is_active else literal(0, scalar_type(e.dtype))
        constant, terms = self.addresses.evaluate(form)
        kind = storage_type(e.dtype)

        def load() -> LlvmValue:
            pointer = self.addresses.pointer(e.buffer, constant, terms)
            nothing = self.addresses.constant_data(_NOTHING)
            if nothing.kind != pointer.kind:
                pointer, nothing = self._in_any_space(pointer), self._in_any_space(nothing)
            some = self.writer.emit(self.writer.intrinsic("vector.reduce.or", "i1", mask), "i1")
            place = self.writer.emit(f"select {some.typed}, {pointer.typed}, {nothing.typed}", pointer.kind)
            return self.writer.emit(f"load {kind}, {place.typed}, align {e.dtype.bytes}", kind)

        return self._loaded_once(e, (e.buffer, constant, _texts(terms), 0, mask.text), load)

    def _in_any_space(self, pointer: LlvmValue) -> LlvmValue:
        """A pointer to memory of any space."""
        if pointer.kind == "ptr":
            return pointer
        return self.writer.emit(f"addrspacecast {pointer.typed} to ptr", "ptr")

    def _loaded_once(self, access: Load, key: tuple[Any, ...], load: Callable[[], LlvmValue]) -> LlvmValue:
        """The value in memory, widened; it is loaded again only if it may have changed."""
        return self._remembered(key, lambda: self.conversions.widen(load(), access.dtype))

    def tile(self, first: Load, stride: Expr, load: Callable[[], LlvmValue]) -> LlvmValue:
        """The tile from an element on, whose rows have this stride; it is loaded again only if it may have changed.

        LLVM does not see that two loads of tiles are one, so places are compared as expressions.
        """
        analyzer, variables = self.environment.analyzer, self.environment.variables
        known = {v: ex.const(int(x.literal)) for v, x in variables.items() if x.literal is not None}
        key: list[object] = [first.buffer]
        for place in first.buffer.offset(first.indices), stride:
            e = analyzer.simplify(substitute(place, known))
            key += analyzer.keys.of(e), *(variables[v].text for v in walk(e) if isinstance(v, Var) and v in variables)
        return self._remembered(tuple(key), load)

    def _remembered(self, key: tuple[Any, ...], load: Callable[[], LlvmValue]) -> LlvmValue:
        for scope in reversed(self.writer.scopes):
            if key in scope.loads:
                return scope.loads[key]
        result = self.writer.scopes[-1].loads[key] = load()
        return result

    def _gather(self, e: Load) -> LlvmValue:
        self.writer.module.report.gathers += 1
        pointers = self.addresses.lane_pointers(e)
        kind = storage_type(e.dtype)
        vector = LlvmValue("zeroinitializer", kind, self.environment.width)
        name = f"@llvm.masked.gather.{intrinsic_suffix(vector)}.{intrinsic_suffix(pointers)}"
        mask = self.environment.mask or LlvmValue("splat (i1 true)", "i1", self.environment.width)
        self.writer.module.declarations[
            f"declare {vector.type} {name}({pointers.type}, i32, {mask.type}, {vector.type})"
        ] = None
        raw = self.writer.emit(
            f"call {vector.type} {name}({pointers.typed}, i32 {e.dtype.bytes}, {mask.typed}, {vector.typed})",
            kind,
            self.environment.width,
        )
        return self.conversions.widen(raw, e.dtype)

    def store(self, s: Store, value: LlvmValue) -> None:
        """Store an operand, in the lanes that take part."""
        form = self.addresses.offset_form(s)
        stride = self.addresses.lane_stride(form)
        value = self.conversions.narrow(value, s.buffer.dtype)
        if stride == 0 and (self.environment.mask is not None or value.lanes):
            stride = None
        if stride is None or stride not in (0, 1):
            self._scatter(s, self.writer.splat(value, self.environment.width))
            self.forget_loads({s.buffer})
            return
        constant, terms = self.addresses.evaluate(form)
        if stride == 1:
            value = self.writer.splat(value, self.environment.width)
        mask = self.environment.mask
        active = [i for i, on in enumerate(mask.elements or ()) if on] if mask is not None else []
        if len(active) == 1:  # LLVM 22 writes more than that lane where it narrows the value while storing it
            value, mask = self.writer.emit(f"extractelement {value.typed}, i64 {active[0]}", value.kind), None
            constant += active[0]
        pointer = self.addresses.pointer(s.buffer, constant, terms)
        alignment = self.addresses.alignment(s.buffer, constant, terms)
        self.forget_loads({s.buffer})
        if mask is not None:
            self.writer.module.report.masked += 1
            name = f"@llvm.masked.store.{intrinsic_suffix(value)}.{intrinsic_suffix(pointer)}"
            types = f"{value.type}, {pointer.type}, i32, {mask.type}"
            self.writer.module.declarations[f"declare void {name}({types})"] = None
            given = f"{value.typed}, {pointer.typed}, i32 {alignment}, {mask.typed}"
            self.writer.lines.append(f"  call void {name}({given})")
        else:
            self.writer.lines.append(f"  store {value.typed}, {pointer.typed}, align {alignment}")

    def _scatter(self, s: Store, value: LlvmValue) -> None:
        self.writer.module.report.gathers += 1
        pointers = self.addresses.lane_pointers(s)
        mask = self.environment.mask or LlvmValue("splat (i1 true)", "i1", self.environment.width)
        name = f"@llvm.masked.scatter.{intrinsic_suffix(value)}.{intrinsic_suffix(pointers)}"
        self.writer.module.declarations[f"declare void {name}({value.type}, {pointers.type}, i32, {mask.type})"] = None
        self.writer.lines.append(
            f"  call void {name}({value.typed}, {pointers.typed}, i32 {s.buffer.dtype.bytes}, {mask.typed})"
        )

    def prefetch(self, s: Prefetch) -> None:
        """A hint for the first lane; none if the lanes' addresses are unrelated."""
        form = self.addresses.offset_form(s)
        if self.addresses.lane_stride(form) is None:
            return
        pointer = self.addresses.pointer(s.buffer, *self.addresses.evaluate(form))
        name = f"@llvm.prefetch.{intrinsic_suffix(pointer)}"
        self.writer.module.declarations[f"declare void {name}({pointer.type}, i32, i32, i32)"] = None
        self.writer.lines.append(f"  call void {name}({pointer.typed}, i32 0, i32 3, i32 1)")
