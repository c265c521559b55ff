"""Memory of scope warp: one for the threads along threadIdx.x, a part of the block's on a device."""

import re
from textwrap import dedent, indent

import numpy as np
import pytest

from sateen.runtime.errors import ExecutionError, LoweringError, ScheduleError
from sateen.tensor_ir import build_functions, explain, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.printer import format_stmt
from sateen.tensor_ir.lowering.share_warp_memory import share_warp_memory
from sateen.tensor_ir.lowering.simplify import simplify

HEAD = "function f(A: float32[64] align 4, B: out float32[64] align 4)\n"
REVERSED = """
    thread threadIdx.z z in [0, 2):
      thread threadIdx.y y in [0, 4):
        for k in [0, 2):
          allocate W: warp float32[8]
          thread threadIdx.x x in [0, 8):
            W[x] = A[z * 32 + y * 8 + x]
          {barrier}
          thread threadIdx.x u in [0, 8):
            B[z * 32 + y * 8 + u] = W[7 - u]
          {barrier}
"""
AXES = [te.thread_axis(f"threadIdx.{d}") for d in "xyz"]


def function(body):
    lines = (line for line in dedent(body).splitlines() if line.strip())
    return parse_function(HEAD + indent("\n".join(lines), "  "))


def refuses(message, call, error=LoweringError):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_each_warp_has_a_part_of_shared_memory():
    shared = simplify(share_warp_memory(function(REVERSED.format(barrier="")).body), Analyzer())
    assert (
        format_stmt(shared)
        == dedent("""
        allocate W: shared float32[2, 4, 8]
        thread threadIdx.z z in [0, 2):
          thread threadIdx.y y in [0, 4):
            for k in [0, 2):
              thread threadIdx.x x in [0, 8):
                W[z, y, x] = A[z * 32 + y * 8 + x]
              thread threadIdx.x u in [0, 8):
                B[z * 32 + y * 8 + u] = W[z, y, u * -1 + 7]
    """).strip()
    )
    inside = REVERSED.replace("for k", "thread threadIdx.x k").format(barrier="")
    shared = format_stmt(simplify(share_warp_memory(function(inside).body), Analyzer()))
    assert "k in [0, 2):\n      allocate W: shared float32[2, 4, 8]\n" in shared, "all threads compute all of it"
    alone = "allocate W: warp float32[8]\n{}W[0] = A[0]\nB[0] = W[0]"
    assert "allocate W: shared float32[8]" in format_stmt(share_warp_memory(function(alone.format("")).body))


def test_the_interpreter_gives_each_warp_its_own():
    a = np.arange(64, dtype=np.float32)
    expected = a.reshape(8, 8)[:, ::-1].ravel()
    for barrier in ("", "barrier warp"):
        b = np.zeros_like(a)
        run(function(REVERSED.format(barrier=barrier)), [a, b])
        assert np.array_equal(b, expected)
    racing = REVERSED.replace("{barrier}", "barrier shared", 1).replace("W[7 - u]", "W[7 - u]\n            W[0] = 1.0f")
    with pytest.raises(ExecutionError, match=re.escape("W[0]")):
        run(function(racing.format(barrier="")), [a, np.zeros_like(a)])


def product():
    """A product whose warps keep their row of A, and the tensors."""
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis(8, "k")
    C = te.compute((6, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    rows = s.cache_read(A, "warp.rows", [C])
    by, y = s[C].split(C.op.axis[0], factor=3)
    for axis, thread in ((by, te.thread_axis("blockIdx.x")), (y, AXES[1]), (C.op.axis[1], AXES[0])):
        s[C].bind(axis, thread)
    s[rows].compute_at(s[C], C.op.axis[1])
    s[rows].bind(rows.op.axis[1], AXES[0])
    return s, (A, B, C), rows


def test_what_threads_of_a_warp_load_together(launch):
    s, tensors, rows = product()
    f = lower(s, tensors, "f")
    assert "allocate A.warp.rows: warp float32[1, 8]" in str(f)
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 64)).astype(np.float32)
    a, b = a[:48].reshape(6, 8), b.reshape(8, 8)
    program = build_functions([f], "opencl").program
    (kernel,) = program.kernels
    assert [str(b.shape[0]) for b in kernel.shared_buffers] == ["3"]
    for execute in (
        lambda *arrays: run(f, arrays),
        lambda *arrays: run(program.host, arrays, kernels=program.kernels),
        lambda *arrays: launch(f, *arrays),
    ):
        c = np.zeros((6, 8), np.float32)
        execute(a, b, c)
        assert np.array_equal(c, a @ b)
    s[rows].set_scope("warp")
    assert s[rows].scope_name == "warp"


def test_a_tag_is_kept_for_explain():
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B)
    part = s.cache_write(B, "local.acc")
    s[part].compute_at(s[B], B.op.axis[0])
    assert part.name == "B.local.acc"
    assert [stage.scope for stage in explain(s, [A, B]).stages] == ["local.acc", "global"]
    expected = "expects one of register, local, warp, shared, global, found"
    refuses(f"set_scope of 'B.local.acc': {expected} 'acc'", lambda: s[part].set_scope("acc.local"), ScheduleError)
    refuses(f"cache_read of 'A': {expected} 3", lambda: s.cache_read(A, 3, [part]), ScheduleError)


def test_warps_that_use_the_memory_of_others():
    body = REVERSED.replace("threadIdx.x x", "threadIdx.y x").format(barrier="")
    refuses(
        "'W' in scope warp is used in loop 'x', bound to threadIdx.y, but computed for all of that loop; compute it "
        "inside of it, or call set_scope('shared')",
        lambda: share_warp_memory(function(body).body),
    )
    body = REVERSED.replace("y in [0, 4)", "y in [0, index(A[0]))").format(barrier="")
    refuses(
        "loop 'y', bound to threadIdx.y, expects a constant extent around 'W' in scope warp",
        lambda: share_warp_memory(function(body).body),
    )


def test_threads_that_share_partial_results_can_not_resume_from_them():
    for scope, is_refused in (("local", False), ("warp", True), ("shared", True)):
        A = te.placeholder((4, 8), name="A")
        k = te.reduce_axis(8, "k")
        R = te.compute((4,), lambda i, A=A, k=k: te.sum(A[i, k], axis=k), name="R")
        D = te.compute((4,), lambda i, R=R: R[i] * 2.0, name="D")
        s = te.create_schedule(D)
        s[D].bind(D.op.axis[0], AXES[0])
        s[R].compute_at(s[D], D.op.axis[0])
        s[R].set_scope(scope)
        ko, _ = s[R].split(k, factor=4)
        s[D].reorder(ko, D.op.axis[0])
        if is_refused:
            refuses(
                "reorder in stage 'D', axis 'ko': loop 'i' is shared among threads, which have 'R' in scope "
                f"{scope} in common, so each would resume from elements that others store; set_scope to local",
                lambda s=s, A=A, D=D: lower(s, [A, D]),
                ScheduleError,
            )
        else:
            lower(s, [A, D])
