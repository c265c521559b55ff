"""Buffers with strides and offsets of their own, and vectors in bodies of loop IR."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime import array
from sateen.runtime.errors import ArgumentError, ExpressionError, ScheduleError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Store

Array = np.ndarray[Any, Any]


def doubled(**output: Any) -> tuple[te.Schedule, list[te.Tensor], dict[te.Tensor, te.Buffer]]:
    """b = 2 a, on parts of larger arrays."""
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="a")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="b")
    declared = te.decl_buffer((n, m), name="a", strides=[te.var("s"), te.var("t")], elem_offset=te.var("offset"))
    result = te.decl_buffer((n, m), name="b", **(output or {"strides": [te.var("u"), te.var("v")], "elem_offset": 0}))
    return te.create_schedule(b), [a, b], {a: declared, b: result}


PARTS: list[Callable[[Array], Array]] = [
    lambda x: x[1:3, 1:8:2],
    lambda x: x.T[2:8, :3],
    lambda x: x[:2],
    lambda x: x[3:4, 2:3],
    lambda x: x[:0, 1:3],
]


@pytest.mark.parametrize("kind", ["llvm", "c"])
def test_arguments_are_parts_of_larger_arrays(kind: str, request: pytest.FixtureRequest) -> None:
    s, arguments, buffers = doubled(strides=[te.var("u"), te.var("v")], elem_offset=te.var("offset"))
    function = lower(s, arguments, buffers=buffers)
    f = build_functions([function]) if kind == "llvm" else request.getfixturevalue("compiled_c")(function)
    for part in PARTS:
        x, y = np.arange(40, dtype="float32").reshape(5, 8), np.zeros((5, 8), "float32")
        f(part(x), part(y))
        expected = np.zeros((5, 8), "float32")
        part(expected)[...] = 2 * part(x)
        np.testing.assert_array_equal(y, expected)
    row, result = np.broadcast_to(np.arange(3, dtype="float32"), (2, 3)), np.zeros((2, 3), "float32")
    f(row, result)  # elements of an input may lie in one place
    np.testing.assert_array_equal(result, 2 * row)
    shared = np.lib.stride_tricks.as_strided(np.zeros(9, "float32"), (2, 3), (8, 4))
    message = (
        r"argument 1 \(b\): expected strides \(u, v\), each beyond what smaller ones reach, found strides \(2, 1\)"
    )
    with pytest.raises(ArgumentError, match=message):
        f(row, shared)
    with pytest.raises(ArgumentError, match=r"argument 0 \(a\): expected strides \(s, t\), found strides \(-3, 1\)"):
        f(result[::-1], np.zeros((2, 3), "float32"))


def test_strides_are_part_of_the_text_and_the_interpreter_takes_them() -> None:
    s, arguments, buffers = doubled()
    function = lower(s, arguments, buffers=buffers)
    head = (
        "function run[m, n, s, t, u, v](a: float32[n, m] strides [s, t] align 4, b: out float32[n, m] strides [u, v])"
    )
    assert str(function).splitlines()[0] == head
    assert str(parse_function(str(function))) == str(function)
    x, y = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((4, 3), "float32")
    run(function, [x, y.T])
    np.testing.assert_array_equal(y.T, 2 * x)


@pytest.mark.parametrize(
    ("offset", "factor", "alignment"),
    [(None, 0, 64), (0, 0, 64), (4, 0, 16), ("offset", 0, 4), ("offset", 8, 32), ("offset", 64, 64)],
)
def test_an_offset_says_how_the_first_element_is_aligned(offset: int | str | None, factor: int, alignment: int) -> None:
    given = te.var(offset) if isinstance(offset, str) else offset
    assert te.decl_buffer((8,), elem_offset=given, offset_factor=factor).alignment == alignment


def test_the_declared_alignment_is_checked() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    buffer = te.decl_buffer((4,), name="a", elem_offset=te.var("offset"), offset_factor=4)
    f = build(te.create_schedule(b), [a, b], buffers={a: buffer})
    x, y = array(np.arange(12, dtype="float32")).numpy(), np.zeros(4, "float32")
    f(x[4:8], y)
    assert y.tolist() == [5, 6, 7, 8]
    with pytest.raises(ArgumentError, match=r"argument 0 \(a\): expected memory aligned to 16 bytes, found 8"):
        f(x[2:6], y)


def test_bodies_use_the_strides_of_the_storage() -> None:
    n, m, stride = te.var("n"), te.var("m"), te.var("stride")
    a = te.placeholder((n, m), name="a")
    declared = te.decl_buffer((n, m), name="rows", strides=[stride, 1])

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        with ib.for_range(0, n, "i") as i:
            place = outs[0].access_ptr("w", offset=i)
            ib.emit(te.call_extern("int32", "row", ins[0].access_ptr("r", offset=i * stride), place, m))
        return ib.get()

    def row(values: Array, result: Array, count: int) -> int:
        result[0] = values[:count].sum()
        return 0

    b = te.extern((n,), [a], body, name="b", in_buffers=declared)
    s, x = te.create_schedule(b), np.arange(12, dtype="float32").reshape(3, 4)
    assert "address:r(a, i * m)" in str(lower(s, [a, b]))
    wide = te.decl_buffer((n, m), name="a", strides=[te.var("s"), 1])
    for function, given in ((lower(s, [a, b]), x), (lower(s, [a, b], buffers={a: wide}), np.hstack([x, x])[:, :4])):
        found = np.zeros(3, "float32")
        run(function, [given, found], functions={"row": row})
        assert found.tolist() == [6, 22, 38]
    assert evaluate([b], {a: x}, functions={"row": row})[0].tolist() == [6, 22, 38]


def vectors(statement: Callable[..., Any]) -> te.Tensor:
    """A body that adds 16 elements in vectors."""
    a, b = (te.placeholder((16,), name=name) for name in "ab")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        with ib.for_range(0, 4, "i") as i:
            ib.emit(statement(ins[0], ins[1], outs[0], i * 4))
        return ib.get()

    return te.extern((16,), [a, b], body, name="c", dtype="float32")


def test_vectors_are_loops_over_lanes() -> None:
    c = vectors(
        lambda a, b, c, i: c.vstore(
            i, te.maximum(a.vload(i, "float32x4"), 3.0) + te.sqrt(b.vload(i, "float32x4")).astype("float32")
        )
    )
    s, (a, b) = te.create_schedule(c), c.op.inputs
    function = lower(s, [a, b, c])
    assert str(function.body).splitlines() == [
        "for i in [0, 4):",
        "  vectorized lane in [0, 4):",
        "    c[i * 4 + lane] = max(a[i * 4 + lane], 3.0f) + sqrt(b[i * 4 + lane])",
    ]
    x, found = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    build(s, [a, b, c])(x, x, found)
    np.testing.assert_array_equal(found, np.maximum(x, 3) + np.sqrt(x))
    one = vectors(lambda a, _b, c, i: c.vstore(i, a.vload(i + 1) + 1.0, lanes=1))
    loop = str(lower(te.create_schedule(one), [*one.op.inputs, one]).body)
    assert loop == "for i in [0, 4):\n  c[i * 4] = a[i * 4 + 1] + 1.0f"
    same = vectors(lambda _a, _b, c, i: c.vstore(i, 2.0, lanes=4))
    assert "vectorized lane in [0, 4)" in str(lower(te.create_schedule(same), [*same.op.inputs, same]).body)


def test_wrong_buffers_and_vectors_are_refused() -> None:
    def refused(message: str, use: Callable[[], object], kind: type[Exception] = ExpressionError) -> None:
        with pytest.raises(kind, match=re.escape(message)):
            use()

    b = te.decl_buffer((4, 4), name="b")
    refused("expected an integer as elem_offset, found float32", lambda: te.decl_buffer((4,), elem_offset=1.5))
    refused("expected an offset_factor of a power of two, found 3",
            lambda: te.decl_buffer((4,), elem_offset=0, offset_factor=3))  # fmt: skip
    refused("float32x32, float32x64, found int8x4",
            lambda: b.vload((0, 0), "int8x4"))  # fmt: skip
    refused("vload of 'b' expects 2 indices, found 1", lambda: b.vload(0, "float32x4"))
    refused("vstore to 'c' expects a value of one number of lanes, found 2, 4", lambda: vectors(
        lambda a, b, c, i: c.vstore(i, a.vload(i, "float32x2") + b.vload(i, "float32x4"))))  # fmt: skip
    refused("found none; lanes= gives it", lambda: vectors(lambda _a, _b, c, i: c.vstore(i, 1.0)))
    refused("extern 'c': the body uses 'lane4'", lambda: vectors(
        lambda a, _, c, i: Store(c, (i,), a.vload(i, "float32x4"))))  # fmt: skip
    a = te.placeholder((4, 4), name="a")
    refused("extern 'e' expects in_buffers of float32[4, 4], found float32[4]",
            lambda: te.extern((4,), [a], lambda *_: None, name="e", in_buffers=[te.decl_buffer((4,))]))  # fmt: skip
    fixed = te.placeholder((2, 3), name="fixed")
    copy = te.compute((2, 3), lambda i, j: fixed[i, j], name="copy")
    overlapping = {copy: te.decl_buffer((2, 3), name="copy", strides=[1, 1])}
    refused("lower: the buffer of output 'copy' has elements in one place, strides [1, 1]",
            lambda: lower(te.create_schedule(copy), [fixed, copy], buffers=overlapping), ScheduleError)  # fmt: skip

    def first(_: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        return Store(outs[0], (te.const(0), te.const(0)), te.const(1, "float32"))

    spaced = te.decl_buffer((2, 3), strides=[4, 1])
    packed = te.extern((2, 3), [fixed], first, name="packed", out_buffers=spaced)
    refused("buffer 'buffer' of 'packed' expects strides [4, 1], found storage with [3, 1]",
            lambda: lower(te.create_schedule(packed), [fixed, packed]), ScheduleError)  # fmt: skip


def test_an_output_without_elements_has_a_buffer_of_any_strides() -> None:
    empty = te.compute((2, 0, 6), lambda i, j, k: i + j + k, name="empty")
    buffer = te.decl_buffer((2, 0, 6), "int64", alignment=8)
    function = lower(te.create_schedule(empty), [empty], buffers={empty: buffer})
    build_functions([function])(np.zeros((2, 0, 6), "int64"))


def test_arguments_that_broadcast_where_a_call_has_one_element() -> None:
    n, m, p, q = map(te.var, "nmpq")
    a, b = te.placeholder((n, m), name="a"), te.placeholder((p, q), name="b")
    c = te.compute((n, m), lambda i, j: a[i, j] + b[i, j], name="c")
    view = te.decl_buffer(
        (p, q), name="b", strides=[te.var("s"), te.var("t")], alignment=4, buffer_type="auto_broadcast"
    )
    s = te.create_schedule(c)
    s[c].vectorize(s[c].split(c.op.axis[1], factor=4)[1])
    function, compiled = (make(s, [a, b, c], buffers={b: view}) for make in (lower, build))
    x = np.arange(15, dtype="float32").reshape(3, 5)
    for shape in ((3, 5), (1, 5), (3, 1), (1, 1)):
        y = np.arange(30, dtype="float32").reshape(6, 5)[: 2 * shape[0] : 2, : shape[1]]
        for execute in (lambda *arrays: run(function, arrays), compiled):
            found = np.zeros((3, 5), "float32")
            execute(x, y, found)
            np.testing.assert_array_equal(found, x + y)
    with pytest.raises(
        ScheduleError, match="output 'c' expects an element for each of its own, found a broadcast buffer"
    ):
        lower(s, [a, b, c], buffers={c: te.decl_buffer((n, m), buffer_type="auto_broadcast")})
    with pytest.raises(ExpressionError, match="extern 'e' expects in_buffers without broadcasting, found 'b'"):
        te.extern((n,), [b], lambda *_: None, "e", in_buffers=view)
    with pytest.raises(ExpressionError, match="expected a buffer_type of '' or 'auto_broadcast', found 'compact'"):
        te.decl_buffer((n, m), buffer_type="compact")
