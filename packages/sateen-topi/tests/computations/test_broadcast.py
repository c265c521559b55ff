"""Broadcasting, and arithmetic where its definition has corners."""

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir import Machine, build, te
from sateen.topi.computations import broadcast
from sateen.topi.schedules import schedule_injective
from sateen.topi.types import placeholder

RANDOM = np.random.default_rng(0)


def binary(function):
    return lambda a, b: broadcast.combine((a, b), function, "f")


def test_shapes_without_a_common_one_are_refused():
    assert broadcast.broadcast_shape((2, 1, 4), (3, 1), ()) == (2, 3, 4)
    assert broadcast.broadcast_shape((0, 3), (1, 3)) == (0, 3)
    with pytest.raises(ArgumentError, match=r"^shapes \[2, 3\] and \[4\] differ in dimension 1 of the common shape$"):
        broadcast.broadcast_shape((2, 3), (4,))


def test_an_operand_per_channel_is_read_in_place(compiled):
    module = compiled(binary(lambda a, b: a * b), (1, 64, 7, 7), (64, 1, 1))
    assert module.report.gathers == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fmod_is_exact_for_any_quotient(dtype):
    x = (RANDOM.normal(size=400) * 10.0 ** RANDOM.uniform(-30, 30, 400)).astype(dtype)
    y = (RANDOM.normal(size=400) * 10.0 ** RANDOM.uniform(-30, 5, 400)).astype(dtype)
    x[:7], y[:7] = [6, -9, np.inf, 1, 1, 0, -0.0], [3, 3, 2, 0, np.inf, 5, 5]
    largest = np.finfo(dtype).max
    x[7:9], y[7:9] = [largest, largest], [np.nextafter(largest, 0), largest * 0.6]
    a, b = placeholder(x.shape, dtype, "a"), placeholder(y.shape, dtype, "b")
    result = binary(broadcast.fmod)(a, b).view.tensor
    schedule = te.create_schedule(result)
    schedule_injective(schedule, result, Machine.of("llvm"))
    found = np.zeros_like(x)
    build(schedule, [a.tensor, b.tensor, result])(x, y, found)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.fmod(x, y))
    np.testing.assert_array_equal(np.signbit(found[6]), True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fmod_calls_no_library(dtype):
    """A module of WebAssembly, which may call nothing, links."""
    a, b = placeholder((5,), dtype, "a"), placeholder((5,), dtype, "b")
    result = binary(broadcast.fmod)(a, b).view.tensor
    schedule = te.create_schedule(result)
    assert build(schedule, [a.tensor, b.tensor, result], target="wasm32", name="f").library()[:4] == b"\0asm"


def test_fmod_of_a_quotient_beyond_its_reach_is_nan(computed):
    found = computed(binary(broadcast.fmod), np.array([1e300, np.nan]), np.array([1e-300, 1]))
    assert np.isnan(found).all()


def test_powers_of_integers_wrap_and_have_signs(computed):
    base = np.array([3, -3, 2, 2, -1, -1, 0, 0, 7], "int32")
    exponent = np.array([19, 3, 31, 32, 1_000_001, -3, 0, 9, -1], "int64")
    found = computed(binary(broadcast.power), base, exponent)
    assert found.tolist() == [1162261467, -27, -(2**31), 0, -1, -1, 1, 0, 0]


def test_division_by_zero_and_by_minus_one_do_not_trap():
    """The definition has no result there, native code must return."""
    a, b = placeholder((2,), "int32", "a"), placeholder((2,), "int32", "b")
    result = binary(broadcast.divide)(a, b).view.tensor
    found = np.ones(2, "int32")
    arguments = np.array([5, -(2**31)], "int32"), np.array([0, -1], "int32")
    build(te.create_schedule(result), [a.tensor, b.tensor, result])(*arguments, found)
    assert found.tolist() == [0, -(2**31)]
