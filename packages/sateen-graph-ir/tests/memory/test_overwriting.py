"""Which inputs a kernel may overwrite with its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.graph_ir.memory import allow_overwriting
from sateen.tensor_ir import build_functions, lower, te
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function

X = te.placeholder((4, 8), "float32", "x")
Y = te.placeholder((4, 8), "float32", "y")
FLAT = te.placeholder((32,), "float32", "flat")
ROW = te.placeholder((8,), "float32", "row")
HALF = te.placeholder((4, 8), "float16", "half")


def kernel(element: Callable[..., Any], schedule: Callable[[Any, te.Tensor], None] = lambda s, t: None) -> Function:
    inputs = [X, Y, FLAT, ROW, HALF]
    output: te.Tensor = te.compute((4, 8), element, name="z")
    s = te.create_schedule(output)
    schedule(s, output)
    return lower(s, [t for t in inputs if t in output.op.inputs] + [output], "k")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (lambda i, j: X(i, j) + Y(i, j), ["x", "y"]),
        (lambda i, j: X(i, j) * X(i, j) + ROW(j), ["x"]),
        (lambda i, j: FLAT(i * 8 + j) + 1.0, ["flat"]),
        (lambda i, j: X(i, 7 - j) + Y(i, j), ["y"]),
        (lambda i, j: X(i, j) + X(3 - i, j), []),
        (lambda i, j: HALF(i, j).astype("float32"), []),
        (lambda i, j: te.if_then_else(j < 4, X(i, j), Y(i, j)), ["x", "y"]),
    ],
)
def test_what_is_read_only_for_the_element_at_its_place(element: Callable[..., Any], expected: list[str]) -> None:
    function, found = allow_overwriting(kernel(element))
    assert [function.parameters[i].name for i in found] == expected
    assert {b.name for b in function.aliased} == ({*expected, "z"} if expected else set())


def test_not_where_elements_are_stored_twice() -> None:
    """The last tile of a shifted split computes elements again, from what the first time would have overwritten."""

    def shifted(s: Any, z: te.Tensor) -> None:
        s[z].split(s[z].axes[1], factor=3, tail="shift")

    def partitioned(s: Any, z: te.Tensor) -> None:
        s[z].split(s[z].axes[1], factor=3, tail="partition")

    assert allow_overwriting(kernel(lambda i, j: X(i, j) + 1.0, shifted))[1] == ()
    assert allow_overwriting(kernel(lambda i, j: X(i, j) + 1.0, partitioned))[1] == (0,)


def test_not_what_is_read_before_by_another_stage() -> None:
    first = te.compute((4, 8), lambda i, j: X(i, j) * 2.0, name="first")
    z = te.compute((4, 8), lambda i, j: first(i, j) + first(i, 0), name="z")
    assert allow_overwriting(lower(te.create_schedule(z), [X, z], "k"))[1] == ()


def test_the_kernel_computes_the_same_over_its_input() -> None:
    def vectorized(s: Any, z: te.Tensor) -> None:
        s[z].vectorize(s[z].axes[1])

    function, (i,) = allow_overwriting(kernel(lambda i, j: X(i, j) * 2.0 + ROW(j), vectorized))
    module = build_functions([function])
    x = np.arange(32, dtype="float32").reshape(4, 8)
    row = np.ones(8, "float32")
    expected = x * 2 + row
    module(x, row, x)
    assert i == 0
    assert np.array_equal(x, expected)


def test_what_an_instruction_reads_or_writes_is_not_overwritten() -> None:
    """The output is stored element by element; the instruction reads `sums` as a whole before, and may write `z`."""
    head = "function k(sums: int32[8], a: uint8[32], b: int8[32], z: out int32[8])\n"
    reads = parse_function(
        head
        + "  allocate t: local int32[8]\n  intrinsic dot4_u8s8_x8 t[0:8] = sums[0:8], a[0:32], b[0:32]\n"
        + "  for i in [0, 8):\n    z[i] = t[i] + sums[i]",
        INTRINSICS,
    )
    assert allow_overwriting(reads) == (reads, ())
    writes = parse_function(
        head + "  intrinsic dot4_u8s8_x8 z[0:8] = sums[0:8], a[0:32], b[0:32]\n  for i in [0, 8):\n    z[i] = sums[i]",
        INTRINSICS,
    )
    assert allow_overwriting(writes) == (writes, ())
