import numpy as np
import pytest

from sateen.runtime import (
    ArgumentError,
    ArtifactError,
    DType,
    ExecutionError,
    NDArray,
    OutOfMemoryError,
    Parameter,
    Signature,
    opencl,
)
from sateen.runtime.abi import Failure, Status
from sateen.runtime.diagnosis import failure_of

FLOAT = DType.of("float32")
MATMUL = Signature(
    "matmul",
    (
        Parameter("A", FLOAT, ("n", "k")),
        Parameter("B", FLOAT, ("k", 64), ("pitch", 1)),
        Parameter("C", FLOAT, ("n", 64), is_output=True),
    ),
)


def arguments(b: NDArray | None = None) -> list[NDArray]:
    zeros = [NDArray.of(np.zeros(shape, np.float32)) for shape in ((2, 3), (3, 64), (2, 64))]
    return zeros if b is None else [zeros[0], b, zeros[2]]


def told(status: int, b: NDArray | None = None) -> str:
    return str(failure_of(MATMUL, arguments(b), Failure.of(status)))


def test_the_wrong_count_names_the_parameters() -> None:
    assert str(failure_of(MATMUL, arguments()[:2], Failure.of(1))) == "matmul: expected 3 arguments (A, B, C), found 2"


def test_a_wrong_type_is_named() -> None:
    error = failure_of(MATMUL, arguments(NDArray.of(np.zeros((3, 64)))), Failure(Status.DTYPE, 1, 0))
    assert isinstance(error, ArgumentError)
    assert str(error) == (
        "matmul: argument 1 (B): expected float32, found float64; runtime.array(…, 'float32') converts a copy"
    )


def test_a_wrong_device_is_named() -> None:
    b = NDArray(0, (3, 64), (64, 1), FLOAT, opencl(1), owner=None, read_only=False)
    expected = "matmul: argument 1 (B): expected memory of device cpu, found opencl(1); to('cpu') makes a copy there"
    assert told(Status.DEVICE.at(1), b) == expected


def test_memory_of_the_host_is_refused_with_the_way_to_the_device() -> None:
    there = opencl().kind
    signature = Signature("f", tuple(Parameter(n, FLOAT, (3,), device=there, is_output=n == "y") for n in "xy"))
    given = [NDArray.of(np.zeros(3, np.float32))] * 2
    expected = "expected memory of device opencl, found cpu(0); runtime."
    for index, way in enumerate(("array(…, device='opencl') makes a copy", "empty(…, device='opencl') makes an array")):
        told = str(failure_of(signature, given, Failure(Status.DEVICE, index, 0)))
        assert told == f"f: argument {index} ({'xy'[index]}): {expected}{way} there"


def test_a_wrong_rank_shows_both_shapes() -> None:
    b = NDArray.of(np.zeros(5, np.float32))
    expected = "matmul: argument 1 (B): expected 2 dimensions, shape (k, 64), found shape (5,)"
    assert told(Status.RANK.at(1), b) == expected
    row = Signature("f", (Parameter("A", FLOAT, (10,)),))
    (told_of_row,) = failure_of(row, [NDArray.of(np.zeros((2, 5), np.float32))], Failure(Status.RANK, 0, 0)).args
    assert told_of_row == "f: argument 0 (A): expected 1 dimension, shape (10,), found shape (2, 5)"


def test_a_wrong_extent_shows_the_dimension() -> None:
    b = NDArray.of(np.zeros((3, 65), np.float32))
    expected = "matmul: argument 1 (B): expected 64 in dimension 1 of shape (k, 64), found shape (3, 65)"
    assert told(Status.SHAPE.at(1, 1), b) == expected


def test_a_wrong_symbolic_extent_shows_where_it_comes_from() -> None:
    b = NDArray.of(np.zeros((4, 64), np.float32))
    expected = "matmul: argument 1 (B): expected k = 3 as in A in dimension 0 of shape (k, 64), found shape (4, 64)"
    assert told(Status.SHAPE.at(1), b) == expected


def test_wrong_strides_are_shown_with_the_way_out() -> None:
    b = NDArray.of(np.zeros((64, 3), np.float32).T)
    expected = "argument 1 (B): expected strides (pitch, 1), found strides (1, 3); runtime.array makes a compact copy"
    assert expected in told(Status.STRIDES.at(1), b)
    assert "argument 0 (A): expected compact strides, found strides (3, 1)" in told(Status.STRIDES)


def test_a_wrong_alignment_is_shown_with_the_way_out() -> None:
    b = NDArray(0x7F00, (3, 64), (64, 1), FLOAT, opencl(), owner=None, read_only=False, byte_offset=16)
    expected = "argument 1 (B): expected memory aligned to 64 bytes, found 16; to('opencl(0)') makes an aligned copy"
    assert expected in told(Status.ALIGNMENT.at(1), b)


def test_null_and_overlap_are_told() -> None:
    assert told(Status.NULL_ARGUMENT.at(1)).endswith("argument 1 (B): expected an array, found a null pointer")
    expected = "argument 2 (C): expected memory of its own, found memory that another argument uses too"
    assert told(Status.OVERLAP.at(2)).endswith(expected)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (Status.OUT_OF_MEMORY, OutOfMemoryError, "matmul: no memory left for its workspace"),
        (Status.LAUNCH, ExecutionError, "matmul: the device refused a kernel"),
        (
            Status.NO_DEVICE,
            ExecutionError,
            "matmul: expected a device for its kernels, found a host without it",
        ),
        (Status.QUEUE, ExecutionError, "matmul: the device failed at work that it had queued"),
        (Status.TILES, ExecutionError, "matmul: the system gives this process no tile registers (AMX)"),
        (
            Status.ABI_VERSION,
            ArtifactError,
            "matmul: the library expects a host of another ABI than 2; compile it again",
        ),
        (99, ExecutionError, "matmul: failed with status 99 of argument 0, which this sateen-runtime does not know"),
        (
            Status.DTYPE.at(7),
            ExecutionError,
            "matmul: failed with status 4 of argument 7, which this sateen-runtime does not know",
        ),
    ],
)
def test_other_failures_have_their_own_errors(status: int, kind: type[Exception], text: str) -> None:
    error = failure_of(MATMUL, arguments(), Failure.of(status))
    assert (type(error), str(error)) == (kind, text)
