import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest

from sateen.runtime import ArgumentError, Device, DType, NDArray, array, cpu, cuda, dlpack, empty, from_dlpack, opencl
from sateen.runtime.abi import DLDataType, DLDevice, DLTensor


class Producer:
    """An array that gives one capsule and lies about its device where told to."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_numpy_takes_an_array_without_a_copy() -> None:
    value = array(np.arange(6.0).reshape(2, 3))
    taken = np.from_dlpack(value)
    assert np.shares_memory(taken, value.numpy())
    np.testing.assert_array_equal(taken, np.arange(6.0).reshape(2, 3))


def test_a_numpy_array_is_taken_without_a_copy() -> None:
    source = np.arange(12, dtype=np.int32).reshape(3, 4).T
    taken = from_dlpack(source)
    assert (taken.data, taken.shape, taken.strides) == (source.ctypes.data, (4, 3), (1, 4))
    np.testing.assert_array_equal(taken.numpy(), source)


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float64", "bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_every_type_and_shape_round_trips(name: str, shape: tuple[int, ...]) -> None:
    if name in ("bfloat16", "float8_e5m2"):
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    value = empty(shape, name)
    taken = from_dlpack(value)
    assert (taken.dtype, taken.shape) == (DType.of(name), shape)
    assert taken.data == value.data or value.size == 0


def test_torch_shares_memory_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    value = array(np.arange(4.0))
    tensor = torch.from_dlpack(value)
    tensor += 1
    assert value.numpy().tolist() == [1, 2, 3, 4]
    assert NDArray.of(tensor).data == value.data


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_keeps_the_array_alive_until_it_goes(version: tuple[int, int] | None) -> None:
    value = empty(3)
    alive = weakref.ref(value)
    capsule = value.__dlpack__(max_version=version)
    del value
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_consumer_keeps_the_array_alive_until_it_goes(version: tuple[int, int] | None) -> None:
    value = array([1.0, 2.0])
    alive = weakref.ref(value)
    taken = from_dlpack(Producer(value.__dlpack__(max_version=version)))
    view = taken.numpy()
    del value, taken
    gc.collect()
    assert alive() is not None
    assert view.tolist() == [1.0, 2.0]
    del view
    gc.collect()
    assert alive() is None


def test_a_taken_numpy_array_is_released_with_the_last_view() -> None:
    source = np.arange(5)
    before = sys.getrefcount(source)
    taken = from_dlpack(source)
    assert sys.getrefcount(source) == before + 1
    del taken
    assert sys.getrefcount(source) == before


def test_a_read_only_array_stays_read_only() -> None:
    source = np.arange(3)
    source.flags.writeable = False
    value = NDArray.of(source)
    assert from_dlpack(Producer(value.__dlpack__(max_version=(1, 0)))).is_read_only
    with pytest.raises(BufferError, match=r"a read-only array needs a consumer of DLPack 1\.0 or later"):
        value.__dlpack__()


def test_a_copy_is_one_when_asked_for() -> None:
    value = array([1, 2, 3])
    taken = from_dlpack(Producer(value.__dlpack__(copy=True)))
    value.numpy()[0] = 9
    assert taken.numpy().tolist() == [1, 2, 3]


def test_another_device_is_refused() -> None:
    with pytest.raises(BufferError, match=r"an array on cpu\(0\) can't be exported to DLPack device \(2, 0\)"):
        array([1]).__dlpack__(dl_device=(2, 0))


def test_a_stream_is_refused_for_memory_of_processors() -> None:
    with pytest.raises(BufferError, match=r"an array on cpu\(0\) has no stream, found 1"):
        array([1]).__dlpack__(stream=1)


def test_a_capsule_is_taken_once() -> None:
    capsule = array([1]).__dlpack__()
    from_dlpack(Producer(capsule))
    with pytest.raises(
        ArgumentError, match="expected a DLPack capsule that nobody has consumed, found one named b'used_"
    ):
        from_dlpack(Producer(capsule))


def test_memory_of_a_device_keeps_its_device() -> None:
    value = NDArray(4096, (3,), (1,), DType.of("float32"), cuda(1), owner=None, read_only=False)
    taken = from_dlpack(value)
    assert (taken.device, taken.data) == (cuda(1), 4096)


def exported_at(device: Device, data: int, byte_offset: int, owner: object) -> Producer:
    """Three numbers of float32, which begin behind the first bytes of their memory."""
    extents = (ctypes.c_int64 * 3)(3)
    float32 = DLDataType(2, 32, 1)
    tensor = DLTensor(data, DLDevice(device.kind, device.index), 1, float32, extents, None, byte_offset)
    return Producer(dlpack.to_capsule(tensor, (extents, owner), versioned=True))


def test_an_offset_of_addresses_counts() -> None:
    source = np.arange(6, dtype=np.float32)
    taken = from_dlpack(exported_at(cpu(), source.ctypes.data, 8, source))
    assert taken.numpy().tolist() == [2, 3, 4]
    assert from_dlpack(exported_at(cuda(1), 4096, 8, None)).data == 4104


def test_an_offset_into_an_object_is_a_place_in_it() -> None:
    taken = from_dlpack(exported_at(opencl(), 4096, 8, None))
    assert (taken.device, taken.data, taken.byte_offset) == (opencl(), 4096, 8)
    assert from_dlpack(taken[1:]).byte_offset == 12


def test_a_capsule_that_is_dropped_with_an_exception_set_lets_its_array_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by NumPy, which finds a device that it does not know, and loses its exception."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    class Refused:
        """Keeps no capsule, so that the consumer drops the only one."""

        def __dlpack__(self, **_: object) -> object:
            value = given.pop()
            return exported_at(opencl(0), value.data, 0, value).capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return opencl(0).kind, 0

    given = [empty(3)]
    alive = weakref.ref(given[0])
    with pytest.raises(SystemError):
        np.from_dlpack(Refused())  # type: ignore[arg-type]
    gc.collect()
    assert alive() is None
    assert unraisable == []


def test_types_that_sateen_lacks_are_refused() -> None:
    with pytest.raises(ArgumentError, match="expected an element type and a device that sateen knows, found 5 is not"):
        from_dlpack(np.zeros(3, np.complex64))


def test_what_numpy_can_not_export_is_refused_with_its_reason() -> None:
    with pytest.raises(ArgumentError, match="expected an array that DLPack can pass, found ndarray: "):
        from_dlpack(np.array(["a"]))


def test_lanes_of_elements_are_a_last_dimension() -> None:
    numbers = np.arange(24, dtype="float32")
    extents, steps = (ctypes.c_int64 * 2)(2, 2), (ctypes.c_int64 * 2)(3, 2)
    for strides, last in ((None, 12), (steps, 20)):
        tensor = DLTensor(numbers.ctypes.data, DLDevice(1, 0), 2, DLDataType(2, 32, 4), extents, strides)
        found = from_dlpack(Producer(dlpack.to_capsule(tensor, (extents, numbers), versioned=True)))
        assert (str(found.dtype), found.shape) == ("float32", (2, 2, 4))
        assert found.numpy()[1, 1].tolist() == [last, last + 1, last + 2, last + 3]
