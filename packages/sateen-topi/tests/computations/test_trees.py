"""Tree ensembles on devices; sateen-graph-ir compares them on processors with walks in Python."""

import numpy as np
import pytest

from sateen.topi.computations import trees


def forest(random, count, inner, leaves, width, dtype):
    """Trees with common nodes, whose children are any later ones: roots, depths, targets, nodes, values."""
    first = np.arange(inner)
    children = random.integers(first[:, None] + 1, inner + leaves, (inner, 2))
    children = np.concatenate([children, np.repeat(np.arange(inner, inner + leaves)[:, None], 2, 1)])
    threshold = random.standard_normal(inner + leaves).astype(dtype).view("int32").reshape(inner + leaves, -1)
    nodes = np.concatenate([random.integers(0, 3, (inner + leaves, 1)), children, threshold], 1).astype("int32")
    ranges = (0, inner), (inner, 2 * inner), (-1, 9)  # no way is longer than all nodes; targets end with the outputs
    numbers = [random.integers(low, high, count).astype("int32") for low, high in ranges]
    return [*numbers, nodes, random.integers(-9, 9, (leaves, width)).astype("float32")]


@pytest.mark.parametrize(
    ("rows", "count", "width", "aggregate", "dtype"),
    [
        (1, 37, 1, "sum", "float32"), (9, 3, 2, "max", "float64"), (40, 1, 1, "min", "float32"),
        (0, 3, 1, "sum", "float32"),
    ],
    ids=str,
)  # fmt: skip
def test_devices_give_what_processors_give(as_defined, random, rows, count, width, aggregate, dtype):
    data = random.standard_normal((rows, 3)).astype(dtype)
    data[random.random(data.shape) < 0.2] = np.nan
    arrays = [data, *forest(random, count, 12, 9, width, dtype)]
    arrays.append(random.integers(0, 2, len(arrays[4])).astype("int32"))

    def ensemble(x, *parts):
        return trees.tree_ensemble(x, trees.Trees(*parts), 4, aggregate)

    as_defined(ensemble, *arrays)
