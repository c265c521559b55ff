"""Numbers among the arguments of a function: variables of te that no array's shape gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, CodegenError, ExpressionError, ScheduleError
from sateen.tensor_ir import build, load_json, lower, save_json, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import why_different

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


def test_bodies_of_loops_may_use_numbers() -> None:
    n, below, factor = te.var("n"), te.var("below"), te.var("factor", "float32")
    x = te.placeholder((n,), name="x")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i") as i:
            result[i] = te.select(i < below, source[i] * factor, 0.0)
        return ib.get()

    y = te.extern((n,), [x], body, name="y")
    s, expected, found = te.create_schedule(y), [0.0, 2.5, 5.0, 0.0, 0.0], np.empty(5, "float32")
    build(s, [factor, x, below, y])(2.5, X, 3, found)
    assert found.tolist() == expected
    assert evaluate([y], {x: X}, {factor: 2.5, below: 3})[0].tolist() == expected
    text = save_json(y)
    assert save_json(*load_json(text)) == text
    with pytest.raises(ScheduleError, match="lower: 'below' is no extent of an argument, which would give its value; "):
        lower(s, [factor, x, y])


def test_an_axis_of_another_computation_is_refused() -> None:
    x = te.placeholder((5,), name="x")
    other = te.compute((5,), lambda i: x[i], name="other").op.axis[0]
    y = te.compute((5,), lambda i: x[i] + other.astype("float32"), name="y")
    with pytest.raises(ScheduleError, match="lower: axis 'i' is used outside of the computation that has it"):
        lower(te.create_schedule(y), [x, y])


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


def test_an_extent_that_shapes_give_may_be_an_argument_that_agrees() -> None:
    s, arguments, _ = scaled()
    function = lower(s, [*arguments, arguments[1].shape[0]])
    compiled, found = build(s, [*arguments, arguments[1].shape[0]]), np.zeros(4, "float32")
    compiled(2.5, X, 2, found, 5)
    assert found.tolist() == [5.0, 7.5, 10.0, 0.0]
    with pytest.raises(
        ArgumentError, match=re.escape("expected n = 4 as in argument 'n' in dimension 0 of shape (n,)")
    ):
        compiled(2.5, X, 2, found, 4)
    with pytest.raises(ArgumentError, match=re.escape("argument 'x' expects shape [4], found [5]")):
        run(function, [np.array(2.5, "float32"), X, np.array(2), found, np.array(4)])


def test_what_is_no_number() -> None:
    s, arguments, y = scaled()
    for given, message in (
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


def doubled() -> tuple[te.Schedule, list[Any]]:
    """y[i] = x[i] + x[i + n] for i below n + 1, where no extent is n alone."""
    n = te.var("n")
    x = te.placeholder((2 * n + 1,), name="x")
    y = te.compute((n + 1,), lambda i: x[i] + x[i + n], name="y")
    return te.create_schedule(y), [n, x, y]


def test_extents_may_consist_of_an_argument(compiled_c: Callable[..., Any]) -> None:
    s, arguments = doubled()
    function = lower(s, arguments)
    assert str(function).splitlines()[0] == (
        "function run[n_1 = n](n: int64[] align 8 on cpu(0), x: float32[2 * n_1 + 1] align 4, y: out float32[n_1 + 1] "
        "align 4)"
    )
    read = load_json(save_json(function))
    assert why_different(function, read) is None
    assert digest(function) == digest(read)
    narrow = build(s, arguments, "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7")
    assert "run" in narrow.assembly()
    expected = [2.0, 4.0, 6.0]

    def interpreted(n: int, x: Array, y: Array) -> None:
        run(function, [np.array(n), x, y])

    for execute in (interpreted, build(s, arguments), compiled_c(function).functions["run"]):
        found = np.zeros(3, "float32")
        execute(2, X, found)
        assert found.tolist() == expected
        for n, x, message in (
            (
                1,
                X,
                "expected the extent that other arguments give in dimension 0 of shape (x.shape0,), found shape (5,)",
            ),
            (2, X[:4], "expected the extent that other arguments give in dimension 0"),
            (-1, X, "argument 0 (n): expected a number in [0, 2^31), found -1"),
            (1 << 62, X, "argument 0 (n): expected a number in [0, 2^31), found 4611686018427387904"),
        ):
            with pytest.raises(ArgumentError, match="^argument" if execute is interpreted else re.escape(message)):
                execute(n, x, found)


def test_a_host_reads_the_extents_of_its_kernels(launch: Callable[..., object]) -> None:
    s, arguments = doubled()
    s[arguments[2]].bind(arguments[2].op.axis[0], te.thread_axis("blockIdx.x"))
    found = np.zeros(3, "float32")
    launch(lower(s, arguments), np.array(2), X, found)
    assert found.tolist() == [2.0, 4.0, 6.0]


def test_an_extent_that_no_argument_gives_is_refused() -> None:
    s, (_, x, y) = doubled()
    with pytest.raises(CodegenError, match="no argument's shape gives the extent 'n'; list it among the arguments"):
        build(s, [x, y])


def test_a_symbol_of_data_is_no_extent() -> None:
    n = te.var("n", "int32")
    with pytest.raises(ExpressionError, match=re.escape("a shape expects indices, found n (int32); te.var('n') is an")):
        te.placeholder((n + 1,))
