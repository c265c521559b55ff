"""Products of tiles by the threads of a warp: what they compute, their PTX, and what is refused.

No GPU runs the PTX here. Where a processor has no such instructions, loops take their place, which PoCL runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, LoweringError
from sateen.tensor_ir import CompiledModule, build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS, FunctionText
from sateen.tensor_ir.ir.stmt import Intrinsic
from sateen.tensor_ir.ir.visit import walk

Array = np.ndarray[Any, Any]
Program = tuple[te.Schedule, list[te.Tensor], Mapping[te.Tensor, te.Buffer]]
KINDS = {
    "f16": ("float16", "float32", 75),
    "f16_f16": ("float16", "float16", 75),
    "bf16": ("bfloat16", "float32", 80),
    "s8": ("int8", "int32", 75),
    "u8": ("uint8", "int32", 75),
}
"""Elements of the factors and of the sums, and the least processor that both ptxas and the instruction know."""
EVERY = ["f16", "f16_columns", "f16_f16", "f16_f16_columns", "bf16", "bf16_columns", "s8_columns", "u8_columns"]
SIZE, BLOCK, TILE = 64, 32, 16


def product(kind: str, *, warps: int = 1, threads: int = 32, stored: bool = True, pad: int = 0) -> Program:
    """C = A B in blocks of 32 x 32, whose factors lie in shared memory."""
    of_columns = kind.endswith("_columns")
    factors, sums, _ = KINDS[kind.removesuffix("_columns")]
    a, b = (te.placeholder((SIZE, SIZE), factors, name=name) for name in "AB")
    k = te.reduce_axis(SIZE, "k")

    def term(i: te.Expr, j: te.Expr) -> te.Expr:
        return a[i, k].astype(sums) * (b[j, k] if of_columns else b[k, j]).astype(sums)

    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(term(i, j), axis=k), name="C")
    s = te.create_schedule(c)
    held = s.cache_write(c, "warp")
    shared = [s.cache_read(t, "shared", [held]) for t in (a, b)]
    i, j = c.op.axis
    bi, i = s[c].split(i, BLOCK)
    bj, j = s[c].split(j, BLOCK)
    io, ii = s[c].split(i, TILE)
    jo, ji = s[c].split(j, TILE)
    s[c].reorder(bi, bj, io, jo, ii, ji)
    s[c].bind(bi, te.thread_axis("blockIdx.y"))
    s[c].bind(bj, te.thread_axis("blockIdx.x"))
    s[c].unroll(jo)
    if warps > 1:
        s[c].bind(io, te.thread_axis("threadIdx.y"))
    else:
        s[c].unroll(io)
    s[held].compute_at(s[c], io if warps > 1 else bj)
    hi, hj = held.op.axis
    (hk,) = held.op.reduce_axis
    hio, hii = s[held].split(hi, TILE)
    hjo, hji = s[held].split(hj, TILE)
    hko, hki = s[held].split(hk, TILE)
    s[held].reorder(hko, hio, hjo, hii, hji, hki)
    s[held].unroll(hio)
    s[held].unroll(hjo)
    s[held].tensorize(hii, INTRINSICS[f"wmma_16x16x16_{kind}"])
    for stage in shared:
        s[stage].compute_at(s[held], hko)
        s[stage].storage_align(stage.op.axis[0], 8, pad)
        rest = s[stage].fuse(*stage.op.axis)
        if warps > 1:
            rest, y = s[stage].split(rest, warps)
            s[stage].bind(y, te.thread_axis("threadIdx.y"))
        _, x = s[stage].split(rest, threads)
        s[stage].bind(x, te.thread_axis("threadIdx.x"))
    if stored:
        s[c].tensorize(ii, INTRINSICS[f"wmma_store_16x16_{sums}"])
    return s, [a, b, c], {c: te.decl_buffer((SIZE, SIZE), sums, name="C", alignment=64)}


def made(kind: str, target: str, **options: Any) -> CompiledModule:
    s, arguments, buffers = product(kind, **options)
    return build(s, arguments, target=target, buffers=buffers)


def arrays(kind: str) -> tuple[Array, Array, Array]:
    """A, B and what their product is, small whole numbers so that every sum is exact."""
    if "bf16" in kind:
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    _, arguments, _ = product(kind)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 4, (SIZE, SIZE)).astype(t.dtype.numpy) for t in arguments[:2])
    exact = a.astype(np.int64) @ (b.T if kind.endswith("_columns") else b).astype(np.int64)
    return a, b, exact


def assembled(source: str, arch: int, folder: Path) -> str:
    """What ptxas says of a module."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: apt package nvidia-cuda-toolkit, or the wheel nvidia-cuda-nvcc")
    (folder / "kernels.ptx").write_text(source)
    command = [ptxas, "-v", f"-arch=sm_{arch}", "kernels.ptx", "-o", "kernels.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=True).stderr


@pytest.mark.parametrize("kind", EVERY)
def test_the_product_is_that_of_the_definition(kind: str) -> None:
    a, b, exact = arrays(kind)
    s, arguments, buffers = product(kind)
    found = np.zeros((SIZE, SIZE), arguments[-1].dtype.numpy)
    run(lower(s, arguments, buffers=buffers), [a, b, found])
    np.testing.assert_array_equal(found.astype(np.int64), exact)


@pytest.mark.parametrize("kind", EVERY)
def test_sums_stay_in_registers_and_factors_are_loaded_once(kind: str, tmp_path: Path) -> None:
    arch = KINDS[kind.removesuffix("_columns")][2]
    source = made(kind, f"cuda -mcpu=sm_{arch}").source
    counts = {
        step: len(re.findall(rf"wmma.{step}.sync", source)) for step in ("load.a", "load.b", "load.c", "mma", "store.d")
    }
    assert counts == {"load.a": 2, "load.b": 2, "load.c": 0, "mma": 4, "store.d": 4}
    assert ".local" not in source
    told = assembled(source, arch, tmp_path)
    assert "0 bytes spill stores, 0 bytes spill loads" in told


def test_several_warps_of_a_block_have_tiles_of_their_own(tmp_path: Path) -> None:
    source = made("f16_columns", "cuda -mcpu=sm_80", warps=2).source
    assert ".reqntid 32, 2, 1" in source
    assert source.count("wmma.mma.sync") == 2
    assert "0 bytes spill stores" in assembled(source, 80, tmp_path)


@pytest.mark.parametrize(("kind", "arch"), [("bf16", 75), ("s8_columns", 70)])
def test_a_processor_without_the_instruction_runs_loops(kind: str, arch: int) -> None:
    assert "wmma" not in made(kind, f"cuda -mcpu=sm_{arch}").source


@pytest.mark.parametrize("kind", ["s8_columns", "u8_columns"])
def test_other_devices_run_loops(kind: str, launch: Callable[..., object]) -> None:
    a, b, exact = arrays(kind)
    s, arguments, buffers = product(kind)
    found = np.zeros((SIZE, SIZE), np.int32)
    launch(lower(s, arguments, "f", buffers=buffers), a, b, found)
    np.testing.assert_array_equal(found, exact)


def test_a_user_s_instruction_for_processors_is_loops_on_a_device() -> None:
    x, y = te.placeholder((4,), name="x"), te.placeholder((64, 4), name="y")
    z = te.compute((4,), lambda i: x[i] * 2.0, name="z")
    text = FunctionText("twice", "define void @twice(ptr %z, ptr %x) { ret void }")
    twice = te.decl_tensor_intrin(z.op, lambda _ins, _outs: text, "twice", otherwise="definition")
    doubled = te.compute((64, 4), lambda i, j: y[i, j] * 2.0, name="doubled")
    s = te.create_schedule(doubled)
    s[doubled].bind(doubled.op.axis[0], te.thread_axis("threadIdx.x"))
    s[doubled].tensorize(doubled.op.axis[1], twice)
    source = build(s, [y, doubled], target="cuda").source
    assert "twice" not in source
    assert "mul" in source or "add.rn.f32" in source


def doubled_product() -> Program:
    """D = 2 A B, whose tiles of sums the threads of a warp read from memory of the warp."""
    a, b = (te.placeholder((SIZE, SIZE), "float16", name=name) for name in "AB")
    k = te.reduce_axis(SIZE, "k")

    def term(i: te.Expr, j: te.Expr) -> te.Expr:
        return a[i, k].astype("float32") * b[k, j].astype("float32")

    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(term(i, j), axis=k), name="C")
    d = te.compute((SIZE, SIZE), lambda i, j: (c[i, j] * 2.0).astype("float16"), name="D")
    s = te.create_schedule(d)
    held = s.cache_write(c, "warp")
    s[c].set_scope("warp")
    bi, bj, i, j = s[d].tile(*d.op.axis, TILE, TILE)
    _, lane = s[d].split(s[d].fuse(i, j), 32)
    s[d].bind(bi, te.thread_axis("blockIdx.x"))
    s[d].bind(bj, te.thread_axis("threadIdx.y"))
    s[d].bind(lane, te.thread_axis("threadIdx.x"))
    s[c].compute_at(s[d], bj)
    s[c].tensorize(c.op.axis[0], INTRINSICS["wmma_store_16x16_float32"])
    s[held].compute_at(s[d], bj)
    step, inner = s[held].split(held.op.reduce_axis[0], TILE)
    s[held].reorder(step, *held.op.axis, inner)
    s[held].tensorize(held.op.axis[0], INTRINSICS["wmma_16x16x16_f16"])
    aligned = {t: te.decl_buffer((SIZE, SIZE), "float16", name=t.name, alignment=64) for t in (a, b, d)}
    return s, [a, b, d], aligned


def test_threads_read_sums_from_memory_of_their_warp(tmp_path: Path) -> None:
    a, b, exact = arrays("f16")
    s, arguments, buffers = doubled_product()
    found = np.zeros((SIZE, SIZE), np.float16)
    run(lower(s, arguments, buffers=buffers), [a, b, found])
    np.testing.assert_array_equal(found.astype(np.int64), 2 * exact)
    source = build(s, arguments, target="cuda -mcpu=sm_80", buffers=buffers).source
    assert len(re.findall(r"wmma.store.d.sync\S*shared", source)) == 1
    assert source.count("bar.sync") >= 1
    assert "0 bytes spill stores" in assembled(source, 80, tmp_path)


def test_a_lowered_product_has_nothing_but_steps_of_warps() -> None:
    s, arguments, buffers = product("f16")
    steps = [n.instruction.name for n in walk(lower(s, arguments, buffers=buffers).body) if isinstance(n, Intrinsic)]
    assert steps == ["wmma_16x16x16_f16_reset", "wmma_16x16x16_f16_update", "wmma_store_16x16_float32"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": 16}, "is executed by 32 threads along threadIdx.x together, found 16; bind a loop of that extent"),
        (
            {"stored": False},
            "'C.warp' holds results of 'wmma_16x16x16_f16_reset', of which each thread of a warp has a",
        ),
    ],
    ids=["threads", "stored"],
)
def test_what_is_no_work_of_whole_warps_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LoweringError, match=re.escape(words)):
        made("f16", "cuda -mcpu=sm_80", **options)


def test_rows_at_other_distances_are_refused_with_the_remedy() -> None:
    words = "expected rows of 'A.shared' that begin a multiple of 16 bytes after each other"
    with pytest.raises(CodegenError, match=f"{words}, found 20 elements of 2 bytes; storage_align"):
        made("f16_columns", "cuda -mcpu=sm_80", pad=4)
