"""Buffers of scope `register`: their elements are SSA values, keyed by constant position and width.

A slot is (first element, lanes; 0 for a scalar). Accesses of another width than a slot's take it apart or put several
together with shuffles.
"""

from __future__ import annotations

from weft.runtime.errors import CodegenError
from weft.tensor_ir.codegen.llvm.addresses import Addressing
from weft.tensor_ir.codegen.llvm.values import Value, literal, scalar_type
from weft.tensor_ir.ir.buffer import Buffer
from weft.tensor_ir.ir.expr import Load
from weft.tensor_ir.ir.stmt import Store

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
            loops = sorted({v.name for v, known in self.env.items() for t, _ in terms if known.text == t.text})
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: expected constant indices after unrolling, found an index that "
                f"varies with loop {', '.join(repr(n) for n in loops) or 'variables'}; unroll or vectorize that loop, or use "
                "scope 'local'"
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
        slots = self.registers[access.buffer]
        slot = self.register_slot(access)
        value = slots.get(slot)
        return value if value is not None else self._assemble(access.buffer, slots, slot)

    def register_store(self, access: Store, value: Value) -> None:
        slots = self.registers[access.buffer]
        slot = self.register_slot(access)
        first, lanes = slot
        if lanes:
            value = self.splat(value, lanes)
        elif value.lanes:
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: every lane of loop {self.lane.name if self.lane else '?'!r} would store to one element"
            )
        if slot not in slots:
            self._clear(slots, first, lanes or 1)
        if self.mask is not None and lanes:
            old = slots.get(slot)
            if old is not None:
                value = self.emit(f"select {self.mask.typed}, {value.typed}, {old.typed}", value.kind, lanes)
        slots[slot] = value

    def _clear(self, slots: Slots, first: int, count: int) -> None:
        """Take apart the slots that partly overlap [first, first + count), and drop what lies within."""
        for start, lanes in list(slots):
            if start < first + count and first < start + (lanes or 1):
                value = slots.pop((start, lanes))
                for i in range(lanes):
                    if not first <= start + i < first + count:
                        slots[(start + i, 0)] = self.emit(f"extractelement {value.typed}, i64 {i}", value.kind)

    def _assemble(self, buffer: Buffer, slots: Slots, slot: Slot) -> Value:
        """A value of one width from slots of others."""
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
        if not lanes:
            raise CodegenError(f"register buffer {buffer.name!r}: element {first} is read before it is written")
        parts = [self._assemble(buffer, slots, (first + i, 0)) for i in range(lanes)]
        result = Value("poison", kind, lanes)
        for i, part in enumerate(parts):
            result = self.emit(f"insertelement {result.typed}, {part.typed}, i64 {i}", kind, lanes)
        return result
