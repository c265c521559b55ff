"""Buffers of scope `register`: their elements are SSA values, keyed by constant position and width.

A slot is (first element, lanes; 0 for a scalar). Accesses of another width split a slot or join several with shuffles.
Blocks that instructions take whole are joined before a loop that changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.tiles import TILE_BYTES, Tiles, is_tile
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal, scalar_type, splat_literal, undefined_value
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter, Lines
from sateen.tensor_ir.intrinsics.code import TILE_ROW_BYTES
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import Store
from sateen.tensor_ir.ir.visit import walk

Slot = tuple[int, int]
Slots = dict[Slot, LlvmValue]


class Block(NamedTuple):
    """The elements that an instruction takes as one operand, one behind the other; in a tile register or a vector."""

    lanes: int
    is_in_tile: bool


class Phi(NamedTuple):
    """A slot that a loop carries: its value in the loop and before it, and where the phi is written."""

    buffer: Buffer
    slot: Slot
    result: LlvmValue
    initial: LlvmValue
    line: Lines


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """A loop whose body is being written: the buffers outside it that it stores to, and its phis so far."""

    buffers: frozenset[Buffer]
    head: Lines
    depth: int
    phis: list[Phi]


class Registers:
    """Loads and stores of register buffers, and their values where control flow joins."""

    def __init__(self, writer: FunctionWriter, environment: Environment, addresses: Addresses) -> None:
        self.writer = writer
        self.environment = environment
        self.addresses = addresses
        self.slots: dict[Buffer, Slots] = {}
        """The slots of each buffer that is allocated here."""
        self.loops: list[OpenLoop] = []
        self.tiles = Tiles(writer)
        self.blocks: dict[Buffer, Block] = {}
        """The blocks of the buffers that instructions take whole."""

    def holds(self, buffer: Buffer) -> bool:
        """Whether a buffer is in registers of this function."""
        return buffer.scope is Scope.REGISTER and buffer in self.slots

    def slot(self, access: Load | Store) -> Slot:
        """The slot of an access. Raises CodegenError, which names the loop, if its position is not constant."""
        lane, form = self.environment.lane, self.addresses.offset_form(access)
        stride = self.addresses.lane_stride(form)
        constant, terms = self.addresses.evaluate(form)
        if terms:
            varying = {v for atom in form.terms for v in walk(atom) if isinstance(v, Var) and v is not lane}
            loops = sorted(
                repr(v.name)
                for v in varying
                if v not in self.environment.variables or self.environment.variables[v].literal is None
            )
            cause = f"loop {', '.join(loops)}" if loops else "loaded data"
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: expected constant indices after unrolling, found an index "
                f"that varies with {cause}; unroll or vectorize that loop, or use scope 'local'"
            )
        if stride == 0 or lane is None:
            return constant, 0
        if stride != 1:
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: expected the vectorized loop {lane.name!r} to run along "
                f"its last dimension, found a stride of {stride if stride is not None else 'varying'} elements; "
                "make that axis the innermost"
            )
        return constant, self.environment.width

    def load(self, access: Load) -> LlvmValue:
        """The value of an element, or of the lanes' elements."""
        return self.held(access.buffer, self.slots[access.buffer], self.slot(access))

    def store(self, access: Store, value: LlvmValue) -> None:
        """Set an element, or the lanes' elements in the lanes that take part."""
        lane, mask = self.environment.lane, self.environment.mask
        slots = self.slots[access.buffer]
        slot = self.slot(access)
        lanes = slot[1]
        if lanes:
            value = self.writer.splat(value, lanes)
        elif lane is not None and (value.lanes or mask is not None):
            raise CodegenError(
                f"register buffer {access.buffer.name!r}: every lane of loop {lane.name!r} would store to one element"
            )
        if mask is not None:
            old = self.held(access.buffer, slots, slot, undefined=True)
            if not old.is_undefined:
                value = self.writer.emit(f"select {mask.typed}, {value.typed}, {old.typed}", value.kind, lanes)
        self.put(slots, slot, value)

    def tile(self, buffer: Buffer, slots: Slots, first: int) -> LlvmValue:
        """The elements from `first` on as a tile."""
        size = buffer.dtype.bytes
        slot = first, TILE_BYTES // size
        if slot in slots and is_tile(slots[slot]):
            return slots[slot]
        lanes = TILE_ROW_BYTES // size
        rows = [self.held(buffer, slots, (row, lanes)) for row in range(first, first + slot[1], lanes)]
        return self.tiles.joined(rows)

    def join_blocks(self, buffers: Collection[Buffer]) -> None:
        """Join the elements of each block of these buffers, as loops carry them."""
        for buffer, slots in self.slots.items():
            if buffer not in buffers or buffer not in self.blocks:
                continue
            lanes, is_in_tile = self.blocks[buffer]
            known = {first + i for first, count in slots for i in range(count or 1)}
            for first in range(0, (buffer.size() or 0) - lanes + 1, lanes):
                if known.issuperset(range(first, first + lanes)):
                    joined = self.tile(buffer, slots, first) if is_in_tile else self.held(buffer, slots, (first, lanes))
                    self.put(slots, (first, lanes), joined)

    # Where control joins.

    def snapshot(self) -> dict[Buffer, Slots]:
        """A copy of the present slots."""
        return {b: dict(slots) for b, slots in self.slots.items()}

    def open_loop(self, stored: set[Buffer]) -> dict[Buffer, Slots]:
        """A phi for each slot, at the head of a loop that stores to these buffers; returns the slots before it."""
        before = {b: slots for b, slots in self.snapshot().items() if b in stored}
        loop = OpenLoop(frozenset(before), [], len(self.writer.scopes) - 1, [])
        self.writer.lines.append(loop.head)
        self.loops.append(loop)
        for buffer, slots in before.items():
            for slot, value in slots.items():
                self.slots[buffer][slot] = self._carry(loop, buffer, slot, value)
        return before

    def _carry(self, loop: OpenLoop, buffer: Buffer, slot: Slot, initial: LlvmValue) -> LlvmValue:
        result = LlvmValue(self.writer.fresh("r"), initial.kind, initial.lanes)
        self.writer.depth[result.text] = loop.depth
        loop.phis.append(Phi(buffer, slot, result, initial, []))
        loop.head.append(loop.phis[-1].line)
        return result

    def _undefined(self, buffer: Buffer, slot: Slot) -> LlvmValue:
        """The value of a slot that is not set on this path: that of the previous iteration, if any."""
        value = undefined_value(scalar_type(buffer.dtype), slot[1])
        for loop in self.loops:
            if buffer in loop.buffers:
                value = self._carry(loop, buffer, slot, value)
        return value

    def loop_finals(self) -> list[tuple[Phi, LlvmValue]]:
        """At the end of a loop's body: the carried slots, and their present values."""
        return [
            (phi, self._like(phi.result, phi.buffer, self.slots[phi.buffer], phi.slot)) for phi in self.loops[-1].phis
        ]

    def close_loop(self, finals: list[tuple[Phi, LlvmValue]], entry: str, latch: str) -> None:
        """Write the phis of the innermost loop, given the blocks that lead to its head."""
        self.loops.pop()
        for phi, final in finals:
            arms = f"[ {phi.initial.text}, %{entry} ], [ {final.text}, %{latch} ]"
            phi.line.append(f"  {phi.result.text} = phi {phi.result.type} {arms}")

    def merge(
        self, one: dict[Buffer, Slots], end: tuple[str, Lines], other: dict[Buffer, Slots], other_block: str
    ) -> None:
        """At a join of two blocks: a phi for each slot whose value differs between them.

        Slots of `one` that differ in width are converted to those of `other`, in the lines at the end of its block.
        """
        block, last_lines = end
        with self.writer.writing_to(last_lines):
            for buffer, slots in one.items():
                self._reshape(buffer, slots, other[buffer])
        for buffer, slots in one.items():
            merged: Slots = {}
            for slot, value in slots.items():
                second = other[buffer].get(slot) or self._undefined(buffer, slot)
                merged[slot] = value
                if value.text != second.text:
                    arms = f"[ {value.text}, %{block} ], [ {second.text}, %{other_block} ]"
                    merged[slot] = self.writer.emit(f"phi {value.type} {arms}", value.kind, value.lanes)
            self.slots[buffer] = merged

    def _reshape(self, buffer: Buffer, slots: Slots, wanted: Slots) -> None:
        """Split and join slots, so that `slots` has the `wanted` ones."""
        for slot, value in wanted.items():
            if slot not in slots or is_tile(slots[slot]) != is_tile(value):
                self.put(slots, slot, self._like(value, buffer, slots, slot))

    def _like(self, other: LlvmValue, buffer: Buffer, slots: Slots, slot: Slot) -> LlvmValue:
        """The value of a slot in the form of another one: a tile or a vector."""
        return self.tile(buffer, slots, slot[0]) if is_tile(other) else self.held(buffer, slots, slot, undefined=True)

    def put(self, slots: Slots, slot: Slot, value: LlvmValue) -> None:
        """Set a slot; of others that overlap it, keep the elements outside of it."""
        first, end = slot[0], slot[0] + (slot[1] or 1)
        if slot not in slots:
            for start, lanes in [other for other in slots if overlaps(other, [slot])]:
                old = slots.pop((start, lanes))
                if is_tile(old):
                    old = self.tiles.part(old, value.kind, 0, lanes, TILE_BYTES // lanes)
                for i in range(lanes):
                    if not first <= start + i < end:
                        slots[(start + i, 0)] = self.writer.emit(f"extractelement {old.typed}, i64 {i}", old.kind)
        slots[slot] = value

    def held(self, buffer: Buffer, slots: Slots, slot: Slot, *, undefined: bool = False) -> LlvmValue:
        """The value of a slot from slots of any width. Unset elements are `undefined`, or raise CodegenError."""
        if slot in slots and not is_tile(slots[slot]):
            return slots[slot]
        first, lanes = slot
        kind = scalar_type(buffer.dtype)
        for (start, width), value in slots.items():
            if width and start <= first and first + (lanes or 1) <= start + width:
                if is_tile(value):
                    return self.tiles.part(value, kind, first - start, lanes, buffer.dtype.bytes)
                if not lanes:
                    if value.literal is not None:
                        return literal(value.literal, kind)
                    return self.writer.emit(f"extractelement {value.typed}, i64 {first - start}", kind)
                picks = ", ".join(f"i32 {first - start + i}" for i in range(lanes))
                return self.writer.emit(
                    f"shufflevector {value.typed}, {value.type} poison, <{lanes} x i32> <{picks}>", kind, lanes
                )
        if undefined and not overlaps(slot, slots):
            return self._undefined(buffer, slot)
        if not lanes:
            raise CodegenError(f"register buffer {buffer.name!r}: element {first} is read before it is written")
        parts = [self.held(buffer, slots, (first + i, 0), undefined=undefined) for i in range(lanes)]
        if all(part.literal is not None and part.text == parts[0].text for part in parts):
            return splat_literal(parts[0], lanes)
        result = undefined_value(kind, lanes)
        for i, part in enumerate(parts):
            result = self.writer.emit(f"insertelement {result.typed}, {part.typed}, i64 {i}", kind, lanes)
        return result


def overlaps(slot: Slot, others: Iterable[Slot]) -> bool:
    """Whether a slot shares an element with one of the others."""
    first, end = slot[0], slot[0] + (slot[1] or 1)
    return any(first < start + (lanes or 1) and start < end for start, lanes in others)
