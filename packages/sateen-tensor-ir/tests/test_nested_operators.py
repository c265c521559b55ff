"""Operators as operands of others keep their order in every text that is written of them: C, OpenCL C, loop IR, and the
Python that interprets it. NumPy evaluates the text that the loop IR is read from."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from sateen.runtime import array
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function

Array = np.ndarray[Any, Any]
OPERANDS = ("a", "a - b", "a * b", "a // three", "b % four", "select(a < b, c, b)")
SUMS = [f"({x}) {operator} ({y})" for operator, x, y in product("+-", OPERANDS, OPERANDS)]
TERMS = [f"({x}) * ({y})" for x, y in product(OPERANDS, OPERANDS)]
TERMS += [f"({x}) {divided}" for x, divided in product(OPERANDS, ("// three", "% four"))]
EXPRESSIONS = [*SUMS, *TERMS, *(f"c * ({e})" for e in TERMS)]
SHAPE = (3, 5, 7)
LITERALS = {"index": "{}", "uint32": "uint32({})"}
"""A literal of the type of the operands, an index or data; other integers than these wrap, which takes conversions."""


def program(kind: str, outermost: str = "for") -> Function:
    """Each expression, of operands that count from 0."""
    literal = LITERALS[kind].format
    given = {name: literal(v) for name, v in zip("abc", "xyz", strict=True)}
    lines = [f"function f(R: out int64[{len(EXPRESSIONS)}, {', '.join(map(str, SHAPE))}])"]
    for depth, (variable, extent) in enumerate(zip("xyz", SHAPE, strict=True), start=1):
        lines.append(f"{'  ' * depth}{'for' if depth > 1 else outermost} {variable} in [0, {extent}):")
    lines += [f"        let {name} = {value}" for name, value in given.items()]
    for number, e in enumerate(EXPRESSIONS):
        text = e.replace("three", literal(3)).replace("four", literal(4))
        lines.append(f"        R[{number}, x, y, z] = int64({text})")
    return parse_function("\n".join(lines))


def by_numpy(kind: str) -> Array:
    dtype = np.dtype("int64" if kind == "index" else kind)
    a, b, c = np.indices(SHAPE).astype(dtype)
    known = {"a": a, "b": b, "c": c, "three": dtype.type(3), "four": dtype.type(4), "select": np.where}
    return np.stack([eval(e, known) for e in EXPRESSIONS]).astype("int64")  # noqa: S307 - the expressions above


def nothing() -> Array:
    return np.full((len(EXPRESSIONS), *SHAPE), -99, "int64")


@pytest.mark.parametrize("kind", LITERALS)
def test_interpreted_and_printed(kind: str) -> None:
    function, found = program(kind), nothing()
    run(function, [found])
    np.testing.assert_array_equal(found, by_numpy(kind))
    assert why_different(parse_function(str(function)), function) is None


def test_in_c(compiled_c: Callable[..., Any]) -> None:
    for kind in LITERALS:
        found = array(nothing())
        compiled_c(program(kind))(found)
        np.testing.assert_array_equal(found.numpy(), by_numpy(kind), kind)


def test_in_opencl(launch: Callable[..., object]) -> None:
    for kind in LITERALS:
        found = nothing()
        launch(program(kind, outermost="thread blockIdx.x"), found)
        np.testing.assert_array_equal(found, by_numpy(kind), kind)
