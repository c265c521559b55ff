"""Resize against NumPy's own interpolation."""

import numpy as np
import pytest

from sateen.tensor_ir import Machine, lower, te
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.resizing import AxisResize, Interpolation, nearest_indices, resize, weighted_indices
from sateen.topi.types import Layout, placeholder


def coordinates(before, after, transformation):
    x = np.arange(after)
    return {
        "half_pixel": (x + 0.5) * before / after - 0.5,
        "pytorch_half_pixel": (x + 0.5) * before / after - 0.5 if after > 1 else np.zeros(1),
        "align_corners": x * (before - 1) / max(after - 1, 1),
        "asymmetric": x * before / after,
    }[transformation]


def linear(x, axis, places):
    grid = np.arange(x.shape[axis])
    return np.apply_along_axis(lambda row: np.interp(places, grid, row), axis, x.astype(np.float64))


def axes_of(before, after):
    return [AxisResize(d, b, a, a / b) for d, (b, a) in enumerate(zip(before, after, strict=True)) if a != b]


SHAPES = [
    ((1, 3, 5, 7), (1, 3, 9, 4)),
    ((1, 24, 9, 12), (1, 24, 18, 15)),
    ((2, 3, 9), (2, 5, 14)),
    ((1, 2, 4, 4), (1, 2, 1, 1)),
    ((1, 20, 40, 9), (1, 20, 50, 3)),  # rows come last
    ((1, 2, 3, 33, 20), (1, 2, 6, 50, 45)),
    ((5, 7), (9, 12)),
]


@pytest.mark.parametrize(("before", "after"), SHAPES)
@pytest.mark.parametrize("transformation", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
def test_linear(run_views, view, error, random, before, after, transformation):
    x = random.standard_normal(before).astype("float32")
    data = view(x, "x")
    (y,) = run_views(resize(data, axes_of(before, after), Interpolation("linear", transformation)), [data], [x])
    expected = x
    for d, (b, a) in enumerate(zip(before, after, strict=True)):
        if a != b:
            expected = linear(expected, d, coordinates(b, a, transformation))
    assert error(y, expected) < 1e-6


AVX512 = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")


def lowered(before, after, layout=None):
    x = placeholder(before, "float32", "x", layout)
    computation = resize(x, axes_of(before, after), Interpolation("linear"))
    schedule = te.create_schedule(computation.view.tensor)
    computation.schedule_on(AVX512)(schedule, computation.view.tensor, AVX512)
    return str(lower(schedule, [x.tensor, computation.view.tensor]))


def test_columns_of_a_row_are_taken_by_shuffles():
    text = lowered((1, 3, 8, 40), (1, 3, 8, 48))
    assert "unrolled i3o in [0, 3)" in text  # each vector has places of its own, known when it is compiled


def test_columns_in_blocks_of_channels_are_written_out():
    text = lowered((1, 64, 8, 40), (1, 64, 8, 48), Layout.blocked(4, 1, 16))
    assert "unrolled i3 in [0, 48)" in text


def test_lines_between_passes_are_kept_for_a_few_rows():
    assert "local float32[1, 1, 1, 40, 16]" in lowered((1, 64, 20, 40), (1, 64, 30, 60), Layout.blocked(4, 1, 16))
    assert "local float32[1, 1, 10, 40]" in lowered((1, 64, 20, 40), (1, 64, 30, 60))  # 3 vectors each
    assert "local float32[1, 1, 40, 30]" in lowered((1, 64, 40, 90), (1, 64, 60, 30))  # rows come last: a whole plane


def test_passes_go_through_memory_where_threads_would_find_no_work():
    cores = AVX512.cores
    assert "local float32[1, 40, 30]" in lowered((cores, 40, 90), (cores, 60, 30))
    assert "local" not in lowered((1, 40, 90), (1, 60, 30))


@pytest.mark.parametrize("vectors", [1, 7, 20, 10_000])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("after", [(1, 24, 10, 23), (1, 24, 9, 3)])
def test_methods_give_the_same(run_views, view, random, lanes, vectors, blocked, after):
    x = random.standard_normal((1, 24, 5, 13)).astype("float32")
    data = view(x, "x", Layout.blocked(4, 1, lanes) if blocked else None)
    axes, how = axes_of(x.shape, after), Interpolation("cubic")
    (expected,) = run_views(resize(data, axes, how), [data], [x])
    (y,) = run_views(resize(data, axes, how, method=Passes(vectors)), [data], [x])
    np.testing.assert_array_equal(y, expected)


def test_linear_in_blocks_of_channels_and_float16(run_views, view, error, random, lanes):
    for dtype, bound in (("float32", 1e-6), ("float16", 1e-3)):
        x = random.standard_normal((1, 24, 5, 6)).astype(dtype)
        data = view(x, "x", Layout.blocked(4, 1, lanes))
        (y,) = run_views(resize(data, axes_of(x.shape, (1, 24, 10, 9)), Interpolation("linear")), [data], [x])
        expected = linear(linear(x, 2, coordinates(5, 10, "half_pixel")), 3, coordinates(6, 9, "half_pixel"))
        assert error(y, expected) < bound


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("after", [(1, 24, 10, 12), (1, 24, 7, 3), (1, 24, 5, 2)])
def test_nearest(run_views, view, random, lanes, blocked, after):
    x = random.standard_normal((1, 24, 5, 6)).astype("float32")
    data = view(x, "x", Layout.blocked(4, 1, lanes) if blocked else None)
    how = Interpolation("nearest", "asymmetric", "floor")
    (y,) = run_views(resize(data, axes_of(x.shape, after), how), [data], [x])
    rows, columns = (np.arange(a) * b // a for a, b in zip(after[2:], x.shape[2:], strict=True))
    np.testing.assert_array_equal(y, x[:, :, rows][..., columns])


def test_rounding_of_nearest_positions():
    halves = AxisResize(0, 4, 8, 2.0)  # coordinates 0, 0.5, 1, 1.5, …

    def places(mode):
        return nearest_indices(halves, Interpolation("nearest", "asymmetric", mode)).tolist()

    assert places("floor") == [0, 0, 1, 1, 2, 2, 3, 3]
    assert places("ceil") == [0, 1, 1, 2, 2, 3, 3, 3]
    assert places("round_prefer_floor") == [0, 0, 1, 1, 2, 2, 3, 3]
    assert places("round_prefer_ceil") == [0, 1, 1, 2, 2, 3, 3, 3]


def test_cubic_interpolation_keeps_polynomials_of_the_second_degree(run_views, view, error):
    x = ((np.arange(12) - 3.0) ** 2).astype("float32").reshape(1, 12)
    data = view(x, "x")
    how = Interpolation("cubic", "align_corners", cubic_coefficient=-0.5)
    (y,) = run_views(resize(data, [AxisResize(1, 12, 34, 34 / 12)], how), [data], [x])
    inner = slice(3, -3)
    assert error(y[:, inner], (coordinates(12, 34, "align_corners")[None, inner] - 3) ** 2) < 1e-6


def test_weights_outside_are_shared_among_the_others_on_request():
    axis = AxisResize(0, 4, 8, 2.0)
    for how in (Interpolation("cubic", exclude_outside=True), Interpolation("linear", antialias=True)):
        np.testing.assert_allclose(weighted_indices(axis, how)[1].sum(1), 1, atol=1e-12)


def test_antialiasing_averages_what_falls_together():
    index, weight = weighted_indices(AxisResize(0, 8, 2, 0.25), Interpolation("linear", antialias=True))
    assert weight.shape[1] == 8
    np.testing.assert_allclose(weight.sum(1), 1)
    assert index.min() == 0


def test_a_region_beyond_the_data_takes_the_extrapolation_value(run_views, view, random):
    x = random.standard_normal((1, 6)).astype("float32")
    data = view(x, "x")
    for mode in ("nearest", "linear"):
        how = Interpolation(mode, "tf_crop_and_resize", extrapolation=9.0)
        computation = resize(data, [AxisResize(1, 6, 5, 5 / 6, (-0.2, 1.0))], how)
        (y,) = run_views(computation, [data], [x])
        assert y[0, 0] == 9.0
        assert abs(y[0, -1] - x[0, -1]) < 1e-6


def test_pytorch_half_pixel_puts_a_single_element_at_position_0(run_views, view, random):
    x = random.standard_normal((3, 5)).astype("float32")
    v = view(x, "x")
    (found,) = run_views(resize(v, [AxisResize(0, 3, 1, 0.5)], Interpolation("cubic", "pytorch_half_pixel")), [v], [x])
    np.testing.assert_array_equal(found, x[:1])
