"""Reductions against NumPy, and how they are scheduled."""

import itertools

import numpy as np
import pytest

from sateen.tensor_ir import Machine, build, te
from sateen.topi.computations import element_wise, reductions
from sateen.topi.types import placeholder

RANDOM = np.random.default_rng(0)
SHAPES = [(3, 5, 33), (2, 3, 7, 20), (100,), (1, 70, 1), (5, 1, 64)]
CASES = [(s, axes) for s in SHAPES for n in range(1, len(s) + 1) for axes in itertools.combinations(range(len(s)), n)]


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
def test_any_axes_of_any_shape(computed, shape, axes, keepdims):
    x = RANDOM.random(shape).astype("float32")
    found = computed(lambda v: reductions.reduce(v, axes, keepdims, "sum"), x)
    np.testing.assert_allclose(found, x.sum(axis=axes, keepdims=keepdims), rtol=1e-5)
    found = computed(lambda v: reductions.reduce_log_sum_exp(v, axes, keepdims), x * 90)
    wide = x.astype("float64") * 90
    np.testing.assert_allclose(found, np.log(np.exp(wide).sum(axis=axes, keepdims=keepdims)), rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((128, 768), (1,)),
        ((128, 768), (0,)),
        ((1, 64, 14, 14), (2, 3)),
        ((4, 64, 28, 28), (0, 2, 3)),
        ((1 << 20,), (0,)),
    ],
    ids=str,
)
def test_reductions_run_in_vectors(compiled, shape, axes):
    module = compiled(lambda v: reductions.reduce(v, axes, False, "sum"), shape)
    assert (module.report.gathers, module.report.scalarised) == (0, 0)
    assert f"fadd contract <{Machine.of('llvm').lanes()} x float>" in module.llvm_text()


def test_a_long_sum_is_cut_alike_for_any_number_of_threads(compiled, computed):
    x = RANDOM.random((1 << 19,)).astype("float32")
    module = compiled(lambda v: reductions.reduce(v, (0,), True, "sum"), x.shape)
    assert "parallel r0" in str(module.functions[0])
    found = computed(lambda v: reductions.reduce(v, (0,), True, "sum"), x)
    np.testing.assert_allclose(found, [x.sum(dtype="float64")], rtol=1e-6)
    found = computed(lambda v: reductions.reduce(v, (0,), False, "mean"), x)
    np.testing.assert_allclose(found, x.mean(dtype="float64"), rtol=1e-6)


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 0), ((0, 3), 1), ((0, 3), 0), ((2, 0, 5), 1)], ids=str)
def test_tensors_without_elements(computed, shape, axis):
    x = np.zeros(shape, "float32")
    for keepdims in (True, False):
        found = computed(lambda v, kept=keepdims: reductions.reduce(v, (axis,), kept, "sum"), x)
        np.testing.assert_array_equal(found, x.sum(axis=axis, keepdims=keepdims))


def test_an_epilogue_is_computed_where_the_reduction_ends():
    x = placeholder((64, 100), "float32", "x")
    mean = reductions.reduce(x, (1,), True, "mean")
    output = element_wise.unary(mean.view, element_wise.relu, "relu").view.tensor
    schedule = te.create_schedule(output)
    mean.schedule_on(Machine.of("llvm"))(schedule, output, Machine.of("llvm"))
    module = build(schedule, [x.tensor, output])
    data, found = RANDOM.normal(size=(64, 100)).astype("float32"), np.zeros((64, 1), "float32")
    module(data, found)
    np.testing.assert_allclose(found, np.maximum(data.mean(1, keepdims=True), 0), atol=1e-6)
    assert "allocate mean: register" in str(module.functions[0])


def test_extrema_prefer_the_first_or_the_last_of_equal_elements(computed):
    x = np.array([[1, 3, 3, 0], [np.nan, 5, np.nan, 7]], "float32")
    find = {
        (largest, last): computed(lambda v, m=largest, l=last: reductions.arg_extremum(v, 1, False, m, l), x).tolist()
        for largest in (True, False) for last in (True, False)
    }  # fmt: skip
    assert find == {(True, False): [1, 0], (True, True): [2, 2], (False, False): [3, 0], (False, True): [3, 2]}


def test_the_logarithm_of_a_sum_with_infinite_terms(computed):
    x = np.array([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 2]], "float32")
    y = computed(lambda v: reductions.reduce_log_sum_exp(v, (1,), False), x)
    np.testing.assert_array_equal(y, np.array([np.inf, -np.inf, 2], "float32"))
