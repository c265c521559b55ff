"""Virtual threads: what depends on the thread is done for each of them, side by side; the rest once."""

import re
from textwrap import dedent, indent

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.printer import format_stmt
from sateen.tensor_ir.lowering.interleave_threads import interleave_threads
from sateen.tensor_ir.lowering.simplify import simplify

HEAD = "function f[n](A: float32[64] align 4, B: out float32[64] align 4, N: int64[] align 8, Z: float32[n] align 4)\n"


def text(block):
    return dedent(block).strip("\n")


def parsed(body):
    return parse_function(HEAD + indent(text(body), "  "), INTRINSICS)


def interleaved(body):
    analyzer = Analyzer()
    return format_stmt(simplify(interleave_threads(parsed(body).body, analyzer), analyzer))


def refuses(message, call, error=ScheduleError):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_storage_of_a_thread_gets_a_dimension_and_what_is_the_same_for_all_is_computed_once():
    body = """
        vthread v in [0, 2):
          allocate S: shared float32[4]
          allocate T: local float32[4]
          for i in [0, 4):
            S[i] = A[i]
          for j in [0, 4):
            T[j] = A[v * 4 + j]
          for k in [0, 4):
            B[v * 4 + k] = T[k] + S[3 - k]
    """
    assert interleaved(body) == text("""
        allocate S: shared float32[4]
        allocate T: local float32[2, 4]
        for i in [0, 4):
          S[i] = A[i]
        for j in [0, 4):
          unrolled v in [0, 2):
            T[v, j] = A[v * 4 + j]
        for k in [0, 4):
          unrolled v_1 in [0, 2):
            B[v_1 * 4 + k] = T[v_1, k] + S[k * -1 + 3]
    """)


def test_loops_over_threads_within_one_another_each_widen_what_depends_on_them():
    body = """
        vthread v in [0, 2):
          vthread w in [0, 3):
            thread threadIdx.x x in [0, 4):
              allocate T: local float32[1]
              allocate U: local float32[1]
              T[0] = A[v * 4 + x]
              U[0] = A[w * 4 + x]
              vectorized j in [0, 2):
                B[v * 32 + w * 8 + x * 2 + j] = T[0] * U[0]
    """
    assert interleaved(body) == text("""
        thread threadIdx.x x in [0, 4):
          allocate T: local float32[2, 1]
          allocate U: local float32[3, 1]
          unrolled v in [0, 2):
            T[v, 0] = A[v * 4 + x]
          unrolled w in [0, 3):
            U[w, 0] = A[w * 4 + x]
          unrolled v_1 in [0, 2):
            unrolled w_1 in [0, 3):
              vectorized j in [0, 2):
                B[v_1 * 32 + w_1 * 8 + x * 2 + j] = T[v_1, 0] * U[w_1, 0]
    """)


def test_what_differs_between_threads_stays_whole():
    body = """
        vthread v in [0, 2):
          allocate C: int64[1]
          allocate D: float32[1] strides [3]
          let base = v * 8
          for i in [0, v + 1):
            B[base + i] = A[i]
          if v < 1:
            for i in [0, 4):
              D[0] = 2.0f
          else:
            D[0] = 3.0f
          C[0] = int64(0)
          while C[0] < int64(v):
            C[0] = C[0] + int64(1)
          let x = float32(C[0]) + D[0]
          B[v + 40] = x
          B[v + 42] = x
    """
    assert interleaved(body) == text("""
        allocate C: int64[2, 1]
        allocate D: float32[2, 1] strides [1, 3]
        unrolled v in [0, 2):
          for i in [0, v + 1):
            B[v * 8 + i] = A[i]
        unrolled v_1 in [0, 2):
          if v_1 < 1:
            for i_1 in [0, 4):
              D[v_1, 0] = 2.0f
          else:
            D[v_1, 0] = 3.0f
        unrolled v_2 in [0, 2):
          C[v_2, 0] = int64(0)
        unrolled v_3 in [0, 2):
          while C[v_3, 0] < int64(v_3):
            C[v_3, 0] = C[v_3, 0] + int64(1)
        unrolled v_4 in [0, 2):
          let x = float32(C[v_4, 0]) + D[v_4, 0]
          B[v_4 + 40] = x
          B[v_4 + 42] = x
    """)


def test_branches_loops_and_values_that_all_threads_share_are_entered_once():
    body = """
        vthread v in [3, 5):
          let start = index(N[])
            if start < 4:
              for i in [0, start):
                B[v * 8 + i] = A[i]
                prefetch A[v + i]
    """
    assert interleaved(body) == text("""
        let start = index(N[])
        if start < 4:
          for i in [0, start):
            unrolled v in [3, 5):
              B[v * 8 + i] = A[i]
            unrolled v_1 in [3, 5):
              prefetch A[v_1 + i]
    """)


def test_an_instruction_uses_the_part_of_its_thread():
    body = """
        vthread v in [0, 2):
          allocate S: local int32[8]
          allocate U: local uint8[32]
          allocate W: local int8[32]
          for i in [0, 32):
            U[i] = uint8(v)
            W[i] = int8(i)
          for j in [0, 8):
            S[j] = int32(0)
          intrinsic dot4_u8s8_x8 S[0:8] = S[0:8], U[0:32], W[0:32]
          for k in [0, 8):
            B[v * 8 + k] = float32(S[k])
    """
    assert "intrinsic dot4_u8s8_x8 S[v_2, 0:8] = S[v_2, 0:8], U[v_2, 0:32], W[0:32]" in interleaved(body)


def test_loops_that_cannot_be_interleaved():
    expected = "loop 'v' over virtual threads expects a constant extent of at most 64, found"
    for extent in ("n", "65"):
        body = f"vthread v in [0, {extent}):\n  B[v] = A[v]"
        refuses(f"{expected} {extent}", lambda body=body: interleaved(body), LoweringError)
    refuses(
        "loop 'v' over virtual threads can't interleave timestamp",
        lambda: interleaved("allocate C: int64[2]\n  vthread v in [0, 2):\n    timestamp C[0]\n"),
        LoweringError,
    )
    assert interleaved("vthread v in [0, 0):\n  B[v] = A[v]") == "pass"
    assert interleaved("vthread v in [1, 2):\n  B[v] = A[v]") == "B[1] = A[1]"


def test_a_loop_that_lower_has_not_seen_runs_in_order():
    f = parsed("vthread v in [0, 64):\n  B[v] = A[v] * 2.0f")
    a = np.arange(64, dtype=np.float32)
    for call in (build_functions([f]).module["f"], lambda *arrays: run(f, arrays)):
        b = np.zeros_like(a)
        call(a, b, np.array(0), np.zeros(1, np.float32))
        assert np.array_equal(b, a * 2)


class Product:
    """A product in tiles; each thread computes four parts of a tile, by virtual threads."""

    def __init__(self, n=10):
        self.n = n
        A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
        k = te.reduce_axis(n, "k")
        self.C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        self.arguments = [A, B, self.C]
        s = self.s = te.create_schedule(self.C)
        self.part = s.cache_write(self.C, "local")
        self.rows = s.cache_read(A, "local", [self.part])
        stage = s[self.C]
        i, j = self.C.op.axis
        self.vi, i = stage.split(i, nparts=2)
        self.vj, j = stage.split(j, nparts=2)
        stage.reorder(self.vi, self.vj, i, j)
        for axis in (self.vi, self.vj):
            stage.bind(axis, te.thread_axis("vthread"))
        s[self.part].compute_at(stage, i)
        s[self.rows].compute_at(s[self.part], s[self.part].op.reduce_axis[0])


def test_the_threads_of_a_schedule_compute_what_the_definition_says():
    product = Product()
    f = lower(product.s, product.arguments)
    loops = str(f)
    assert "vthread" not in loops
    assert "allocate A.local: local float32[2, 1, 1]" in loops, "only the rows differ"
    a, b = np.random.default_rng(0).integers(-4, 5, (2, product.n, product.n)).astype(np.float32)
    for call in (build(product.s, product.arguments), lambda *arrays: run(f, arrays)):
        c = np.zeros_like(a)
        call(a, b, c)
        assert np.array_equal(c, a @ b)


def test_registers_of_virtual_threads():
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((16,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    v, _ = s[C].split(C.op.axis[0], nparts=4)
    s[C].bind(v, te.thread_axis("vthread"))
    s[B].compute_at(s[C], s[C].leaves[1])
    s[B].set_scope("register")
    assert "allocate B: register float32[4, 1]" in str(lower(s, [A, C]))
    a, c = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    build(s, [A, C])(a, c)
    assert np.array_equal(c, a * 2 + 1)


def test_threads_without_a_part_of_the_consumer_have_no_state_to_resume():
    A = te.placeholder((5, 6), name="A")
    k = te.reduce_axis(6, "k")
    R = te.compute((5,), lambda i: te.sum(A[i, k], axis=k), name="R")
    D = te.compute((5,), lambda i: R[i] * 2.0, name="D")
    E = te.compute((5,), lambda i: D[i] + 1.0, name="E")
    s = te.create_schedule(E)
    s[D].compute_at(s[E], E.op.axis[0])
    v, _ = s[D].split(D.op.axis[0], nparts=2)
    s[D].bind(v, te.thread_axis("vthread"))
    s[R].compute_at(s[D], v)
    ko, _ = s[R].split(k, factor=3)
    s[D].reorder(ko, v)
    a, e = np.arange(30, dtype=np.float32).reshape(5, 6), np.zeros(5, np.float32)
    run(lower(s, [A, E]), [a, e])
    assert np.array_equal(e, a.sum(axis=1) * 2 + 1)


def test_schedules_that_have_no_virtual_threads():
    C, s = Product().C, te.create_schedule(Product().C)
    stage, vthread = s[s.outputs[0]], te.thread_axis("vthread")
    i, j, k = stage.leaves
    where = "bind in stage 'C', axis"
    refuses(f"{where} 'k': it is a reduction, its virtual threads would race", lambda: stage.bind(k, vthread))
    expected = "virtual threads expect a constant extent of at most 64, found"
    _, inner = stage.split(i, factor=te.var("m"))
    refuses(f"{where} 'ii': {expected} m; split it with nparts= first", lambda: stage.bind(inner, vthread))
    stage.unroll(j)
    refuses(f"{where} 'j': the loop is unrolled already", lambda: stage.bind(j, vthread))
    long = te.create_schedule(te.compute((99,), lambda i: te.const(1.0) + i.astype("float32"), name="L"))
    stage = long[long.outputs[0]]
    refuses(f"bind in stage 'L', axis 'i': {expected} 99", lambda: stage.bind(stage.leaves[0], vthread))
    assert C.shape[0].value == 10
