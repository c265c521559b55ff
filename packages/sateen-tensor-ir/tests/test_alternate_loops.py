"""Parallel loops whose threads go through their parts backwards in odd iterations of the loop around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError, ScheduleError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import For, LoopKind
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering import serialize_loops
from sateen.tensor_ir.lowering.alternate_loops import backward_turns
from sateen.tensor_ir.te import ir_builder

ORDER = """\
function f(count: inout int64[2] align 4, order: out int64[3, 7] align 4)
  for step in [0, 3):
    parallel i in [2, 9) alternate:
      count[(i - 2) // 4] = count[(i - 2) // 4] + 1
      order[step, i - 2] = count[(i - 2) // 4]"""
"""Each half of the iterations, which one of two threads runs, says in which order they ran."""

EACH_THREAD = [[1, 2, 3, 4, 1, 2, 3], [8, 7, 6, 5, 6, 5, 4], [9, 10, 11, 12, 7, 8, 9]]


def memory() -> list[np.ndarray]:
    return [np.zeros(2, "int64"), np.zeros((3, 7), "int64")]


@pytest.mark.parametrize("threads", [1, 2])
def test_each_thread_goes_through_its_part_backwards_in_odd_iterations(threads: int) -> None:
    """One thread goes through both halves, so that each of them is turned as a whole, too."""
    count, order = memory()
    build_functions([parse_function(ORDER)]).module.with_threads(threads)["f"](count, order)
    assert order.tolist() == EACH_THREAD


def test_the_same_in_c(compiled_c) -> None:
    function, (count, order) = parse_function(ORDER), memory()
    compiled_c(function)["f"](count, order)
    assert order.tolist() == EACH_THREAD
    assert "(step % 2 == 1 ? begin + (end - 1 - i_turn) : i_turn)" in build_functions([function], "c").source


def test_without_threads_the_loop_counts_from_its_end() -> None:
    function = serialize_loops(parse_function(ORDER))
    assert str(function) == (
        "function f(count: inout int64[2] align 4, order: out int64[3, 7] align 4)\n"
        "  for step in [0, 3):\n"
        "    for i_turn in [2, 9):\n"
        "      let i = select(step % 2 == 1, 8 - (i_turn - 2), i_turn)\n"
        "      count[(i - 2) // 4] = count[(i - 2) // 4] + 1\n"
        "      order[step, i - 2] = count[(i - 2) // 4]"
    )
    count, order = memory()
    build_functions([function]).module["f"](count, order)
    assert order.tolist() == EACH_THREAD


INSIDE = "parallel i in [0, 4) alternate:"


@pytest.mark.parametrize(
    ("around", "turned"),
    [
        (("for s in [0, 3):", "if n > 1:", INSIDE), "s % 2 == 1"),
        (("for s in [0, 3):", "for t in [0, 2):", INSIDE), "t % 2 == 1"),
        (("unrolled s in [0, 3):", INSIDE), None),
        ((INSIDE,), None),
        (("for s in [0, 3):", INSIDE.replace(" alternate", "")), None),
    ],
    ids=["in a branch", "in two loops", "in no serial loop", "in no loop", "without the pragma"],
)
def test_the_nearest_serial_loop_says_when(around: Sequence[str], turned: str | None) -> None:
    lines = ["function f[n](a: float32[n], b: out float32[4])", *around, "b[i] = 1.0f"]
    function = parse_function("\n".join("  " * depth + line for depth, line in enumerate(lines)))
    (loop,) = (s for s in walk(function.body) if isinstance(s, For) and s.kind is LoopKind.PARALLEL)
    assert {s: str(e) for s, e in backward_turns(function.body).items()} == ({} if turned is None else {loop: turned})


def test_a_body_of_loops_asks_for_it() -> None:
    def write(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 3, "step") as step, ib.for_range(0, 40, "i", "parallel", alternate=True) as i:
            result[step, i] = source[i] + 1.0
        return ib.get()

    a = te.placeholder((40,), name="a")
    b = te.extern((3, 40), [a], write, name="b")
    assert "parallel i in [0, 40) alternate:" in str(lower(te.create_schedule(b), [a, b]))
    x, y = np.arange(40, dtype="float32"), np.zeros((3, 40), "float32")
    build(te.create_schedule(b), [a, b])(x, y)
    np.testing.assert_array_equal(y, np.broadcast_to(x + 1, (3, 40)))


def test_only_a_parallel_loop_alternates() -> None:
    with (
        pytest.raises(ExpressionError, match="expects kind='parallel' of a loop that alternates, found 'serial'"),
        ir_builder.create().for_range(0, 4, "i", "serial", alternate=True),
    ):
        pass
    a = te.placeholder((3, 8), name="a")
    b = te.compute((3, 8), lambda i, j: a[i, j] + 1.0, name="b")
    _, j = b.op.axis
    s = te.create_schedule(b)
    with pytest.raises(ScheduleError, match=r"axis 'j': alternate is for parallel loops; call parallel before"):
        s[b].pragma(j, "alternate")
    s[b].parallel(j)
    s[b].pragma(j, "alternate")
    x, y = np.arange(24, dtype="float32").reshape(3, 8), np.zeros((3, 8), "float32")
    built = build(s, [a, b])
    assert "parallel j in [0, 8) alternate:" in str(lower(s, [a, b]))
    built(x, y)
    np.testing.assert_array_equal(y, x + 1)
