"""Calls of functions that sateen does not define, in LLVM text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.runtime.abi import Status
from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, undefined_value
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir.buffer import Address, Buffer
from sateen.tensor_ir.ir.expr import Call, Expr
from sateen.tensor_ir.ir.external import LLVM, symbol_of
from sateen.tensor_ir.ir.types import int_range

Value = Callable[[Expr], LlvmValue]


def address(writer: FunctionWriter, addresses: Addresses, value: Value, e: Address) -> LlvmValue:
    """The pointer to a place in a buffer."""
    base, offset = addresses.base_pointer(e.buffer), value(e.offset * e.buffer.dtype.bytes)
    if offset.lanes:
        raise CodegenError(
            f"an address in {e.buffer.name!r} differs between the lanes of a vectorized loop; leave that loop serial"
        )
    if offset.literal == 0:
        return base
    return writer.emit(f"getelementptr i8, {base.typed}, {offset.typed}", base.kind)


def external_call(writer: FunctionWriter, e: Call, arguments: Sequence[LlvmValue]) -> LlvmValue:
    """A call of a C function or of an intrinsic of LLVM; once per lane if an argument has lanes."""
    is_intrinsic, symbol = e.name.startswith(LLVM), symbol_of(e.name)
    if is_intrinsic:
        writer.module.intrinsics[symbol] = None
    kinds = [None if isinstance(a, Address) else a.dtype for a in e.args]
    extended = [" " if is_intrinsic or kind is None else _extended(kind) for kind in kinds]
    kind, result = writer.value_type(e.dtype), "" if is_intrinsic else _extended(e.dtype).strip()
    taken = ", ".join(f"{a.kind}{how}".strip() for a, how in zip(arguments, extended, strict=True))
    head = " ".join(filter(None, [result, kind]))
    writer.module.declarations[f"declare {head} @{symbol}({taken})"] = None

    def call(operands: Sequence[LlvmValue]) -> LlvmValue:
        given = ", ".join(f"{o.kind}{how}{o.text}" for o, how in zip(operands, extended, strict=True))
        return writer.emit(f"call {head} @{symbol}({given})", kind)

    lanes = max((a.lanes for a in arguments), default=0)
    if not lanes:
        return call(arguments)
    writer.module.report.scalarised += 1
    whole = undefined_value(kind, lanes)
    for i in range(lanes):
        one = call([_lane(writer, a, i) for a in arguments])
        whole = writer.emit(f"insertelement {whole.typed}, {one.typed}, i64 {i}", kind, lanes)
    return whole


def _lane(writer: FunctionWriter, value: LlvmValue, i: int) -> LlvmValue:
    return writer.emit(f"extractelement {value.typed}, i64 {i}", value.kind) if value.lanes else value


def _extended(dtype: DType) -> str:
    """How C's calling conventions want a short integer in a register: on RISC-V also an int of 32 bits."""
    if dtype.is_float or dtype.bits > 32:
        return " "
    is_unsigned = dtype.is_bool or int_range(dtype)[0] == 0
    return " zeroext " if is_unsigned and (dtype.is_bool or dtype.bits < 32) else " signext "


class PackedCalls:
    """Calls of functions of the ABI (docs/design/abi.md), with DLTensors on the stack."""

    def __init__(self, writer: FunctionWriter, frame: Frame, addresses: Addresses, value: Value) -> None:
        self.writer = writer
        self.frame = frame
        self.addresses = addresses
        self.value = value

    def call(self, e: Call) -> None:
        """Call the function; a failure of it ends this one with the status FUNCTION."""
        size = self.writer.module.architecture.abi.pointer_bytes
        table = self._reserve(max(len(e.args), 1) * size)
        for i, argument in enumerate(e.args):
            tensor = self._buffer(argument.buffer) if isinstance(argument, Address) else self._number(argument)
            self._put(f"ptr {tensor}", table, i * size)
        symbol = symbol_of(e.name)
        self.writer.module.declarations[f"declare signext i32 @{symbol}(ptr, ptr, i32 signext)"] = None
        call = f"call signext i32 @{symbol}(ptr %host, ptr {table}, i32 signext {len(e.args)})"
        failed = self.writer.emit(f"icmp ne i32 {self.writer.emit(call, 'i32').text}, 0", "i1")
        status = f"select i1 {failed.text}, i32 {Status.FUNCTION.value}, i32 0"
        self.frame.stop_on(self.writer.emit(status, "i32"))

    def _buffer(self, buffer: Buffer) -> str:
        """The DLTensor of a buffer."""
        return self._tensor(self.addresses.base_pointer(buffer).text, buffer.dtype, buffer.shape, buffer.stride_exprs())

    def _number(self, e: Expr) -> str:
        """The DLTensor, without dimensions, of a number."""
        place, value = self._reserve(8), self.value(e)
        if e.dtype.is_bool:
            value = self.writer.emit(f"zext {value.typed} to i8", "i8")
        self._put(value.typed, place, 0)
        return self._tensor(place, e.dtype, (), ())

    def _tensor(self, data: str, dtype: DType, shape: Sequence[Expr], strides: Sequence[Expr]) -> str:
        abi = self.writer.module.architecture.abi
        tensor = self._reserve(abi.byte_offset + 8)
        kind = int(dtype.code) | dtype.bits << 8 | dtype.lanes << 16
        fields = [
            (f"ptr {data}", abi.data), (f"i32 {DeviceKind.CPU.value}", abi.device), ("i32 0", abi.device + 4),
            (f"i32 {len(shape)}", abi.rank), (f"i32 {kind}", abi.dtype), (f"ptr {self._extents(shape)}", abi.shape),
            (f"ptr {self._extents(strides)}", abi.strides), ("i64 0", abi.byte_offset),
        ]  # fmt: skip
        for value, offset in fields:
            self._put(value, tensor, offset)
        return tensor

    def _extents(self, extents: Sequence[Expr]) -> str:
        """An array of extents or strides."""
        if not extents:
            return "null"
        array = self._reserve(8 * len(extents))
        for i, extent in enumerate(extents):
            self._put(self.writer.resized(self.value(extent), "i64").typed, array, 8 * i)
        return array

    def _reserve(self, size: int) -> str:
        """Bytes on the stack, taken where the function begins."""
        name = self.writer.fresh("packed")
        self.frame.stack.append(f"  {name} = alloca [{size} x i8], align 8")
        return name

    def _put(self, value: str, base: str, offset: int) -> None:
        place = self.writer.emit(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr") if offset else None
        self.writer.lines.append(f"  store {value}, ptr {base if place is None else place.text}, align 4")
