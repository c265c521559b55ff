"""Buffers of scope `register`: their elements are SSA values, keyed by constant position and width.

A slot is (first element, lanes; 0 for a scalar). Accesses of another width than a slot's take it apart or put several
together with shuffles.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.runtime.errors import CodegenError
from weft.tensor_ir.codegen.llvm.addresses import Addressing
from weft.tensor_ir.codegen.llvm.values import Value, literal, scalar_type
from weft.tensor_ir.ir.buffer import Buffer
from weft.tensor_ir.ir.expr import Load, Var
from weft.tensor_ir.ir.stmt import Store
from weft.tensor_ir.ir.visit import walk

Slot = tuple[int, int]
Slots = dict[Slot, Value]


class Registers(Addressing):
    """Loads and stores of register buffers."""

    registers: dict[Buffer, Slots]

    def register_slot(self, access: Load | Store) -> Slot:
        """The slot of an access. Raises CodegenError, naming the loop, where its position is not constant."""
        form = self.offset_form(access)
        stride = self.lane_stride(form)
        constant, terms = self.evaluate(form)
        if terms:
            varying = {v for atom in form.terms for v in walk(atom) if isinstance(v, Var) and v is not self.lane}
            loops = sorted({v.name for v in varying if v not in self.env or self.env[v].literal is None})
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: expected constant indices after unrolling, found an index that "
                f"varies with loop {', '.join(map(repr, loops)) or 'data'}; unroll or vectorize that loop, or use scope 'local'"
            )
        if stride == 0 or self.lane is None:
            return constant, 0
        if stride != 1:
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: expected the vectorized loop {self.lane.name!r} to run along its last "
                f"dimension, found a stride of {stride if stride is not None else 'varying'} elements; make that axis the innermost"
            )
        return constant, self.width

    def register_load(self, access: Load) -> Value:
        return self.held(access.buffer, self.registers[access.buffer], self.register_slot(access))

    def register_store(self, access: Store, value: Value) -> None:
        slots = self.registers[access.buffer]
        slot = self.register_slot(access)
        first, lanes = slot
        if lanes:
            value = self.splat(value, lanes)
        elif value.lanes or self.mask is not None:
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: every lane of loop {self.lane.name if self.lane else '?'!r} would store to one element"
            )
        if self.mask is not None and overlaps(slot, slots):
            old = self.held(access.buffer, slots, slot, undefined=True)
            value = self.emit(f"select {self.mask.typed}, {value.typed}, {old.typed}", value.kind, lanes)
        self._put(slots, slot, value)

    def reshape(self, buffer: Buffer, slots: Slots, wanted: Iterable[Slot]) -> None:
        """Take apart and put together, so that `slots` has the `wanted` ones; elements without a value are undefined."""
        for slot in wanted:
            if slot not in slots:
                self._put(slots, slot, self.held(buffer, slots, slot, undefined=True))

    def _put(self, slots: Slots, slot: Slot, value: Value) -> None:
        """Set a slot; of others that overlap it, keep the elements outside of it."""
        first, end = slot[0], slot[0] + (slot[1] or 1)
        if slot not in slots:
            for start, lanes in [other for other in slots if overlaps(other, [slot])]:
                old = slots.pop((start, lanes))
                for i in range(lanes):
                    if not first <= start + i < end:
                        slots[(start + i, 0)] = self.emit(f"extractelement {old.typed}, i64 {i}", old.kind)
        slots[slot] = value

    def held(self, buffer: Buffer, slots: Slots, slot: Slot, *, undefined: bool = False) -> Value:
        """The value of a slot from slots of any width; an element that nothing has set is undefined or a CodegenError."""
        if slot in slots:
            return slots[slot]
        first, lanes = slot
        kind = scalar_type(buffer.dtype)
        for (start, width), value in slots.items():
            if width and start <= first and first + (lanes or 1) <= start + width:
                if not lanes:
                    if value.literal is not None:
                        return literal(value.literal, kind)
                    return self.emit(f"extractelement {value.typed}, i64 {first - start}", kind)
                picks = ", ".join(f"i32 {first - start + i}" for i in range(lanes))
                return self.emit(f"shufflevector {value.typed}, {value.type} poison, <{lanes} x i32> <{picks}>", kind, lanes)
        if undefined and not overlaps(slot, slots):
            return Value("poison", kind, lanes)
        if not lanes:
            raise CodegenError(f"register buffer {buffer.name!r}: element {first} is read before it is written")
        result = Value("poison", kind, lanes)
        for i in range(lanes):
            part = self.held(buffer, slots, (first + i, 0), undefined=undefined)
            result = self.emit(f"insertelement {result.typed}, {part.typed}, i64 {i}", kind, lanes)
        return result


def overlaps(slot: Slot, others: Iterable[Slot]) -> bool:
    """Whether a slot shares an element with one of the others."""
    first, end = slot[0], slot[0] + (slot[1] or 1)
    return any(first < start + (lanes or 1) and start < end for start, lanes in others)
