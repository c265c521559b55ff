"""Pools against NumPy in float64."""

from itertools import product

import numpy as np
import pytest

from sateen.topi.computations.pooling import average_pool, global_pool, max_pool
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import Symbol
from sateen.topi.types import Layout


def reference(x, w, kind, ceil_mode, padding_counts):
    spatial = x.shape[2:]
    out = w.output(spatial, ceil_mode)
    y = np.zeros((*x.shape[:2], *out))
    for place in product(*map(range, out)):
        values, count = [], 0
        for k in product(*map(range, w.kernel)):
            i = [place[d] * w.strides[d] + k[d] * w.dilations[d] - w.pads[d] for d in range(w.rank)]
            if all(0 <= p < e for p, e in zip(i, spatial, strict=True)):
                values.append(x[(..., *i)].astype(np.float64))
            count += all(p < e + w.pads[w.rank + d] for d, (p, e) in enumerate(zip(i, spatial, strict=True)))
        size = count if padding_counts else len(values)
        y[(..., *place)] = np.max(values, 0) if kind == "max" else np.sum(values, 0) / size
    return y


CASES = [
    ((1, 32, 9, 9), Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), False),
    ((1, 32, 8, 8), Window((2, 2), (2, 2), (0,) * 4, (1, 1)), False),
    ((2, 5, 17, 13), Window((3, 2), (2, 3), (1, 0, 1, 1), (2, 1)), True),
    ((1, 24, 5, 30), Window((5, 5), (1, 1), (2,) * 4, (1, 1)), True),
    ((2, 3, 30), Window((4,), (3,), (1, 2), (1,)), False),
    ((1, 3, 5, 6, 7), Window((2, 2, 2), (2, 1, 2), (0, 1, 0, 1, 0, 1), (1, 1, 1)), False),
]


@pytest.mark.parametrize(("shape", "w", "ceil_mode"), CASES)
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("kind", ["max", "average", "average with padding"])
def test_windows(run_views, view, error, random, lanes, shape, w, ceil_mode, blocked, kind):
    x = random.standard_normal(shape).astype("float32")
    data = view(x, "x", Layout.blocked(x.ndim, 1, lanes) if blocked else None)
    counts = kind == "average with padding"
    pool = max_pool(data, w, ceil_mode) if kind == "max" else average_pool(data, w, ceil_mode, counts)
    (y,) = run_views(pool, [data], [x])
    assert error(y, reference(x, w, kind, ceil_mode, counts)) < 1e-6


def test_maximum_of_integers(run_views, view, random):
    x = random.integers(-128, 128, (1, 3, 9, 9)).astype("int8")
    data, w = view(x, "x"), Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    (y,) = run_views(max_pool(data, w), [data], [x])
    np.testing.assert_array_equal(y, reference(x, w, "max", False, False))


@pytest.mark.parametrize("shape", [(1, 32, 7, 7), (2, 24, 5, 5), (1, 3, 50, 51), (1, 48, 33), (1, 1, 1, 1)])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("kind", ["average", "max"])
def test_global(run_views, view, error, random, lanes, shape, blocked, kind):
    x = random.standard_normal(shape).astype("float32")
    data = view(x, "x", Layout.blocked(x.ndim, 1, lanes) if blocked else None)
    (y,) = run_views(global_pool(data, kind), [data], [x])
    axes = tuple(range(2, x.ndim))
    wide = x.astype(np.float64)
    assert error(y, wide.mean(axes, keepdims=True) if kind == "average" else wide.max(axes, keepdims=True)) < 1e-6


def test_a_last_window_of_ceil_mode_begins_on_data_or_before_it():
    n = Symbol("n")
    assert Window((3,), (2,), (1, 1), (1,)).output((n,), ceil_mode=True) == (n // 2 + 1,)
    assert Window((1,), (2,), (0, 0), (1,)).output((n,), ceil_mode=True) == ((n + 1) // 2,)
    assert Window((2,), (2,), (0, 1), (1,)).output((4,), ceil_mode=True) == (2,)
    assert Window((2,), (2,), (0, 1), (1,)).output((5,), ceil_mode=True) == (3,)
    assert Window((3,), (3,), (1, 0), (1,)).output((5,), ceil_mode=True) == (2,)
