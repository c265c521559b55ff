"""Kernels: one body for each thread, in which loops along one axis are the same threads."""

import re
from textwrap import dedent, indent

import pytest

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.printer import format_stmt
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES
from sateen.tensor_ir.lowering.pipelines import OPENCL, Calls, Setting
from sateen.tensor_ir.targets import Machine

HEAD = "function f[n](A: float32[64], B: out float32[64], C: out float32[n, 64])\n"


def function(body):
    return parse_function(HEAD + indent(dedent(body.strip("\n")), "  "))


def split(function):
    return OPENCL.run(function, Setting(Calls(DEFAULT_RULES, frozenset()), Machine.of("opencl")))


def kernels(body):
    return split(function(body)).kernels


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


def test_a_prefetch_of_what_a_kernel_does_not_read_is_dropped():
    (kernel,) = kernels("""
        thread threadIdx.x t in [0, 64):
          prefetch A[t]
          prefetch B[t]
          B[t] = B[t] + 1.0f
    """)
    assert format_stmt(kernel.body).splitlines() == [
        "prefetch B[threadIdx.x]",
        "B[threadIdx.x] = B[threadIdx.x] + 1.0f",
    ]
    assert [b.name for b in kernel.buffers] == ["B"]


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
    program = split(
        function("""
            allocate T: float32[64]
            thread blockIdx.x b in [0, 64):
              T[b] = A[b]
            thread threadIdx.x t in [0, 64):
              B[t] = T[t]
        """)
    )
    assert [k.name for k in program.kernels] == ["f_0", "f_1"]
    assert str(program.host).splitlines()[1:] == [
        "  allocate T: float32[64] on opencl(0)",
        "  launch f_0(A + 0, T + 0) grid [64, 1, 1] block [1, 1, 1] on opencl(0)",
        "  launch f_1(B + 0, T + 0) grid [1, 1, 1] block [64, 1, 1] on opencl(0)",
    ]
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
        (UNBOUND, "f: expected loops that are bound to blocks and threads, found work for the host, which stores 'B'"),
        (UNBOUND, "stores 'B'; bind them by the schedule:\nfor i in [0, 4):"),
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
        split(function(body))
