"""What te writes for numbers, on every target: operators and divisions of integers of all widths, negative operands and
the ends of types among them, and functions that are built on others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from sateen.runtime import array
from sateen.runtime.dtype import DType
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir import int_range
from sateen.tensor_ir.ir.types import wrap

Array = np.ndarray[Any, Any]
Definition = Callable[..., te.Expr]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COUNT = 64


def toward_zero(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def operations(bits: int) -> dict[str, tuple[Definition, Callable[[int, int], int]]]:
    """As te writes them, and on Python's integers; y is not 0."""
    last = bits - 1
    return {
        "x // y": (lambda x, y: x // y, lambda x, y: x // y),
        "x % y": (lambda x, y: x % y, lambda x, y: x % y),
        "x // 3 - x % 7": (lambda x, _: x // 3 - x % 7, lambda x, _: x // 3 - x % 7),
        "truncdiv": (te.truncdiv, toward_zero),
        "truncmod": (te.truncmod, lambda x, y: x - y * toward_zero(x, y)),
        "truncdiv by 5": (lambda x, _: te.truncdiv(x, 5), lambda x, _: toward_zero(x, 5)),
        "x << y": (lambda x, y: x << (y & last), lambda x, y: x << (y & last)),
        "x >> y": (lambda x, y: x >> (y & last), lambda x, y: x >> (y & last)),
        "x & y": (lambda x, y: x & y, lambda x, y: x & y),
        "x | 6": (lambda x, _: x | 6, lambda x, _: x | 6),
        "x ^ y": (lambda x, y: x ^ y, lambda x, y: x ^ y),
        "~x": (lambda x, _: ~x, lambda x, _: ~x),
        "-x": (lambda x, _: -x, lambda x, _: -x),
        "x ** 3": (lambda x, _: x**3, lambda x, _: x**3),
        "abs": (lambda x, _: abs(x), lambda x, _: abs(x)),
        "compared": (
            lambda x, y: te.select((x < y) ^ (x == 1), x, te.select(~(x >= y) | (y != 2), y, 9)),
            lambda x, y: x if (x < y) != (x == 1) else y if x < y or y != 2 else 9,
        ),
    }


def numbers(kind: str) -> tuple[Array, Array]:
    """Operands of an integer type, the second of them not 0."""
    low, high = int_range(DType.of(kind))
    ends = [low, low + 1, 0, 1, 2, 6, 7, high // 2, high - 1, high]
    rng = np.random.default_rng(7)
    x, y = (np.array([*ends, *rng.integers(low, high, COUNT - 10, kind, endpoint=True)], kind) for _ in "xy")
    x, y = np.concatenate([x, x]), np.concatenate([np.roll(y, 3), rng.integers(max(low, -9), 9, COUNT).astype(kind)])
    return x, np.where(y == 0, -1 if low else 1, y).astype(kind)


def computed(kind: str, definitions: Sequence[Definition], count: int) -> tuple[list[te.Tensor], te.Schedule]:
    given = [te.placeholder((count,), kind, name) for name in "xy"]
    results = te.compute((count,), lambda i: tuple(f(*(t[i] for t in given)) for f in definitions), name="z")
    return [*given, *results], te.create_schedule(list(results))


def of_integers(kind: str) -> tuple[list[te.Tensor], te.Schedule, Array, Array, list[list[int]]]:
    """Tensors, their schedule, operands, and the results that are expected."""
    x, y = numbers(kind)
    table = operations(DType.of(kind).bits)
    tensors, s = computed(kind, [written for written, _ in table.values()], len(x))
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    return tensors, s, x, y, [[wrap(exact(a, b), DType.of(kind)) for a, b in pairs] for _, exact in table.values()]


def check(kind: str, found: Sequence[Array], expected: list[list[int]]) -> None:
    for name, ours, theirs in zip(operations(DType.of(kind).bits), found, expected, strict=True):
        assert ours.tolist() == theirs, name


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_by_interpreters_and_machine_code(kind: str) -> None:
    tensors, s, x, y, expected = of_integers(kind)
    check(kind, evaluate(tensors[2:], {tensors[0]: x, tensors[1]: y}), expected)
    interpreted, compiled, vectors = ([np.zeros_like(x) for _ in expected] for _ in range(3))
    run(lower(s, tensors), [x, y, *interpreted])
    build(s, tensors, keep_loops=True)(x, y, *compiled)
    s[tensors[2]].vectorize(s[tensors[2]].split(tensors[2].op.axis[0], factor=8)[1])
    build(s, tensors)(x, y, *vectors)
    for found in (interpreted, compiled, vectors):
        check(kind, found, expected)


def test_integers_in_c(compiled_c: Callable[..., Any]) -> None:
    cases = {kind: of_integers(kind) for kind in INTEGERS}
    library = compiled_c(*(lower(s, tensors, f"of_{kind}") for kind, (tensors, s, *_) in cases.items()))
    for kind, (_, _, x, y, expected) in cases.items():
        found = [array(np.zeros_like(x)) for _ in expected]
        library[f"of_{kind}"](array(x), array(y), *found)
        check(kind, [z.numpy() for z in found], expected)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_in_opencl(launch: Callable[..., object], kind: str) -> None:
    tensors, s, x, y, expected = of_integers(kind)
    s[tensors[2]].bind(tensors[2].op.axis[0], te.thread_axis("threadIdx.x"))
    found = [np.zeros_like(x) for _ in expected]
    launch(lower(s, tensors), x, y, *found)
    check(kind, found, expected)


BUILT = (
    te.fmod,
    lambda x, _: te.atan(x),
    lambda x, _: te.rsqrt(abs(x) + 0.25),
    lambda x, _: te.nearbyint(x),
    lambda x, y: te.select(te.isnan(x), y, -x),
    lambda x, y: abs(x) ** y,
    lambda x, _: x**2,
    te.div,
)


def of_floats(kind: str) -> tuple[list[te.Tensor], te.Schedule, Array, Array, list[Array]]:
    x = np.array([0.5, 1.5, -2.5, 7.25, -1e3, 0.0, math.nan, 3.75], kind)
    y = np.array([2.0, -0.75, 1.5, 3.0, 0.375, 5.0, 1.0, -2.0], kind)
    tensors, s = computed(kind, BUILT, len(x))
    with np.errstate(all="ignore"):
        expected = [
            np.fmod(x, y), np.arctan(x), 1 / np.sqrt(abs(x) + 0.25), np.round(x), np.where(np.isnan(x), y, -x),
            abs(x) ** y, x * x, x / y,
        ]  # fmt: skip
    return tensors, s, x, y, expected


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_functions_built_on_others(kind: str, compiled_c: Callable[..., Any]) -> None:
    tensors, s, x, y, expected = of_floats(kind)
    function = lower(s, tensors)

    def interpreted(*arrays: Array) -> None:
        run(function, arrays)

    for execute in (interpreted, build(s, tensors), compiled_c(function)["run"]):
        found = [np.zeros_like(x) for _ in expected]
        execute(x, y, *found)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6 if kind == "float32" else 1e-14)


def test_functions_built_on_others_in_opencl(launch: Callable[..., object]) -> None:
    tensors, s, x, y, expected = of_floats("float32")
    s[tensors[2]].bind(tensors[2].op.axis[0], te.thread_axis("threadIdx.x"))
    found = [np.zeros_like(x) for _ in expected]
    launch(lower(s, tensors), x, y, *found)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)
