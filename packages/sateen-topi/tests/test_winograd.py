"""Winograd convolution against the direct method."""

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.topi import winograd
from sateen.topi.layout import Layout, compute
from sateen.topi.window import Window


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
    f = winograd.TRANSFORMS[m, stride]
    u = winograd.transformed(weight, f)
    blocked = Layout.blocked(4, 1, lanes)
    operands = [
        view(x, "x", blocked), view(u, "u", winograd.weight_layout(lanes, 2)),
        view(bias, "b", Layout.blocked(1, 0, lanes)),
    ]  # fmt: skip
    computation = winograd.winograd_conv(*operands, f, window(pads, stride), block, pool)

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


@pytest.mark.parametrize("f", winograd.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
def test_factors_of_transforms_have_fewer_terms(f):
    for matrix in (f.data, tuple(zip(*f.output, strict=True))):
        found = winograd.factors(matrix)
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
    u = winograd.transformed(weight, winograd.F2)
    operands = [view(x, "x"), view(u, "u")]
    (y,) = run_views(winograd.winograd_conv(*operands, None, winograd.F2, window((1, 1, 1, 1))), operands, [x, u])
    assert error(y, direct(x, weight, np.zeros(2), window((1, 1, 1, 1)))) < 1e-5


def test_blocks_are_all_tiles_whole_rows_or_parts_of_a_row():
    assert list(winograd.blocks((16, 64), winograd.F4)) == [(4, 16), (1, 16), (2, 16), (1, 8)]


@pytest.mark.parametrize("f", winograd.TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
def test_threads_transform_a_weight_to_the_same_bits(f, monkeypatch):
    weight = np.random.default_rng(0).standard_normal((37, 8, 3, 3)).astype(np.float32)
    expected = winograd.transformed(weight, f)
    monkeypatch.setattr(winograd, "LARGE_WEIGHT_BYTES", 0)
    assert np.array_equal(winograd.transformed(weight, f), expected)
