"""Open devices: what holds for every kind of device, shown with a driver over memory of this process, and OpenCL."""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime.device import Device, DeviceKind, opencl
from sateen.runtime.devices import DeviceDescription, MemoryPart, OpenDevice, OpenDevices
from sateen.runtime.devices.driver import DriverError, Fault, MissingDriverError
from sateen.runtime.devices.opened import MOST_AHEAD
from sateen.runtime.errors import ArgumentError, DeviceError, DeviceLostError, OutOfMemoryError

DESCRIPTION = DeviceDescription(
    device=Device(DeviceKind.OPENCL), name="Example", driver="test 1", units=1, warp=32, block_threads=256,
    block_axes=(256, 256, 64), grid_axes=(65535, 65535, 65535), shared_bytes=1 << 14, memory_bytes=1 << 20,
    allocation_bytes=1 << 18, place_alignment=64, shares_memory=False, has_float64=True, has_float16=False,
)  # fmt: skip


class Example:
    """A connection whose kernels do nothing, and whose calls fail where `failing` says so."""

    description = DESCRIPTION

    def __init__(self) -> None:
        self.memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.failing: dict[str, DriverError] = {}
        self.given_back: list[str] = []
        self.is_idle = True

    def _reached(self, call: str) -> None:
        if call in self.failing:
            raise self.failing[call]

    def allocate(self, size: int) -> int:
        self._reached("allocate")
        memory = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def free(self, handle: int) -> None:
        del self.memory[handle]

    def write(self, queue: int, to: MemoryPart, address: int) -> object | None:
        ctypes.memmove(to.handle + to.offset, address, to.size or 0)
        return self.record(queue)

    def read(self, queue: int, address: int, start: MemoryPart) -> object:
        self._reached("read")
        ctypes.memmove(address, start.handle + start.offset, start.size or 0)
        return self.record(queue)

    def copy(self, queue: int, to: MemoryPart, start: MemoryPart) -> None:
        ctypes.memmove(to.handle + to.offset, start.handle + start.offset, to.size or 0)

    def load(self, code: bytes) -> object:
        self._reached("load")
        return code

    def unload(self, kernels: object) -> None:
        self.given_back.append("kernels")

    def prepare(
        self,
        kernels: object,
        name: str,
        grid: object,
        block: object,
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        return name

    def launch(self, queue: int, prepared: object) -> None:
        self._reached("launch")

    def discard(self, prepared: object) -> None:
        self.given_back.append("launch")

    def wait(self, queue: int, event: object) -> None:
        self._reached("wait")

    def record(self, queue: int) -> object:
        return queue

    def is_reached(self, event: object) -> bool:
        self._reached("is_reached")
        return self.is_idle

    def seconds(self, first: object, second: object) -> float:
        return 0.5

    def forget(self, event: object) -> None:
        pass

    def close(self) -> None:
        self.given_back.append("device")


class ExampleDriver:
    kind = DeviceKind.OPENCL

    def descriptions(self) -> tuple[DeviceDescription, ...]:
        raise MissingDriverError("expected libExample, found none", "install it")

    def connect(self, index: int) -> Example:
        if index:
            self.descriptions()
        return Example()


@pytest.fixture
def example() -> tuple[Example, OpenDevice]:
    connection = Example()
    return connection, OpenDevice(connection)


@pytest.fixture(scope="module")
def first_opencl() -> Iterator[OpenDevice]:
    """The first OpenCL device of this machine; skipped without one."""
    try:
        yield runtime.open_device(opencl())
    except DeviceError as error:
        pytest.skip(str(error))


def launched(device: OpenDevice, name: str = "f", **sizes: Any) -> runtime.OpenDevice:
    grid, block = sizes.get("grid", (1, 1, 1)), sizes.get("block", (1, 1, 1))
    device.launch(device.prepare(device.load(b"code"), name, grid, block, []))
    return device


def test_memory_is_copied_there_and_back(example: tuple[Example, OpenDevice]) -> None:
    _, device = example
    memory, there = device.allocate(32), np.arange(8, dtype=np.int32)
    back = np.zeros(4, np.int32)
    device.write(memory.part(), there.ctypes.data)
    device.read(back.ctypes.data, memory.part(8, 16))
    np.testing.assert_array_equal(back, [2, 3, 4, 5])


def test_memory_is_freed_when_nobody_holds_it(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    memory = device.allocate(100)
    assert (device.allocated_bytes, len(connection.memory)) == (100, 1)
    del memory
    gc.collect()
    assert (device.allocated_bytes, len(connection.memory)) == (0, 0)


def test_a_part_lies_within_its_memory(example: tuple[Example, OpenDevice]) -> None:
    memory = example[1].allocate(16)
    for offset, size in ((-1, 4), (12, 8), (17, None)):
        with pytest.raises(ArgumentError, match="expected bytes of 16 of memory"):
            memory.part(offset, size)


def test_a_prepared_launch_keeps_what_it_needs(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    memory = device.allocate(16)
    prepared = device.prepare(device.load(b"code"), "f", (1, 1, 1), (1, 1, 1), [memory.part()], (), [memory])
    del memory
    gc.collect()
    assert (len(connection.memory), connection.given_back) == (1, [])
    del prepared
    gc.collect()
    assert (connection.memory, sorted(connection.given_back)) == ({}, ["kernels", "launch"])


def test_a_lack_of_memory_says_how_much_there_is(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    held = device.allocate(1000)
    connection.failing["allocate"] = DriverError(Fault.MEMORY, "exAllocate: OUT (-4)")
    words = r"exAllocate: OUT \(-4\); the device has 1048576 bytes, of which this process uses 1000$"
    with pytest.raises(OutOfMemoryError, match=f"expected 5000 bytes of memory, found none: {words}"):
        device.allocate(5000)
    with pytest.raises(OutOfMemoryError, match="pieces have at most 262144 bytes"):
        device.allocate(1 << 19)
    assert (device.is_usable, held.size) == (True, 1000)


def test_code_that_is_refused_shows_the_log(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    connection.failing["load"] = DriverError(Fault.CODE, "exBuild: FAILURE (-11)\n<kernel>:1: no such type")
    with pytest.raises(DeviceError, match=r"opencl\(0\): Example .*the code is refused: .*\n<kernel>:1: no such type"):
        device.load(b"code")
    assert device.is_usable


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"block": (16, 32, 1)}, "kernel f expects blocks of 512 threads, the device has at most 256"),
        ({"block": (1, 1, 128)}, "kernel f expects 128 threads along z, the device has at most 64"),
        ({"grid": (1, 65536, 1)}, "kernel f expects 65536 blocks along y, the device has at most 65535"),
    ],
)
def test_a_launch_fits_the_device(example: tuple[Example, OpenDevice], sizes: Any, words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        launched(example[1], **sizes)


def test_kernels_get_the_places_that_they_can(example: tuple[Example, OpenDevice]) -> None:
    _, device = example
    memory, kernels = device.allocate(256), device.load(b"code")
    device.prepare(kernels, "f", (1, 1, 1), (1, 1, 1), [memory.part(64)])
    words = (
        r"kernel f expects memory at multiples of 64 bytes, found some at 96; to\('opencl\(0\)'\) copies an array to"
    )
    with pytest.raises(DeviceError, match=words):
        device.prepare(kernels, "f", (1, 1, 1), (1, 1, 1), [memory.part(), memory.part(96)])
    memory.free()
    with pytest.raises(DeviceError, match="expected memory that this open device allocated, found some of another"):
        device.prepare(kernels, "f", (1, 1, 1), (1, 1, 1), [memory.part()])


def test_a_lost_device_stays_lost_and_names_its_last_kernels(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    launched(launched(device, "first"), "second")
    connection.failing["is_reached"] = DriverError(Fault.LOST, "a kernel failed (-14)")
    words = r"the device is lost: a kernel failed \(-14\); the last kernels are first, second"
    with pytest.raises(DeviceLostError, match=words):
        device.sync()
    connection.failing.clear()
    for call in (lambda: device.allocate(1), lambda: device.load(b""), device.sync):
        with pytest.raises(DeviceLostError, match=words):
            call()
    assert not device.is_usable


def test_a_wait_has_an_end(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    connection.is_idle = False
    with pytest.raises(DeviceLostError, match=r"its work did not end within 0\.01 s"):
        device.sync(limit=0.01)


def test_a_queue_has_few_kernels_whose_end_nobody_has_seen(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    device.limit = 0.01
    prepared = device.prepare(device.load(b"code"), "f", (1, 1, 1), (1, 1, 1), [])

    def launch(count: int) -> None:
        for _ in range(count):
            device.launch(prepared)

    launch(1000)
    connection.is_idle = False
    with pytest.raises(DeviceLostError, match=r"its work did not end within 0\.01 s"):
        launch(2 * MOST_AHEAD)


ENDLESS = """
import sys
import numpy as np
from sateen import runtime

device = runtime.open_device("opencl(0)")
device.limit = 0.2
kernels = device.load(b"kernel void endless(global volatile int *x) { while (x[0] == 0); }")
array, other = (runtime.array(np.zeros(4, np.int32), device="opencl(0)") for _ in range(2))
device.launch(device.prepare(kernels, "endless", (1, 1, 1), (1, 1, 1), [array.part()], (), [array]))
there = np.zeros(4, np.int32)
USES = {
    "assign": lambda: other.__setitem__(0, 1),
    "queued": lambda: other.copy_to(runtime.NDArray.of(there)).wait(),
    "elsewhere": lambda: device.wait(1, 0) or device.sync(1),
}
try:
    USES[sys.argv[1]]()
except runtime.DeviceLostError as error:
    print(error)
    device.close()
"""


@pytest.mark.usefixtures("first_opencl")
@pytest.mark.parametrize("use", ["assign", "queued", "elsewhere"])
def test_a_kernel_that_never_ends_stops_nobody(use: str) -> None:
    found = subprocess.run([sys.executable, "-c", ENDLESS, use], capture_output=True, text=True, timeout=60, check=True)
    assert re.search(r"lost: its work did not end within 0\.2 s; the last kernels are endless", found.stdout)


def test_a_closed_device_refuses_work(example: tuple[Example, OpenDevice]) -> None:
    connection, device = example
    device.close()
    device.close()
    with pytest.raises(DeviceError, match=r"opencl\(0\): it is closed; open it again"):
        device.allocate(1)
    assert connection.given_back == ["device"]


def test_a_forked_child_refuses_the_device_of_its_parent(
    example: tuple[Example, OpenDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = example[1].allocate(8)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(DeviceError, match="the parent of this process opened it, and drivers don't survive a fork"):
        example[1].read(0, memory.part())


def test_a_device_is_opened_once_and_again_after_a_loss() -> None:
    devices = OpenDevices({DeviceKind.OPENCL: ExampleDriver()})
    first = devices.open(opencl())
    assert devices.open(opencl()) is first
    first.close()
    assert devices.open(opencl()) is not first


def test_what_is_missing_is_named() -> None:
    devices = OpenDevices({DeviceKind.OPENCL: ExampleDriver()})
    (found,) = devices.found()
    assert (found.devices, found.missing, found.remedy) == ((), "expected libExample, found none", "install it")
    with pytest.raises(DeviceError, match=r"opencl\(1\): expected libExample, found none; install it"):
        devices.open(opencl(1))
    with pytest.raises(DeviceError, match=r"metal\(0\): expected a device of kind opencl, for which there are drivers"):
        devices.open(runtime.metal())


@pytest.mark.usefixtures("first_opencl")
def test_arrays_go_to_a_device_and_back() -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    there = runtime.array(values[:, ::2], device="opencl(0)")
    assert (there.shape, str(there.device), there.is_compact) == ((4, 3), "opencl(0)", True)
    np.testing.assert_array_equal(there.numpy(), values[:, ::2])
    np.testing.assert_array_equal(there.to("cpu").numpy(), values[:, ::2])
    assert runtime.empty((0, 3), device="opencl(0)").numpy().shape == (0, 3)


@pytest.mark.usefixtures("first_opencl")
def test_elements_on_a_device_are_not_read_one_by_one() -> None:
    there = runtime.array([1.0, 2.0], device="opencl(0)")
    for use in (lambda: there + 1, lambda: float(there), lambda: np.asarray(there)):
        with pytest.raises(ArgumentError, match=r"found one on opencl\(0\); numpy\(\) copies it"):
            use()


def test_kernels_run_in_order_on_parts_of_memory(first_opencl: OpenDevice) -> None:
    device, values = first_opencl, np.arange(1024, dtype=np.float32)
    memory, back = device.allocate(values.nbytes), np.empty_like(values)
    device.write(memory.part(), values.ctypes.data)
    kernels = device.load(b"__kernel void add(__global float *x, const long n) { x[get_global_id(0)] += n; }")
    whole = device.prepare(kernels, "add", (16, 1, 1), (64, 1, 1), [memory.part()], [5], [memory])
    quarter = device.prepare(kernels, "add", (4, 1, 1), (64, 1, 1), [memory.part(1024, 1024)], [-1], [memory])
    first = device.record()
    for launch in (whole, quarter, whole):
        device.launch(launch)
    last = device.record()
    assert device.elapsed(first, last) > 0
    device.read(back.ctypes.data, memory.part())
    values += 10
    values[256:512] -= 1
    np.testing.assert_array_equal(back, values)


def test_float64_on_a_device_without_it_is_refused(first_opencl: OpenDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = replace(first_opencl.description, has_float64=False)
    monkeypatch.setattr(first_opencl._connection, "description", lacking)
    with pytest.raises(
        DeviceError, match="the kernels compute float64, and the device has no cl_khr_fp64; use float32"
    ):
        first_opencl.load(
            b"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void f(global double *x) { x[0] = 1; }"
        )


def test_a_block_has_the_threads_that_registers_allow(
    first_opencl: OpenDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = first_opencl.load(b"kernel void f(global int *x) { x[0] = 1; }")
    memory = first_opencl.allocate(4)
    value = first_opencl._connection._library.value
    few = lambda name, *of: ctypes.c_size_t(32) if name == "clGetKernelWorkGroupInfo" else value(name, *of)  # noqa: E731
    monkeypatch.setattr(first_opencl._connection._library, "value", few)
    first_opencl.prepare(kernels, "f", (1, 1, 1), (32, 1, 1), [memory.part()])
    with pytest.raises(DeviceError, match="kernel f expects blocks of 64 threads, the device runs at most 32 with the"):
        first_opencl.prepare(kernels, "f", (1, 1, 1), (64, 1, 1), [memory.part()])


def test_opencl_shows_its_log(first_opencl: OpenDevice) -> None:
    with pytest.raises(DeviceError, match=r"BUILD_PROGRAM_FAILURE(.|\n)*error"):
        first_opencl.load(b"__kernel void f(no_such_type x) {}")
    with pytest.raises(DeviceError, match="INVALID_KERNEL_NAME"):
        first_opencl.prepare(first_opencl.load(b"__kernel void f(void) {}"), "g", (1, 1, 1), (1, 1, 1), [])
