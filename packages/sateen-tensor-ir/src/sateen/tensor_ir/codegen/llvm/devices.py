"""Work for devices: memory there, launches, copies and waits, by the functions of `sateen_device` (docs/design/abi.md).

Memory of a device is two operands, what its `alloc` gave and an offset in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sateen.runtime.abi import Status
from sateen.runtime.device import Device, DeviceKind
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.device_work import Copy, Launch, Queue, Wait
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.targets import AbiLayout

ALLOC, FREE, COPY, LAUNCH, WAIT, SYNC = range(1, 7)
"""The places of functions among the pointers of `sateen_device`, of which the first is its context."""

_PLACE = "%sateen.place = type { ptr, i64, i64 }"
"""`sateen_place`, its device as one integer."""
_LAUNCH = "%sateen.launch = type { ptr, [3 x i64], [3 x i64], ptr, ptr, i32, i32, i32 }"


class Devices:
    """The devices of one function, and its memory there."""

    def __init__(
        self, writer: FunctionWriter, frame: Frame, addresses: Addresses, value: Callable[[Expr], LlvmValue]
    ) -> None:
        self.writer = writer
        self.frame = frame
        self.addresses = addresses
        self.value = value
        self.tables: dict[Device, LlvmValue] = {}
        """The addresses of the devices' tables."""
        self._ended_first: set[Queue] = set()
        self.offsets: dict[Buffer, LlvmValue] = {}
        """Where in the memory of a device a buffer begins, in bytes; its memory is its address."""

    def find(self, devices: Iterable[Device]) -> None:
        """Look them up in the host's table, at the beginning of the function."""
        for device in devices:
            self.tables[device] = find_device(self.writer, device)
            known, unknown = self.writer.label("known"), self.writer.label("unknown")
            null = self.writer.emit(f"icmp eq ptr {self.tables[device].text}, null", "i1")
            self.frame.can_fail = True
            self.writer.branch_if(null, unknown, known)
            self.writer.start_block(unknown)
            self.frame.fail(str(Status.NO_DEVICE.value))
            self.writer.start_block(known)

    def allocate(self, buffer: Buffer, size: LlvmValue) -> None:
        """Memory of the given size on the buffer's device; `give_back` of the frame ends its use."""
        assert buffer.on_device is not None
        table = self.tables[buffer.on_device]
        memory = self._call(table, ALLOC, "ptr", size)
        self.frame.hold(memory, lambda: self._call(table, FREE, "void", memory))
        self.addresses.base[buffer], self.offsets[buffer] = memory, literal(0, "i64")

    def launch(self, s: Launch) -> None:
        """Queue a kernel; stop where the device refuses it."""
        self.writer.module.declarations[_PLACE] = self.writer.module.declarations[_LAUNCH] = None
        places = self._array("%sateen.place", [self._place(b, o) for b, o in s.arguments])
        scalars = self._array("i64", [self.value(e) for e in s.scalars])
        name = LlvmValue(self.writer.module.text_constant(s.kernel), "ptr")
        counts = (literal(n, "i32") for n in (len(s.buffers), len(s.scalars), s.queue.number))
        block = (literal(n, "i64") for n in s.block)
        flat = [name, *map(self.value, s.grid), *block, places, scalars, *counts]
        at = [(0,), *((1, i) for i in range(3)), *((2, i) for i in range(3)), *((i,) for i in range(3, 8))]
        record = self._record("%sateen.launch", list(zip(at, flat, strict=True)))
        self.frame.stop_on(self._call(self.tables[s.queue.device], LAUNCH, "i32", record))

    def copy(self, s: Copy) -> None:
        """Queue a copy; stop where the device refuses it."""
        self.writer.module.declarations[_PLACE] = None
        pairs = ((s.target, s.target_offset), (s.source, s.source_offset))
        if any(b.on_device is None for b, _ in pairs):
            self._end_before_failing(s.queue)
        places = [self._record("%sateen.place", self._place(b, offset)) for b, offset in pairs]
        queue = literal(s.queue.number, "i32")
        table = self.tables[s.queue.device]
        self.frame.stop_on(self._call(table, COPY, "i32", queue, *places, self.value(s.size)))

    def _end_before_failing(self, queue: Queue) -> None:
        """Memory of the caller is in use until the work of a queue has ended."""
        if queue not in self._ended_first:
            self._ended_first.add(queue)
            number = literal(queue.number, "i32")
            self.frame.before_failing.append(lambda: self._call(self.tables[queue.device], SYNC, "i32", number))

    def wait(self, s: Wait) -> None:
        """Wait for a queue, or let another one wait for it."""
        queues = [literal(queue.number, "i32") for queue in (s.by, s.queue) if queue is not None]
        place = SYNC if s.by is None else WAIT
        self.frame.stop_on(self._call(self.tables[s.queue.device], place, "i32", *queues))

    def _place(self, buffer: Buffer, offset: Expr) -> list[tuple[tuple[int, ...], LlvmValue]]:
        """The fields of a `sateen_place`: a byte of a buffer."""
        start = self.value(ex.cast(INDEX, offset))
        if buffer.on_device is not None:
            start = self.writer.sum(self.offsets[buffer], start)
            device = self.writer.emit(f"load i64, ptr {self.tables[buffer.on_device].text}, align 4", "i64")
        else:
            device = literal(DeviceKind.CPU.value, "i64")
        return [((0,), self.addresses.base_pointer(buffer)), ((1,), start), ((2,), device)]

    def _record(self, kind: str, fields: Sequence[tuple[tuple[int, ...], LlvmValue]]) -> LlvmValue:
        """The address of a structure with these fields."""
        record = self.writer.fresh("record")
        self.frame.stack.append(f"  {record} = alloca {kind}")
        self._fill(kind, record, 0, fields)
        return LlvmValue(record, "ptr")

    def _array(
        self, kind: str, elements: Sequence[LlvmValue | Sequence[tuple[tuple[int, ...], LlvmValue]]]
    ) -> LlvmValue:
        """The address of an array of structures or integers; null for none."""
        if not elements:
            return LlvmValue("null", "ptr")
        array = self.writer.fresh("array")
        self.frame.stack.append(f"  {array} = alloca [{len(elements)} x {kind}]")
        for i, element in enumerate(elements):
            self._fill(kind, array, i, [((), element)] if isinstance(element, LlvmValue) else element)
        return LlvmValue(array, "ptr")

    def _fill(self, kind: str, start: str, i: int, fields: Sequence[tuple[tuple[int, ...], LlvmValue]]) -> None:
        for path, value in fields:
            steps = "".join(f", i32 {step}" for step in path)
            place = self.writer.emit(f"getelementptr {kind}, ptr {start}, i64 {i}{steps}", "ptr")
            self.writer.lines.append(f"  store {value.typed}, ptr {place.text}")

    def _call(self, table: LlvmValue, place: int, result: str, *arguments: LlvmValue) -> LlvmValue:
        abi = self.writer.module.architecture.abi
        offset = abi.device_context + place * abi.pointer_bytes
        field = self.writer.emit(f"getelementptr i8, ptr {table.text}, i64 {offset}", "ptr")
        function = self.writer.emit(f"load ptr, ptr {field.text}", "ptr")
        call = f"call {result} {function.text}(ptr {table.text}, {', '.join(a.typed for a in arguments)})"
        if result == "void":
            self.writer.lines.append(f"  {call}")
            return LlvmValue("", "void")
        return self.writer.emit(call, result)


def find_device(writer: FunctionWriter, device: Device) -> LlvmValue:
    """The address of a device's table in that of the host, null where the host has no such device."""
    abi = writer.module.architecture.abi
    writer.module.routines[find_device_text(abi)] = None
    return writer.emit(call_to_find("%host", device), "ptr")


def call_to_find(host: str, device: Device) -> str:
    """LLVM text of a call for the address of a device's table, null if the host has no such device."""
    return f"call ptr @sateen.find_device(ptr {host}, i32 {device.kind.value}, i32 {device.index})"


def find_device_text(abi: AbiLayout) -> str:
    """LLVM text of the function that finds a device."""
    return _FIND.format(devices=abi.devices, count=abi.device_count)


_FIND = """\
define internal ptr @sateen.find_device(ptr %host, i32 %type, i32 %index) #0 {{
entry:
  %count.place = getelementptr i8, ptr %host, i64 {count}
  %count = load i32, ptr %count.place
  %devices.place = getelementptr i8, ptr %host, i64 {devices}
  %devices = load ptr, ptr %devices.place
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %other ]
  %left = phi i32 [ %index, %entry ], [ %left.next, %other ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %look, label %none
look:
  %place = getelementptr ptr, ptr %devices, i32 %i
  %device = load ptr, ptr %place
  %found.type = load i32, ptr %device
  %same = icmp eq i32 %found.type, %type
  %last = icmp eq i32 %left, 0
  %found = and i1 %same, %last
  br i1 %found, label %done, label %other
other:
  %one = zext i1 %same to i32
  %left.next = sub i32 %left, %one
  %i.next = add i32 %i, 1
  br label %next
done:
  ret ptr %device
none:
  ret ptr null
}}
"""
"""`opencl(1)` is the second device of that type."""
