"""Loops over rows that run strip by strip: loop IR before and after, which the interpreter runs with equal bits."""

from textwrap import indent

import numpy as np
import pytest

from sateen.tensor_ir import build, explain, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.lowering.cut_into_strips import cut_into_strips
from sateen.tensor_ir.targets import Machine

AVX2 = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"
AVX512 = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"
NEON = "llvm -mtriple=aarch64-linux-gnu"
SIGNATURE = "function f(A: float32[64, 64], B: float32[64, 64], C: out float32[64, 64])"
ZEROS = "for r in [0, 9):\n  vectorized l in [0, 32):\n    C[r, l] = 0.0f\n"
ROWS = """
for i in [0, 9):
  unrolled k in [0, 4):
    vectorized j in [0, 32):
      C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
STRIPS = """
for j in [0, 2):
  for i in [0, 9):
    unrolled k in [0, 4):
      vectorized j_strip in [0, 16):
        C[i, j * 16 + j_strip] = C[i, j * 16 + j_strip] + A[i, k] * B[k, j * 16 + j_strip]
"""


def parsed(body, signature=SIGNATURE):
    return parse_function(f"{signature}\n{indent(body.strip(), '  ')}\n")


@pytest.mark.parametrize("target", [AVX2, NEON])
def test_rows_run_in_strips_whose_shared_vectors_fit_into_registers(target):
    before, remarks, results = parsed(ZEROS + ROWS.lstrip()), [], []
    after = cut_into_strips(before, Machine.of(target), remarks.append)
    verify(after, after="cut_into_strips")
    assert str(after.body) == (ZEROS + STRIPS.lstrip()).strip()
    text = "loop i: run 2 times over 16 lanes of j, for the loads that stay the same"
    assert [str(remark) for remark in remarks] == [text]
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 64, 64)).astype(np.float32)
    for function in (before, after):
        results.append(np.zeros((64, 64), np.float32))
        run(function, [a, b, results[-1]])
    assert results[0].tobytes() == results[1].tobytes()


STAY = {
    "lanes read what others store": ROWS.replace("= C[i, j]", "= C[i, 40 - j]"),
    "rows read what other lanes stored in earlier rows": ROWS.replace("C[i, j] = C[i, j]", "C[i + 1, j] = C[i, j + 1]"),
    "rows store all lanes of one another": ROWS.replace("C[i, j] = C[i, j]", "C[1, i + j] = C[1, i + j]"),
    "nothing is the same in all rows": ROWS.replace("B[k, j]", "B[k + i, j]"),
    "each strip would load more again than it saves": ROWS.replace(
        "A[i, k]", "A[i, k] * A[k, i] * A[i + k, 0] * A[0, i + k]"
    ),
    "there is one row": ROWS.replace("[0, 9)", "[0, 1)"),
    "a loop inside stays": ROWS.replace("unrolled k", "for k"),
    "its pragma keeps it": ROWS.replace("[0, 9):", "[0, 9) keep:"),
}


@pytest.mark.parametrize("case", STAY)
def test_a_loop_that_gains_nothing_or_must_keep_its_order_stays(case):
    function = parsed(STAY[case])
    assert cut_into_strips(function, Machine.of(AVX2)) is function


def test_rows_whose_shared_vectors_fit_stay_whole():
    function = parsed(ROWS)
    assert cut_into_strips(function, Machine.of(AVX512)) is function


def tutorial(n=64):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    panels = te.compute((n // 32, n, 32), lambda p, r, j: b[r, p * 32 + j], name="panels")
    k = te.reduce_axis(n, name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * panels[j // 32, k, j % 32], axis=k), name="C")
    s = te.create_schedule(c)
    tile = s.cache_write(c, "global")
    i, j = c.op.axis
    _, jo, _, _ = s[c].tile(i, j, 32, 32)
    s[tile].compute_at(s[c], jo)
    i, j = tile.op.axis
    ko, ki = s[tile].split(tile.op.reduce_axis[0], 4)
    s[tile].reorder(ko, i, ki, j)
    s[tile].unroll(ki)
    s[tile].vectorize(j)
    return s, [a, b, c]


@pytest.mark.parametrize("target", [AVX2, AVX512, NEON])
def test_a_product_in_tiles_loads_each_vector_of_a_panel_once_for_all_rows(target):
    schedule, arguments = tutorial()
    remarks = [str(r) for r in explain(schedule, arguments, target).remarks]
    assert any(r.startswith("panels[") and r.endswith("loaded once, before loop i") for r in remarks)


def test_a_product_in_tiles_is_that_of_its_loops():
    schedule, arguments = tutorial()
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 64, 64)).astype(np.float32)
    results = []
    for keep in (False, True):
        results.append(np.empty((64, 64), np.float32))
        build(schedule, arguments, keep_loops=keep)(a, b, results[-1])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], a @ b, rtol=1e-4, atol=1e-5)
