"""Barriers: between thread loops that use the same shared memory, and nowhere else; then one body for each thread."""

import re
from textwrap import dedent, indent

import pytest

from weft.runtime.errors import LoweringError
from weft.tensor_ir.ir.parser import parse_function
from weft.tensor_ir.ir.printer import format_stmt
from weft.tensor_ir.lower.insert_barriers import insert_barriers
from weft.tensor_ir.lower.split_host_device import split_host_device

HEAD = "function f[n](A: float32[64], B: out float32[64], C: out float32[n, 64])\n"


def function(body):
    return parse_function(HEAD + indent(dedent(body.strip("\n")), "  "))


def barriers(body):
    """The body with its barriers: the lines before which they are, without what is the same."""
    lines = format_stmt(insert_barriers(function(body).body)).splitlines()
    return [lines[i + 1].strip() for i, line in enumerate(lines) if line.strip() == "barrier shared"]


def test_a_thread_waits_for_what_another_one_stores():
    body = """
        thread blockIdx.x b in [0, 8):
          allocate S: shared float32[8]
          thread threadIdx.x t in [0, 8):
            S[t] = A[t]
          thread threadIdx.x u in [0, 8):
            B[u] = S[7 - u]
    """
    assert barriers(body) == ["thread threadIdx.x u in [0, 8):"]


def test_a_thread_does_not_wait_for_itself():
    body = """
        thread blockIdx.x b in [0, 8):
          allocate S: shared float32[8]
          thread threadIdx.x t in [0, 8):
            S[t] = A[t]
            S[t] = S[t] + 1.0f
            B[t] = S[t]
    """
    assert barriers(body) == []


def test_a_thread_waits_where_the_memory_is_not_divided_among_the_threads_around():
    body = """
        thread threadIdx.x t in [0, 8):
          allocate S: shared float32[8]
          thread threadIdx.x u in [0, 8):
            S[u] = A[u]
          B[t] = S[7 - t]
    """
    assert barriers(body) == ["B[t] = S[7 - t]"]


def test_all_axes_of_a_block_count():
    body = """
        thread blockIdx.x b in [0, 1):
          allocate S: shared float32[8, 4]
          thread threadIdx.y y in [0, 8):
            thread threadIdx.x t in [0, 4):
              S[y, t] = A[t]
            thread threadIdx.x u in [0, 4):
              B[u] = S[y, 3 - u]
    """
    assert barriers(body) == ["thread threadIdx.x u in [0, 4):"]
    assert barriers(body.replace("4):", "1):")) == []


def test_what_the_next_iteration_overwrites_has_been_read():
    body = """
        thread threadIdx.x t in [0, 8):
          allocate S: shared float32[8]
          for k in [0, 4):
            for c in [0, 1):
              thread threadIdx.x u in [0, 8):
                S[u] = A[k * 8 + u]
            B[t] = B[t] + S[7 - t]
          C[0, t] = 0.0f
    """
    assert barriers(body) == ["for c in [0, 1):", "B[t] = B[t] + S[7 - t]"]


def test_one_barrier_serves_two_buffers_and_stands_before_the_loop_that_reads():
    body = """
        thread threadIdx.x t in [0, 8):
          allocate S: shared float32[8]
            allocate T: shared float32[8]
              thread threadIdx.x u in [0, 8):
                S[u] = A[u]
              for o in [0, 2):
                thread threadIdx.x v in [0, 4):
                  T[o * 4 + v] = A[o * 4 + v]
              for k in [0, 8):
                B[t] = B[t] + S[k] * T[k]
    """
    assert barriers(body) == ["for k in [0, 8):"]


def test_a_read_after_a_branch_waits_for_either_side():
    body = """
        thread blockIdx.x b in [0, 8):
          thread threadIdx.x t in [0, 8):
            allocate S: shared float32[8]
            if b < 4:
              thread threadIdx.x u in [0, 8):
                S[u] = A[u]
            else:
              thread threadIdx.x v in [0, 8):
                S[v] = 0.0f
            B[t] = S[7 - t]
    """
    assert barriers(body) == ["B[t] = S[7 - t]"]


@pytest.mark.parametrize(
    ("control", "place"),
    [
        ("if t < 4:", "condition t < 4"),
        ("for k in [0, t):", "loop 'k'"),
        ("while B[t] < 1.0f:", "a while loop"),
        ("thread threadIdx.y y in [0, 2):", "loop 'y', bound to 2 of 4 threads,"),
    ],
)
def test_a_barrier_that_not_all_threads_reach_is_refused(control, place):
    body = f"""
        thread threadIdx.x t in [0, 8):
          allocate S: shared float32[8]
          thread threadIdx.y all in [0, 4):
            B[0] = A[0]
          {control}
            thread threadIdx.x u in [0, 8):
              S[u] = A[u]
            B[t] = S[7 - t]
    """
    message = f"threads have to wait for each other before they use shared memory 'S' inside of {place}, which not all"
    with pytest.raises(LoweringError, match=re.escape(message)):
        insert_barriers(function(body).body)


def test_a_loop_that_all_threads_run_equally_often_may_hold_barriers():
    body = """
        thread blockIdx.x b in [0, 8):
          thread threadIdx.x t in [0, 8):
            allocate S: shared float32[8]
            let limit = int64(A[b])
            for k in [0, limit):
              thread threadIdx.x u in [0, 8):
                S[u] = A[u]
              B[t] = S[7 - t]
    """
    assert barriers(body) == ["thread threadIdx.x u in [0, 8):", "B[t] = S[7 - t]"]


def test_a_symbolic_number_of_threads_is_refused():
    message = "loop 't' is bound to threadIdx.x and expects a constant extent, found n; split it first"
    with pytest.raises(LoweringError, match=re.escape(message)):
        insert_barriers(function("thread threadIdx.x t in [0, n):\n  B[t] = 1.0f").body)


# Kernels.


def kernels(body):
    return split_host_device(function(body)).kernels


def test_loops_along_one_axis_are_the_same_threads():
    (kernel,) = kernels("""
        thread blockIdx.x b in [0, n):
          thread threadIdx.x t in [0, 8):
            allocate S: shared float32[4]
            thread threadIdx.x u in [2, 6):
              S[u - 2] = A[u]
            C[b, t] = S[t // 2]
    """)
    assert format_stmt(kernel.body).splitlines() == [
        "allocate S: shared float32[4]",
        "if threadIdx.x < 4:",
        "  S[2 + threadIdx.x - 2] = A[2 + threadIdx.x]",
        "barrier shared",
        "C[blockIdx.x, threadIdx.x] = S[threadIdx.x // 2]",
    ]
    assert (list(map(str, kernel.grid)), kernel.block, kernel.shared_bytes) == (["n", "1", "1"], (8, 1, 1), 16)
    assert ([b.name for b in kernel.buffers], [v.name for v in kernel.scalars]) == (["A", "C"], ["n"])
    assert [b.name for b in kernel.outputs] == ["C"]


def test_what_no_loop_divides_is_stored_by_one_thread():
    (kernel,) = kernels("""
        thread blockIdx.x b in [0, 4):
          allocate S: shared float32[2]
          for k in [0, 2):
            S[k] = A[b * 2 + k]
          thread threadIdx.x t in [0, 8):
            allocate own: register float32[1]
            own[0] = S[0] + S[1]
            C[b, t] = own[0]
          B[b] = S[0]
    """)
    assert format_stmt(kernel.body).splitlines() == [
        "allocate S: shared float32[2]",
        "if threadIdx.x == 0:",
        "  for k in [0, 2):",
        "    S[k] = A[blockIdx.x * 2 + k]",
        "barrier shared",
        "allocate own: register float32[1]",
        "  own[0] = S[0] + S[1]",
        "  C[blockIdx.x, threadIdx.x] = own[0]",
        "if threadIdx.x == 0:",
        "  B[blockIdx.x] = S[0]",
    ]


def test_nests_one_after_the_other_are_kernels_with_a_workspace_between():
    program = split_host_device(
        function("""
            allocate T: float32[64]
            thread blockIdx.x b in [0, 64):
              T[b] = A[b]
            thread threadIdx.x t in [0, 64):
              B[t] = T[t]
        """)
    )
    assert [k.name for k in program.kernels] == ["f_0", "f_1"]
    assert [b.name for b in program.workspace] == ["T"]
    assert [[b.name for b in k.buffers] for k in program.kernels] == [["A", "T"], ["B", "T"]]
    assert [k.block for k in program.kernels] == [(1, 1, 1), (64, 1, 1)]


UNBOUND = """
    for i in [0, 4):
      B[i] = 1.0f
"""
SHARED_OUTSIDE = """
    allocate T: shared float32[4]
    thread threadIdx.x t in [0, 4):
      T[t] = 1.0f
"""
GLOBAL_INSIDE = """
    thread threadIdx.x t in [0, 4):
      allocate T: float32[4]
      T[t] = 1.0f
"""
LOCAL_FOR_ALL_THREADS = """
    thread blockIdx.x b in [0, 4):
      allocate T: local float32[4]
      thread threadIdx.x t in [0, 4):
        T[t] = 1.0f
"""
SHARED_FOR_ALL_BLOCKS = """
    thread blockIdx.x b in [0, 4):
      allocate T: shared float32[4]
      thread blockIdx.y c in [0, 4):
        T[c] = 1.0f
"""
TWO_GRIDS = """
    thread blockIdx.x b in [0, 4):
      thread blockIdx.y c in [0, n):
        B[b] = 1.0f
      thread blockIdx.y d in [0, n + 1):
        B[b] = 1.0f
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (UNBOUND, "f: expected loops that are bound to blocks and threads, found work for the host:\nfor i in [0, 4):"),
        (SHARED_OUTSIDE, "'T' is computed outside of all kernels and expects scope global, found shared;"),
        (GLOBAL_INSIDE, "'T' is computed inside of a kernel and expects scope shared, local or register,"),
        (LOCAL_FOR_ALL_THREADS, "'T' in scope local is used in loop 't', bound to threadIdx.x, but computed for"),
        (LOCAL_FOR_ALL_THREADS, "compute it inside of it, or call set_scope('shared')"),
        (SHARED_FOR_ALL_BLOCKS, "'T' in scope shared is used in loop 'c', bound to blockIdx.y, but computed for"),
        (SHARED_FOR_ALL_BLOCKS, "compute it inside of it, or call set_scope('global')"),
        (TWO_GRIDS, "loops of one kernel bound to blockIdx.y expect one symbolic extent, found n, n + 1"),
    ],
)
def test_what_a_device_cannot_do_is_refused(body, message):
    with pytest.raises(LoweringError, match=re.escape(message)):
        split_host_device(function(body))
