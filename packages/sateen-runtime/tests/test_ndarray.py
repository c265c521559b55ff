import numpy as np
import pytest

from sateen.runtime import ArgumentError, DType, NDArray, array, cpu, empty, opencl
from sateen.runtime.abi import DLTensor


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 5), (0, 4)])
def test_new_memory_is_aligned_and_compact(shape: tuple[int, ...]) -> None:
    value = empty(shape, "float64")
    assert value.data % 64 == 0
    assert value.is_compact
    assert (value.shape, value.ndim, value.dtype, value.device) == (shape, len(shape), DType.of("float64"), cpu())
    assert value.nbytes == value.numpy().nbytes


def test_an_array_is_a_copy() -> None:
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = array(source)
    source[:] = 0
    np.testing.assert_array_equal(value.numpy(), np.arange(6).reshape(2, 3))
    assert value.dtype == DType.of("float32")


def test_an_array_can_change_the_type() -> None:
    assert array([1.5, 2.5], "int32").numpy().tolist() == [1, 2]
    assert array(array([1, 2]), "float16").dtype == DType.of("float16")


def test_a_numpy_array_is_viewed_in_place() -> None:
    source = np.zeros((4, 6), np.int16)[::2, 1:4]
    view = NDArray.of(source)
    assert (view.shape, view.strides, view.data) == ((2, 3), (12, 1), source.ctypes.data)
    assert not view.is_compact
    view.numpy()[...] = 7
    assert (source == 7).all()
    assert NDArray.of(view) is view


def test_the_tensor_says_what_the_array_says() -> None:
    view = NDArray.of(np.zeros((4, 6), np.float32).T)
    tensor = DLTensor.from_address(view.handle)
    assert (tensor.data, tensor.ndim, tensor.byte_offset) == (view.data, 2, 0)
    assert (tensor.shape[:2], tensor.strides[:2]) == ([6, 4], [1, 6])
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (2, 32, 1)
    assert (tensor.device.device_type, tensor.device.device_id) == (1, 0)
    assert not DLTensor.from_address(NDArray.of(np.zeros((4, 6))).handle).strides


@pytest.mark.parametrize(
    ("shape", "strides", "compact"),
    [
        ((2, 3), (3, 1), True),
        ((1, 3), (99, 1), True),
        ((2, 1), (1, 99), True),
        ((2, 3), (4, 1), False),
        ((0, 3), (9, 9), True),
        ((), (), True),
    ],
)
def test_extents_of_one_do_not_matter_for_compactness(
    shape: tuple[int, ...], strides: tuple[int, ...], compact: bool
) -> None:
    memory = np.zeros(16, np.float32)
    value = NDArray(memory.ctypes.data, shape, strides, DType.of("float32"), cpu(), owner=memory, read_only=False)
    assert value.is_compact is compact


def test_borrowed_memory_becomes_a_numpy_array_with_its_strides() -> None:
    memory = np.arange(12, dtype=np.float32)
    value = NDArray(memory.ctypes.data + 8, (3, 2), (-1, 4), DType.of("float32"), cpu(), owner=[memory], read_only=True)
    result = value.numpy()
    np.testing.assert_array_equal(result, [[2, 6], [1, 5], [0, 4]])
    assert not result.flags.writeable


def test_numpy_functions_take_arrays() -> None:
    value = array([1.0, 2.0])
    assert np.shares_memory(np.asarray(value), value.numpy())
    assert np.asarray(value, np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(value), value.numpy())


def test_bfloat16_arrays_hold_values() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    value = array([1.0, -2.5], "bfloat16")
    assert value.numpy().dtype == ml_dtypes.bfloat16
    assert value.numpy().astype(np.float32).tolist() == [1.0, -2.5]


def test_the_text_says_type_shape_and_device() -> None:
    assert repr(empty((2, 3), "int8")) == "NDArray(int8[2, 3] on cpu(0))"


def test_the_text_of_an_array_is_its_values_as_numpy_prints_them() -> None:
    assert str(array([1, 2], "int8")) == f"{array([1, 2], 'int8')}" == "[1 2]"
    assert str(array(np.arange(5000))) == "[   0    1    2 ... 4997 4998 4999]"
    elsewhere = NDArray(0, (2,), (1,), DType.of("int8"), opencl(), owner=None, read_only=False)
    assert str(elsewhere) == repr(elsewhere) == "NDArray(int8[2] on opencl(0))"


def test_it_has_the_length_and_the_rows_of_an_array_of_numpy() -> None:
    value = array([[1, 2, 3], [4, 5, 6]])
    assert len(value) == 2
    assert [row.tolist() for row in value] == [[1, 2, 3], [4, 5, 6]]
    assert value[1, -1] == 6
    value[0] = 0
    assert value.numpy().tolist() == [[0, 0, 0], [4, 5, 6]]


def test_comparison_and_arithmetic_go_element_by_element() -> None:
    one, other = array([1, 2, 3]), array([1, 5, 3])
    for equal in (one == other, one == other.numpy(), one.numpy() == other):
        assert isinstance(equal, np.ndarray)
        assert equal.tolist() == [True, False, True]
    assert (one != other).tolist() == [False, True, False]
    assert (one + other * 2 - 1).tolist() == [2, 11, 8]
    assert np.add(one, 1, out=other) is not None
    assert other.numpy().tolist() == [2, 3, 4]


def test_the_truth_of_several_elements_is_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
        bool(array([1, 2]) == array([1, 2]))
    assert array([[3.5]])
    assert (float(array(3.5)), int(array(3.5)), bool(array(0))) == (3.5, 3, False)


def test_elements_of_a_device_are_refused() -> None:
    value = NDArray(4096, (3,), (1,), DType.of("float32"), opencl(), owner=None, read_only=False)
    for use in (len, list, lambda a: a == 1, lambda a: a + 1, bool):
        with pytest.raises(ArgumentError, match=r"in the memory of cpu\(0\), found one on opencl\(0\)"):
            use(value)  # type: ignore[operator]


def test_numbers_of_the_other_byte_order_are_copied_into_that_of_this_machine() -> None:
    value = array(np.arange(3, dtype=np.dtype("f4").newbyteorder()))
    assert (value.dtype, value.numpy().tolist()) == (DType.of("float32"), [0, 1, 2])


def test_negative_extents_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected extents of 0 or more and below 2\^63, found shape \(2, -1\)"):
        empty((2, -1))


def test_there_is_one_processor() -> None:
    with pytest.raises(ArgumentError, match=r"expected cpu\(0\), the only processor, found cpu\(1\)"):
        empty(3, device="cpu(1)")


def test_an_array_of_vectors_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected an element type of one lane for an array, found float32x4"):
        empty(3, "float32x4")


def test_an_object_of_another_context_is_not_read() -> None:
    value = NDArray(4096, (3,), (1,), DType.of("float32"), opencl(), owner=None, read_only=False)
    with pytest.raises(ArgumentError, match="that sateen allocated, found an object of another context"):
        value.numpy()


def test_fields_of_records_whose_strides_split_elements_are_refused() -> None:
    records = np.zeros(4, np.dtype([("a", "u1"), ("b", "f4")]))
    with pytest.raises(ArgumentError, match=r"expected strides of whole elements of float32, found \(5,\) bytes"):
        NDArray.of(records["b"])


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected an array that speaks DLPack, found list"):
        NDArray.of([1, 2])  # type: ignore[arg-type]


def test_shapes_and_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected a shape of integers, found \(1.5,\)"):
        empty((1.5,))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="expected an array of numbers, found what NumPy refuses: "):
        array([[1], [1, 2]])
