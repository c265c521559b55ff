"""The sums of a weight's blocks by native code against those while compiling."""

import numpy as np
import pytest

from sateen.runtime import ArgumentError
from sateen.topi.computations.products import strassen_weight, strassen_weight_layout, sum_weight_blocks
from sateen.topi.types import Layout, placeholder


@pytest.mark.parametrize("vectors", [1, 3, 0])
def test_values(run_views, random, lanes, vectors):
    """`vectors` 0: row-major."""
    weight = random.standard_normal((24, 4 * lanes * max(vectors, 1))).astype("float32")
    given = placeholder(weight.shape, "float32", "w")
    layout = strassen_weight_layout(lanes, vectors) if vectors else Layout.row_major(3)
    (found,) = run_views(sum_weight_blocks(given, layout), [given], [weight])
    np.testing.assert_array_equal(found, strassen_weight(weight))


def test_odd_extents_are_refused():
    with pytest.raises(ArgumentError, match=r"strassen_weight: expected even extents"):
        sum_weight_blocks(placeholder((24, 7), "float32", "w"), Layout.row_major(3))
