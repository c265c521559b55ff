"""Winograd convolution against the direct method."""

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.topi.computations.convolution import winograd, winograd_methods, winograd_transforms
from sateen.topi.computations.windows import Window
from sateen.topi.types import Layout, compute


def window(pads, stride=1):
    return Window((3, 3), (stride, stride), pads, (1, 1))


def direct(x, weight, bias, w):
    height, width = x.shape[2:]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (w.pads[0], w.pads[2]), (w.pads[1], w.pads[3])))
    rows, columns = w.output((height, width))
    stride, _ = w.strides
    rows, columns = (rows - 1) * stride + 1, (columns - 1) * stride + 1
    parts = [
        np.einsum(
            "oc,nchw->nohw",
            weight[:, :, i, j].astype(np.float64),
            padded[:, :, i : i + rows : stride, j : j + columns : stride],
        )
        for i in range(3)
        for j in range(3)
    ]
    return np.sum(parts, axis=0) + bias.reshape(-1, 1, 1)


def convolved(run_views, view, random, shape, outputs, pads, m, lanes, block=(), stride=1, pool=1):
    x = random.standard_normal(shape).astype("float32")
    weight = (random.standard_normal((outputs, shape[1], 3, 3)) * 0.1).astype("float32")
    bias = random.standard_normal(outputs).astype("float32")
    f = winograd_transforms.TRANSFORMS[m, stride]
    u = winograd_transforms.winograd_weight(weight, f)
    blocked = Layout.blocked(4, 1, lanes)
    operands = [
        view(x, "x", blocked), view(u, "u", winograd_methods.winograd_weight_layout(lanes, 2)),
        view(bias, "b", Layout.blocked(1, 0, lanes)),
    ]  # fmt: skip
    method = winograd_methods.Blocks(*block, 2) if block else None
    computation = winograd.winograd_conv(*operands, f, window(pads, stride), method, pool)

    def relu(v):
        return compute(v.shape, lambda *i: te.maximum(v(*i), 0.0), "relu", v.layout)

    (y,) = run_views(computation, operands, [x, u, bias], relu)
    return y, np.maximum(direct(x, weight, bias, window(pads, stride)), 0)


@pytest.mark.parametrize(
    ("shape", "pads", "m", "bound"),
    [
        ((1, 32, 15, 17), (1, 1, 1, 1), 4, 2e-5),
        ((2, 32, 9, 11), (0, 1, 2, 0), 2, 2e-6),
        ((1, 32, 6, 6), (0, 0, 0, 0), 4, 2e-5),
        ((1, 32, 20, 15), (1, 1, 1, 1), 6, 5e-5),
    ],
)
def test_values(run_views, view, error, random, lanes, shape, pads, m, bound):
    y, expected = convolved(run_views, view, random, shape, 32, pads, m, lanes)
    assert error(y, expected) < bound


@pytest.mark.parametrize(("shape", "pads"), [((2, 32, 9, 12), (1, 1, 1, 1)), ((1, 32, 14, 14), (0, 0, 1, 1))])
def test_values_of_stride_2(run_views, view, error, random, lanes, shape, pads):
    y, expected = convolved(run_views, view, random, shape, 32, pads, 2, lanes, stride=2)
    assert error(y, expected) < 2e-6


@pytest.mark.parametrize(
    ("shape", "m", "block"),
    [
        ((1, 32, 32, 32), 4, (2, 8)),
        ((2, 32, 20, 30), 4, (1, 8)),
        ((1, 32, 8, 105), 4, (1, 9)),
        ((1, 32, 20, 56), 6, (1, 10)),
    ],
)
def test_blocks_give_the_same(run_views, view, error, random, lanes, shape, m, block):
    y, expected = convolved(run_views, view, random, shape, 32, (1, 1, 1, 1), m, lanes, block)
    assert error(y, expected) < 5e-5


SHAPE = (1, 32, 26, 26)
RANDOM = np.random.default_rng(7)
NORMAL = RANDOM.standard_normal(SHAPE).astype("float32")


def with_pixel(value):
    x = NORMAL.copy()
    x[0, :, 13, 13] = value
    return x


def with_channel(value):
    x = NORMAL.copy()
    x[:, 3] *= value
    return x


INPUTS = {
    "normal": NORMAL,
    "signs": np.sign(NORMAL),
    "positive and large": np.maximum(NORMAL, 0) * np.float32(1e4),
    "far from zero": NORMAL + np.float32(1e4),
    "a large pixel": with_pixel(1e6),
    "a large channel": with_channel(np.float32(1e5)),
}
"""Data of the kinds that cost Winograd's method digits."""
WEIGHTS = {
    "normal": RANDOM.standard_normal((32, 32, 3, 3)).astype("float32"),
    "positive": np.abs(RANDOM.standard_normal((32, 32, 3, 3))).astype("float32"),
    "edges": (w := RANDOM.standard_normal((32, 32, 3, 3)).astype("float32")) - w.mean((2, 3), keepdims=True),
    "scales": w * np.logspace(-6, 2, 32, dtype="float32")[:, None, None, None],
    "single taps": np.eye(32, dtype="float32")[:, :, None, None] * np.eye(9, dtype="float32")[8].reshape(3, 3),
}
LEAST_LOSS = 1e-6
"""Sums of terms of one sign, in any order, may lose so much; the estimate is for those that cancel."""


def tiles_of(x, f, w):
    """The largest input under each tile, and the tile of each row and column of the output."""
    rows, columns = w.output(x.shape[2:])
    padded = np.pad(np.abs(x[0]).max(0), ((1, f.n), (1, f.n)))
    down, across = -(-rows // f.m), -(-columns // f.m)
    largest = [[padded[i * f.step :, j * f.step :][: f.n, : f.n].max() for j in range(across)] for i in range(down)]
    return np.array(largest), np.arange(rows) // f.m, np.arange(columns) // f.m


@pytest.mark.parametrize("f", winograd_transforms.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_more_is_lost_than_was_estimated(run_views, view, lanes, f, weights):
    weight, w = WEIGHTS[weights], window((1, 1, 1, 1), f.stride)
    blocked = Layout.blocked(4, 1, lanes)
    u = winograd_transforms.winograd_weight(weight, f)
    estimate = winograd_transforms.winograd_loss(weight, f)
    magnitude = np.abs(weight.astype(np.float64)).sum((1, 2, 3)).reshape(-1, 1, 1)
    images = np.concatenate(list(INPUTS.values()))
    operands = [view(images, "x", blocked), view(u, "u", winograd_methods.winograd_weight_layout(lanes, 2))]
    (results,) = run_views(winograd.winograd_conv(*operands, None, f, w), operands, [images, u])
    for (kind, x), y in zip(INPUTS.items(), results, strict=True):
        largest, down, across = tiles_of(x, f, w)
        lost = np.abs(y - direct(x, weight, np.zeros(1), w)[0]) / (magnitude * largest[down][:, across])
        assert lost.max() <= max(estimate, LEAST_LOSS), kind


@pytest.mark.parametrize("f", winograd_transforms.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_tiles(run_views, view, lanes, f, value):
    weight, w = WEIGHTS["normal"], window((1, 1, 1, 1), f.stride)
    blocked = Layout.blocked(4, 1, lanes)
    u, x = winograd_transforms.winograd_weight(weight, f), with_pixel(value)
    operands = [view(x, "x", blocked), view(u, "u", winograd_methods.winograd_weight_layout(lanes, 2))]
    (y,) = run_views(winograd.winograd_conv(*operands, None, f, w), operands, [x, u])
    largest, down, across = tiles_of(x, f, w)
    touched = ~np.isfinite(largest)[down][:, across]
    assert np.isfinite(y[0][:, ~touched]).all()
    assert 0 < touched.sum() <= (3 * f.m) ** 2


@pytest.mark.parametrize("f", winograd_transforms.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
def test_up_to_1e30_what_is_finite_stays_so(run_views, view, lanes, f):
    weight, w = WEIGHTS["normal"], window((1, 1, 1, 1), f.stride)
    u, x = winograd_transforms.winograd_weight(weight, f), np.sign(NORMAL) * np.float32(1e30)
    operands = [
        view(x, "x", Layout.blocked(4, 1, lanes)),
        view(u, "u", winograd_methods.winograd_weight_layout(lanes, 2)),
    ]
    (y,) = run_views(winograd.winograd_conv(*operands, None, f, w), operands, [x, u])
    assert np.isfinite(y).all()


@pytest.mark.parametrize("f", winograd_transforms.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
def test_factors_of_transforms_have_fewer_terms(f):
    for matrix in (f.data, tuple(zip(*f.output, strict=True))):
        found = winograd_transforms.factors(matrix)
        product = np.linalg.multi_dot(found) if len(found) > 1 else np.array(found[0])
        np.testing.assert_array_equal(product, np.array(matrix))
        additions = [np.count_nonzero(m) - len(m) for m in map(np.array, found)]
        assert sum(additions) <= np.count_nonzero(matrix) - len(matrix)


def test_maxima_of_squares(run_views, view, error, random, lanes):
    shape, pads = (2, 32, 13, 22), (1, 1, 1, 1)
    y, whole = convolved(run_views, view, random, shape, 32, pads, 6, lanes, (1, 4), pool=2)
    expected = whole[:, :, :12].reshape(2, 32, 6, 2, 11, 2).max((3, 5))
    assert error(y, expected) < 5e-5


def test_row_major_is_computed_as_defined(run_views, view, error, random):
    x = random.standard_normal((1, 3, 5, 6)).astype("float32")
    weight = random.standard_normal((2, 3, 3, 3)).astype("float32")
    u = winograd_transforms.winograd_weight(weight, winograd_transforms.F2)
    operands = [view(x, "x"), view(u, "u")]
    (y,) = run_views(
        winograd.winograd_conv(*operands, None, winograd_transforms.F2, window((1, 1, 1, 1))), operands, [x, u]
    )
    assert error(y, direct(x, weight, np.zeros(2), window((1, 1, 1, 1)))) < 1e-5


def test_blocks_are_all_tiles_whole_rows_or_parts_of_a_row():
    assert list(winograd_methods.blocks((16, 64), winograd_transforms.F4)) == [(4, 16), (1, 16), (2, 16), (1, 8)]


@pytest.mark.parametrize("f", winograd_transforms.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
def test_threads_transform_a_weight_to_the_same_bits(f, monkeypatch):
    weight = np.random.default_rng(0).standard_normal((37, 8, 3, 3)).astype(np.float32)
    expected = winograd_transforms.winograd_weight(weight, f)
    monkeypatch.setattr(winograd_transforms, "LARGE_WEIGHT_BYTES", 0)
    assert np.array_equal(winograd_transforms.winograd_weight(weight, f), expected)


def test_the_matrices_of_a_loss_are_made_once(monkeypatch):
    weight = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype("float32")
    first = winograd_transforms.winograd_loss(weight, winograd_transforms.F4)
    monkeypatch.setattr(winograd_transforms, "transposed", None)
    assert winograd_transforms.winograd_loss(weight, winograd_transforms.F4) == first
