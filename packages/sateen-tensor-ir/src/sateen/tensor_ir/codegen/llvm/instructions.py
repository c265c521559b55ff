"""Instructions on regions to LLVM text: operands are vectors or tiles, from memory or from registers, or pointers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.expressions import Expressions
from sateen.tensor_ir.codegen.llvm.fragments import Fragments
from sateen.tensor_ir.codegen.llvm.registers import Block
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, storage_type
from sateen.tensor_ir.codegen.missing_code import no_code
from sateen.tensor_ir.intrinsics.code import TILE_ROW_BYTES, FunctionText, TileCall, VectorCall, VectorType, WarpCall
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.storage import strides_of
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Intrinsic, Region
from sateen.tensor_ir.ir.visit import substitute


def block_of(buffer: Buffer, s: Intrinsic[TensorIntrinsic], features: frozenset[str]) -> Block | None:
    """The elements of a buffer that an instruction takes as one operand on a processor with these features; None if it
    takes none."""
    code = s.instruction.code_for(features)
    sizes = [prod(region.extents) for region in s.regions if region.buffer is buffer]
    return Block(max(sizes), isinstance(code, TileCall)) if sizes and isinstance(code, TileCall | VectorCall) else None


class Instructions:
    """Calls of instructions that only some processors have."""

    def __init__(self, expressions: Expressions) -> None:
        self.writer = expressions.writer
        self.environment = expressions.environment
        self.addresses = expressions.addresses
        self.registers = expressions.registers
        self.conversions = expressions.conversions
        self.memory = expressions.memory
        self.value = expressions.value
        self.fragments = Fragments(self.writer, self.environment, self.addresses, self.memory, self.value)

    def call(self, s: Intrinsic[TensorIntrinsic]) -> None:
        """The instruction by its code for the processor."""
        code = s.instruction.code_for(self.writer.module.features)
        if code is None:
            needed = " or ".join(" and ".join(alternative.features) for alternative in s.instruction.llvm)
            raise no_code(s, self.writer.name, self.writer.module.triple, needed)
        if self.environment.lane is not None:
            raise CodegenError(
                f"intrinsic {s.instruction.name!r} is inside of the vectorized loop {self.environment.lane.name!r}; "
                "put it outside"
            )
        strides = strides_of(s, self.environment.analyzer)
        if isinstance(code, FunctionText):
            self._function(s, code, strides)
        elif isinstance(code, WarpCall):
            self.fragments.call(s, code, strides)
        elif isinstance(code, TileCall):
            self._tile_call(s, code, strides)
        else:
            self._vector_call(s, code)

    def _function(self, s: Intrinsic[TensorIntrinsic], code: FunctionText, strides: Mapping[Var, Expr]) -> None:
        """A call of a function whose text is part of the module."""
        self.writer.module.imports[code.text] = f"intrinsic {s.instruction.name!r}"
        given = []
        for operand, region in zip(s.instruction.operands, s.regions, strict=True):
            if self.registers.holds(region.buffer):
                raise CodegenError(
                    f"intrinsic {s.instruction.name!r}, operand {operand.name!r}: function {code.name!r} expects it in "
                    f"memory, found {region.buffer.name!r} in registers; set_scope('local') puts it there"
                )
            if operand not in s.instruction.in_place:
                given.append(self._pointer(region)[0].typed)
        given += [self.writer.resized(self.value(stride), "i64").typed for stride in strides.values()]
        taken = ", ".join(operand.partition(" ")[0] for operand in given)
        self.writer.module.declarations[f"declare void @{code.name}({taken})"] = None
        self.memory.forget_loads({region.buffer for region in s.outputs})
        self.writer.lines.append(f"  call void @{code.name}({', '.join(given)})")

    def _pointer(self, region: Region) -> tuple[LlvmValue, int]:
        """The address of a region's first element, and its alignment."""
        first = Load(region.buffer, region.indices, region.buffer.dtype)
        constant, terms = self.addresses.evaluate(self.addresses.offset_form(first))
        alignment = self.addresses.alignment(region.buffer, constant, terms)
        return self.addresses.pointer(region.buffer, constant, terms), alignment

    def _vector_call(self, s: Intrinsic[TensorIntrinsic], code: VectorCall) -> None:
        """The instruction on whole regions, each a vector."""
        operands = [self._filling(t, r) for t, r in zip(code.operands, s.inputs, strict=True)]
        types = ", ".join(map(str, code.operands))
        self.writer.module.declarations[f"declare {code.result} @llvm.{code.name}({types})"] = None
        call = f"call {code.result} @llvm.{code.name}({', '.join(operand.typed for operand in operands)})"
        result = self.writer.emit(call, code.result.kind, code.result.lanes)
        (output,) = s.outputs
        stored = VectorType(storage_type(output.buffer.dtype), prod(output.extents))
        self._region_store(output, self._as(stored, result))

    def _tile_call(self, s: Intrinsic[TensorIntrinsic], code: TileCall, strides: Mapping[Var, Expr]) -> None:
        """The instruction on regions that are tiles, whose rows may lie apart."""
        rows = (substitute(declared.stride_exprs()[0], strides) for declared in s.instruction.storage)
        (name, region, stride), *given = zip((o.name for o in s.instruction.operands), s.regions, rows, strict=True)
        sums, a, b = (self._tile(s, *operand) for operand in given)
        result = self.registers.tiles.product(code, sums, a, b)
        if self.registers.holds(region.buffer):
            slot = self._first_in_registers(s, name, region, stride), prod(region.extents)
            self.registers.put(self.registers.slots[region.buffer], slot, result)
            return
        self.memory.forget_loads({region.buffer})
        self.registers.tiles.store(result, self._pointer(region)[0].text, self._bytes(region, stride))

    def _tile(self, s: Intrinsic[TensorIntrinsic], name: str, region: Region, stride: Expr) -> LlvmValue:
        """A region as a tile."""
        if self.registers.holds(region.buffer):
            slots = self.registers.slots[region.buffer]
            return self.registers.tile(region.buffer, slots, self._first_in_registers(s, name, region, stride))
        first = Load(region.buffer, region.indices, region.buffer.dtype)

        def load() -> LlvmValue:
            return self.registers.tiles.load(self._pointer(region)[0].text, self._bytes(region, stride))

        return self.memory.tile(first, stride, load)

    def _first_in_registers(self, s: Intrinsic[TensorIntrinsic], name: str, region: Region, stride: Expr) -> int:
        """The place of the first element of a tile in a buffer in registers."""
        row = TILE_ROW_BYTES // region.buffer.dtype.bytes
        if self.environment.analyzer.constant(stride) != row:
            raise CodegenError(
                f"intrinsic {s.instruction.name!r}, operand {name!r}: expected the rows of a tile one behind the other "
                f"in register buffer {region.buffer.name!r}, found a stride of {stride}; give a tile dimensions of "
                "its own"
            )
        return self.registers.slot(Load(region.buffer, region.indices, region.buffer.dtype))[0]

    def _bytes(self, region: Region, stride: Expr) -> str:
        """A stride in bytes, as an operand of 64 bits."""
        step = self.writer.product(self.value(stride), region.buffer.dtype.bytes)
        return self.writer.resized(step, "i64").text

    def _filling(self, wanted: VectorType, region: Region) -> LlvmValue:
        """A region as a vector of `wanted`; one with fewer bits is repeated."""
        size, bits = prod(region.extents), region.buffer.dtype.bits
        count = wanted.lanes * wanted.bits // bits
        if count == size:
            return self._as(wanted, self._region_load(region))
        if size * bits in (16, 32, 64):  # a number, which instructions broadcast, or multiply by
            return self._as(wanted, self.writer.plain_splat(self._number(region, size * bits), count // size))
        value, kind = self._region_load(region), storage_type(region.buffer.dtype)
        order = ", ".join(f"i32 {lane % size}" for lane in range(count))
        repeated = f"shufflevector {value.typed}, <{size} x {kind}> poison, <{count} x i32> <{order}>"
        return self._as(wanted, self.writer.emit(repeated, kind, count))

    def _number(self, region: Region, bits: int) -> LlvmValue:
        """The bits of a region as one integer."""
        if self.registers.holds(region.buffer):
            return self.writer.emit(f"bitcast {self._region_load(region).typed} to i{bits}", f"i{bits}")
        pointer, alignment = self._pointer(region)
        return self.writer.emit(f"load i{bits}, {pointer.typed}, align {alignment}", f"i{bits}")

    def _as(self, wanted: VectorType, value: LlvmValue) -> LlvmValue:
        """A vector's bits as a vector of another type."""
        if value.type == str(wanted):
            return value
        return self.writer.emit(f"bitcast {value.typed} to {wanted}", wanted.kind, wanted.lanes)

    def _region_load(self, region: Region) -> LlvmValue:
        """All elements of a region."""
        size, first = prod(region.extents), Load(region.buffer, region.indices, region.buffer.dtype)
        if self.registers.holds(region.buffer):
            start, _ = self.registers.slot(first)
            held = self.registers.held(region.buffer, self.registers.slots[region.buffer], (start, size))
            return self.conversions.narrow(held, region.buffer.dtype)
        pointer, alignment = self._pointer(region)
        kind = storage_type(region.buffer.dtype)
        return self.writer.emit(f"load <{size} x {kind}>, {pointer.typed}, align {alignment}", kind, size)

    def _region_store(self, region: Region, value: LlvmValue) -> None:
        first = Load(region.buffer, region.indices, region.buffer.dtype)
        if self.registers.holds(region.buffer):
            start, _ = self.registers.slot(first)
            widened = self.conversions.widen(value, region.buffer.dtype)
            self.registers.put(self.registers.slots[region.buffer], (start, value.lanes), widened)
            return
        pointer, alignment = self._pointer(region)
        self.memory.forget_loads({region.buffer})
        self.writer.lines.append(f"  store {value.typed}, {pointer.typed}, align {alignment}")
