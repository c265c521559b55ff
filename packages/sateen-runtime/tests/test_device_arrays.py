"""Arrays on devices: views, copies, DLPack; on OpenCL, WebGPU, and the tests' driver of CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import ArgumentError, DeviceError, NDArray, OutOfMemoryError
from sateen.runtime.devices import OpenDevices
from sateen.runtime.devices.cuda import CudaDriver
from sateen.runtime.devices.process_devices import DRIVERS
from sateen.runtime.dlpack import IS_COPIED, READ_ONLY, _ManagedVersioned, _pointer_of

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6)


class Capsule:
    """A producer of one capsule, of a device."""

    def __init__(self, capsule: object, device: tuple[int, int]) -> None:
        self.capsule = capsule
        self.device = device
        self.streams: list[object] = []

    def __dlpack__(self, stream: object = None, max_version: object = None) -> object:
        self.streams.append(stream)
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


@pytest.fixture(params=["opencl(0)", "webgpu(0)", "cuda(1)"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A device by its name; skipped where there is none."""
    if request.param.startswith("cuda"):
        driver = request.getfixturevalue("cuda_driver")
        monkeypatch.setattr("sateen.runtime.ndarray.PROCESS_DEVICES", OpenDevices({CudaDriver.kind: driver}))
    else:
        try:
            runtime.open_device(request.param)
        except DeviceError as error:
            pytest.skip(str(error))
    name: str = request.param
    return name


def there(place: str, values: Any = VALUES) -> NDArray:
    return runtime.array(values, device=place)


def test_slices_share_memory(place: str) -> None:
    array = there(place)
    rows, column, element = array[1:3], array[::-2, 1], array[2, 3]
    array[2] = 7
    expected = VALUES.copy()
    expected[2] = 7
    for view, same in ((rows, expected[1:3]), (column, expected[::-2, 1]), (element, expected[2, 3])):
        assert (view.shape, str(view.device)) == (np.shape(same), place)
        np.testing.assert_array_equal(view.numpy(), same)
        np.testing.assert_array_equal(view.to("cpu").numpy(), same)


def test_shapes_are_views(place: str) -> None:
    array = there(place)
    array.reshape(2, -1)[1] = np.ones(12)
    expected = VALUES.copy()
    expected[2:] = 1
    np.testing.assert_array_equal(array.transpose().numpy(), expected.T)
    repeated = array[0].broadcast_to(3, 6)
    np.testing.assert_array_equal(repeated.numpy(), np.broadcast_to(expected[0], (3, 6)))
    np.testing.assert_array_equal(array[0].broadcast_to((3, 6)).numpy(), repeated.numpy())
    np.testing.assert_array_equal(array.reshape((2, -1)).transpose((1, 0)).numpy(), expected.reshape(2, -1).T)
    with pytest.raises(ArgumentError, match="expected memory to copy to, found a read-only array"):
        repeated[0] = 1


def test_parts_are_assigned_from_strided_memory_of_the_host_and_of_the_device(place: str) -> None:
    array, expected = there(place), VALUES.copy()
    array[:, 1:3] = expected[:, 1:3] = np.arange(16.0).reshape(4, 4)[:, ::-2]
    array[::3] = expected[::3] = np.float32(5)
    array[1, ::2] = there(place)[2, 3:]
    expected[1, ::2] = VALUES[2, 3:]
    np.testing.assert_array_equal(array.numpy(), expected)


@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_every_type_goes_there_and_back(place: str, name: str, count: int) -> None:
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    values = runtime.array(np.arange(count) % 2, name)
    array = values.to(place)
    array[: count // 2] = values[count - count // 2 :] if count else values.numpy()
    expected = values.numpy().copy()
    expected[: count // 2] = expected[count - count // 2 :] if count else expected
    np.testing.assert_array_equal(array.numpy(), expected)
    assert array.to(place).numpy().dtype == expected.dtype


def test_copies_are_queued_in_order(place: str) -> None:
    source, first, second = VALUES.copy(), runtime.empty((4, 6), device=place), runtime.empty((4, 6), device=place)
    found, part = np.zeros((4, 6), np.float32), np.zeros((4, 9), np.float32)
    NDArray.of(source).copy_to(first)
    first.copy_to(second)
    second.copy_to(NDArray.of(found))
    event = second[:, :3].copy_to(NDArray.of(part[:, 2:5]))
    event.wait()
    assert event.is_reached
    np.testing.assert_array_equal(found, VALUES)
    np.testing.assert_array_equal(part[:, 2:5], VALUES[:, :3])
    assert not part[:, :2].any()


def test_a_queue_waits_for_another_one(place: str) -> None:
    array, found = runtime.empty((4, 6), device=place), np.zeros((4, 6), np.float32)
    device = array.holder()
    event = NDArray.of(VALUES).copy_to(array, queue=1)
    device.wait(0, event)
    last = array.copy_to(NDArray.of(found))
    device.wait(2, 0)
    device.sync()
    np.testing.assert_array_equal(found, VALUES)
    assert last.seconds_since(event) >= 0


def test_memory_of_queued_copies_is_kept(place: str) -> None:
    array = runtime.empty((1 << 12,), device=place)
    for i in range(20):
        runtime.array(np.full(1 << 12, i, np.float32)).copy_to(array)
    assert array.numpy().tolist() == [19.0] * (1 << 12)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda a: a.copy_to(a[:2]), r"expected an array of float32\[4, 6\] to copy to, found float32\[2, 6\]"),
        (lambda a: a[:3].copy_to(a[1:]), r"expected memory of its own .* that the array shares; to\(\) copies"),
        (lambda a: NDArray.of(VALUES).copy_to(a.to("cpu")), r"expected a device at one end .* found cpu\(0\) at both"),
        (lambda a: a[[0, 1]], "expected integers, slices, None or an ellipsis as indices on a device"),
        (lambda a: a.reshape(5, 5), "expected a shape of 24 elements"),
        (lambda a: a.reshape((2, 2), 6), r"expected whole numbers, or a tuple of them, found \(\(2, 2\), 6\)"),
        (lambda a: a + 1, r"expected an array in the memory of cpu\(0\), found one on .*; numpy\(\) copies it"),
        (lambda a: runtime.empty((1 << 40, 1 << 20), device=a.device), "expected 4611686018427387904 bytes of memory"),
        (lambda a: runtime.empty((0, 1 << 70), device=a.device), r"expected extents of 0 or more and below 2\^63"),
    ],
)
def test_what_does_not_fit_is_refused(place: str, use: Any, words: str) -> None:
    with pytest.raises((ArgumentError, OutOfMemoryError), match=words):
        use(there(place))


def test_dlpack_gives_the_place_and_takes_it(place: str) -> None:
    array = there(place)
    taken = runtime.from_dlpack(array[1:, 2:4])
    assert (taken.shape, taken.strides, str(taken.device)) == ((3, 2), (6, 1), place)
    taken[...] = 0
    expected = VALUES.copy()
    expected[1:, 2:4] = 0
    np.testing.assert_array_equal(array.numpy(), expected)
    assert runtime.from_dlpack(array[0].broadcast_to(2, 6)).is_read_only


def flags_of(capsule: object) -> int:
    return _ManagedVersioned.from_address(_pointer_of(capsule, b"dltensor_versioned")).flags


def test_dlpack_copies_to_the_processor_if_asked(place: str) -> None:
    array = there(place)
    capsule = array[::2].__dlpack__(max_version=(1, 1), dl_device=(1, 0))
    assert flags_of(capsule) == IS_COPIED
    np.testing.assert_array_equal(runtime.from_dlpack(Capsule(capsule, (1, 0))).numpy(), VALUES[::2])
    other = array.__dlpack__(max_version=(1, 1), copy=True, dl_device=array.__dlpack_device__())
    assert flags_of(other) == IS_COPIED
    assert flags_of(array.broadcast_to(1, 4, 6).__dlpack__(max_version=(1, 1))) == READ_ONLY
    for device, copy in (((1, 0), False), ((8, 0), None)):
        with pytest.raises(BufferError, match=r"can't be exported to DLPack device"):
            array.__dlpack__(max_version=(1, 1), dl_device=device, copy=copy)


def test_streams_are_cuda_s(place: str) -> None:
    array = there(place)
    if not place.startswith("cuda"):
        with pytest.raises(BufferError, match="has no stream, found 1"):
            array.__dlpack__(stream=1)
        return
    for stream in (None, -1, 1, 2, 1 << 40):
        array.__dlpack__(stream=stream)
    for wrong in (0, -2, "1", True):
        with pytest.raises(BufferError, match="expected a stream of cuda"):
            array.__dlpack__(stream=wrong)
    producer = Capsule(array.__dlpack__(max_version=(1, 1)), (2, 1))
    runtime.from_dlpack(producer)
    assert producer.streams == [array.holder().stream()]


def test_what_is_given_away_is_complete(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = runtime.empty((4, 6), device=place)
    waited: list[int] = []
    record = array.holder()._connection.record
    monkeypatch.setattr(array.holder()._connection, "record", lambda queue: waited.append(queue) or record(queue))
    NDArray.of(VALUES).copy_to(array, queue=3)
    waited.clear()
    array.__dlpack__()
    assert 3 in waited


def test_memory_of_another_opening_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not place.startswith("cuda"):  # whose devices are this test's own already
        monkeypatch.setattr("sateen.runtime.ndarray.PROCESS_DEVICES", OpenDevices(DRIVERS))
    old = there(place)
    device = old.holder()
    device.close()
    assert device.allocated_bytes == 0
    with pytest.raises(DeviceError, match="it is closed; open it again"):
        old.numpy()
    new = there(place)
    assert new.holder() is not device
    with pytest.raises(DeviceError, match="it is closed"):
        old.copy_to(new)


def test_arrays_go_from_device_to_device() -> None:
    try:
        array = there("opencl(0)")
        other = runtime.empty((6, 4), device="webgpu(0)")
    except DeviceError as error:
        pytest.skip(str(error))
    array.transpose().copy_to(other).wait()
    np.testing.assert_array_equal(other.numpy(), VALUES.T)
    np.testing.assert_array_equal(other[1:].to("opencl(0)").numpy(), VALUES.T[1:])


def test_elements_of_the_processor_have_views_too() -> None:
    array = runtime.array(VALUES)
    turned = array.reshape(2, 12).transpose()
    turned.numpy()[0, 1] = 99
    assert array.numpy()[2, 0] == 99
    assert turned.broadcast_to(3, 12, 2).is_read_only
