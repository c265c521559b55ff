"""Barriers: between thread loops that use the same shared memory, and nowhere else."""

import re
from textwrap import dedent, indent

import pytest

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.printer import format_stmt
from sateen.tensor_ir.lowering.insert_barriers import insert_barriers

HEAD = "function f[n](A: float32[64], B: out float32[64], C: out float32[n, 64])\n"


def function(body):
    return parse_function(HEAD + indent(dedent(body.strip("\n")), "  "), INTRINSICS)


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


def test_a_thread_waits_for_what_an_instruction_of_another_one_reads_or_writes():
    body = """
        thread blockIdx.x b in [0, 8):
          allocate S: shared int32[8]
          allocate U: shared uint8[32]
          allocate W: shared int8[32]
          thread threadIdx.x t in [0, 32):
            U[t] = uint8(1)
            W[t] = int8(1)
            if t < 8:
              S[t] = int32(0)
          intrinsic dot4_u8s8_x8 S[0:8] = S[0:8], U[0:32], W[0:32]
          thread threadIdx.x u in [0, 8):
            B[u] = float32(S[7 - u])
    """
    assert barriers(body) == [
        "intrinsic dot4_u8s8_x8 S[0:8] = S[0:8], U[0:32], W[0:32]",
        "thread threadIdx.x u in [0, 8):",
    ]


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
        ("while A[t] < 1.0f:", "a while loop"),
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
    message = f"threads have to wait for each other before they use memory 'S' inside of {place}, which not all"
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


def test_a_thread_waits_for_what_another_one_of_its_block_stores_in_global_memory():
    exchange = """
        thread blockIdx.x b in [0, 2):
          for k in [0, 4):
            thread threadIdx.x t in [0, 8):
              C[k + 1, b * 8 + t] = C[k, b * 8 + {other}]
    """

    def text(other):
        return format_stmt(insert_barriers(function(exchange.format(other=other)).body))

    assert text("7 - t").count("barrier global") == 1
    assert "barrier" not in text("t"), "each thread reads what it has stored itself"


def test_a_thread_finds_its_own_elements_again_in_every_part_of_a_tile():
    body = """
        thread blockIdx.x b in [0, 2):
          for k in [0, 4):
            thread threadIdx.x t in [0, 8):
              for v in [0, 2):
                for i in [0, 2):
                  C[k, v * 32 + b * 16 + t * 2 + i] = A[t]
          thread threadIdx.x u in [0, 8):
            for w in [0, {count}):
              B[u] = C[0, w * {step} + b * 16 + u * 2]
    """

    def text(count, step):
        return format_stmt(insert_barriers(function(body.format(count=count, step=step)).body))

    assert "barrier" not in text(2, 32)
    assert text(2, 8).count("barrier global") == 1


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("(t + k) % 8", 1),
        ("t", 0),
        ("k * 8 + t", 0),
        ("(k * 8 + t) % 8", 0),
        ("7 - t", 1),
        ("(k * 8 + t) // 4", 0),
        ("k * 4 + t", 1),
    ],
)
@pytest.mark.parametrize("scope", ["shared", "global"])
def test_a_store_waits_for_other_threads_that_stored_to_the_same_element_before(place, count, scope):
    body = f"""
        thread blockIdx.x b in [0, 1):
          allocate S: shared float32[64]
          for k in [0, 5):
            thread threadIdx.x t in [0, 8):
              S[{place}] = A[t]
          thread threadIdx.x u in [0, 8):
            B[u] = S[7 - u]
    """
    if scope == "global":
        body = body.replace("S[", "B[").replace("B[u] = B[7 - u]", "C[0, u] = B[7 - u]").replace("  allocate S: s", "#")
        body = "\n".join(line for line in body.splitlines() if "#" not in line)
    text = format_stmt(insert_barriers(function(body).body))
    in_loop, _ = text.split("thread threadIdx.x u")
    assert in_loop.count("barrier") == count + 1, "one before the load of another thread's element"


def test_the_loop_whose_iterations_store_to_the_same_elements_waits():
    body = """
        thread blockIdx.x b in [0, 1):
          allocate S: shared float32[8, 64]
          for o in [0, 3):
            for k in [0, 8):
              thread threadIdx.x t in [0, 8):
                S[{row}, {column}] = A[t]
    """
    assert barriers(body.format(row="k", column="7 - t")) == ["for k in [0, 8):"]
    assert barriers(body.format(row="o", column="7 - t")) == ["thread threadIdx.x t in [0, 8):"]
    assert barriers(body.format(row="o", column="k * 8 + 7 - t")) == []
    repeated = body.format(row="k", column="7 - t").replace("for o in [0, 3):", "while A[0] < 1.0f:")
    assert barriers(repeated) == ["for k in [0, 8):"]


HALVES = """
    thread blockIdx.x b in [0, 8):
      allocate S: shared float32[2, 8]
      for k in [0, 4):
        thread threadIdx.x t in [0, 8):
          S[(k + {ahead}) % 2, t] = A[t]
        thread threadIdx.x u in [0, 8):
          B[u] = S[k % 2, 7 - u]
"""


def test_the_halves_of_a_double_buffer_need_one_barrier_per_turn():
    assert barriers(HALVES.format(ahead=1)) == ["thread threadIdx.x t in [0, 8):"]
    assert len(barriers(HALVES.format(ahead=2))) == 2, "the same half"
    varying = HALVES.format(ahead=1).replace("% 2", "// 2 % 2").replace("(k + 1)", "t").replace("[k", "[u")
    assert len(barriers(varying)) == 2, "halves of the threads"


def test_a_half_is_known_in_its_iteration_only():
    body = """
        thread blockIdx.x b in [0, 8):
          allocate S: shared float32[2, 8]
          for k in [0, 4):
            thread threadIdx.x t in [0, 8):
              S[(k + 1) % 2, t] = A[t]
          for j in [0, 4):
            thread threadIdx.x u in [0, 8):
              B[u] = S[j % 2, 7 - u]
    """
    assert barriers(body) == ["for j in [0, 4):"]
    constant = body.replace("(k + 1) % 2", "1").replace("j % 2", "0")
    assert barriers(constant) == []


def test_a_thread_waits_before_it_stores_over_what_another_one_has_stored():
    body = """
        thread blockIdx.x b in [0, 1):
          thread threadIdx.x t in [0, 8):
            B[t] = 0.0f
          thread threadIdx.x u in [0, 8):
            B[7 - u] = A[u]
    """
    lines = format_stmt(insert_barriers(function(body)).body).splitlines()
    assert [line.strip() for line in lines][3] == "barrier global"
