"""Products by seven products of quarters, against the definition."""

from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.topi.computations.products import Strassen, matmul_candidates, strassen
from sateen.topi.types import compute

AVX512 = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"), l2_bytes=1 << 20, l3_bytes=32 << 20)
AVX2 = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), l3_bytes=16 << 20)


def product(run_views, view, a, b, vectors, lanes, function=None, layout=True):
    weight = strassen.strassen_weight(b)
    operands = [view(a, "a"), view(weight, "w", strassen.strassen_weight_layout(lanes, vectors) if layout else None)]
    epilogue = None
    if function is not None:

        def epilogue(v):
            return compute(v.shape, lambda *i: function(v(*i)), "epilogue", v.layout)

    (y,) = run_views(strassen.strassen_matmul(*operands), operands, [a, weight], *([epilogue] if epilogue else []))
    return y


@pytest.mark.parametrize(
    ("shape", "columns", "vectors"), [((1, 8, 16), 2, 1), ((2, 9, 24), 4, 2), ((2, 2, 6, 32), 12, 3), ((1, 7, 8), 6, 1)]
)
def test_values(run_views, view, error, random, lanes, shape, columns, vectors):
    a = random.standard_normal(shape).astype("float32")
    b = random.standard_normal((shape[-1], columns * lanes)).astype("float32")
    assert error(product(run_views, view, a, b, vectors, lanes), a.astype(np.float64) @ b) < 2e-6


@pytest.mark.parametrize("function", [lambda e: te.maximum(e, 0.0), te.tanh], ids=["in registers", "through a buffer"])
def test_an_epilogue_is_computed_on_blocks(run_views, view, error, random, lanes, function):
    a = random.standard_normal((1, 9, 16)).astype("float32")
    b = (random.standard_normal((16, 4 * lanes)) * 0.2).astype("float32")
    expected = a.astype(np.float64) @ b
    expected = np.tanh(expected) if function is te.tanh else np.maximum(expected, 0)
    assert error(product(run_views, view, a, b, 2, lanes, function), expected) < 2e-6


def test_row_major_is_computed_as_defined(run_views, view, error, random):
    a, b = random.standard_normal((1, 3, 4)).astype("float32"), random.standard_normal((4, 6)).astype("float32")
    assert error(product(run_views, view, a, b, 1, 1, layout=False), a.astype(np.float64) @ b) < 2e-6


def test_the_tables_multiply_matrices():
    left, right, result = (np.array(t) for t in (strassen.LEFT, strassen.RIGHT, strassen.RESULT))
    found = np.einsum("rq,qa,qb->rab", result, left, right).reshape([2] * 6)
    eye = np.eye(2)
    np.testing.assert_array_equal(found, np.einsum("ik,jn,lm->ijklmn", eye, eye, eye))


@pytest.mark.parametrize(
    ("a", "columns", "machine", "vectors"),
    [
        ((1, 128, 768), 3072, AVX512, 3),
        ((1, 128, 768), 768, AVX2, 3),
        ((1, 128, 1024), 1024, AVX2, 2),
        ((2, 2, 49, 512), 1024, AVX512, 4),
        ((2, 7, 7, 512), 1024, AVX512, 4),
        ((128, 768), 3072, AVX512, 0),
        ((1, 128, 768), 1000, AVX512, 0),
        ((1, 128, 770), 768, AVX512, 0),
        ((128, 1, 4096), 4096, AVX512, 0),
        ((1, 16, 768), 768, AVX512, 0),
        ((1, 4096, 32), 64, AVX512, 0),
        ((1, 128, 768), 768, replace(AVX2, vector_bytes=4), 0),
    ],
)
def test_it_pays_for_large_products_in_whole_panels(a, columns, machine, vectors):
    best = [c.method for c in matmul_candidates(a, (a[-1], columns), DType.of("float32"), machine)[:1]]
    assert [m.vectors for m in best if isinstance(m, Strassen)] == [vectors] * (vectors > 0)


def test_items_of_a_batch_do_not_meet(run_views, view, random, lanes):
    a = random.standard_normal((3, 8, 16)).astype("float32")
    b = random.standard_normal((16, 4 * lanes)).astype("float32")
    alone = product(run_views, view, a[1:2], b, 2, lanes)
    a[0], a[2] = np.inf, 1e9
    np.testing.assert_array_equal(product(run_views, view, a, b, 2, lanes)[1:2], alone)
