"""Loops and buffers about which a schedule says nothing (docs/design/promotion.md): loop IR before and after passes,
which the interpreter runs with equal bits, and their remarks."""

from textwrap import indent

import numpy as np
import pytest

from sateen.tensor_ir import build, explain, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES
from sateen.tensor_ir.lowering.hoist_loads import hoist_loads
from sateen.tensor_ir.lowering.keep_in_registers import keep_in_registers
from sateen.tensor_ir.lowering.pipelines import LLVM, Calls, Setting
from sateen.tensor_ir.lowering.promote_accumulators import promote_accumulators
from sateen.tensor_ir.lowering.promote_buffers import promote_buffers
from sateen.tensor_ir.lowering.split_vectors import split_vectors
from sateen.tensor_ir.lowering.unroll_loops import unroll_loops
from sateen.tensor_ir.lowering.vectorize_loops import vectorize_loops
from sateen.tensor_ir.targets import Machine

AVX512 = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"
NEON = "llvm -mtriple=aarch64-linux-gnu"
SIGNATURE = "function f(A: float32[96, 96], B: float32[96, 96], H: float16[96], C: out float32[96, 96])"


def parsed(body, signature=SIGNATURE):
    return parse_function(f"{signature}\n{indent(body.strip(chr(10)), '  ')}\n")


def changed(transform, body, target=AVX512, signature=SIGNATURE):
    """The body that a pass makes, and its remarks; both functions give equal bits."""
    before, remarks = parsed(body, signature), []
    after = transform(before, Machine.of(target), remarks.append)
    verify(after, after=transform.__name__)
    assert str(parse_function(str(after))) == str(after)
    if after is not before and "n" not in signature.split("(")[1].split("]")[0]:
        assert equal_bits(before, after)
    return str(after.body), [str(r) for r in remarks]


def equal_bits(one, other):
    random, results = np.random.default_rng(0), []
    shapes = [(tuple(int(e.value) for e in b.shape), str(b.dtype)) for b in one.parameters]
    given = [random.uniform(-1, 1, shape).astype(dtype) for shape, dtype in shapes]
    for function in (one, other):
        arrays = [np.copy(a) for a in given]
        run(function, arrays)
        results.append(b"".join(a.tobytes() for a in arrays))
    return results[0] == results[1]


VECTORIZED = {
    "a loop around a sum is vectorized, the sum stays in order": (
        """
for j in [0, 32):
  C[0, j] = 0.0f
  for k in [0, 9):
    C[0, j] = C[0, j] + A[0, k] * B[k, j]
""",
        """
vectorized j_lane in [0, 32):
  C[0, j_lane] = 0.0f
  for k in [0, 9):
    C[0, j_lane] = C[0, j_lane] + A[0, k] * B[k, j_lane]
""",
    ),
    "the rest is cut into vectors of less lanes": (
        "for j in [2, 40):\n  C[0, j] = A[1, j] * 2.0f",
        """
for j in [0, 2):
  vectorized j_lane in [0, 16):
    C[0, j * 16 + j_lane + 2] = A[1, j * 16 + j_lane + 2] * 2.0f
vectorized j_lane_1 in [0, 4):
  C[0, j_lane_1 + 34] = A[1, j_lane_1 + 34] * 2.0f
for j_1 in [0, 2):
  C[0, j_1 + 38] = A[1, j_1 + 38] * 2.0f
""",
    ),
}

NOT_VECTORIZED = {
    "a store in steps": ("for i in [0, 32):\n  C[i, 0] = A[0, i]", "it stores C[i, 0] in steps of 96 elements"),
    "a load in steps": ("for i in [0, 32):\n  C[0, i] = A[i, 0]", "it loads A[i, 0] in steps of 96 elements"),
    "a look-up": (
        "for i in [0, 32):\n  C[0, i] = A[0, index(A[1, i])]",
        "the places of A[0, index(A[1, i])] in lanes are no neighbours",
    ),
    "a fused index": (
        "for i in [0, 64):\n  C[i // 32, i % 32] = 1.0f",
        "iterations may share elements of C",
    ),
    "a dependence": ("for i in [1, 32):\n  C[0, i] = C[0, i - 1] + A[0, i]", "iterations may share elements of C"),
    "elements that loops inside share": (
        "for i in [0, 32):\n  for k in [0, 3):\n    C[0, i + k] = A[k, i]",
        "iterations may share elements of C",
    ),
    "a sum": ("for k in [0, 32):\n  C[0, 0] = C[0, 0] + A[0, k]", "each iteration stores to C[0, 0]"),
    "a triangle": (
        "for i in [0, 32):\n  for k in [0, i):\n    C[k, i] = 1.0f",
        "the range of loop k differs between lanes",
    ),
    "a branch": (
        "for i in [0, 32):\n  if A[0, i] > 0.0f:\n    C[0, i] = 1.0f",
        "the condition A[0, i] > 0.0f differs between lanes",
    ),
    "an end that it changes": (
        "C[0, 0] = 37.0f\nfor i in [0, index(C[0, 0])):\n  C[0, i] = 3.0f",
        "it changes C, which its range reads",
    ),
    "a start that it changes": (
        "C[0, 0] = 2.0f\nfor i in [0, 60 - index(C[0, 0])) + index(C[0, 0]):\n  C[0, i - 2] = 5.0f",
        "it changes C, which its range reads",
    ),
    "an end that another function gives": (
        "for i in [0, index(extern.f(A[0, 0]))):\n  C[0, i] = 1.0f",
        "its range calls a function that may do anything: extern.f(A[0, 0])",
    ),
    "few iterations": ("for i in [0, 3):\n  C[0, i] = 1.0f", "3 iterations fill no vector of 16 lanes"),
    "a function of others": (
        "for i in [0, 32):\n  C[0, i] = extern.f(A[0, i])",
        "it calls a function that may do anything: extern.f(A[0, i])",
    ),
    "a pragma": ("for i in [0, 32) keep:\n  C[0, i] = 1.0f", "its pragma keeps it"),
}


@pytest.mark.parametrize("case", VECTORIZED)
def test_independent_iterations_on_neighbours_become_vectors(case):
    body, after = VECTORIZED[case]
    assert changed(vectorize_loops, body)[0] == after.strip()


@pytest.mark.parametrize("case", NOT_VECTORIZED)
def test_a_loop_that_is_not_vectorized_says_why(case):
    body, reason = NOT_VECTORIZED[case]
    after, remarks = changed(vectorize_loops, body)
    assert after == body
    assert f"not vectorized: {reason}" in remarks[-1]


def test_rows_of_sums_share_what_they_load():
    body = """
for i in [0, 9):
  for j in [0, 16):
    C[i, j] = 0.0f
    for k in [0, 5):
      C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
    after = """
for i in [0, 2):
  vectorized j_lane in [0, 16):
    unrolled i_1 in [0, 4):
      C[i * 4 + i_1, j_lane] = 0.0f
    for k in [0, 5):
      unrolled i_2 in [0, 4):
        C[i * 4 + i_2, j_lane] = C[i * 4 + i_2, j_lane] + A[i * 4 + i_2, k] * B[k, j_lane]
vectorized j_lane_1 in [0, 16):
  C[8, j_lane_1] = 0.0f
  for k_1 in [0, 5):
    C[8, j_lane_1] = C[8, j_lane_1] + A[8, k_1] * B[k_1, j_lane_1]
"""
    made, remarks = changed(vectorize_loops, body)
    assert made == after.strip()
    assert remarks[0] == "loop i: 4 iterations side by side, for what they share"
    triangle = body.replace("k in [0, 5)", "k in [0, i)")
    assert "unrolled" not in changed(vectorize_loops, triangle)[0]
    alone = body.replace("B[k, j]", "A[i, j]")
    assert "unrolled" not in changed(vectorize_loops, alone)[0]


def test_a_transpose_reads_neighbours_side_by_side():
    made, remarks = changed(vectorize_loops, "for i in [0, 8):\n  for j in [0, 9):\n    C[i, j] = A[j, i]")
    assert (
        made
        == """
for i in [0, 2):
  for j in [0, 9):
    unrolled i_1 in [0, 4):
      C[i * 4 + i_1, j] = A[j, i * 4 + i_1]
""".strip()
    )
    assert remarks[-1] == "loop i: 4 iterations side by side, for their neighbours in memory"


def test_sums_of_scalars_do_not_wait_for_each_other():
    body = """
for i in [0, 9):
  C[i, 0] = 0.0f
  for k in [0, 5):
    C[i, 0] = C[i, 0] + A[i, k]
"""
    after = """
for i in [0, 2):
  unrolled i_1 in [0, 4):
    C[i * 4 + i_1, 0] = 0.0f
  for k in [0, 5):
    unrolled i_2 in [0, 4):
      C[i * 4 + i_2, 0] = C[i * 4 + i_2, 0] + A[i * 4 + i_2, k]
C[8, 0] = 0.0f
for k_1 in [0, 5):
  C[8, 0] = C[8, 0] + A[8, k_1]
"""
    made, remarks = changed(vectorize_loops, body)
    assert made == after.strip()
    assert remarks[-1] == "loop i: 4 iterations side by side, for their sums"


def test_a_length_that_may_be_negative_runs_no_iteration():
    signature = "function f[n](A: float32[n], C: out float32[n])"
    body = "for i in [0, n - 40):\n  C[i] = A[i] * 2.0f"
    function = vectorize_loops(parsed(body, signature), Machine.of(AVX512))
    assert "vectorized" in str(function)
    for n in (1, 39, 40, 41, 57, 100):
        a, c = np.arange(n, dtype=np.float32), np.full(n, -1, np.float32)
        run(function, [a, c])
        count = max(n - 40, 0)
        np.testing.assert_array_equal(c, [*(2 * a[:count]), *[-1] * (n - count)])


def test_a_choice_that_must_not_load_needs_masks():
    body = "for i in [0, 32):\n  C[0, i] = select(i >= 1, A[0, i - 1], 0.0f)"
    assert "vectorized" in changed(vectorize_loops, body)[0]
    after, remarks = changed(vectorize_loops, body, NEON)
    assert (after, remarks) == (body, ["loop i: not vectorized: whether A[0, i - 1] is loaded differs between lanes"])


def test_a_call_of_the_c_library_is_not_done_lane_by_lane():
    signature = "function f(A: float64[32], C: out float64[32])"
    _, remarks = changed(vectorize_loops, "for i in [0, 32):\n  C[i] = exp(A[i])", signature=signature)
    assert remarks == ["loop i: not vectorized: exp of float64 is a call of the C library for each lane"]


def test_arguments_that_may_overlap_are_vectorized_in_a_single_store():
    signature = "function f(A: aliased float32[32], C: inout float32[32])"
    one = parsed("for i in [0, 32):\n  C[i] = A[i]", signature)
    assert "vectorized" in str(vectorize_loops(one, Machine.of(AVX512)))
    two = parsed("for i in [0, 32):\n  C[i] = A[i]\n  C[i] = A[i] + C[i]", signature)
    assert vectorize_loops(two, Machine.of(AVX512)) is two
    counted = parsed("for i in [0, index(A[0])):\n  C[i] = 3.0f", signature)
    assert vectorize_loops(counted, Machine.of(AVX512)) is counted
    apart = parsed("for i in [0, index(A[0])):\n  C[i] = 3.0f", signature.replace("aliased ", ""))
    assert "vectorized" in str(vectorize_loops(apart, Machine.of(AVX512)))


def test_rows_whose_number_a_sum_changes_are_not_cut():
    body = """
C[0, 0] = 5.0f
for i in [0, index(C[0, 0])):
  for j in [0, 32):
    C[i, j] = 0.0f
    for k in [0, 9):
      C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
    after, remarks = changed(vectorize_loops, body)
    assert "for i in [0, index(C[0, 0])):" in after
    assert remarks[1:] == ["loop j: vectorized, 32 lanes"]


def test_a_processor_without_vectors_keeps_its_loops():
    body, _ = BUFFERS["loops over its elements are unrolled"]
    function = parsed(f"for i_2 in [0, 3):\n  C[9, i_2] = 1.0f\n{body.strip()}")
    for target in ("llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4", "llvm -mtriple=riscv64-linux-gnu"):
        assert vectorize_loops(function, Machine.of(target)) is function
        assert keep_in_registers(function, Machine.of(target)) is function


SUMS = {
    "the initial store goes to the register": (
        """
for i in [0, 8):
  C[i, 0] = 0.0f
  for k in [0, 9):
    C[i, 0] = C[i, 0] + A[i, k]
""",
        """
for i in [0, 8):
  allocate C.sum: register float32[1]
  C.sum[0] = 0.0f
  for k in [0, 9):
    C.sum[0] = C.sum[0] + A[i, k]
  C[i, 0] = C.sum[0]
""",
    ),
    "loops over elements are dimensions, and conditions on elements stay around them": (
        """
for i in [0, 2):
  vectorized j in [0, 16):
    if j < 11:
      C[i, j] = 0.0f
  for k in [0, 9):
    unrolled u in [0, 2):
      vectorized j_1 in [0, 16):
        if j_1 < 11:
          C[i, j_1] = C[i, j_1] + A[i, k * 2 + u] * B[k, j_1]
""",
        """
for i in [0, 2):
  allocate C.sum: register float32[16]
  vectorized j in [0, 16):
    if j < 11:
      C.sum[j] = 0.0f
  for k in [0, 9):
    unrolled u in [0, 2):
      vectorized j_1 in [0, 16):
        if j_1 < 11:
          C.sum[j_1] = C.sum[j_1] + A[i, k * 2 + u] * B[k, j_1]
  vectorized j_1_1 in [0, 16):
    if j_1_1 < 11:
      C[i, j_1_1] = C.sum[j_1_1]
""",
    ),
    "terms that may be absent need the initial store": (
        """
C[0, 0] = 1.0f
for k in [0, 9):
  if A[0, k] > 0.0f:
    C[0, 0] = C[0, 0] + A[0, k]
""",
        """
allocate C.sum: register float32[1]
C.sum[0] = 1.0f
for k in [0, 9):
  if A[0, k] > 0.0f:
    C.sum[0] = C.sum[0] + A[0, k]
C[0, 0] = C.sum[0]
""",
    ),
    "within lanes each lane has its own": (
        """
vectorized j in [0, 16):
  C[0, j] = 0.0f
  for k in [0, 9):
    C[0, j] = C[0, j] + B[k, j]
""",
        """
allocate C.sum: register float32[16]
vectorized j in [0, 16):
  C.sum[j] = 0.0f
  for k in [0, 9):
    C.sum[j] = C.sum[j] + B[k, j]
  C[0, j] = C.sum[j]
""",
    ),
    "a later block loads what is there": (
        """
C[0, 0] = 0.0f
A_1[0] = C[0, 0]
for k in [0, 9):
  C[0, 0] = C[0, 0] + A[0, k]
""",
        """
allocate C.sum: register float32[1]
C[0, 0] = 0.0f
A_1[0] = C[0, 0]
C.sum[0] = C[0, 0]
for k in [0, 9):
  C.sum[0] = C.sum[0] + A[0, k]
C[0, 0] = C.sum[0]
""",
    ),
}

NO_SUMS = {
    "elements that the first iteration does not load": (
        "for k in [0, 9):\n  C[0, 0] = select(k > 0, C[0, 0], 0.0f) + A[0, k]",
        "C: stays in memory in loop k: not every element is loaded and stored in any case",
    ),
    "the loop's own end": ("C[0, 0] = 3.0f\nfor k in [0, index(C[0, 0])):\n  C[0, 0] = C[0, 0] + A[0, k]", None),
    "absent terms without an initial store": (
        "for k in [0, 9):\n  if A[0, k] > 2.0f:\n    C[0, 0] = C[0, 0] + A[0, k]",
        "C: stays in memory in loop k: not every element is loaded and stored in any case",
    ),
    "memory of an iteration": (
        "for k in [0, 20):\n  allocate t: float32[1]\n  t[0] = A[0, k]\n  C[0, k] = t[0]",
        None,
    ),
    "a place that moves": ("for k in [0, 9):\n  C[0, k] = 1.0f\n  C[0, k] = C[0, k] + A[0, k]", None),
    "two places": ("C[0, 0] = 0.0f\nfor k in [0, 9):\n  C[0, 1] = C[0, 0] + A[0, k]", None),
    "lanes that share": (
        """
allocate t: float32[8]
unrolled u in [0, 8):
  t[u // 2] = 0.0f
for k in [0, 9):
  unrolled u_1 in [0, 8):
    t[u_1 // 2] = t[u_1 // 2] + A[u_1, k]
C[0, 0] = t[0]
""".strip(),
        None,
    ),
}


@pytest.mark.parametrize("case", SUMS)
def test_a_loop_adds_in_registers(case):
    body, after = SUMS[case]
    signature = SIGNATURE[:-1] + ", A_1: out float32[1])"
    assert _outline(changed(promote_accumulators, body, signature=signature)[0]) == _outline(after.strip())


def _outline(text):
    """The lines without the indentation under allocations, which the printer leaves out for the last statement."""
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize("case", NO_SUMS)
def test_what_is_no_sum_stays_in_memory(case):
    body, reason = NO_SUMS[case]
    function, remarks = parsed(body), []
    assert promote_accumulators(function, Machine.of(AVX512), remarks.append) is function
    assert [str(r) for r in remarks] == ([reason] if reason else [])


def test_a_sum_of_float16_is_rounded_at_each_store():
    body = "C[0] = H[0]\nfor k in [1, 9):\n  C[0] = C[0] + H[k]"
    after, remarks = changed(promote_accumulators, body, signature="function f(H: float16[9], C: out float16[1])")
    assert (after, remarks) == (body, ["C: stays in memory in loop k: a store to float16 rounds"])


def test_a_sum_that_others_may_overlap_stays_in_memory():
    body = "C[0] = 0.0f\nfor k in [0, 9):\n  C[0] = C[0] + A[k]"
    function = parsed(body, "function f(A: aliased float32[9], C: inout float32[9])")
    assert promote_accumulators(function, Machine.of(AVX512)) is function


def test_more_sums_than_registers_stay_in_memory():
    body = """
for k in [0, 9):
  unrolled i in [0, 40):
    C[i, 0] = C[i, 0] + A[i, k]
""".strip()
    function, remarks = parsed(body), []
    assert promote_accumulators(function, Machine.of(AVX512), remarks.append) is function
    assert [str(r) for r in remarks] == ["C: stays in memory: it needs 40 registers, and 28 are free"]


BUFFERS = {
    "loops over its elements are unrolled": (
        """
allocate t: local float32[2, 16]
  for i in [0, 2):
    vectorized j in [0, 16):
      t[i, j] = A[i, j] * 2.0f
  for i_1 in [0, 2):
    vectorized j_1 in [0, 16):
      C[i_1, j_1] = t[i_1, j_1]
""",
        """
allocate t: register float32[2, 16]
unrolled i in [0, 2):
  vectorized j in [0, 16):
    t[i, j] = A[i, j] * 2.0f
unrolled i_1 in [0, 2):
  vectorized j_1 in [0, 16):
    C[i_1, j_1] = t[i_1, j_1]
""",
    ),
}

NO_BUFFERS = {
    "it has 3200 bytes, and 28 registers are free": (
        "allocate t: local float32[800]\n  t[0] = A[0, 0]\n  C[0, 0] = t[0]"
    ),
    "a store to float16 rounds": "allocate t: local float16[1]\n  t[0] = H[0]\n  C[0, 0] = float32(t[0])",
    "iterations of loop i share it": (
        "allocate t: float32[1]\n  t[0] = A[0, 0]\n  parallel i in [0, 4):\n    C[i, 0] = t[0]"
    ),
    "an index depends on loaded data": (
        "allocate t: local float32[2]\n  t[0] = 0.0f\n  t[1] = 1.0f\n  C[0, 0] = t[index(A[0, 0] * 0.0f)]"
    ),
    "unrolling loop i would repeat loop k": (
        "allocate t: local float32[2]\n  for i in [0, 2):\n    for k in [0, 9):\n      t[i] = A[i, k]\n  C[0, 0] = t[0]"
    ),
    "an index varies with loop i, which its pragma keeps": (
        "allocate t: local float32[2]\n  for i in [0, 2) keep:\n    t[i] = A[i, 0]\n  C[0, 0] = t[0]"
    ),
    "it is stored in vectors of different widths": (
        "allocate t: local float32[4]\n  unrolled i in [0, 4):\n    t[i] = 0.0f\n  vectorized j in [0, 4):\n"
        "    t[j] = A[0, j]\n  C[0, 0] = t[0]"
    ),
    "it is loaded before it is stored, or in wider vectors": (
        "allocate t: local float32[4]\n  unrolled i in [0, 4):\n    t[i] = 0.0f\n  vectorized j in [0, 4):\n"
        "    C[0, j] = t[j]"
    ),
    "the index i // 2 is not linear in unrolled loops": (
        "allocate t: local float32[2]\n  unrolled i in [0, 4):\n    t[i // 2] = A[0, i // 2]\n  C[0, 0] = t[0]"
    ),
}


@pytest.mark.parametrize("case", BUFFERS)
def test_a_small_buffer_becomes_registers(case):
    body, after = BUFFERS[case]
    made, remarks = changed(promote_buffers, body)
    assert _outline(made) == _outline(after.strip())
    assert remarks == ["t: in 2 registers, loop i, i_1 unrolled"]


@pytest.mark.parametrize("reason", NO_BUFFERS)
def test_a_buffer_that_stays_in_memory_says_why(reason):
    function, remarks = parsed(NO_BUFFERS[reason]), []
    assert promote_buffers(function, Machine.of(AVX512), remarks.append) is function
    assert [str(r) for r in remarks] == [f"t: stays in memory: {reason}"]


LOADS = {
    "out of all loops in which it is the same": (
        "for i in [0, 4):\n  for j in [0, 5):\n    C[i, j] = A[0, 0] * A[i, 1]",
        """
let A.element = A[0, 0]
for i in [0, 4):
  let A.element_1 = A[i, 1]
  for j in [0, 5):
    C[i, j] = A.element * A.element_1
""",
    ),
    "a vector is kept whole": (
        "for i in [0, 4):\n  vectorized j in [0, 16):\n    C[i, j] = A[i, j] * B[0, j]",
        """
allocate B.kept: register float32[16]
vectorized j in [0, 16):
  B.kept[j] = B[0, j]
for i in [0, 4):
  vectorized j_1 in [0, 16):
    C[i, j_1] = A[i, j_1] * B.kept[j_1]
""",
    ),
    "a single element is a value for the threads of a loop": (
        "for i in [0, 4):\n  parallel j in [0, 16):\n    C[i, j] = A[i, j] * B[0, 0]",
        """
let B.element = B[0, 0]
for i in [0, 4):
  parallel j in [0, 16):
    C[i, j] = A[i, j] * B.element
""",
    ),
}

NO_LOADS = {
    "registers, which threads don't share": """
for i in [0, 4):
  parallel k in [0, 3):
    vectorized j in [0, 16):
      C[i * 3 + k, j] = A[k, j] * B[0, j]
""",
    "what the loop stores": "for i in [0, 4):\n  C[i, 1] = 1.0f\n  C[i, 0] = C[0, 1] * 2.0f",
    "what may not be loaded": "for i in [0, 4):\n  C[i, 0] = select(A[i, 0] > 0.0f, B[0, 0], 0.0f)",
    "what is loaded under a condition": "for i in [0, 4):\n  if A[i, 0] > 0.0f:\n    C[i, 0] = B[0, 0]",
}


@pytest.mark.parametrize("case", LOADS)
def test_a_load_at_one_place_is_done_once(case):
    body, after = LOADS[case]
    assert _outline(changed(hoist_loads, body)[0]) == _outline(after.strip())


@pytest.mark.parametrize("case", NO_LOADS)
def test_a_load_that_may_differ_or_not_happen_stays(case):
    function = parsed(NO_LOADS[case])
    assert hoist_loads(function, Machine.of(AVX512)) is function


def test_a_load_before_a_loop_without_iterations_is_not_done():
    signature = "function f[n](A: float32[n], C: out float32[4])"
    function = parsed("C[0] = 1.0f\nfor i in [0, n - 1):\n  C[i] = A[1]", signature)
    after = hoist_loads(function, Machine.of(AVX512))
    assert "if n - 1 > 0:" in str(after) or "if n > 1:" in str(after)
    c = np.zeros(4, np.float32)
    run(after, [np.zeros(1, np.float32), c])  # A has no element 1


def test_short_loops_are_unrolled_and_long_ones_stay():
    body = "for i in [0, 20):\n  for k in [0, 3):\n    C[i, k] = A[i, k]"
    assert changed(unroll_loops, body)[0] == body.replace("for k", "unrolled k")
    kept = parsed(body.replace("3):", "3) keep:"))
    assert unroll_loops(kept, Machine.of(AVX512)) is kept


def test_a_vector_of_no_power_of_two_is_split_into_registers():
    body = "vectorized j in [0, 52):\n  C[0, j] = A[0, j]"
    after = """
unrolled j in [0, 3):
  vectorized j_lane in [0, 16):
    C[0, j * 16 + j_lane] = A[0, j * 16 + j_lane]
vectorized j_lane_1 in [0, 4):
  C[0, j_lane_1 + 48] = A[0, j_lane_1 + 48]
"""
    assert changed(lambda f, machine, _: split_vectors(f, machine), body)[0] == after.strip()


def test_a_buffer_that_a_function_is_given_stays_in_memory():
    a = te.placeholder((4,), name="A")
    t = te.extern((4,), [a], lambda ins, outs: te.call_packed("double", ins[0], outs[0]), name="t")
    c = te.compute((4,), lambda i: t[i] + 1.0, name="C")
    schedule, result = te.create_schedule(c), np.zeros(4, np.float32)

    def double(source, target):
        np.asarray(target)[...] = 2 * np.asarray(source)

    build(schedule, [a, c], externals={"double": double})(np.arange(4, dtype=np.float32), result)
    np.testing.assert_array_equal(result, [1, 3, 5, 7])
    remarks = [str(r) for r in explain(schedule, [a, c], AVX512).remarks]
    assert "t: stays in memory: an instruction or a function uses it" in remarks


def test_a_schedule_that_names_registers_keeps_its_loops_and_buffers():
    body = """
allocate r: register float32[1]
  r[0] = A[0, 0]
  for i in [0, 3):
    C[i, 0] = r[0] * B[0, 0]
"""
    function = parsed(body)
    assert keep_in_registers(function, Machine.of(AVX512)) is function


# Whole programs.


def gemm(n=40):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis(n, name="k")
    return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def plain():
    a, b, c = gemm()
    return te.create_schedule(c), [a, b, c]


def vectorized():
    a, b, c = gemm()
    s = te.create_schedule(c)
    io, jo, ii, ji = s[c].tile(*c.op.axis, 8, 20)
    ko, ki = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].vectorize(ji)
    return s, [a, b, c]


def cached():
    a, b, c = gemm()
    s = te.create_schedule(c)
    tile = s.cache_write(c, "local")
    _, jo, _, ji = s[c].tile(*c.op.axis, 5, 16)
    s[c].vectorize(ji)
    s[tile].compute_at(s[c], jo)
    i, j = tile.op.axis
    ko, ki = s[tile].split(tile.op.reduce_axis[0], 4)
    s[tile].reorder(ko, ki, i, j)
    s[tile].unroll(ki)
    s[tile].vectorize(j)
    return s, [a, b, c]


def padded_window():
    """Terms in a border are absent, so that loops may have no iteration."""
    a = te.placeholder((20, 20), name="A")
    ky, kx = te.reduce_axis(3, "ky"), te.reduce_axis(3, "kx")

    def element(y, x):
        row, column = y + ky - 1, x + kx - 1
        inside = te.all(row >= 0, row < 20, column >= 0, column < 20)
        return te.sum(a[row, column], axis=[ky, kx], where=inside)

    c = te.compute((20, 20), element, name="C")
    return te.create_schedule(c), [a, c]


def largest_place():
    """A reduction to a pair."""
    a = te.placeholder((6, 40), name="A")
    k = te.reduce_axis(40, "k")
    combine = te.comm_reducer(
        lambda x, y: (te.select(x[0] >= y[0], x[0], y[0]), te.select(x[0] >= y[0], x[1], y[1])),
        lambda t0, t1: (te.min_value(t0), te.const(-1, t1)),
        name="argmax",
    )
    value, place = te.compute((6,), lambda i: combine((a[i, k], te.cast("int32", k)), axis=k), name="C")
    return te.create_schedule([value, place]), [a, value, place]


def any_length():
    n = te.var("n")
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis(n, name="k")
    c = te.compute((n,), lambda j: te.sum(te.exp(a[k, j]), axis=k), name="C")
    return te.create_schedule(c), [a, c]


@pytest.mark.parametrize("make", [plain, vectorized, cached, padded_window, largest_place, any_length])
@pytest.mark.parametrize("target", [AVX512, NEON])
def test_the_interpreter_finds_equal_bits_in_what_passes_made(make, target):
    schedule, arguments = make()
    function = lower(schedule, arguments, "f")
    setting = Setting(Calls(DEFAULT_RULES, frozenset({"exp"})), Machine.of(target))
    made = LLVM.run(function, setting).function
    verify(made)
    random, results = np.random.default_rng(0), []
    shapes = [tuple(getattr(e, "value", 21) for e in b.shape) for b in function.parameters]
    given = [random.uniform(-1, 1, s).astype(str(b.dtype)) for s, b in zip(shapes, function.parameters, strict=True)]
    for one in (function, made):
        arrays = [np.copy(a) for a in given]
        run(one, arrays, functions={"exp": np.exp})
        results.append(b"".join(a.tobytes() for a in arrays))
    assert results[0] == results[1]


@pytest.mark.parametrize("make", [plain, vectorized, cached, padded_window, any_length])
def test_plain_programs_compute_what_the_loops_of_their_schedules_compute(make):
    schedule, arguments = make()
    shapes = [tuple(getattr(e, "value", 77) for e in t.shape) for t in arguments]
    given = [np.random.default_rng(0).uniform(-1, 1, s).astype(np.float32) for s in shapes]
    results = []
    for keep in (False, True):
        arrays = [np.copy(a) for a in given]
        build(schedule, arguments, keep_loops=keep)(*arrays)
        results.append(arrays[-1])
    np.testing.assert_array_equal(results[0], results[1])


def test_explain_says_what_became_of_loops_and_buffers():
    table = str(explain(*cached(), AVX512))
    assert "loop ii: unrolled, 5 iterations" in table
    assert "C.local: in 5 registers" in table
    remarks = [str(r) for r in explain(*plain(), AVX512).remarks]
    assert remarks == [
        "loop i: 4 iterations side by side, for what they share",
        "loop j: vectorized, 32 and 8 lanes",
        "C: in 8 registers during loop k, initialised before and stored after it",
        "C: in 4 registers during loop k, initialised before and stored after it",
    ]


def test_a_pragma_keeps_a_loop_and_an_option_all():
    schedule, arguments = plain()
    assert "<32 x float>" in build(schedule, arguments, AVX512).llvm_text()
    assert "x float>" not in build(schedule, arguments, AVX512, keep_loops=True).llvm_text()
    c = arguments[-1]
    schedule[c].pragma(c.op.axis[1], "keep")
    assert "x float>" not in build(schedule, arguments, AVX512).llvm_text()
