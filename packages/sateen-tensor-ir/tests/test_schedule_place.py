"""Primitives that say where a stage is computed and where its result lives."""

import re
from textwrap import dedent

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import build_functions, lower, te
from sateen.tensor_ir.interpret import run


class Stencil:
    """B[i] = 2·A[i], then C[i] = B[i] + B[i + 1] + B[i + 2]."""

    def __init__(self, extent=8):
        self.A = te.placeholder((extent + 2,), name="A")
        self.B = te.compute((extent + 2,), lambda i: self.A[i] * 2.0, name="B")
        self.C = te.compute((extent,), lambda i: self.B[i] + self.B[i + 1] + self.B[i + 2], name="C")
        self.s = te.create_schedule(self.C)
        self.b, self.c = self.s[self.B], self.s[self.C]
        (self.i,) = self.C.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.C]).body)


class Product:
    """C = A·B of 4x8, depth 6, then D = relu(C)."""

    def __init__(self, rows=4):
        self.A, self.B = te.placeholder((rows, 6), name="A"), te.placeholder((6, 8), name="B")
        self.k = te.reduce_axis(6, "k")
        self.C = te.compute(
            (rows, 8), lambda i, j: te.sum(self.A[i, self.k] * self.B[self.k, j], axis=self.k), name="C"
        )
        self.D = te.compute((rows, 8), lambda i, j: te.maximum(self.C[i, j], 0.0), name="D")
        self.s = te.create_schedule(self.D)
        self.c, self.d = self.s[self.C], self.s[self.D]
        self.x, self.y = self.D.op.axis

    def lower(self):
        return lower(self.s, [self.A, self.B, self.D])

    def loops(self):
        return str(self.lower().body)


def text(block):
    return dedent(block).strip()


def refuses(message, call, error=ScheduleError):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_compute_at_computes_what_each_iteration_needs():
    stencil = Stencil()
    outer, _ = stencil.c.split(stencil.i, 4)
    stencil.b.compute_at(stencil.c, outer)
    assert stencil.loops() == text("""
        for io in [0, 2):
          allocate B: float32[6]
          for i in [0, 6):
            B[i] = A[io * 4 + i] * 2.0f
          for ii in [0, 4):
            C[io * 4 + ii] = B[ii] + B[ii + 1] + B[ii + 2]
    """)


def test_compute_at_a_tile_that_sticks_out_computes_what_is_in_the_tensor():
    stencil = Stencil(10)
    outer, _ = stencil.c.split(stencil.i, 4)
    stencil.b.compute_at(stencil.s[stencil.C], outer)
    assert stencil.loops() == text("""
        for io in [0, 3):
          allocate B: float32[6]
          for i in [0, min(6, io * -4 + 12)):
            B[i] = A[io * 4 + i] * 2.0f
          for ii in [0, min(4, io * -4 + 10)):
            C[io * 4 + ii] = B[ii] + B[ii + 1] + B[ii + 2]
    """)


def test_an_iteration_that_a_guard_leaves_out_computes_nothing_at_it():
    stencil = Stencil(2)
    outer, _ = stencil.c.split(stencil.i, nparts=3)
    stencil.b.compute_at(stencil.c, outer)
    assert stencil.loops().startswith("for io in [0, 2):\n  allocate B: float32[3]\n")


def test_compute_at_a_reduce_loop():
    product = Product()
    packed = product.s.cache_read(product.A, "local", [product.C])
    product.s[packed].compute_at(product.c, product.k)
    assert product.loops().startswith(
        text("""
        allocate C: float32[4, 8]
        for i in [0, 4):
          for j in [0, 8):
            C[i, j] = 0.0f
            for k in [0, 6):
              allocate A.local: local float32[1, 1]
              A.local[0, 0] = A[i, k]
              C[i, j] = C[i, j] + A.local[0, 0] * B[k, j]
    """)
    )


def test_compute_inline_substitutes():
    stencil = Stencil()
    stencil.b.compute_inline()
    assert stencil.loops() == text("""
        for i in [0, 8):
          C[i] = A[i] * 2.0f + A[i + 1] * 2.0f + A[i + 2] * 2.0f
    """)


def test_compute_root_takes_a_stage_out_again():
    stencil = Stencil()
    before = stencil.loops()
    stencil.b.compute_at(stencil.c, stencil.i)
    stencil.b.compute_root()
    assert stencil.loops() == before
    stencil.b.compute_inline()
    stencil.b.compute_root()
    assert stencil.loops() == before


@pytest.mark.parametrize("scope", ["register", "local", "shared"])
def test_set_scope_says_where_the_result_lives(scope):
    product = Product()
    product.c.compute_at(product.d, product.y)
    product.c.set_scope(scope)
    assert f"allocate C: {scope} float32[1, 1]" in product.loops()


def test_storage_align_pads_the_stride():
    product = Product()
    i, _ = product.C.op.axis
    product.c.storage_align(i, 8, 3)
    assert "allocate C: float32[4, 8] strides [11, 1]" in product.loops()


def test_storage_align_of_the_last_axis_spreads_the_elements():
    product = Product()
    product.c.storage_align(product.C.op.axis[1], 2)
    assert "allocate C: float32[4, 8] strides [16, 2]" in product.loops()


def test_compute_at_refusals():
    product = Product()
    refuses("compute_at: 'D' is an output of the schedule", lambda: product.d.compute_at(product.c, product.k))
    refuses(
        "compute_at: 'A' is not computed, it is given", lambda: product.s[product.A].compute_at(product.d, product.x)
    )
    refuses("compute_at: stage 'C' can't be computed inside itself", lambda: product.c.compute_at(product.c, product.k))
    refuses(
        "compute_at: 'k' is no loop of stage 'D', whose loops are i, j",
        lambda: product.c.compute_at(product.d, product.k),
    )


def _vanished(p):
    p.c.compute_at(p.d, p.x)
    p.d.split(p.x, 2)


def _outside(p):
    packed = p.s.cache_read(p.A, "local", [p.C])
    p.s[packed].compute_at(p.d, p.x)


def _inlined_host(p):
    copy = p.s.cache_write(p.D, "local")
    p.c.compute_at(p.s[copy], copy.op.axis[0])
    p.s[copy].compute_inline()


def _lanes(p):
    p.c.compute_at(p.d, p.y)
    p.d.vectorize(p.y)


def _cycle(p):
    copy = p.s.cache_write(p.C, "local")
    p.s[copy].compute_at(p.c, p.C.op.axis[0])
    p.c.compute_at(p.s[copy], copy.op.axis[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _vanished,
            "'C' is computed at axis 'i' of 'D', which is no loop of it any more (its loops are io, ii, j)",
        ),
        (_outside, "compute_at: 'C' reads 'A.local', but is not computed inside loop 'i' of 'D'"),
        (_inlined_host, "compute_at: stage 'C' is computed at 'D.local', which is inlined"),
        (
            _lanes,
            "'C' is computed inside the vectorized loop 'j' of 'D', whose lanes would share its storage",
        ),
        (_cycle, "are computed inside each other"),
    ],
)
def test_a_place_that_does_not_hold_what_is_read_is_refused(change, message):
    product = Product()
    change(product)
    refuses(message, product.loops)


def test_a_region_that_has_no_bound_is_refused():
    n = te.var("n")
    A = te.placeholder((n * 2,), name="A")
    B = te.compute((n * 2,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[i] + B[2 * n - 1 - i], name="C")
    s = te.create_schedule(C)
    s[B].compute_at(s[C], C.op.axis[0])
    refuses("compute_at: two reads are at positions whose distance is not bounded", lambda: lower(s, [A, C]))


def test_compute_inline_refusals():
    product = Product()
    refuses("compute_inline: 'D' is an output of the schedule", product.d.compute_inline)
    refuses(
        "compute_inline: 'C' is a reduction; only an element-wise body can be substituted", product.c.compute_inline
    )


def test_set_scope_refusals():
    product = Product()
    refuses("set_scope: 'D' is an output of the schedule", lambda: product.d.set_scope("local"))
    refuses(
        "set_scope of 'C': expects one of register, local, warp, shared, global, found 'cache'",
        lambda: product.c.set_scope("cache"),
    )
    symbolic = Product(te.var("n"))
    symbolic.c.set_scope("register")
    refuses(
        "set_scope of 'C': registers need a constant shape, found [n, 8]; compute it at a loop inside of which its "
        "extents are constant",
        symbolic.loops,
    )


def test_storage_align_refusals():
    product = Product()
    i, _ = product.C.op.axis
    where = "storage_align in stage "
    refuses(
        where + "'D', axis 'i': 'D' is an output, whose storage is the caller's",
        lambda: product.d.storage_align(product.x, 8),
    )
    refuses(
        where + "'C', axis 'k': expects a data axis of the operation", lambda: product.c.storage_align(product.k, 8)
    )
    for factor, offset in ((0, 0), (4, 4), (4, -1)):
        refuses(
            f"expects integers, factor >= 1 and 0 <= offset < factor, found {factor} and {offset}",
            lambda factor=factor, offset=offset: product.c.storage_align(i, factor, offset),
        )


def test_a_register_whose_position_varies_is_refused_with_the_loop():
    product = Product()
    product.c.compute_at(product.d, product.x)
    product.c.set_scope("register")
    refuses(
        "register buffer 'C': expected constant indices after unrolling, found an index that varies with loop 'j'; "
        "unroll or vectorize that loop, or use scope 'local'",
        lambda: build_functions([product.lower()]),
        CodegenError,
    )


def test_registers_do_not_cross_into_threads():
    product = Product()
    product.c.set_scope("register")
    product.c.parallel(product.C.op.axis[0])
    refuses(
        "parallel loop 'i' uses a register buffer that belongs to the code around it",
        lambda: build_functions([product.lower()]),
        CodegenError,
    )


def threads_of(chain_length):
    """A[i] read by a chain of tensors, the last in blocks of 32 threads; the schedule, tensors and thread loop."""
    m = te.var("m")
    tensors = [te.placeholder((m,), name="A")]
    for t in range(1, chain_length + 1):
        tensors.append(te.compute((m,), lambda i, x=tensors[-1]: x[i] + 1.0, name=f"A{t}"))
    s = te.create_schedule(tensors[-1])
    block, thread = s[tensors[-1]].split(tensors[-1].op.axis[0], factor=32)
    s[tensors[-1]].bind(block, te.thread_axis("blockIdx.x"))
    s[tensors[-1]].bind(thread, te.thread_axis("threadIdx.x"))
    return s, tensors, block, thread


def test_storage_is_shared_by_the_threads_that_compute_and_read_it():
    s, tensors, block, thread = threads_of(4)
    for tensor, axis in zip(tensors[2:4], (block, thread), strict=True):
        s[tensor].compute_at(s[tensors[-1]], axis)
    assert [s[t].scope.value for t in tensors[1:]] == ["global", "shared", "local", "global"]
    s[tensors[3]].set_scope("shared")
    assert s[tensors[3]].scope.value == "shared"
    assert "allocate A2: shared float32[32]" in str(lower(s, [tensors[0], tensors[-1]]))


def test_a_stage_whose_own_loops_are_threads_is_shared_among_them():
    s, tensors, _, thread = threads_of(2)
    s[tensors[1]].compute_at(s[tensors[2]], thread)
    s[tensors[1]].bind(tensors[1].op.axis[0], te.thread_axis("threadIdx.x"))
    assert s[tensors[1]].scope.value == "shared"


def test_a_thread_computes_what_it_needs_of_its_own_data():
    s, tensors, _, thread = threads_of(3)
    first, second, last = tensors[1:]
    s[second].set_scope("shared")
    s[second].compute_at(s[last], thread)
    s[second].bind(second.op.axis[0], te.thread_axis("threadIdx.x"))
    s[first].compute_at(s[last], thread)
    assert str(lower(s, [tensors[0], last]).body) == text("""
        thread blockIdx.x io in [0, (m + 31) // 32):
          thread threadIdx.x ii in [0, 32):
            allocate A2: shared float32[32]
            thread threadIdx.x i in [0, 32):
              allocate A1: local float32[1]
              if io * 32 + i < m:
                A1[0] = A[io * 32 + i] + 1.0f
              if io * 32 + i < m:
                A2[i] = A1[0] + 1.0f
            if io * 32 + ii < m:
              A3[io * 32 + ii] = A2[ii] + 1.0f
    """)


def test_partial_sums_across_threads_are_each_thread_s_own():
    A = te.placeholder((64, 48), name="A")
    k = te.reduce_axis(48, "k")
    B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    _, inner = s[B].split(k, factor=16)
    partial = s.rfactor(B, inner)
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.y"))
    s[B].bind(s[B].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[partial].compute_at(s[B], s[B].op.reduce_axis[0])
    function = lower(s, [A, B])
    assert "allocate B.rf: local float32[1, 1]" in str(function)
    a, b = np.arange(64 * 48, dtype="float32").reshape(64, 48) % 7, np.zeros(64, "float32")
    run(function, [a, b])
    assert b.tolist() == a.sum(axis=1).tolist()


MARKED = {
    "primitives for loop 'i'": (
        lambda b, i: b.split(i, 4),
        lambda b, i: b.vectorize(i),
        lambda b, i: b.pragma(i, "keep"),
        lambda b, i: b.prefetch(b.op.inputs[0], i),
    ),
    "padded strides": (lambda b, i: b.storage_align(i, 16),),
}


@pytest.mark.parametrize(("found", "mark"), [(found, mark) for found, marks in MARKED.items() for mark in marks])
def test_what_was_said_about_a_stage_is_not_dropped_when_it_is_inlined(found, mark):
    stencil = Stencil()
    mark(stencil.b, stencil.B.op.axis[0])
    refuses(f"compute_inline: 'B' has no loops and no storage of its own then, found {found}", stencil.b.compute_inline)
    other = Stencil()
    other.b.compute_inline()
    if "loop" in found:
        refuses("'B' is inlined, so it has no loops", lambda: mark(other.b, other.B.op.axis[0]))
