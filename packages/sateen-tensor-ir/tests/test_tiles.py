"""Tile registers: products of tiles as AMX, run by an emulator of its instructions where the processor has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import CompiledModule, build, build_functions, te
from sateen.tensor_ir.intrinsics import INTRINSICS, TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.lowering import lower

Array = np.ndarray[Any, Any]
Called = Callable[[CompiledModule, Mapping[str, Sequence[Array]]], None]
AMX = "-mattr=+amx-tile,+amx-int8,+amx-bf16"
TARGET = f"llvm -mtriple=x86_64-unknown-linux-gnu {AMX}"
TILES = [name for name in INTRINSICS if name.startswith("tile_")]
LOOP = re.compile(r"^(\.LBB\w+):\n((?:\t.*\n)*?)\tj\w+\t\1$", re.MULTILINE)
"""An innermost loop: from a label to a jump back to it."""
M, N, K = 80, 64, 128


@pytest.fixture
def called(run_with_tiles: Callable[..., str], call_in_c: Callable[..., None]) -> Called:
    return lambda module, calls: call_in_c(module, calls, run_with_tiles)


def alone(instruction: TensorIntrinsic) -> tuple[te.Schedule, list[te.Tensor]]:
    """The instruction once, from and to the memory of arguments."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        operands = zip(map(ib.buffer_ptr, (*outs, *ins)), instruction.operands, strict=True)
        out, *given = (p.region((0,) * t.ndim, instruction.shape_of(t)) for p, t in operands)
        ib.intrinsic(instruction, [out], given)
        return ib.get()

    (out,) = instruction.outputs
    result = te.extern(instruction.shape_of(out), instruction.inputs, body, "result", out.dtype)
    return te.create_schedule(result), [*instruction.inputs, result]


def product(rows: int = 2, columns: int = 2, kind: str = "serial") -> tuple[te.Schedule, list[te.Tensor]]:
    """C = 2 A B of bytes, both packed to tiles, by blocks of `rows` x `columns` tiles of sums in registers."""
    steps = te.var("steps")
    a = te.placeholder((M // 16, steps, 16, 64), "uint8", name="A")
    b = te.placeholder((N // 16, steps, 16, 16, 4), "int8", name="B")
    k, q, r = te.reduce_axis(steps, "k"), te.reduce_axis(16, "q"), te.reduce_axis(4, "r")
    sums = te.compute(
        (M // 16, N // 16, 16, 16),
        lambda io, jo, i, j: te.sum(
            a[io, k, i, 4 * q + r].astype("int32") * b[jo, k, q, j, r].astype("int32"), axis=[k, q, r]
        ),
        name="sums",
    )
    c = te.compute((M, N), lambda i, j: sums[i // 16, j // 16, i % 16, j % 16] * 2, name="C")
    s = te.create_schedule(c)
    io, jo, i, j = s[c].tile(*c.op.axis, 16 * rows, 16 * columns, tail="partition")
    jv, jl = s[c].split(j, 16)
    for axis in (i, jv):
        s[c].unroll(axis)
    s[c].vectorize(jl)
    if kind == "parallel":
        s[c].parallel(io)
    s[sums].set_scope("register")
    s[sums].compute_at(s[c], jo)
    io, jo, i, j = sums.op.axis
    s[sums].reorder(k, io, jo, i, j, q, r)
    s[sums].unroll(io)
    s[sums].unroll(jo)
    s[sums].tensorize(i, INTRINSICS["tile_16x16x64_u8s8"])
    return s, [a, b, c]


def operands() -> tuple[Array, Array, Array]:
    """A and B in tiles, and C."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 256, (M, K)).astype(np.uint8)
    b = rng.integers(-128, 128, (K, N)).astype(np.int8)
    tiles = a.reshape(M // 16, 16, K // 64, 64).transpose(0, 2, 1, 3)
    columns = b.reshape(K // 64, 16, 4, N // 16, 16).transpose(3, 0, 1, 4, 2)
    return np.ascontiguousarray(tiles), np.ascontiguousarray(columns), 2 * (a.astype(np.int32) @ b.astype(np.int32))


def test_each_product_of_tiles_does_what_its_definition_says(called: Called) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    rng = np.random.default_rng(6)
    calls = {}
    for name in TILES:
        *tensors, total = *INTRINSICS[name].inputs[1:], INTRINSICS[name].inputs[0]
        shapes = [INTRINSICS[name].shape_of(t) for t in tensors]
        factors = [
            rng.standard_normal(shape).astype(t.dtype.numpy)
            if t.dtype.is_float
            else rng.integers(0, 256, shape).astype(np.uint8).view(t.dtype.numpy)
            for t, shape in zip(tensors, shapes, strict=True)
        ]
        sums = rng.integers(-(2**31), 2**31, (16, 16)).astype(total.dtype.numpy)
        calls[name] = [sums / 2**31 if total.dtype.is_float else sums, *factors, np.zeros_like(sums)]
        calls[name][0] = calls[name][0].astype(total.dtype.numpy)
    functions = [lower(*alone(INTRINSICS[name]), name) for name in TILES]
    called(build_functions(functions, TARGET), calls)
    for name, arrays in calls.items():
        inputs = dict(zip(INTRINSICS[name].inputs, arrays, strict=False))
        (expected,) = INTRINSICS[name].evaluate(inputs)
        (magnitude,) = INTRINSICS[name].evaluate({t: np.abs(a) for t, a in inputs.items()})
        bound = 2.0**-19 * magnitude if expected.dtype.kind == "f" else 0
        assert (np.abs(arrays[-1].astype(np.float64) - expected) <= bound).all(), name


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2)])
def test_a_product_keeps_its_sums_in_tiles(called: Called, rows: int, columns: int, kind: str) -> None:
    a, b, expected = operands()
    result = np.zeros_like(expected)
    s, arguments = product(rows, columns, kind)
    called(build(s, arguments, TARGET, name="f"), {"f": [a, b, result]})
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("unrolled", [False, True], ids=["sizes are symbols", "each block is written out"])
def test_rows_of_a_tile_may_lie_apart(called: Called, unrolled: bool) -> None:
    """A is read as it lies, and sums are those of C in memory."""
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 256, (32, 128)).astype(np.uint8), rng.integers(-128, 128, (128, 48)).astype(np.int8)
    m, n, k = te.var("m"), te.var("n"), 128 if unrolled else te.var("k")
    a, b = te.placeholder((m, k), "uint8", name="A"), te.placeholder((k // 4, n, 4), "int8", name="B")
    q, r = te.reduce_axis(k // 64 * 16, "q"), te.reduce_axis(4, "r")
    c = te.compute(
        (m // 16 * 16, n // 16 * 16),
        lambda i, j: te.sum(a[i, 4 * q + r].astype("int32") * b[q, j, r].astype("int32"), axis=[q, r]),
        name="C",
    )
    s = te.create_schedule(c)
    i, j = c.op.axis
    io, jo, i, j = s[c].tile(i, j, 16, 16)
    qo, qi = s[c].split(q, 16)
    s[c].reorder(io, jo, qo, i, j, qi, r)
    if unrolled:
        s[c].unroll(qo)
    s[c].tensorize(i, INTRINSICS["tile_16x16x64_u8s8"])
    result = np.zeros((32, 48), np.int32)
    packed = np.ascontiguousarray(y.reshape(32, 4, 48).transpose(0, 2, 1))
    called(build(s, [a, b, c], TARGET, name="f"), {"f": [x, packed, result]})
    np.testing.assert_array_equal(result, x.astype(np.int32) @ y.astype(np.int32))


def test_rows_apart_in_registers_are_refused() -> None:
    a, b = te.placeholder((16, 64), "uint8", name="A"), te.placeholder((16, 32, 4), "int8", name="B")
    q, r = te.reduce_axis(16, "q"), te.reduce_axis(4, "r")
    c = te.compute(
        (16, 32),
        lambda i, j: te.sum(a[i, 4 * q + r].astype("int32") * b[q, j, r].astype("int32"), axis=[q, r]),
        name="C",
    )
    s = te.create_schedule(c)
    sums = s.cache_write(c, "register")
    i, j = sums.op.axis
    q, r = sums.op.reduce_axis
    jo, ji = s[sums].split(j, 16)
    s[sums].reorder(jo, i, ji, q, r)
    s[sums].unroll(jo)
    s[sums].tensorize(i, INTRINSICS["tile_16x16x64_u8s8"])
    i, j = c.op.axis
    s[c].unroll(i)
    s[c].vectorize(j)
    expected = (
        "operand 'sum': expected the rows of a tile one behind the other in register buffer 'C.register', found a "
        "stride of 32; give a tile dimensions of its own"
    )
    with pytest.raises(CodegenError, match=re.escape(expected)):
        build(s, [a, b, c], TARGET)


def test_a_loop_over_tiles_loads_and_multiplies_and_stores_nothing() -> None:
    assembly = build(*product(), TARGET, name="f").assembly()
    (loop,) = (body for _, body in LOOP.findall(assembly) if body.count("tdpbusd") == 4)
    names = re.findall(r"^\t(t\w*)", loop, re.MULTILINE)
    assert sorted(names) == ["tdpbusd"] * 4 + ["tileloadd"] * 4


def test_a_thread_configures_its_tiles_after_the_process_has_asked_for_them() -> None:
    assembly = build(*product(kind="parallel"), TARGET, name="f").assembly()
    bodies = dict(re.findall(r"^([\w.]+):\n(.*?)^\.Lfunc_end", assembly, re.MULTILINE | re.DOTALL))
    (task,) = (name for name in bodies if "task" in name and name.endswith(".guarded"))
    ask, body = bodies[task.removesuffix(".guarded")], bodies[task]
    assert ask.index("ask_for_tiles") < ask.index(task)
    assert "tile" not in ask.replace("ask_for_tiles", "")
    assert body.index("ldtilecfg") < body.index("tileloadd") < body.rindex("tilerelease")


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_system_that_gives_no_tiles_is_a_failure(
    run_with_tiles: Callable[..., str], call_in_c: Callable[..., None], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("NO_TILES", "1")
    a, b, expected = operands()
    module = build(*product(kind=kind), TARGET, name="f")
    with pytest.raises(AssertionError, match="f: the system gives the process no tile registers"):
        call_in_c(module, {"f": [a, b, np.zeros_like(expected)]}, run_with_tiles)


def test_a_system_other_than_linux_is_refused() -> None:
    expected = "f: expected Linux, which gives tile registers to a process that asks, found x86_64-pc-windows-msvc"
    with pytest.raises(CodegenError, match=re.escape(expected)):
        build(*product(), f"llvm -mtriple=x86_64-pc-windows-msvc {AMX}", name="f").assembly()
