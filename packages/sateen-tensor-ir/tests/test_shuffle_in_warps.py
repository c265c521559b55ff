"""Reductions within warps by shuffles: by the interpreter, and by threads of this processor from text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, ExecutionError, LoweringError
from sateen.tensor_ir import build_functions, lower, te
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir import Function, Shuffle, walk
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.shuffle_in_warps import shuffle_in_warps

BLOCK, X, Y = map(te.thread_axis, ("blockIdx.x", "threadIdx.x", "threadIdx.y"))
TARGETS = ["cuda -mcpu=sm_80", "cuda-c", "metal"]


def row_sums(
    rows: int, columns: int, threads: int, together: int = 1, dtype: str = "float32", axis: Any = X
) -> Function:
    """`together` rows of a block, each by so many threads."""
    a = te.placeholder((rows, columns), dtype, name="A")
    k = te.reduce_axis(columns, "k")
    b = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    block, row = s[b].split(b.op.axis[0], together)
    s[b].bind(block, BLOCK)
    s[b].bind(row, Y if axis is X else X)
    s[b].bind(s[b].split(k, threads)[1], axis)
    return lower(s, [a, b], "f")


def shuffles(f: Function, target: str = "cuda-c") -> int:
    (kernel,) = build_functions([f], target).program.kernels
    return sum(isinstance(n, Shuffle) for n in walk(kernel.body))


def run_kernels(f: Function, target: str, *arrays: np.ndarray[Any, Any]) -> None:
    program = build_functions([f], target).program
    run(program.host, arrays, kernels=program.kernels)


TREE = """\
function f(A: float32[{threads}], B: out float32[1])
  thread blockIdx.x i in [0, 1):
    allocate P: shared float32[{threads}]
    thread threadIdx.x k in [0, {threads}):
      P[k] = A[k]
"""
STEP = """\
    thread threadIdx.x t{half} in [0, {threads}):
      if t{half} < {half}:
        P[t{half}] = P[t{half}] + P[t{half} + {half}]
"""


def tree(threads: int) -> Function:
    """The sum of so many elements, a power of two, by as many threads."""
    halves = [threads >> n for n in range(1, threads.bit_length())]
    steps = "".join(STEP.format(threads=threads, half=half) for half in halves)
    return parse_function(f"{TREE.format(threads=threads)}{steps}    B[i] = P[0]")


def test_the_steps_of_a_warp() -> None:
    assert str(shuffle_in_warps(tree(4).body, 4)).splitlines() == [
        "thread blockIdx.x i in [0, 1):",
        "  allocate P: shared float32[4]",
        "  thread threadIdx.x k in [0, 4):",
        "    allocate P.other: register float32[1]",
        "    allocate P.own: register float32[1]",
        "    P.own[0] = A[k]",
        "    shuffle P.other[0] = P.own[0] from (k + 2) % 4 of 4",
        "    if k < 2:",
        "      P.own[0] = P.own[0] + P.other[0]",
        "    shuffle P.other[0] = P.own[0] from (k + 1) % 4 of 4",
        "    if k < 1:",
        "      P.own[0] = P.own[0] + P.other[0]",
        "    if k < 1:",
        "      P[k] = P.own[0]",
        "  B[i] = P[0]",
    ]


def test_warps_before_what_they_give() -> None:
    assert str(shuffle_in_warps(tree(4).body, 2)).splitlines() == [
        "thread blockIdx.x i in [0, 1):",
        "  allocate P: shared float32[4]",
        "  thread threadIdx.x k in [0, 4):",
        "    allocate P.other: register float32[1]",
        "    allocate P.own: register float32[1]",
        "    P.own[0] = A[k]",
        "    shuffle P.other[0] = P.own[0] from (k + 1) % 2 of 2",
        "    if k % 2 < 1:",
        "      P.own[0] = P.own[0] + P.other[0]",
        "    if k % 2 < 1:",
        "      P[k // 2 + 1] = P.own[0]",
        "  thread threadIdx.x t2 in [0, 4):",
        "    allocate P.other_1: register float32[1]",
        "    allocate P.own_1: register float32[1]",
        "    P.own_1[0] = P[t2 % 2 + 1]",
        "    shuffle P.other_1[0] = P.own_1[0] from (t2 + 1) % 2 of 2",
        "    if t2 < 1:",
        "      P.own_1[0] = P.own_1[0] + P.other_1[0]",
        "    if t2 < 1:",
        "      P[t2] = P.own_1[0]",
        "  B[i] = P[0]",
    ]


def test_elements_that_are_read_later_are_stored() -> None:
    text = """\
function f(A: float32[64], B: out float32[64])
  thread blockIdx.x i in [0, 1):
    allocate P: shared float32[64]
    thread threadIdx.x k in [0, 64):
      P[k] = A[k]
    thread threadIdx.x t in [0, 64):
      if t < 16:
        P[t] = P[t] + P[t + 16]
    thread threadIdx.x u in [0, 64):
      B[u] = P[u]"""
    f = parse_function(text)
    assert shuffles(f) == 1
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run_kernels(f, "cuda-c", x, y)
    np.testing.assert_array_equal(y, np.concatenate([x[:16] + x[16:32], x[16:]]))


@pytest.mark.parametrize(
    "f",
    [
        row_sums(3, 100, 16),
        row_sums(3, 100, 48, 3, axis=Y),
        row_sums(3, 100, 40),
        row_sums(3, 100, 32, dtype="float64"),
        row_sums(3, 100, 32, dtype="uint8"),
    ],
    ids=["half a warp", "across warps", "a warp and a part", "long elements", "short elements"],
)
def test_what_stays_in_shared_memory(f: Function) -> None:
    assert shuffles(f) == 0


def test_only_kinds_with_warps_of_a_known_width_shuffle() -> None:
    f = row_sums(3, 100, 64)
    assert [shuffles(f, kind) for kind in (*TARGETS, "opencl", "webgpu")] == [6, 6, 6, 0, 0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("threads", "together"), [(32, 1), (32, 3), (64, 1), (96, 1), (128, 2), (256, 1)])
def test_rows_of_whole_warps(target: str, threads: int, together: int) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (5, 300)).astype(np.float32)
    y = np.zeros(5, np.float32)
    f = row_sums(5, 300, threads, together)
    assert shuffles(f, target) >= 4
    run_kernels(f, target, x, y)
    np.testing.assert_array_equal(y, x.sum(1))


def best_places() -> Function:
    a = te.placeholder((3, 90), name="A")
    k = te.reduce_axis(90, "k")

    def better(left: Any, right: Any) -> Any:
        take = (left[0] > right[0]) | (left[0].equal(right[0]) & (left[1] < right[1]))
        return te.select(take, left[0], right[0]), te.select(take, left[1], right[1])

    best = te.comm_reducer(better, lambda v, i: (te.min_value(v), te.max_value(i)), "argmax")
    values, places = te.compute((3,), lambda i: best((a[i, k], k.astype("int32")), axis=k), name="B")
    s = te.create_schedule([values, places])
    s[values].bind(values.op.axis[0], BLOCK)
    s[values].bind(s[values].split(k, 32)[1], X)
    return lower(s, [a, values, places], "f")


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
def test_threads_give_each_other_pairs(launch_on: Callable[[str], Any], target: str) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (3, 90)).astype(np.float32)
    f = best_places()
    assert shuffles(f, target) == 10
    results = [np.zeros(3, np.float32), np.zeros(3, np.int32)]
    run_kernels(f, target, x, *results)
    np.testing.assert_array_equal(results[1], x.argmax(1))
    found = [np.zeros(3, np.float32), np.zeros(3, np.int32)]
    launch_on(target)(f, x, *found)
    np.testing.assert_array_equal(found, results)


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
@pytest.mark.parametrize(("threads", "together"), [(32, 3), (128, 1)])
def test_text_of_rows(launch_on: Callable[[str], Any], target: str, threads: int, together: int) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (5, 300)).astype(np.float32)
    y = np.zeros(5, np.float32)
    launch_on(target)(row_sums(5, 300, threads, together), x, y)
    np.testing.assert_array_equal(y, x.sum(1))


# Errors.


def divergent(condition: str, threads: int = 32) -> Function:
    return parse_function(
        f"""\
function f(A: float32[{threads}], B: out float32[{threads}])
  thread threadIdx.x t in [0, {threads}):
    allocate own: register float32[1]
    own[0] = A[t]
    if {condition}:
      shuffle own[0] = A[t] from (t + 1) % 32 of 32
    B[t] = own[0]"""
    )


def test_a_shuffle_of_some_threads_is_refused() -> None:
    words = (
        r"'shuffle own\[0\] = .*' is executed by all threads of a block together, and stands inside of condition t < 5"
    )
    with pytest.raises(LoweringError, match=words):
        build_functions([divergent("t < 5")], "cuda-c")


def test_a_part_of_a_warp_is_refused() -> None:
    with pytest.raises(LoweringError, match=r"expects whole warps of 32 threads along threadIdx.x, found 48"):
        build_functions([divergent("0 < 1", 48)], "cuda-c")


def test_a_language_without_shuffles_says_so() -> None:
    with pytest.raises(CodegenError, match="f_0: OpenCL C has no threads of a warp that give values to each other"):
        build_functions([divergent("0 < 1")], "opencl")


@pytest.mark.parametrize(
    ("condition", "lane", "words"),
    [("t < 5", "t", "a shuffle is reached by 5 of 32 threads"), ("0 < 1", "t + 1", "a lane below 32, found 32")],
)
def test_the_interpreter_traps(condition: str, lane: str, words: str) -> None:
    f = parse_function(str(divergent(condition)).replace("(t + 1) % 32", lane))
    with pytest.raises(ExecutionError, match=words):
        run(f, [np.zeros(32, np.float32), np.zeros(32, np.float32)])
