"""Normalizations against NumPy in float64."""

import numpy as np
import pytest

from sateen.topi.computations import normalization
from sateen.topi.types import Layout

EPSILON = 1e-5


def standardized(x, axes):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + EPSILON)


def by_channel(x, values):
    return values.astype(np.float64).reshape(-1, *[1] * (x.ndim - 2))


def data_and_vectors(random, shape, count):
    x = (random.standard_normal(shape) * 2 + 3).astype("float32")
    return x, [random.uniform(0.5, 2, shape[1]).astype("float32") for _ in range(count)]


@pytest.mark.parametrize(("shape", "axis"), [((7, 96), 1), ((3, 5, 7), 1), ((2, 3, 1), 2), ((8,), 0), ((4, 33), 1)])
def test_layer(run_views, view, error, random, shape, axis):
    x = (random.standard_normal(shape) * 2 + 3).astype("float32")
    scale, bias = (random.standard_normal(shape[axis:]).astype("float32") for _ in range(2))
    operands = [view(x, "x"), view(scale, "s"), view(bias, "b")]
    expected = standardized(x, tuple(range(axis, x.ndim)))
    (y,) = run_views(normalization.layer_normalization(*operands, axis, EPSILON), operands, [x, scale, bias])
    assert error(y, expected * scale + bias) < 1e-5
    (y,) = run_views(normalization.layer_normalization(operands[0], None, None, axis, EPSILON), operands[:1], [x])
    assert np.abs(y - expected).max() < 1e-5


@pytest.mark.parametrize(("channels", "block"), [(48, 16), (32, 8), (64, 64)])
def test_layer_of_channels_in_blocks(run_views, view, error, random, channels, block):
    """The channels of a convolution, put last."""
    x = (random.standard_normal((2, 3, 5, channels)) * 2 + 3).astype("float32")
    scale, bias = (random.standard_normal(channels).astype("float32") for _ in range(2))
    layout = Layout.blocked(4, 1, block).transposed((0, 2, 3, 1))
    operands = [view(x, "x", layout), view(scale, "s"), view(bias, "b")]
    (y,) = run_views(normalization.layer_normalization(*operands, 3, EPSILON), operands, [x, scale, bias])
    assert error(y, standardized(x, (3,)) * scale + bias) < 1e-5


@pytest.mark.parametrize(("shape", "axis"), [((2, 5, 64), 2), ((3, 7, 5), 1), ((19,), 0), ((4, 1), 1)])
def test_root_mean_square_of_rows(run_views, view, error, random, shape, axis):
    x = (random.standard_normal(shape) * 2 + 3).astype("float32")
    scale = random.standard_normal(shape[axis:]).astype("float32")
    squares = (x.astype("float64") ** 2).mean(tuple(range(axis, x.ndim)), keepdims=True)
    expected = x / np.sqrt(squares + EPSILON)
    operands = [view(x, "x"), view(scale, "s")]
    (y,) = run_views(normalization.rms_normalization(*operands, axis, EPSILON), operands, [x, scale])
    assert error(y, expected * scale) < 1e-5
    (y,) = run_views(normalization.rms_normalization(operands[0], None, axis, EPSILON), operands[:1], [x])
    assert error(y, expected) < 1e-5


GROUPS = [((1, 8, 12, 12), 8), ((2, 30, 7, 9), 5), ((2, 6, 5, 4, 3), 3), ((2, 8, 19), 2)]


@pytest.mark.parametrize(("shape", "groups"), GROUPS)
def test_groups(run_views, view, error, random, shape, groups):
    x, (scale, bias) = data_and_vectors(random, shape, 2)
    operands = [view(x, "x"), view(scale, "s"), view(bias, "b")]
    (y,) = run_views(normalization.group_normalization(*operands, groups, EPSILON), operands, [x, scale, bias])
    expected = standardized(x.reshape(shape[0], groups, -1), (2,)).reshape(shape)
    assert error(y, expected * by_channel(x, scale) + by_channel(x, bias)) < 1e-5


@pytest.mark.parametrize("shape", [(1, 32, 16, 17), (2, 24, 7, 9), (2, 32, 19)])
def test_instances_in_blocks_of_channels(run_views, view, error, random, lanes, shape):
    x, (scale, bias) = data_and_vectors(random, shape, 2)
    vector = Layout.blocked(1, 0, lanes)
    operands = [view(x, "x", Layout.blocked(x.ndim, 1, lanes)), view(scale, "s", vector), view(bias, "b", vector)]
    (y,) = run_views(normalization.blocked_instance_normalization(*operands, EPSILON), operands, [x, scale, bias])
    expected = standardized(x, tuple(range(2, x.ndim)))
    assert error(y, expected * by_channel(x, scale) + by_channel(x, bias)) < 1e-5


def test_rows_of_many_elements_far_from_zero(run_views, view, random):
    x = (random.standard_normal((1, 2, 640001)) + 200).astype("float32")
    scale, bias = np.ones(2, "float32"), np.zeros(2, "float32")
    operands = [view(x, "x"), view(scale, "s"), view(bias, "b")]
    (y,) = run_views(normalization.group_normalization(*operands, 2, EPSILON), operands, [x, scale, bias])
    assert np.abs(y - standardized(x, (2,))).max() < 2e-5


@pytest.mark.parametrize("blocked", [True, False])
def test_batch(run_views, view, error, random, lanes, blocked):
    x, vectors = data_and_vectors(random, (2, 24, 5, 7), 4)
    data, vector = (Layout.blocked(4, 1, lanes), Layout.blocked(1, 0, lanes)) if blocked else (None, None)
    operands = [view(x, "x", data), *(view(v, f"v{i}", vector) for i, v in enumerate(vectors))]
    (y,) = run_views(normalization.batch_normalization(*operands, EPSILON), operands, [x, *vectors])
    scale, bias, mean, variance = (by_channel(x, v) for v in vectors)
    assert error(y, (x - mean) / np.sqrt(variance + EPSILON) * scale + bias) < 1e-5


@pytest.mark.parametrize("beta", [0.5, 0.6, 0.75, 1.0])
@pytest.mark.parametrize("size", [1, 4, 5])
def test_across_channels(run_views, view, error, random, beta, size):
    x = random.standard_normal((1, 7, 5, 19)).astype("float32")
    data, wide = view(x, "x"), x.astype(np.float64)
    sums = np.zeros_like(wide)
    for c in range(7):
        sums[:, c] = (wide[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1] ** 2).sum(1)
    (y,) = run_views(normalization.local_response_normalization(data, size, 0.1, beta, 1.5), [data], [x])
    assert error(y, wide / (1.5 + 0.1 / size * sums) ** beta) < 1e-5


@pytest.mark.parametrize(("shape", "axis"), [((6, 40), 1), ((2, 16, 7, 9), 1)])
@pytest.mark.parametrize("p", [1, 2])
def test_by_a_norm(run_views, view, error, random, shape, axis, p):
    x = random.standard_normal(shape).astype("float32")
    x[0] = 0
    data, wide = view(x, "x"), x.astype(np.float64)
    size = np.linalg.norm(wide, p, axis, keepdims=True)
    (y,) = run_views(normalization.lp_normalization(data, axis, p), [data], [x])
    assert error(y, np.divide(wide, size, out=np.zeros_like(wide), where=size != 0)) < 1e-5
