"""Products of tiles by the threads of a warp, whose sums are fragments: LLVM's intrinsics for `wmma` of PTX.

A buffer of scope warp is an array of fragments in a kernel: each thread has its part of each tile of 16 x 16 elements,
one tile behind the other, in memory of its own, which LLVM keeps in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.memory import Memory
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.intrinsics.code import WARP_THREADS, WarpCall
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.warp_tile import SIDE
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Intrinsic, Region
from sateen.tensor_ir.ir.visit import substitute

_GEOMETRY = f"llvm.nvvm.wmma.m{SIDE}n{SIDE}k{SIDE}"
_PARTS = {"f16": ("<2 x half>", 8), "bf16": ("i32", 4), "s8": ("i32", 2), "u8": ("i32", 2)}
"""The registers of a thread for a tile of factors: their type and number (PTX ISA 9.7.15.1)."""
_SUMS = {"f32": ("float", 8), "f16": ("<2 x half>", 4), "s32": ("i32", 8)}
_ROW_BYTES = 16
"""What the distance of rows in memory must be a multiple of."""


class Fragments:
    """Writes the steps of products that a warp computes, which all of its threads execute together."""

    def __init__(
        self,
        writer: FunctionWriter,
        environment: Environment,
        addresses: Addresses,
        memory: Memory,
        value: Callable[[Expr], LlvmValue],
    ) -> None:
        self.writer = writer
        self.analyzer = environment.analyzer
        self.addresses = addresses
        self.memory = memory
        self.value = value

    def call(self, s: Intrinsic[TensorIntrinsic], code: WarpCall, strides: Mapping[Var, Expr]) -> None:
        """One step. Raises CodegenError for sums that are no whole tiles, and rows at other distances than the
        processor takes."""
        sums, count = _SUMS[code.sums]
        regions = dict(zip((o.name for o in s.instruction.operands), s.regions, strict=True))
        rows = {
            o.name: substitute(b.stride_exprs()[0], strides)
            for o, b in zip(s.instruction.operands, s.instruction.storage, strict=True)
        }
        if code.step == "fill":
            self._put(s, regions["out"], [LlvmValue("zeroinitializer", sums)] * count)
        elif code.step == "store":
            values = self._held(s, regions["sums"], sums, count)
            pointer, distance = self._memory(s, "out", regions["out"], rows["out"])
            self.memory.forget_loads({regions["out"].buffer})
            name = f"{_GEOMETRY}.store.d.row.stride.{code.sums}.{_space(pointer)}"
            self._call("void", name, [pointer, *values, distance])
        else:
            self._multiply(s, code, regions, rows)

    def _multiply(
        self,
        s: Intrinsic[TensorIntrinsic],
        code: WarpCall,
        regions: Mapping[str, Region],
        rows: Mapping[str, Expr],
    ) -> None:
        """The sums with the products of two tiles added; products alone if the step has no sums yet."""
        sums, count = _SUMS[code.sums]
        given = [LlvmValue("zeroinitializer", sums)] * count
        if s.instruction.in_place:
            given = self._held(s, regions["out"], sums, count)
        a = self._factor(s, code, "a", regions["a"], rows["a"], "row")
        b = self._factor(s, code, "b", regions["b"], rows["b"], code.layout)
        types = f"{code.sums}.{code.sums}" if code.factors == "f16" else code.factors
        name = f"{_GEOMETRY}.mma.row.{code.layout}.{types}"
        self._put(s, regions["out"], self._parts(self._call(_struct(sums, count), name, [*a, *b, *given]), sums, count))

    def _factor(
        self, s: Intrinsic[TensorIntrinsic], code: WarpCall, name: str, region: Region, rows: Expr, layout: str
    ) -> list[LlvmValue]:
        """This thread's part of a tile in memory."""
        pointer, distance = self._memory(s, name, region, rows)
        kind, count = _PARTS[code.factors]
        load = f"{_GEOMETRY}.load.{name}.{layout}.stride.{code.factors}.{_space(pointer)}"
        return self._parts(self._call(_struct(kind, count), load, [pointer, distance]), kind, count)

    def _memory(
        self, s: Intrinsic[TensorIntrinsic], name: str, region: Region, rows: Expr
    ) -> tuple[LlvmValue, LlvmValue]:
        """The address of a tile in memory, and the distance of its rows in elements."""
        size = region.buffer.dtype.bytes
        if not self.analyzer.prove((rows * size % _ROW_BYTES).equal(0)):
            raise CodegenError(
                f"intrinsic {s.instruction.name!r}, operand {name!r}: expected rows of {region.buffer.name!r} that "
                f"begin a multiple of {_ROW_BYTES} bytes after each other, found {rows} elements of {size} bytes; "
                "storage_align puts them there"
            )
        first = Load(region.buffer, region.indices, region.buffer.dtype)
        pointer = self.addresses.pointer(region.buffer, *self.addresses.evaluate(self.addresses.offset_form(first)))
        return pointer, self.writer.resized(self.value(rows), "i32")

    def _held(self, s: Intrinsic[TensorIntrinsic], region: Region, kind: str, count: int) -> list[LlvmValue]:
        """This thread's part of a tile of sums."""
        places = self._places(s, region, kind, count)
        return [self.writer.emit(f"load {kind}, {place.typed}, align 4", kind) for place in places]

    def _put(self, s: Intrinsic[TensorIntrinsic], region: Region, values: Sequence[LlvmValue]) -> None:
        for place, value in zip(self._places(s, region, values[0].kind, len(values)), values, strict=True):
            self.writer.lines.append(f"  store {value.typed}, {place.typed}, align 4")

    def _places(self, s: Intrinsic[TensorIntrinsic], region: Region, kind: str, count: int) -> list[LlvmValue]:
        """The addresses of this thread's registers of a tile."""
        *shape, height, width = region.buffer.shape
        *outer, row, column = region.indices
        number: Expr = ex.const(0)
        for index, extent in zip(
            (*outer, row // SIDE, column // SIDE), (*shape, height // SIDE, width // SIDE), strict=True
        ):
            number = number * extent + index
        whole = ((height, SIDE), (width, SIDE), (row, SIDE), (column, SIDE))
        if not all(self.analyzer.prove((e % n).equal(0)) for e, n in whole):
            raise CodegenError(
                f"intrinsic {s.instruction.name!r}: expected whole tiles of {SIDE} x {SIDE} of {region.buffer.name!r}, "
                f"whose shape is {list(map(str, region.buffer.shape))}, found one at {list(map(str, region.indices))}"
            )
        form = self.analyzer.form(number * (SIDE * SIDE // WARP_THREADS))
        first = self.addresses.pointer(region.buffer, *self.addresses.evaluate(form))
        return [self.writer.emit(f"getelementptr {kind}, {first.typed}, i32 {i}", first.kind) for i in range(count)]

    def _parts(self, whole: LlvmValue, kind: str, count: int) -> list[LlvmValue]:
        return [self.writer.emit(f"extractvalue {whole.typed}, {i}", kind) for i in range(count)]

    def _call(self, result: str, name: str, operands: Sequence[LlvmValue]) -> LlvmValue:
        types = ", ".join(operand.type for operand in operands)
        self.writer.module.declarations[f"declare {result} @{name}({types})"] = None
        call = f"call {result} @{name}({', '.join(operand.typed for operand in operands)})"
        if result != "void":
            return self.writer.emit(call, result)
        self.writer.lines.append(f"  {call}")
        return LlvmValue("", "void")


def _struct(kind: str, count: int) -> str:
    return f"{{ {', '.join([kind] * count)} }}"


def _space(pointer: LlvmValue) -> str:
    """The suffix of LLVM's names for the address space of a pointer."""
    return f"p{pointer.kind.removeprefix('ptr').removeprefix(' addrspace(').removesuffix(')') or 0}"
