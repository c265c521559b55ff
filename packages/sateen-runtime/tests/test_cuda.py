"""Devices of CUDA, with a driver of the tests in place of NVIDIA's: what is called, given, and given back.

No GPU runs anything here. `cuda_driver.c` checks handles and addresses, and calls functions of this file as kernels.
"""

from __future__ import annotations

import ctypes
import gc
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import Artifact, DType, Parameter, Step
from sateen.runtime.actions import DeviceBlocks, Repeat
from sateen.runtime.devices import OpenDevice, OpenDevices, cuda, cuda_library
from sateen.runtime.devices.cuda import CudaDriver
from sateen.runtime.devices.driver import Fault, no_such_device
from sateen.runtime.errors import ArgumentError, ArtifactError, DeviceError, DeviceLostError, OutOfMemoryError
from sateen.runtime.launches import BlockPlace, NetworkLaunch

DATA = np.arange(16, dtype=np.float32)
PTX = b".version 7.8\n.target sm_90\n.visible .entry double(\n)\n.visible .entry add(\n)\n.visible .entry wide(\n)\n"
MEMORY, MODULE, FUNCTION, STREAM, EVENT, GRAPH, EXECUTABLE = range(1, 8)
GIVEN_BACK = (MEMORY, MODULE, STREAM, EVENT, GRAPH, EXECUTABLE)
HEADERS = sorted(Path("/usr/local").glob("cuda*/include/cuda.h"))
KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p)
)


def argument(arguments: Any, number: int) -> int:
    return ctypes.c_uint64.from_address(arguments[number]).value


def floats(address: int, count: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


@KERNEL
def double(grid: Any, block: Any, arguments: Any) -> int:
    """out[i] = 2 data[i], as many as there are threads."""
    count = grid[0] * block[0]
    floats(argument(arguments, 1), count)[:] = 2 * floats(argument(arguments, 0), count)
    return 0


@KERNEL
def add(grid: Any, block: Any, arguments: Any) -> int:
    """data[i] += the number behind it."""
    floats(argument(arguments, 0), grid[0] * block[0])[:] += argument(arguments, 1)
    return 0


@pytest.fixture
def driver(cuda_stub: ctypes.CDLL, cuda_driver: CudaDriver) -> CudaDriver:
    """The driver of the tests, with two kernels."""
    cuda_stub.stub_kernel(b"double", double)
    cuda_stub.stub_kernel(b"add", add)
    return cuda_driver


@pytest.fixture
def device(driver: CudaDriver) -> Iterator[OpenDevice]:
    opened = OpenDevice(driver.connect(1))
    yield opened
    opened.close()


def test_a_device_is_described(driver: CudaDriver) -> None:
    first, second = driver.descriptions()
    assert str(first) == "cuda(0): Example 0 (CUDA 12.8)"
    assert (second.device.index, second.architecture, second.units, second.warp) == (1, "sm_90", 132, 32)
    assert (second.block_threads, second.block_axes, second.shared_bytes) == (1024, (1024, 1024, 64), 49152)
    assert second.grid_axes == (2147483647, 65535, 65535)


def test_a_device_that_is_not_there_is_refused(driver: CudaDriver) -> None:
    expected = r"^cuda\(2\): expected cuda\(2\), found 2 devices of CUDA; name one of cuda\(0\) to cuda\(1\)$"
    with pytest.raises(DeviceError, match=expected):
        OpenDevices({driver.kind: driver}).open(runtime.cuda(2))
    assert no_such_device("CUDA", runtime.cuda(2), 1).args == (
        "expected cuda(2), found 1 device of CUDA; name cuda(0)",
    )


def test_memory_is_written_copied_and_read(device: OpenDevice) -> None:
    data, found = np.arange(64, dtype=np.float32), np.zeros(16, np.float32)
    one, other = device.allocate(data.nbytes), device.allocate(data.nbytes)
    device.write(one.part(), data.ctypes.data)
    device.copy(other.part(0, 128), one.part(128, 128))
    device.read(found.ctypes.data, other.part(64, 64))
    np.testing.assert_array_equal(found, data[48:])


def launches(device: OpenDevice, memory: Any) -> list[Any]:
    kernels = device.load(PTX)
    parts = [memory.part(0, 64), memory.part(256, 64)]
    return [
        device.prepare(kernels, "double", (2, 1, 1), (8, 1, 1), parts),
        device.prepare(kernels, "add", (1, 1, 1), (16, 1, 1), parts[1:], (5,)),
    ]


def result(device: OpenDevice, memory: Any) -> np.ndarray[Any, Any]:
    found = np.zeros(16, np.float32)
    device.read(found.ctypes.data, memory.part(256, 64))
    return found


def test_kernels_get_addresses_and_numbers(device: OpenDevice) -> None:
    memory, data = device.allocate(512), np.arange(16, dtype=np.float32)
    device.write(memory.part(0, 64), data.ctypes.data)
    for launch in launches(device, memory):
        device.launch(launch)
    np.testing.assert_array_equal(result(device, memory), 2 * data + 5)


def test_launches_are_one_graph(device: OpenDevice, cuda_stub: ctypes.CDLL) -> None:
    memory, data = device.allocate(512), np.arange(16, dtype=np.float32)
    prepared = launches(device, memory)
    for launch in prepared:
        device.launch(launch)
    whole = device.joined(prepared)
    assert whole is not None
    device.write(memory.part(0, 64), data.ctypes.data)
    for _ in range(3):
        device.launch(whole)
    assert (cuda_stub.stub_launched(), cuda_stub.stub_replayed()) == (2, 3)
    np.testing.assert_array_equal(result(device, memory), 2 * data + 5)


def test_everything_is_given_back(driver: CudaDriver, cuda_stub: ctypes.CDLL) -> None:
    gc.collect()
    before = [cuda_stub.stub_live(kind) for kind in GIVEN_BACK]
    device = OpenDevice(driver.connect(0))
    memory = device.allocate(512)
    prepared = launches(device, memory)
    whole = device.joined(prepared)
    device.forget(device.record())
    device.sync()
    del memory, prepared, whole
    gc.collect()
    device.close()
    assert [cuda_stub.stub_live(kind) for kind in GIVEN_BACK] == before


def test_time_is_the_device_s(device: OpenDevice) -> None:
    memory = device.allocate(512)
    first = device.record()
    for launch in launches(device, memory):
        device.launch(launch)
    last = device.record()
    assert device.elapsed(first, last) == pytest.approx(4e-3)
    device.wait(1, 0)


def test_any_thread_may_call_and_keeps_its_context(device: OpenDevice, cuda_stub: ctypes.CDLL) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append((device.allocate(64), cuda_stub.stub_depth())))
    thread.start()
    thread.join()
    assert (found[0][0].size, found[0][1], cuda_stub.stub_depth()) == (64, 0, 0)


def test_devices_are_apart(driver: CudaDriver) -> None:
    first, second = (OpenDevice(driver.connect(i)) for i in range(2))
    memory = first.allocate(64)
    with pytest.raises(DeviceError, match=r"cuMemcpyDtoDAsync_v2: .*\(1\)"):
        second.copy(second.allocate(64).part(), memory.part())
    for one in (first, second):
        one.close()


def test_a_capture_that_fails_leaves_nothing_behind(device: OpenDevice, cuda_stub: ctypes.CDLL) -> None:
    memory = device.allocate(512)
    prepared = launches(device, memory)
    before = [cuda_stub.stub_live(kind) for kind in (STREAM, GRAPH, EXECUTABLE)]
    cuda_stub.stub_fail(b"cuLaunchKernel", 1)
    with pytest.raises(DeviceError, match=r"expected to join double to add, but the call is refused: cuLaunchKernel"):
        device.joined(prepared)
    cuda_stub.stub_fail(b"cuGraphInstantiateWithFlags", 801)
    with pytest.raises(DeviceError, match=r"the call is refused: cuGraphInstantiateWithFlags"):
        device.joined(prepared)
    assert [cuda_stub.stub_live(kind) for kind in (STREAM, GRAPH, EXECUTABLE)] == before
    device.allocate(64)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (
            lambda d: d.load(b"nothing"),
            r"the code is refused: cuModuleLoadDataEx: .*218\)\nptxas fatal: expected .version",
        ),
        (lambda d: d.prepare(d.load(PTX), "less", (1, 1, 1), (1, 1, 1), []), r"prepare kernel less, but the code is"),
        (
            lambda d: d.prepare(d.load(PTX), "add", (1, 1, 1), (2048, 1, 1), []),
            "blocks of 2048 threads, the device has",
        ),
        (
            lambda d: d.prepare(d.load(PTX), "wide", (1, 1, 1), (32, 16, 1), []),
            "kernel wide expects blocks of 512 threads, the device runs at most 256 with the registers that each",
        ),
    ],
)
def test_what_is_refused_says_why(device: OpenDevice, use: Callable[[OpenDevice], object], words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        use(device)
    assert device.is_usable


def test_memory_that_is_not_there(device: OpenDevice) -> None:
    with pytest.raises(OutOfMemoryError, match="expected 8388608 bytes of memory, found none"):
        device.allocate(1 << 23)


@pytest.mark.parametrize("call", ["cuLaunchKernel", "cuEventQuery"])
def test_a_kernel_that_faults_loses_the_device(device: OpenDevice, cuda_stub: ctypes.CDLL, call: str) -> None:
    memory = device.allocate(512)
    first, *_ = launches(device, memory)
    cuda_stub.stub_fail(call.encode(), 700)
    found = re.escape("the work of a queue" if "Query" in call else call)

    def work() -> None:
        device.launch(first)
        device.sync()

    with pytest.raises(DeviceLostError, match=rf"{found}: .*\(700\)"):
        work()
    with pytest.raises(DeviceLostError, match="the last kernels are double"):
        device.allocate(4)


@pytest.mark.parametrize("way", ["write", "read"])
def test_the_host_s_memory_of_a_copy_is_kept_until_it_has_ended(
    device: OpenDevice, cuda_stub: ctypes.CDLL, way: str
) -> None:
    memory, host = device.allocate(64), np.zeros(16, np.float32)
    alive = weakref.ref(host)
    cuda_stub.stub_hang(1)
    if way == "write":
        device.queue_write(memory.part(), host.ctypes.data, host, queue=2)
    else:
        device.queue_read(host.ctypes.data, memory.part(), host, queue=2)
    del host
    gc.collect()
    assert alive() is not None
    cuda_stub.stub_hang(0)
    device.sync()
    assert alive() is None


def test_a_device_that_never_answers_is_lost(device: OpenDevice, cuda_stub: ctypes.CDLL) -> None:
    cuda_stub.stub_hang(1)
    with pytest.raises(DeviceLostError, match=r"did not end within 0\.01 s"):
        device.sync(limit=0.01)


@pytest.fixture
def network(driver: CudaDriver, monkeypatch: pytest.MonkeyPatch) -> runtime.Model:
    """y = 2 x + 5, on the first device."""
    devices = OpenDevices({driver.kind: driver})
    monkeypatch.setattr("sateen.runtime.model.open_device", devices.open)
    monkeypatch.setattr("sateen.runtime.ndarray.PROCESS_DEVICES", devices)
    float32 = DType.of("float32")
    given, out = (Parameter(name, float32, (16,), None, 4, is_output=name == "y") for name in "xy")
    places = [BlockPlace(block, 0, 64) for block in (0, 1)]
    steps = tuple(Step(name, (name,), (name,), (), (), 0, 128) for name in ("double", "add"))
    artifact = Artifact(
        "test 1", "cuda -mcpu=sm_90", (given,), (out,), 0, b"", b"", steps=steps, kernels=PTX,
        actions=(
            NetworkLaunch("double", (2, 1, 1), (8, 1, 1), tuple(places), (), 0),
            NetworkLaunch("add", (1, 1, 1), (16, 1, 1), tuple(places[1:]), (5,), 1),
        ),
    )  # fmt: skip
    return runtime.load(artifact)


def test_a_network_is_launched_as_one(network: runtime.Model, cuda_stub: ctypes.CDLL) -> None:
    for i in range(3):
        data = np.arange(16, dtype=np.float32) + i
        np.testing.assert_array_equal(network.run({"x": data})["y"].numpy(), 2 * data + 5)
    assert (cuda_stub.stub_launched(), cuda_stub.stub_replayed()) == (2, 2)
    assert [t.median for t in runtime.time_steps(network, {"x": data}, 2)] == pytest.approx([2e-3, 2e-3])


def test_launches_in_a_row_that_are_repeated_are_launched_as_one(
    network: runtime.Model, cuda_stub: ctypes.CDLL
) -> None:
    add = NetworkLaunch("add", (1, 1, 1), (16, 1, 1), (BlockPlace(1, 0, 64),), (5,), 1)
    double, _ = network.artifact.actions
    repeated = Repeat(4, BlockPlace(3, 0, 8), (add, add), ((BlockPlace(1, 0, 64), BlockPlace(3, 256, 256)),), 1)
    placed = (DeviceBlocks(network.device, (0, 1), 0, 512),)
    model = runtime.load(replace(network.artifact, actions=(double, repeated), placed=placed))
    data = np.arange(16, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(model.run({"x": data})["y"].numpy(), 2 * data + 40)
    assert (cuda_stub.stub_launched(), cuda_stub.stub_replayed()) == (3, 8)
    assert len(runtime.time_steps(model, {"x": data}, 2)) == 2


def test_networks_are_timed_in_turns_by_the_device_s_clock(network: runtime.Model, cuda_stub: ctypes.CDLL) -> None:
    given = {"x": np.arange(16, dtype=np.float32)}
    before = cuda_stub.stub_launched() + cuda_stub.stub_replayed()
    first, second = runtime.time_networks([(network, given), (network, given)], repeat=3, min_seconds=0.01)
    assert [first.median, second.median] == pytest.approx([4e-3, 4e-3])
    assert (len(first.samples), first.number) == (3, 3)
    assert cuda_stub.stub_launched() + cuda_stub.stub_replayed() > before


def test_a_network_takes_and_gives_arrays_on_its_device(network: runtime.Model) -> None:
    data = np.arange(32, dtype=np.float32)
    inputs, outputs = runtime.array(data, device="cuda(0)"), runtime.empty((3, 16), device="cuda(0)")
    kept = network.run({"x": inputs[16:]}, keep=True)["y"]
    assert str(kept.device) == "cuda(0)"
    network.run({"x": kept}, out={"y": outputs[1]})
    np.testing.assert_array_equal(outputs[1].numpy(), 2 * (2 * data[16:] + 5) + 5)


@pytest.mark.parametrize("processor", ["sm_100", "sm_90a", "sm_75", ""])
def test_code_of_a_newer_generation_is_refused(network: runtime.Model, processor: str) -> None:
    artifact = replace(network.artifact, target=f"cuda -mcpu={processor}" if processor else "cuda")
    if processor != "sm_100":
        runtime.load(artifact)
        return
    with pytest.raises(ArtifactError) as caught:
        runtime.load(artifact)
    assert str(caught.value) == (
        "artifact: compiled for sm_100, found cuda(0): Example 0 (CUDA 12.8), which is sm_90; compile the model with "
        "--target 'cuda -mcpu=sm_90'"
    )


@pytest.mark.parametrize(
    ("given", "out", "words"),
    [
        (lambda: runtime.array(DATA, device="cuda(1)"), None, r"cuda\(0\), or of the host, found cuda\(1\); to"),
        (lambda: runtime.array(DATA, device="cuda(0)")[::2], None, "expected 16 in dimension 0 .* found shape"),
        (lambda: runtime.array(np.ones((16, 2), np.float32), device="cuda(0)")[:, 1], None, "expected compact strides"),
        (lambda: DATA, lambda: np.broadcast_to(DATA, (16,)), "expected memory to write the output to, found"),
        (lambda: DATA, lambda: runtime.array(DATA, device="cuda(0)").broadcast_to(16), "found a read-only array"),
    ],
)  # fmt: skip
def test_arrays_that_a_network_can_not_use_are_refused(
    network: runtime.Model, given: Callable[[], Any], out: Callable[[], Any] | None, words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        network.run({"x": given()}, out=None if out is None else {"y": out()})


def test_arrays_from_before_a_device_was_closed_are_refused(network: runtime.Model) -> None:
    old = runtime.array(DATA, device="cuda(0)")
    old.holder().close()
    again = runtime.load(network.artifact)
    with pytest.raises(
        ArgumentError, match=r"argument 0 \(x\): expected memory of cuda\(0\) as it is open, found some"
    ):
        again.run({"x": old})


def test_a_machine_without_the_driver_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(cuda_library.ctypes, "CDLL", missing)
    monkeypatch.setattr(cuda, "cuda_library", cuda_library.cuda_library.__wrapped__)
    (found,) = OpenDevices({CudaDriver.kind: CudaDriver()}).found()
    assert found.missing == "expected CUDA's driver, libcuda.so.1, found none"
    assert found.remedy == "install NVIDIA's driver, which brings it; the toolkit is not needed"


_POINTERS = {"CUcontext", "CUstream", "CUevent", "CUmodule", "CUfunction", "CUgraph", "CUgraphExec"}


def _type(text: str) -> str:
    """What a parameter of C is for a call: a pointer, or a number of some bytes."""
    words = text.replace("const ", "").replace("*", " * ").split()
    if "*" in words or words[0] in _POINTERS or text.rstrip().endswith("]"):
        return "pointer"
    is_long = words[0] in {"CUdeviceptr", "size_t", "cuuint64_t"} or words[:2] == ["unsigned", "long"]
    return "8" if is_long else "4"


def _ours(type_: Any) -> str:
    is_pointer = type_ in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(type_, "contents")
    return "pointer" if is_pointer else str(ctypes.sizeof(type_))


NUMBERS = {
    "MAX_THREADS_PER_BLOCK": "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "MAX_BLOCK_DIM": "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_{X,Y,Z}",
    "MAX_GRID_DIM": "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_{X,Y,Z}",
    "MAX_SHARED_MEMORY_PER_BLOCK": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK",
    "WARP_SIZE": "CU_DEVICE_ATTRIBUTE_WARP_SIZE",
    "MULTIPROCESSOR_COUNT": "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
    "INTEGRATED": "CU_DEVICE_ATTRIBUTE_INTEGRATED",
    "COMPUTE_CAPABILITY": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{MAJOR,MINOR}",
    "FUNCTION_MAX_THREADS_PER_BLOCK": "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "JIT_ERROR_LOG_BUFFER": "CU_JIT_ERROR_LOG_BUFFER",
    "JIT_ERROR_LOG_BUFFER_SIZE_BYTES": "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
    "STREAM_NON_BLOCKING": "CU_STREAM_NON_BLOCKING",
    "CAPTURE_THREAD_LOCAL": "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL",
    "NOT_READY": "CUDA_ERROR_NOT_READY",
}
FAULTS = {
    Fault.MEMORY: "OUT_OF_MEMORY",
    Fault.CODE: "INVALID_IMAGE NO_BINARY_FOR_GPU INVALID_PTX JIT_COMPILER_NOT_FOUND UNSUPPORTED_PTX_VERSION "
    "JIT_COMPILATION_DISABLED INVALID_SOURCE NOT_FOUND",
    Fault.LOST: "DEINITIALIZED INVALID_CONTEXT ECC_UNCORRECTABLE NVLINK_UNCORRECTABLE CONTAINED ILLEGAL_ADDRESS "
    "LAUNCH_TIMEOUT CONTEXT_IS_DESTROYED ASSERT HARDWARE_STACK_ERROR ILLEGAL_INSTRUCTION MISALIGNED_ADDRESS "
    "INVALID_ADDRESS_SPACE INVALID_PC LAUNCH_FAILED TENSOR_MEMORY_LEAK UNKNOWN",
}


@pytest.mark.skipif(not HEADERS, reason="cuda.h, of CUDA's toolkit, is not installed")
def test_numbers_are_those_of_cuda_s_header() -> None:
    text = HEADERS[-1].read_text(encoding="utf-8")
    found_there = re.findall(r"^\s+(CU\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b,?", text, re.MULTILINE)
    defined = {name: int(number, 0) for name, number in found_there}
    for ours, name in NUMBERS.items():
        stem, _, rest = name.partition("{")
        wanted = [defined[stem + end] for end in rest.rstrip("}").split(",")]
        found = getattr(cuda_library, ours)
        assert list(found if isinstance(found, tuple) else (found,)) == wanted, ours
    expected = {defined[f"CUDA_ERROR_{name}"]: fault for fault, names in FAULTS.items() for name in names.split()}
    assert expected == cuda_library._FAULTS


@pytest.mark.skipif(not HEADERS, reason="cuda.h, of CUDA's toolkit, is not installed")
@pytest.mark.parametrize("name", cuda_library._FUNCTIONS)
def test_functions_have_the_types_of_cuda_s_header(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADERS[-1].read_text(encoding="utf-8"), flags=re.DOTALL)
    plain = re.sub(r"_v\d$", "", name).removesuffix("WithFlags")
    found = re.search(rf"CUresult CUDAAPI {name}\(([^)]*)\);", text) or re.search(
        rf"CUresult CUDAAPI {plain}\(([^)]*)\);", text
    )
    assert found is not None
    assert [_type(p) for p in found[1].split(",")] == [_ours(t) for t in cuda_library._FUNCTIONS[name]]
