"""Numbers among the arguments of a function: variables of te that no array's shape gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, ScheduleError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import evaluate, run

Array = np.ndarray[Any, Any]
X = np.arange(5, dtype="float32")


def scaled() -> tuple[te.Schedule, list[Any], te.Tensor]:
    """y[i] = a · x[i + first] for i below the extent of y."""
    n, m = te.var("n"), te.var("m")
    a, first = te.var("a", "float32"), te.var("first")
    x = te.placeholder((n,), name="x")
    y = te.compute((m,), lambda i: te.select(i + first < n, x[i + first] * a, 0.0), name="y")
    return te.create_schedule(y), [a, x, first, y], y


def test_numbers_are_parameters_without_dimensions() -> None:
    s, arguments, y = scaled()
    s[y].parallel(y.op.axis[0])
    function = lower(s, arguments)
    a, x, first, _ = arguments
    head = "function run[m, n](a: float32[] align 4, x: float32[n] align 4, first: int64[] align 8, y: out float32[m] "
    assert str(function).splitlines()[:3] == [
        f"{head}align 4)",
        "  let first_1 = index(first[])",
        "  let a_1 = a[]",
    ]
    expected = [5.0, 7.5, 10.0, 0.0]
    m = y.shape[0]
    assert evaluate([y], {x: X}, {a: 2.5, first: 2, m: 4})[0].tolist() == expected
    compiled, interpreted, found = build(s, arguments), np.zeros(4, "float32"), np.zeros(4, "float32")
    run(function, [np.array(2.5, "float32"), X, np.array(2), interpreted])
    assert interpreted.tolist() == expected
    for numbers in ((2.5, 2), (np.float32(2.5), np.int32(2)), (np.array(2.5, "float32"), np.array(2))):
        found[:] = 0
        compiled(numbers[0], X, numbers[1], found)
        assert found.tolist() == expected


def test_numbers_of_another_type_are_refused() -> None:
    s, arguments, _ = scaled()
    compiled, y = build(s, arguments), np.zeros(4, "float32")

    def refused(message: str, *given: Any) -> None:
        with pytest.raises(ArgumentError, match=re.escape(message)):
            compiled(*given)

    refused("argument 2 (first): expected a number of int64, found 2.5", 1.0, X, 2.5, y)
    refused("argument 2 (first): expected a number of int64, found 1180591620717411303424", 1.0, X, 1 << 70, y)
    refused("argument 0 (a): expected float32, found float64", np.array(1.0), X, 2, y)
    refused("argument 1 (x): expected", 1.0, 3.0, 2, y)
    refused("argument 3 (y): expected", 1.0, X, 2, 4.0)


def test_an_extent_that_shapes_give_is_no_argument() -> None:
    s, arguments, y = scaled()
    n = arguments[1].shape[0]
    for given, message in (
        ([*arguments, n], "lower: 'n' is an extent of another argument, which gives its value; leave it out"),
        ([*arguments, arguments[0]], "lower: 'a' is among the arguments twice"),
        ([*arguments, y.op.axis[0]], "lower expects variables made by te.var as arguments, found axis 'i'"),
    ):
        with pytest.raises(ScheduleError, match=re.escape(message)):
            lower(s, given)


def test_the_factor_of_a_split_may_be_an_argument() -> None:
    x = te.placeholder((5,), name="x")
    y = te.compute((5,), lambda i: x[i] + 1.0, name="y")
    s, factor = te.create_schedule(y), te.var("factor")
    s[y].split(y.op.axis[0], factor=factor)
    compiled, found = build(s, [x, y, factor]), np.zeros(5, "float32")
    for tile in (1, 3, 7):
        found[:] = 0
        compiled(X, found, tile)
        assert found.tolist() == [1, 2, 3, 4, 5]


def test_kernels_of_a_device_load_numbers_themselves(launch: Callable[..., object]) -> None:
    s, arguments, y = scaled()
    s[y].bind(y.op.axis[0], te.thread_axis("blockIdx.x"))
    found = np.zeros(4, "float32")
    launch(lower(s, arguments), np.array(2.5, "float32"), X, np.array(2), found)
    assert found.tolist() == [5.0, 7.5, 10.0, 0.0]
