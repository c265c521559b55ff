"""Parallel loops in generated code: what a task sees of the code around it, and how it fails."""

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, OutOfMemoryError
from sateen.tensor_ir import build, build_functions, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function


def agree(source, *arrays):
    function = parse_function(source)
    *inputs, output = arrays
    wanted, found = output.copy(), output.copy()
    run(function, [*inputs, wanted])
    build_functions([function])(*inputs, found)
    np.testing.assert_array_equal(found, wanted)


def test_a_task_sees_loop_variables_lets_and_symbols_around_it():
    agree(
        """\
function f[n](a: int32[n] align 4, b: out int32[3, n] align 4)
  for i in [0, 3):
    let t = a[0] + int32(i)
    parallel j in [0, n):
      b[i, j] = a[j] * t + int32(i * j + n)
""",
        np.arange(7, dtype="int32"),
        np.zeros((3, 7), "int32"),
    )


def test_conditions_and_bounds_inside_a_task_may_use_what_is_around_it():
    agree(
        """\
function f[n](a: int32[n] align 4, b: out int32[4, n] align 4)
  for i in [0, 4):
    parallel j in [0, n):
      b[i, j] = int32(0)
      for k in [0, n - i) + i:
        if k + i < j:
          b[i, j] = b[i, j] + a[k]
""",
        np.arange(9, dtype="int32"),
        np.zeros((4, 9), "int32"),
    )


def test_a_parallel_loop_may_start_anywhere_and_have_no_iteration():
    for start, stop in ((2, 6), (3, 3), (0, 8)):
        agree(
            f"""\
function f(a: int32[8] align 4, b: out int32[8] align 4)
  parallel j in [{start}, {stop}):
    b[j] = a[j] + int32(j)
""",
            np.arange(8, dtype="int32"),
            np.zeros(8, "int32"),
        )


def test_parallel_loops_nest():
    agree(
        """\
function f(a: int32[6, 5] align 4, b: out int32[6, 5] align 4)
  parallel i in [0, 6):
    let t = a[i, 0]
    parallel j in [0, 5):
      b[i, j] = a[i, j] * t + int32(i)
""",
        np.arange(30, dtype="int32").reshape(6, 5),
        np.zeros((6, 5), "int32"),
    )


def test_tasks_share_memory_around_them_and_have_their_own_inside():
    agree(
        """\
function f(a: int32[8] align 4, b: out int32[8] align 4)
  allocate shared: int32[8]
    parallel i in [0, 8):
      allocate own: int32[2000]
        for k in [0, 2000):
          own[k] = a[i] + int32(k)
        shared[i] = own[1999] - own[1000]
    for j in [0, 8):
      b[j] = shared[7 - j] + a[j]
""",
        np.arange(8, dtype="int32"),
        np.zeros(8, "int32"),
    )


def test_loads_before_a_parallel_loop_that_stores_are_not_remembered_after_it():
    agree(
        """\
function f(a: int32[8] align 4, b: out int32[8] align 4)
  b[0] = a[0]
  b[1] = b[0] + int32(1)
  parallel i in [0, 2):
    b[i * 2] = a[i] + int32(5)
  b[3] = b[0]
""",
        np.arange(8, dtype="int32"),
        np.zeros(8, "int32"),
    )


def test_results_do_not_depend_on_the_number_of_threads():
    n = te.var("n")
    A, k = te.placeholder((n, 33), name="A"), te.reduce_axis(33, "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    s[B].parallel(B.op.axis[0])
    module = build(s, [A, B]).module
    a = np.random.default_rng(0).standard_normal((101, 33), "float32")
    results = []
    for threads in (1, 2, 3):
        b = np.zeros(101, "float32")
        module.with_threads(threads)(a, b)
        results.append(b)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_memory_that_a_task_does_not_get_is_an_error_of_the_call():
    huge = 1 << 50
    function = parse_function(f"""\
function f(b: out int32[4] align 4)
  parallel i in [0, 4):
    allocate own: int32[{huge}]
      own[i] = int32(1)
      b[i] = own[i]
""")
    with pytest.raises(OutOfMemoryError):
        build_functions([function])(np.zeros(4, "int32"))


def test_memory_of_a_symbolic_size_that_is_not_there_is_an_error_of_the_call():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n * (1 << 44),), lambda i: A[0], name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    module = build(te.create_schedule(C), [A, C])
    with pytest.raises(OutOfMemoryError):
        module(np.ones(300, "float32"), np.zeros(300, "float32"))


def test_a_vectorized_loop_around_a_parallel_one_is_refused():
    function = parse_function("""\
function f(b: out int32[4, 4])
  vectorized i in [0, 4):
    parallel j in [0, 4):
      b[j, i] = int32(1)
""")
    with pytest.raises(CodegenError, match="a parallel loop inside a vectorized one can't be expressed"):
        build_functions([function])
