"""Tile registers of AMX (Intel SDM, volume 1, chapter 18): 16 rows of 64 bytes each, as values of LLVM's type x86_amx.

LLVM chooses the registers and configures them for each function that uses some, so threads need nothing more. Linux
gives a process their state when it asks (arch_prctl, ARCH_REQ_XCOMP_PERM), which a function does before it begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.abi import Status
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.values import LlvmValue
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.intrinsics.code import TILE_ROW_BYTES, TILE_ROWS, TileCall
from sateen.tensor_ir.targets import System

TILE_BYTES = TILE_ROWS * TILE_ROW_BYTES
_KIND = "x86_amx"
_SHAPE = f"i16 {TILE_ROWS}, i16 {TILE_ROW_BYTES}"
_ASK = "sateen.ask_for_tiles"
_PERMISSION = f"""\
@sateen.tiles_permitted = internal global i8 0
define internal i32 @{_ASK}() #0 {{
  %known = load atomic i8, ptr @sateen.tiles_permitted monotonic, align 1
  %permitted = icmp ne i8 %known, 0
  br i1 %permitted, label %fine, label %ask
ask:
  %answer = call i64 (i64, ...) @syscall(i64 158, i64 4131, i64 18)
  %given = icmp eq i64 %answer, 0
  br i1 %given, label %remember, label %refused
remember:
  store atomic i8 1, ptr @sateen.tiles_permitted monotonic, align 1
  br label %fine
refused:
  ret i32 {Status.TILES.value}
fine:
  ret i32 0
}}
"""
"""arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of x86-64's Linux, once in a process."""


def is_tile(value: LlvmValue) -> bool:
    """Whether a value is in a tile register."""
    return value.kind == _KIND


class Tiles:
    """Moves elements between vectors, memory and tile registers, in row-major order, and multiplies tiles."""

    def __init__(self, writer: FunctionWriter) -> None:
        self.writer = writer

    def product(self, code: TileCall, sums: LlvmValue, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        """The sums with the products of two tiles added."""
        return self._call(code.name, f"{_SHAPE}, i16 {TILE_ROW_BYTES}", sums, a, b)

    def load(self, pointer: str, step: str = str(TILE_ROW_BYTES)) -> LlvmValue:
        """The tile in memory at an address, whose rows begin `step` bytes after each other."""
        return self._call("tileloadd64", f"{_SHAPE}, ptr {pointer}, i64 {step}")

    def store(self, tile: LlvmValue, pointer: str, step: str = str(TILE_ROW_BYTES)) -> None:
        """Write a tile to memory at an address, its rows `step` bytes after each other."""
        self._require()
        name = "@llvm.x86.tilestored64.internal"
        self.writer.module.declarations[f"declare void {name}(i16, i16, ptr, i64, {_KIND})"] = None
        self.writer.lines.append(f"  call void {name}({_SHAPE}, ptr {pointer}, i64 {step}, {tile.typed})")

    def joined(self, rows: Sequence[LlvmValue]) -> LlvmValue:
        """The tile of these rows, by way of memory unless they are zeros."""
        if all(row.literal == 0 for row in rows):
            return self._call("tilezero", _SHAPE)
        place = self._place()
        for i, row in enumerate(rows):
            pointer = self.writer.emit(f"getelementptr i8, {place.typed}, i64 {i * TILE_ROW_BYTES}", "ptr")
            self.writer.lines.append(f"  store {row.typed}, ptr {pointer.text}, align {TILE_ROW_BYTES}")
        return self.load(place.text)

    def part(self, tile: LlvmValue, kind: str, first: int, lanes: int, size: int) -> LlvmValue:
        """Elements of `size` bytes of a tile from the `first` on: a vector, or a scalar if `lanes` is 0."""
        key = ("tile", tile.text)
        place = next((scope.pointers[key] for scope in reversed(self.writer.scopes) if key in scope.pointers), None)
        if place is None:
            place = self.writer.scopes[-1].pointers[key] = self._place()
            self.store(tile, place.text)
        pointer = self.writer.emit(f"getelementptr i8, {place.typed}, i64 {first * size}", "ptr")
        wanted = f"<{lanes} x {kind}>" if lanes else kind
        return self.writer.emit(f"load {wanted}, ptr {pointer.text}, align {size}", kind, lanes)

    def _place(self) -> LlvmValue:
        """Memory for a tile while the function runs."""
        place = self.writer.fresh("tile")
        self.writer.stack.append(f"  {place} = alloca [{TILE_BYTES} x i8], align {TILE_ROW_BYTES}")
        return LlvmValue(place, "ptr")

    def _call(self, name: str, shape: str, *tiles: LlvmValue) -> LlvmValue:
        self._require()
        types = ", ".join([*(operand.split()[0] for operand in shape.split(", ")), *(tile.type for tile in tiles)])
        operands = ", ".join([shape, *(tile.typed for tile in tiles)])
        self.writer.module.declarations[f"declare {_KIND} @llvm.x86.{name}.internal({types})"] = None
        return self.writer.emit(f"call {_KIND} @llvm.x86.{name}.internal({operands})", _KIND)

    def _require(self) -> None:
        """The function asks for tile registers before it begins."""
        triple = self.writer.module.triple
        if System.of(triple) is not System.LINUX:
            raise CodegenError(
                f"{self.writer.name}: expected Linux, which gives tile registers to a process that asks, found {triple}"
            )
        self.writer.guard = _ASK
        self.writer.module.declarations["declare i64 @syscall(i64, ...)"] = None
        self.writer.module.routines[_PERMISSION] = None
