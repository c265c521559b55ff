"""Functions in Python as compiled code calls them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from sateen.runtime import HostFunction, NDArray
from sateen.runtime.abi import PublicFunction, Status


def call(function: HostFunction, *arrays: np.ndarray) -> int:
    """A call by its address, as of compiled code."""
    tensors = [NDArray.of(array) for array in arrays]
    pointers = (ctypes.c_void_p * len(tensors))(*[tensor.handle for tensor in tensors])
    return PublicFunction(function.address)(None, pointers, len(tensors))


def test_it_works_on_the_memory_of_the_caller() -> None:
    def add(a: NDArray, b: NDArray, total: NDArray) -> None:
        total.numpy()[...] = a.numpy() + b.numpy()

    function, result = HostFunction("add", add), np.zeros((2, 3), "int16")
    a = np.arange(12, dtype="int16").reshape(4, 3)[::2]
    assert call(function, a, np.array(5, "int16"), result) == 0
    np.testing.assert_array_equal(result, a + 5)
    assert function.take_failure() is None


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda _: 1 // 0, ZeroDivisionError, "by zero"),
        (lambda _: 0, TypeError, "expected None as the result, found int"),
        (lambda: None, TypeError, "positional argument"),
        (lambda _: (_ for _ in ()).throw(KeyboardInterrupt), KeyboardInterrupt, ""),
    ],
)
def test_a_failure_is_a_status_and_is_kept_once(body: object, error: type[BaseException], message: str) -> None:
    function = HostFunction("f", body)  # type: ignore[arg-type]
    assert call(function, np.zeros(1)) == Status.FUNCTION
    failure = function.take_failure()
    assert isinstance(failure, error)
    assert message in str(failure)
    assert function.take_failure() is None
