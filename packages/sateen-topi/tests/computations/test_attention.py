"""Attention against its definition in float64."""

import numpy as np
import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.attention import KeyTiles, Masking, QueryTiles, attention, attention_candidates
from sateen.topi.types import Layout

F32 = DType.of("float32")


def defined(q, k, v, mask=None, masking=Masking()):  # noqa: B008  # a value
    """What attention means, with each power and sum in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    for axis in range(q.ndim - 2):
        k, v = (np.repeat(x, q.shape[axis] // x.shape[axis], axis) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * masking.scale
    if mask is not None:
        scores = np.where(mask, scores, masking.fill) if mask.dtype == bool else scores + mask.astype(np.float64)
    if masking.reach is not None:
        query, key = np.ogrid[: scores.shape[-2], : scores.shape[-1]]
        scores = np.where(key <= query + masking.reach, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        largest = scores.max(-1, keepdims=True)
        powers = np.exp(scores - largest)
        weights = powers / powers.sum(-1, keepdims=True)
    return (np.where(largest == -np.inf, 0, weights) if masking.empty_is_zero else weights) @ v


def operands(random, q, k, columns, dtype="float32"):
    """Queries, keys and values of these shapes, and values of some columns."""
    shapes = (q, k, (*k[:-1], columns))
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def run(run_views, view, arrays, mask=None, masking=Masking(), layout=None, method=None):  # noqa: B008  # a value
    views = [view(a, name, layout) for a, name in zip(arrays, "qkv", strict=True)]
    masks = [] if mask is None else [view(mask, "mask")]
    computation = attention(*views, *masks, masking=masking, layout=layout, method=method)
    given = [*arrays, *([] if mask is None else [mask])]
    return run_views(computation, [*views, *masks], given)[0]


SHAPES = [
    ((2, 3, 64, 32), (2, 3, 64, 32), 32),
    ((1, 2, 49, 16), (1, 2, 49, 16), 24),
    ((3, 37, 20), (3, 53, 20), 13),
    ((2, 4, 1, 16), (2, 4, 33, 16), 16),
    ((1, 5, 3), (1, 1, 3), 1),
    ((2, 17, 1), (1, 70, 1), 5),
]


@pytest.mark.parametrize(("q", "k", "columns"), SHAPES)
def test_every_tile_gives_the_values(run_views, view, error, random, q, k, columns):
    arrays, masking = operands(random, q, k, columns), Masking(0.3)
    expected = defined(*arrays, masking=masking)
    candidates = attention_candidates(q, k, arrays[2].shape, F32, None, Machine.of("llvm"))
    ways = [c.method for c in candidates]
    others = [QueryTiles(4, 2, 1, 3, 2, 6), QueryTiles(1, 1, 3, 2, 1, 1), KeyTiles(4, 2), KeyTiles(16, 2)]
    for method in (None, ways[0], ways[-1], *others):
        assert error(run(run_views, view, arrays, masking=masking, method=method), expected) < 1e-5, method


@pytest.mark.parametrize("shape", [(2, 3, 19, 21), (2, 1, 19, 21), (1, 3, 1, 21), (19, 1), (21,), (1,)])
@pytest.mark.parametrize("is_bool", [False, True])
def test_masks_broadcast(run_views, view, error, random, shape, is_bool):
    arrays = operands(random, (2, 3, 19, 8), (2, 3, 21, 8), 8)
    mask = random.standard_normal(shape).astype("float32") * 4
    mask, masking = mask < 1 if is_bool else mask, Masking(0.5, fill=-7.0)
    for method in (QueryTiles(8, 8, 2, 4, 4, 8), KeyTiles(8, 2)):
        assert error(run(run_views, view, arrays, mask, masking, method=method), defined(*arrays, mask, masking)) < 1e-5


@pytest.mark.parametrize("reach", [0, 3, 20, 100, -5])
@pytest.mark.parametrize("method", [QueryTiles(8, 8, 2, 4, 4, 8), QueryTiles(4, 4, 1, 5, 3, 40), KeyTiles(8, 2)])
def test_queries_reach_some_keys(run_views, view, random, reach, method):
    """A row that reaches none is NaN, as 0 / 0 is."""
    arrays, masking = operands(random, (2, 29, 8), (2, 33, 8), 8), Masking(0.5, reach)
    found = run(run_views, view, arrays, masking=masking, method=method)
    np.testing.assert_allclose(found, defined(*arrays, masking=masking), rtol=1e-4, atol=1e-5)
    assert np.isnan(found).any() == (reach < 0)


def test_keys_that_are_not_reached_count_for_nothing(run_views, view, random):
    q, k, v = operands(random, (1, 24, 8), (1, 24, 8), 8)
    expected = run(run_views, view, [q, k, v], masking=Masking(reach=0))[:, :7]
    k[:, 7:], v[:, 7:] = np.nan, 1e38
    np.testing.assert_array_equal(run(run_views, view, [q, k, v], masking=Masking(reach=0))[:, :7], expected)


@pytest.mark.parametrize("method", [None, QueryTiles(8, 8, 2, 4, 4, 8), KeyTiles(8, 2)])
@pytest.mark.parametrize("zero", [False, True])
def test_rows_of_infinities_and_nan_are_as_defined(run_views, view, random, method, zero):
    arrays = operands(random, (1, 20, 8), (1, 30, 8), 8)
    mask = np.zeros((20, 30), "float32")
    mask[1], mask[2, 5], mask[3, 29], mask[4, :20], mask[5, 20:] = -np.inf, np.nan, np.inf, -np.inf, -np.inf
    mask[6, :] = -3e38
    masking = Masking(empty_is_zero=zero)
    found = run(run_views, view, arrays, mask, masking, method=method)
    expected = defined(*arrays, mask, masking)
    assert np.isnan(expected[0, 1 + zero : 4]).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", [QueryTiles(8, 8, 2, 4, 4, 8), KeyTiles(4, 2)])
def test_large_scores_don_t_overflow(run_views, view, random, method):
    q, k, v = operands(random, (1, 16, 4), (1, 40, 4), 4)
    found = run(run_views, view, [q * 1e10, k * 1e10, v], method=method)
    np.testing.assert_allclose(found, defined(q * 1e10, k * 1e10, v), rtol=1e-5)


@pytest.mark.parametrize("heads", [(6, 2, 2), (6, 1, 3), (4, 4, 1)])
def test_heads_share_keys_and_values(run_views, view, error, random, heads):
    queries, keys, values = heads
    q, k, _ = operands(random, (2, queries, 18, 8), (2, keys, 11, 8), 8)
    v = random.standard_normal((1, values, 11, 8)).astype("float32")
    for method in (None, KeyTiles(4, 2)):
        assert error(run(run_views, view, [q, k, v], method=method), defined(q, k, v)) < 1e-5


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (2, 0, 1, 3), (3, 2, 1, 0)])
def test_operands_and_the_result_in_other_orders_of_axes(run_views, view, error, random, order):
    arrays = operands(random, (2, 3, 34, 16), (2, 3, 34, 16), 16)
    assert error(run(run_views, view, arrays, layout=Layout(order)), defined(*arrays)) < 1e-5


@pytest.mark.parametrize(("dtype", "bound"), [("float16", 1e-3), ("bfloat16", 8e-3), ("float64", 1e-13)])
def test_sums_of_short_floats_are_in_float32(run_views, view, error, random, dtype, bound):
    arrays = operands(random, (1, 2, 35, 12), (1, 2, 90, 12), 12, DType.of(dtype).numpy)
    for method in (QueryTiles(8, 8, 2, 4, 4, 64), KeyTiles(8, 2)):
        found = run(run_views, view, arrays, method=method)
        assert error(found.astype("float64"), defined(*arrays)) < bound


@pytest.mark.parametrize("method", [QueryTiles(16, 16, 2, 8, 8, 128), KeyTiles(16, 2)])
def test_errors_are_those_of_the_sums(run_views, view, random, method):
    """Relative to the largest value of a column, which bounds each weighted mean."""
    arrays = operands(random, (1, 64, 64), (1, 1000, 64), 64)
    found = run(run_views, view, arrays, masking=Masking(0.125), method=method)
    bound = 2e-6 * np.abs(arrays[2]).max(-2, keepdims=True)
    assert (np.abs(found - defined(*arrays, masking=Masking(0.125))) <= bound).all()


def test_no_queries_give_no_rows(run_views, view, random):
    arrays = operands(random, (2, 0, 4), (2, 3, 4), 4)
    assert run(run_views, view, arrays).shape == (2, 0, 4)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_tiles_fit_the_registers(cpu):
    machine = Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    shape = (1, 12, 197, 64)
    for reach in (None, 0):
        found = attention_candidates(shape, shape, shape, F32, reach, machine)
        assert found
        assert [c.cycles for c in found] == sorted(c.cycles for c in found)
        for c in found:
            assert c.method.lanes == machine.lanes()
            assert 197 % c.method.queries <= c.method.last * c.method.vectors
            assert max(c.method.keys, c.method.values) <= machine.tile_positions(c.method.vectors)


def test_few_queries_are_taken_one_by_one():
    """A step of a language model reads keys and values once, whatever the number of lanes."""
    machine = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
    keys = (1, 8, 2000, 64)
    assert attention_candidates((1, 8, 1, 64), keys, keys, F32, None, machine)[0].method == KeyTiles(8, 8)
    assert isinstance(attention_candidates(keys, keys, keys, F32, None, machine)[0].method, QueryTiles)
