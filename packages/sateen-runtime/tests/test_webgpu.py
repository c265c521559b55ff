"""Devices of WebGPU: the text of kernels and its bindings, and the machine's first device, by the wheel wgpu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime.device import DeviceKind, webgpu
from sateen.runtime.devices import MemoryPart, OpenDevice, OpenDevices
from sateen.runtime.devices import webgpu as driver
from sateen.runtime.devices.opened import DeviceMemory, Kernels
from sateen.runtime.devices.wgsl_loops import unroll
from sateen.runtime.devices.wgsl_text import Place, SharedBinding, kernels_of
from sateen.runtime.errors import DeviceError, DeviceLostError, OutOfMemoryError

TEXT = """\
fn twice(x: u32) -> u32 { return 2u * x; }

// kernel add
struct numbers_0 { zero: i32, a: i32, b: i32, y: i32, n: i32 }
@group(0) @binding(0) var<uniform> k_0: numbers_0;
@group(0) @binding(1) var<storage, read> k_0_a: array<u32>;
@group(0) @binding(2) var<storage, read> k_0_b: array<u32>;
@group(0) @binding(3) var<storage, read_write> k_0_y: array<u32>;
@compute @workgroup_size(4, 1, 1)
fn add(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
  let i: i32 = i32(block.x * 4u + thread.x);
  if (i < k_0.n) {
    k_0_y[k_0.y + i] = k_0_a[k_0.a + i] + twice(k_0_b[k_0.b + i]);
  }
}

// kernel put
struct numbers_1 { zero: i32, y: i32, n: i32 }
@group(0) @binding(0) var<uniform> k_1: numbers_1;
@group(0) @binding(1) var<storage, read_write> k_1_y: array<u32>;
@compute @workgroup_size(1, 1, 1)
fn put(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
  k_1_y[k_1.y] = u32(k_1.n);
}
"""


@pytest.fixture(scope="module")
def device() -> OpenDevice:
    """The first device of WebGPU of this machine; skipped without one."""
    try:
        return runtime.open_device("webgpu")
    except DeviceError as error:
        pytest.skip(str(error))


def filled(device: OpenDevice, values: Sequence[int]) -> DeviceMemory:
    data = np.array(values, np.uint32)
    memory = device.allocate(data.nbytes)
    device.write(memory.part(), data.ctypes.data)
    return memory


def read(device: OpenDevice, memory: DeviceMemory) -> list[int]:
    data = np.zeros(memory.size // 4, np.uint32)
    device.read(data.ctypes.data, memory.part())
    return list(data)


def add(device: OpenDevice, kernels: Kernels, parts: Sequence[MemoryPart], count: int) -> None:
    device.launch(device.prepare(kernels, "add", (2, 1, 1), (4, 1, 1), parts, [count]))


def test_a_text_is_cut_into_kernels_that_stand_alone() -> None:
    found = kernels_of(TEXT)
    assert [*found] == ["add", "put"]
    assert found["put"].text.startswith("fn twice")
    assert "fn add" not in found["put"].text
    assert [(b.number, b.is_written, b.name) for b in found["add"].bindings] == [
        (1, False, "k_0_a"), (2, False, "k_0_b"), (3, True, "k_0_y"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("places", "most", "expected"),
    [
        ("7:0-9 8:0-9 9:0-9", 8, [(1, False, (0,)), (2, False, (1,)), (3, True, (2,))]),
        ("7:0-9 7:5-9 9:0-9", 8, [(1, False, (0,)), (2, False, (1,)), (3, True, (2,))]),
        ("7:0-9 7:9-20 9:0-9", 2, [(1, False, (0, 1)), (3, True, (2,))]),
        ("7:0-9 8:0-9 7:9-12", 8, [(1, True, (0,)), (2, False, (1,)), (3, True, (2,))]),
        ("7:4-9 8:0-9 7:0-5", 8, [(1, True, (0, 2)), (2, False, (1,))]),
        ("7:8-12 7:20-30 7:0-9", 8, [(1, True, (0, 2)), (2, True, (1,))]),
        ("7:8-12 7:11-30 7:0-9", 8, [(1, True, (0, 1, 2))]),
        ("7:0-30 7:2-4 7:20-40", 8, [(1, True, (0, 1, 2))]),
        ("7:0-9 7:10-20 7:20-30", 2, [(1, True, (0, 1, 2))]),
    ],
)
def test_places_that_overlap_in_a_memory_that_is_written_share_a_binding(
    places: str, most: int, expected: list[tuple[int, bool, tuple[int, ...]]]
) -> None:
    found = kernels_of(TEXT)["add"].partition(list(map(place, places.split())), most, 100)
    assert found == tuple(SharedBinding(*one) for one in expected)


def test_what_is_larger_than_a_binding_has_windows() -> None:
    kernel = kernels_of(TEXT)["add"]
    found = kernel.partition(list(map(place, ["7:0-9", "8:0-21", "9:0-10"])), 8, 10)
    assert found == (SharedBinding(1, False, (0,)), SharedBinding(2, False, (1,), (4, 5)), SharedBinding(3, True, (2,)))
    # Four would be too many, so that both places of a memory share one.
    found = kernel.partition(list(map(place, ["7:0-9", "7:9-10", "9:0-20"])), 3, 10)
    assert found == (SharedBinding(1, False, (0, 1)), SharedBinding(3, True, (2,), (4,)))


def place(text: str) -> Place:
    """Of a text such as 7:0-9: memory 7, bytes 0 to 9."""
    memory, begin, end = map(int, text.replace("-", ":").split(":"))
    return Place(memory, begin, end)


def test_a_shared_binding_has_the_name_of_its_first_buffer() -> None:
    kernel = kernels_of(TEXT)["add"]
    assert kernel.merged(kernel.partition([Place(i, 0, 9) for i in range(3)], 8, 9), 9) == kernel.text
    merged = kernel.merged(kernel.partition([Place(1, 0, 9), Place(2, 0, 9), Place(1, 0, 9)], 8, 9), 9)
    assert "@group(0) @binding(1) var<storage, read_write> k_0_a: array<u32>;" in merged
    assert "k_0_y:" not in merged
    assert "k_0_a[k_0.y + i] = k_0_a[k_0.a + i] + twice(k_0_b[k_0.b + i]);" in merged


def test_kernels_run_in_order_on_parts_of_one_memory(device: OpenDevice) -> None:
    memory, kernels = filled(device, range(24)), device.load(TEXT.encode())
    parts = [memory.part(4 * first, 32) for first in (1, 8, 16)]
    for _ in range(2):
        add(device, kernels, [parts[2], parts[1], parts[0]], 3)
        device.launch(device.prepare(kernels, "put", (1, 1, 1), (1, 1, 1), [parts[2]], [100]))
    expected = [0, 100 + 2 * 8, 17 + 2 * 9, 18 + 2 * 10, *range(4, 16), 100, *range(17, 24)]
    assert read(device, memory) == expected


def test_memory_of_its_own_for_each_buffer(device: OpenDevice) -> None:
    a, b, y = (filled(device, [n] * 8) for n in (1, 2, 3))
    add(device, device.load(TEXT.encode()), [a.part(), b.part(), y.part()], 8)
    assert (read(device, a), read(device, y)) == ([1] * 8, [5] * 8)


def test_a_result_in_the_place_of_an_input(device: OpenDevice) -> None:
    memory, b = filled(device, range(8)), filled(device, [10] * 8)
    add(device, device.load(TEXT.encode()), [memory.part(), b.part(), memory.part()], 8)
    assert read(device, memory) == [n + 20 for n in range(8)]


def test_bytes_are_copied_at_any_place(device: OpenDevice) -> None:
    """Commands of WebGPU copy words; bytes around are kept."""
    given, memory = np.arange(1, 14, dtype=np.uint8), device.allocate(21)
    other, found = device.allocate(21), np.zeros(21, np.uint8)
    for m in (memory, other):
        device.write(m.part(), found.ctypes.data)
    device.write(memory.part(3, 13), given.ctypes.data)
    device.copy(other.part(2, 9), memory.part(5, 9))
    device.copy(other.part(12, 8), other.part(4, 8))
    device.read(found.ctypes.data, other.part())
    expected = np.zeros(21, np.uint8)
    expected[2:11] = given[2:11]
    expected[12:20] = expected[4:12].copy()
    np.testing.assert_array_equal(found, expected)
    part = np.zeros(3, np.uint8)
    device.read(part.ctypes.data, memory.part(14, 3))
    np.testing.assert_array_equal(part, [12, 13, 0])


def test_the_device_tells_the_time_between_events(device: OpenDevice) -> None:
    memory, kernels = filled(device, range(24)), device.load(TEXT.encode())
    first = device.record()
    add(device, kernels, [memory.part(0, 32), memory.part(32, 32), memory.part(64, 32)], 8)
    last = device.record()
    assert 0 < device.elapsed(first, last) < 60
    for event in (first, last):
        device.forget(event)


def test_arrays_go_to_a_device_and_back(device: OpenDevice) -> None:
    for dtype in ("int8", "bool", "float16", "int64", "float32"):
        values = (np.arange(13) % 3).astype(dtype)
        np.testing.assert_array_equal(runtime.array(values, device="webgpu").numpy(), values)
    assert runtime.empty((0, 3), device="webgpu").numpy().shape == (0, 3)
    assert device.description.grid_axes[0] >= 65535


def test_code_that_is_refused_names_the_kernel_and_the_place(device: OpenDevice) -> None:
    with pytest.raises(DeviceError, match=r"the code is refused: kernel put: (.|\n)*wgsl:\d+"):
        device.load(TEXT.replace("k_1_y[k_1.y]", "no_such_name").encode())
    with pytest.raises(DeviceError, match="the code has no kernel 'missing'"):
        device.prepare(device.load(TEXT.encode()), "missing", (1, 1, 1), (1, 1, 1), [])


def test_what_is_no_text_is_refused(device: OpenDevice) -> None:
    with pytest.raises(DeviceError, match="the code is refused: expected text in WGSL, found 'utf-8' codec"):
        device.load(TEXT.encode() + b"\xff")


def test_limits_name_the_kernel(device: OpenDevice) -> None:
    memory, kernels = device.allocate(64), device.load(TEXT.encode())
    with pytest.raises(DeviceError, match="kernel put expects 70000 blocks along x, the device has at most 65535"):
        device.prepare(kernels, "put", (70000, 1, 1), (1, 1, 1), [memory.part()], [1])
    with pytest.raises(DeviceError, match="kernel put expects memory at multiples of 4 bytes, found some at 6"):
        device.prepare(kernels, "put", (1, 1, 1), (1, 1, 1), [memory.part(6)], [1])
    with pytest.raises(DeviceError, match="kernel put expects numbers of 32 bits, found 4294967296"):
        device.prepare(kernels, "put", (1, 1, 1), (1, 1, 1), [memory.part()], [1 << 32])
    with pytest.raises(OutOfMemoryError, match="pieces have at most"):
        device.allocate(1 << 40)


def test_loops_that_lavapipe_would_end_are_refused(device: OpenDevice) -> None:
    if "llvmpipe" not in device.description.name:
        pytest.skip("the first device of WebGPU is not lavapipe")
    told = "// kernel put\n// a thread has at most {} iterations of loops, {} with short ones unrolled"
    texts = [TEXT.replace("// kernel put", told.format(65536, n)) for n in (65535, 65536)]
    short, long = (device.load(text.encode()) for text in texts)
    memory = device.allocate(4)
    device.prepare(short, "put", (1, 1, 1), (1, 1, 1), [memory.part()], [1])
    words = "kernel put expects up to 65536 iterations of loops in a thread, lavapipe ends them after 65535"
    with pytest.raises(DeviceError, match=words):
        device.prepare(long, "put", (1, 1, 1), (1, 1, 1), [memory.part()], [1])


LOOPS = """\
  for (var i: i32 = 0; i < n; i++) {
    for (var j: i32 = 3; j < 5; j++) {
      y = y + x[j];
    }
    for (var k: i32 = 0; k < 9; k++) {
      y = y * 2u;
    }
  }"""
UNROLLED = """\
  for (var i: i32 = 0; i < n; i++) {
    {
      var j: i32 = 3;
      y = y + x[j];
    }
    {
      var j: i32 = 4;
      y = y + x[j];
    }
    for (var k: i32 = 0; k < 9; k++) {
      y = y * 2u;
    }
  }"""


def test_short_loops_are_unrolled_from_within() -> None:
    assert unroll(LOOPS) == UNROLLED
    deep = "for (var a: i32 = 0; a < 8; a++) {\n  for (var b: i32 = 0; b < 8; b++) {\n    y = a;\n  }\n}"
    assert unroll(deep).count("y = a;") == 64
    deeper = f"for (var c: i32 = 0; c < 2; c++) {{\n{indent(deep, '  ')}\n}}"
    assert unroll(deeper).count("y = a;") == 64


@pytest.fixture
def limit(device: OpenDevice, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Lowers a limit of the device."""
    connection = device._connection
    assert isinstance(connection, driver.WebGPUConnection)
    return lambda name, most: monkeypatch.setitem(connection._limits, name, most)


BUFFERS, BYTES = "max-storage-buffers-per-shader-stage", "max-storage-buffer-binding-size"


@pytest.mark.parametrize(
    ("most", "size", "words"), [(2, 1024, "3 storage buffers of 1024"), (8, 256, "9 storage buffe")]
)
def test_limits_of_bindings_are_those_of_the_adapter(
    device: OpenDevice, limit: Callable[[str, int], None], most: int, size: int, words: str
) -> None:
    memories = [device.allocate(768) for _ in range(3)]
    kernels = device.load(TEXT.encode())
    limit(BUFFERS, most)
    limit(BYTES, size)
    with pytest.raises(DeviceError, match=rf"kernel add expects {words}.* bytes at most, the device has {most}"):
        device.prepare(kernels, "add", (1, 1, 1), (4, 1, 1), [m.part() for m in memories], [1])


def test_memory_that_no_binding_holds_is_bound_in_windows(
    device: OpenDevice, limit: Callable[[str, int], None]
) -> None:
    """Parts of one memory begin within windows and cross their borders, and so does one in its own place."""
    limit(BYTES, 256)
    memory, kernels = filled(device, range(600)), device.load(TEXT.encode())
    parts = [memory.part(4 * first, 800) for first in (0, 200, 400)]
    device.launch(device.prepare(kernels, "add", (50, 1, 1), (4, 1, 1), parts, [200]))
    device.launch(device.prepare(kernels, "add", (50, 1, 1), (4, 1, 1), [parts[0], parts[1], parts[0]], [200]))
    sums = [n + 2 * (n + 200) for n in range(200)]
    assert read(device, memory) == [*sums, *range(200, 400), *sums]


ATOMIC = """\
// kernel bump
struct numbers_0 { zero: i32, a: i32, y: i32 }
@group(0) @binding(0) var<uniform> k_0: numbers_0;
@group(0) @binding(1) var<storage, read_write> k_0_a: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> k_0_y: array<atomic<u32>>;
@compute @workgroup_size(4, 1, 1)
fn bump(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
  let at: i32 = k_0.y + i32(atomicLoad(&k_0_a[k_0.a + i32(atomicLoad(&k_0_a[k_0.a + i32(block.x)]))]));
  var old: u32 = atomicLoad(&k_0_y[at]);
  loop {
    let seen = atomicCompareExchangeWeak(&k_0_y[at], old, old + 1u);
    if (seen.exchanged) { break; }
    old = seen.old_value;
  }
  if (thread.x == 0u && block.x == 0u) {
    atomicStore(&k_0_y[k_0.y], atomicLoad(&k_0_a[k_0.a + 1]));
  }
}
"""


def test_atomic_words_are_in_windows_too(device: OpenDevice, limit: Callable[[str, int], None]) -> None:
    limit(BYTES, 256)
    following = [*range(1, 200), 0]  # a word's value is where the next one lies
    a, y = filled(device, following), filled(device, [0] * 200)
    kernels = device.load(ATOMIC.encode())
    device.launch(device.prepare(kernels, "bump", (190, 1, 1), (4, 1, 1), [a.part(), y.part()]))
    found = read(device, y)
    assert found[0] == 2
    assert found[1:] == [0] + [4] * 190 + [0] * 8


@pytest.mark.usefixtures("device")
def test_a_device_that_is_gone_is_lost() -> None:
    device = OpenDevices({DeviceKind.WEBGPU: driver.WebGPUDriver()}).open(webgpu())
    memory = device.allocate(64)
    connection = device._connection
    assert isinstance(connection, driver.WebGPUConnection)
    connection._device.destroy()
    with pytest.raises(DeviceLostError, match="the device is lost"):
        device.read(0, memory.part())
    assert not device.is_usable


def test_a_missing_wheel_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(driver.importlib, "import_module", missing)
    devices = OpenDevices({DeviceKind.WEBGPU: driver.WebGPUDriver()})
    words = r"webgpu\(0\): the wheel wgpu: No module named 'wgpu'; pip install wgpu"
    with pytest.raises(DeviceError, match=words):
        devices.open(webgpu())
    (found,) = devices.found()
    assert found.remedy == "pip install wgpu"
