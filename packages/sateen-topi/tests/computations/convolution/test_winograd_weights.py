"""The transform of a weight by native code against the one while compiling."""

import numpy as np
import pytest

from sateen.runtime import ArgumentError
from sateen.topi.computations.convolution import TRANSFORMS, transform_weight, winograd_weight, winograd_weight_layout
from sateen.topi.types import Layout, placeholder

ROUNDING = 2.0**-23


def transformed(run_views, weight, f, layout):
    given = placeholder(weight.shape, "float32", "w")
    (found,) = run_views(transform_weight(given, f, layout), [given], [weight])
    return found


@pytest.mark.parametrize("f", TRANSFORMS.values(), ids=lambda f: f"F{f.m} stride {f.stride}")
@pytest.mark.parametrize(("channels", "vectors"), [(16, 1), (5, 2), (3, 3), (16, 0)])
def test_it_differs_by_a_rounding_at_most(run_views, random, lanes, f, channels, vectors):
    """`vectors` 0: row-major."""
    weight = random.standard_normal((2 * lanes * max(vectors, 1), channels, 3, 3)).astype("float32")
    weight[0, 0] *= 1e-30
    layout = winograd_weight_layout(lanes, vectors) if vectors else Layout.row_major(4)
    found, expected = transformed(run_views, weight, f, layout), winograd_weight(weight, f)
    assert found.dtype == np.float32
    difference = np.abs(found.astype(np.float64) - expected)
    assert np.all(difference <= ROUNDING * np.abs(expected))
    assert np.mean(found != expected) < 1e-3


def test_output_channels_that_do_not_fill_panels(run_views, random, lanes):
    f = TRANSFORMS[4, 1]
    weight = random.standard_normal((lanes + 3, 4, 3, 3)).astype("float32")
    found = transformed(run_views, weight, f, winograd_weight_layout(lanes, 1))
    np.testing.assert_allclose(found, winograd_weight(weight, f), rtol=1e-6, atol=1e-7)


def test_what_is_no_weight_is_refused():
    with pytest.raises(ArgumentError, match="winograd_weight: expected"):
        transform_weight(placeholder((8, 8, 5, 5), "float32", "w"), TRANSFORMS[4, 1], Layout.row_major(4))
