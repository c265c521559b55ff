"""Indices out of range stay within memory; rows are copied in vectors."""

import numpy as np
import pytest

from sateen.tensor_ir import Machine, build, te
from sateen.topi.computations import gather_scatter
from sateen.topi.schedules import schedule_injective
from sateen.topi.types import placeholder

X = np.arange(60, dtype="float32").reshape(3, 20)


def test_places_from_the_end_and_out_of_range(computed):
    indices = np.array([-1, -3, 0, 2, 3, -4, 2**62, -(2**62)])
    found = computed(lambda x, i: gather_scatter.gather(x, i, 0), X, indices)
    np.testing.assert_array_equal(found, X[[2, 0, 0, 2, 2, 0, 2, 0]])


def test_rows_are_read_in_vectors():
    x, i = placeholder((3, 20), "float32", "x"), placeholder((4,), "int64", "i")
    result = gather_scatter.gather(x, i, 0).view.tensor
    schedule = te.create_schedule(result)
    schedule_injective(schedule, result, Machine.of("llvm"))
    assert build(schedule, [x.tensor, i.tensor, result]).report.gathers == 0


def test_updates_of_one_element_are_applied_in_order(computed):
    indices = np.array([[1], [1], [-2]])
    updates = np.stack([np.full(20, v, "float32") for v in (1, 2, 3)])
    assert computed(gather_scatter.scatter_nd, X, indices, updates)[1].tolist() == [3] * 20
    summed = computed(lambda *v: gather_scatter.scatter_nd(*v, "add"), X, indices, updates)
    np.testing.assert_array_equal(summed[1], X[1] + 6)


def test_updates_out_of_range_are_left_out(computed):
    indices, updates = np.array([[5, -1, 20, -21, 19]]), np.full((1, 5), -1, "float32")
    expected = X.copy()
    expected[0, [5, 19]] = -1
    np.testing.assert_array_equal(
        computed(lambda *v: gather_scatter.scatter_elements(*v, 1), X, indices, updates), expected
    )


HOSTILE = [-(2**63), -(2**63) + 1, -(2**31), -61, -4, 3, 60, 2**31, 2**62, 2**63 - 1]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint64"])
def test_hostile_indices_read_and_write_within_the_data(computed, dtype):
    """Natively, and by the definition, whose oracle traps every access out of bounds."""
    bounds = np.iinfo(dtype)
    indices = np.array([min(max(i, bounds.min), bounds.max) for i in HOSTILE]).astype(dtype)
    rows = computed(lambda x, i: gather_scatter.gather(x, i, 0), X, indices)
    assert set(rows[:, 0].tolist()) <= {0.0, 40.0}
    elements = computed(lambda x, i: gather_scatter.gather_elements(x, i, 0), X, indices.reshape(-1, 1))
    assert set(elements.ravel().tolist()) <= {0.0, 40.0}
    points = computed(gather_scatter.gather_nd, X, np.stack([indices, indices], -1))
    assert set(points.tolist()) <= {0.0, 19.0, 40.0, 59.0, *X[2].tolist(), *X[0].tolist()}
    far = indices[np.abs(indices.astype(np.float64)) > 60]
    updates = np.full((len(far), 1), -1, "float32")
    np.testing.assert_array_equal(
        computed(lambda *v: gather_scatter.scatter_elements(*v, 0), X, far.reshape(-1, 1), updates), X
    )
    updates = np.full((len(far), 20), -1, "float32")
    np.testing.assert_array_equal(computed(gather_scatter.scatter_nd, X, far.reshape(-1, 1), updates), X)


def test_an_update_just_behind_the_end_of_an_axis_is_left_out(computed):
    """The next element of memory is another row's."""
    data, new = np.zeros((2, 3), "float32"), np.ones(1, "float32")
    y = computed(gather_scatter.scatter_nd, data, np.array([[0, 3]]), new)
    np.testing.assert_array_equal(y, data)


@pytest.mark.parametrize("circular", [False, True])
def test_a_cache_is_updated_from_where_each_item_is(computed, circular):
    cache, update = np.zeros((2, 4, 3), "float32"), np.ones((2, 2, 3), "float32")
    starts = np.array([3 if circular else 2, 1])
    y = computed(lambda c, u, s: gather_scatter.tensor_scatter(c, u, s, 1, circular), cache, update, starts)
    places = [[3, 0] if circular else [2, 3], [1, 2]]
    for item, place in zip(y, places, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(item[:, 0]), sorted(place))


DATA = [
    ((70,), (90,), 0, "float32"), ((6, 5, 3), (4, 40, 2), 1, "float16"), ((40, 3), (3, 3), 0, "int64"),
    ((3, 60), (3, 0), 1, "int8"), ((2, 0), (2, 0), 1, "float32"), ((2, 700), (2, 20), 1, "uint8"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "indices", "axis", "dtype"), DATA, ids=str)
def test_devices_scatter_elements_as_processors(as_defined, random, data, indices, axis, dtype):
    arrays = drawn(random, data, indices, indices, data[axis], dtype)
    as_defined(lambda x, i, u: gather_scatter.scatter_elements(x, i, u, axis, "add"), *arrays)


@pytest.mark.parametrize(
    ("data", "indices", "dtype"),
    [
        ((9, 4), (50, 1), "float32"),
        ((6, 7), (5, 9, 2), "float64"),
        ((6, 700), (30, 1), "int32"),
        ((5,), (1, 1), "int8"),
    ],
    ids=str,
)
def test_devices_scatter_slices_as_processors(as_defined, random, data, indices, dtype):
    updates = (*indices[:-1], *data[indices[-1] :])
    arrays = drawn(random, data, indices, updates, data[0], dtype)
    as_defined(gather_scatter.scatter_nd, *arrays)


@pytest.mark.parametrize("reduction", gather_scatter.REDUCTIONS)
def test_devices_update_in_order(by_threads, computed, random, reduction):
    """Floats, whose sums and products depend on the order."""
    x, places, updates = drawn(random, (12,), (50,), (50,), 12, "float32")
    updates += random.random(50, "float32")

    def scattered(*views):
        return gather_scatter.scatter_elements(*views, 0, reduction)

    (found,) = by_threads(scattered, x, places, updates)
    np.testing.assert_array_equal(found, computed(scattered, x, places, updates))


def drawn(random, data, indices, updates, extent, dtype):
    """Data, indices of which many are equal and some out of range, and updates."""
    places = random.integers(-extent - 2, extent + 2, indices)
    places[random.random(indices) < 0.1] = 2**62
    places[random.random(indices) < 0.1] = -(2**63)
    return random.integers(0, 7, data).astype(dtype), places, random.integers(0, 4, updates).astype(dtype)
