"""What the iterations of a parallel loop compute alike is computed once by each thread."""

from dataclasses import replace

import numpy as np
import pytest

from sateen.tensor_ir import build_functions
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import For, LoopKind
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.split_tasks import split_tasks, without_invariants

SHARED = """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  parallel i in [0, 6):
    allocate t: float32[4]
    allocate u: float32[4]
    allocate s: float32[1]
      for j in [0, 4):
        s[0] = a[j] * 2.0f
        t[j] = s[0] + 1.0f
    for k in [0, 4):
      u[k] = t[k] + float32(i)
    for l in [0, 4):
      b[i, l] = u[l] * t[l]
"""


def parallel_loop(text):
    function = parse_function(text)
    return function, next(n for n in walk(function.body) if isinstance(n, For))


def test_it_comes_before_the_loop_with_its_storage():
    function, loop = parallel_loop(SHARED)
    inner, invariants = without_invariants(loop)
    assert (
        str(replace(function, body=invariants.around(inner)))
        == """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  allocate t: float32[4]
  allocate s: float32[1]
    for j in [0, 4):
      s[0] = a[j] * 2.0f
      t[j] = s[0] + 1.0f
  parallel i in [0, 6):
    allocate u: float32[4]
    for k in [0, 4):
      u[k] = t[k] + float32(i)
    for l in [0, 4):
      b[i, l] = u[l] * t[l]"""
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_generated_code_gives_the_same(threads):
    function = parse_function(SHARED)
    a, found, wanted = np.arange(4, dtype="float32"), np.zeros((6, 4), "float32"), np.zeros((6, 4), "float32")
    run(function, [a, wanted])
    build_functions([function]).module.with_threads(threads)["f"](a, found)
    np.testing.assert_array_equal(found, wanted)


def test_generated_code_computes_it_once():
    function = parse_function(SHARED)
    text = build_functions([function], "c").source
    loops = [line.split()[2] for line in text.splitlines() if line.strip().startswith("for (")]
    assert [var for var in loops if var in "ijkl"] == ["j", "i", "k", "l"]
    task = build_functions([function]).llvm_text().partition("task")[2].partition("\n}")[0]
    assert task.index("load float, ptr") < task.index("phi i64 [ %begin")


@pytest.mark.parametrize(
    "body",
    [
        """\
    allocate t: float32[4]
    t[0] = float32(i)
    b[i] = t[0]
""",
        """\
    b[0] = a[0]
    b[i] = a[1]
""",
        """\
    allocate t: float32[4]
    t[0] = a[0]
    t[0] = t[0] + float32(i)
    b[i] = t[0]
""",
        """\
    allocate t: float32[4]
    t[0] = b[0]
    b[i] = t[0] + 1.0f
""",
        """\
    allocate t: float32[4]
    t[0] = a[0]
""",
        """\
    allocate t: float32[i + 1]
    t[0] = a[0]
    b[i] = t[0]
""",
        """\
    allocate t: register float32[4]
    t[0] = a[0]
    b[i] = t[0]
""",
    ],
    ids=[
        "it depends on the iteration",
        "others see it",
        "it is changed later",
        "it reads a result",
        "it is all there is",
        "its storage depends on the iteration",
        "it is in registers",
    ],
)
def test_other_statements_stay(body):
    _, loop = parallel_loop(f"function f(a: float32[4], b: out float32[4])\n  parallel i in [0, 4):\n{body}")
    inner, invariants = without_invariants(loop)
    assert inner is loop
    assert invariants.around(loop) is loop


def test_what_overlaps_a_result_is_read_in_every_iteration():
    text = """\
function f(a: aliased float32[4], b: inout float32[4])
  parallel i in [0, 4):
    allocate t: float32[4]
    t[0] = a[0]
    b[i] = t[0] + 1.0f
"""
    function, loop = parallel_loop(text)
    assert without_invariants(loop)[0] is not loop
    assert without_invariants(loop, function.aliased)[0] is loop


def test_every_parallel_loop_has_a_task_that_is_a_serial_loop():
    function = parse_function("""\
function f(a: float32[4], b: out float32[4, 4])
  parallel i in [0, 4):
    allocate t: float32[1]
    t[0] = a[0] * 2.0f
    parallel j in [0, 4):
      b[i, j] = t[0]
""")
    tasks = split_tasks(function).tasks
    outer, inner = (n for n in walk(function.body) if isinstance(n, For))
    assert set(tasks) == {outer, inner}
    assert [(task.loop.var, task.loop.kind) for task in tasks.values()] == [
        (outer.var, LoopKind.SERIAL),
        (inner.var, LoopKind.SERIAL),
    ]
    assert tasks[outer].loop.body is inner
    assert [str(s) for s in tasks[outer].invariants.statements] == ["t[0] = a[0] * 2.0f"]
    assert tasks[inner].invariants.around(tasks[inner].loop) is tasks[inner].loop


def test_a_function_without_parallel_loops_has_no_tasks():
    assert split_tasks(parse_function("function f(b: out float32[4])\n  b[0] = 1.0f")).tasks == {}
