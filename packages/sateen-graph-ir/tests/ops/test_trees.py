"""Tree ensembles against walks in Python."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import Symbol, TensorType
from sateen.runtime.errors import InferenceError

RANDOM = np.random.default_rng(0)


def nodes_of(feature, children, threshold):
    """Rows of a node each: feature, children, the bits of the threshold."""
    bits = threshold.view(np.int32).reshape(len(threshold), -1)
    return np.concatenate([feature[:, None], children, bits], axis=1).astype(np.int32)


def forest(trees, depth, features, width, dtype="float32"):
    """Random trees whose leaves lie at depths 1 to `depth`; nodes that decide come first."""
    inner, leaves = [], []

    def grow(level):
        """The place of a new node: (is leaf, index)."""
        if level == depth or (level and RANDOM.random() < 0.3):
            leaves.append(RANDOM.standard_normal(width))
            return True, len(leaves) - 1
        place = len(inner)
        inner.append(None)
        inner[place] = RANDOM.integers(features), RANDOM.standard_normal(), grow(level + 1), grow(level + 1)
        return False, place

    roots = [grow(0)[1] for _ in range(trees)]
    place = {False: 0, True: len(inner)}
    children = [[place[leaf] + i for leaf, i in (first, second)] for _, _, first, second in inner]
    children += [[len(inner) + i] * 2 for i in range(len(leaves))]
    feature = np.array([node[0] for node in inner] + [0] * len(leaves))
    threshold = np.array([node[1] for node in inner] + [0] * len(leaves), dtype)
    per_tree = [np.array(values, np.int32) for values in (roots, [depth] * trees, RANDOM.integers(0, 2, trees))]
    return *per_tree, nodes_of(feature, np.array(children), threshold), np.array(leaves, np.float32)


def walked(data, roots, depths, targets, nodes, values, tracks=None, outputs=2, aggregate="sum"):
    """What the trees give for each row."""
    start = {"sum": 0, "min": np.inf, "max": -np.inf}[aggregate]
    result = np.full((len(data), outputs), start, np.float32)
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    threshold = nodes[:, 3:].copy().view(data.dtype)[:, 0]
    for row in range(len(data)):
        for root, depth, target in zip(roots, depths, targets, strict=True):
            node = root
            for _ in range(depth):
                element = data[row, nodes[node, 0]]
                is_other = element <= threshold[node] or (tracks is not None and np.isnan(element) and tracks[node])
                node = nodes[node, 2 if is_other else 1]
            leaf = values[node - len(nodes) + len(values)]
            place = slice(target, target + len(leaf))
            result[row, place] = combine(result[row, place], leaf)
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "trees", "depth"), [(1, 3, 2), (3, 70, 5), (37, 9, 9), (64, 2, 1), (200, 40, 6)])
def test_every_row_walks_down_every_tree(check_op, dtype, rows, trees, depth):
    ensemble = forest(trees, depth, 5, 1, dtype)
    data = RANDOM.standard_normal((rows, 5)).astype(dtype)
    check_op(ops.TreeEnsemble(outputs=2), [data, *ensemble], [walked(data, *ensemble)])


@pytest.mark.parametrize("aggregate", ["sum", "min", "max"])
def test_leaves_have_several_values(check_op, aggregate):
    ensemble = forest(11, 4, 3, 2)
    ensemble[2][:] = 0
    data = RANDOM.standard_normal((20, 3)).astype("float32")
    op = ops.TreeEnsemble(outputs=2, aggregate=aggregate)
    check_op(op, [data, *ensemble], [walked(data, *ensemble, aggregate=aggregate)])


def test_nodes_say_where_no_number_leads(check_op):
    ensemble = forest(8, 5, 3, 1)
    data = RANDOM.standard_normal((40, 3)).astype("float32")
    data[RANDOM.random(data.shape) < 0.3] = np.nan
    tracks = RANDOM.integers(0, 2, len(ensemble[3])).astype("int32")
    check_op(ops.TreeEnsemble(outputs=2), [data, *ensemble, tracks], [walked(data, *ensemble, tracks)])
    check_op(ops.TreeEnsemble(outputs=2), [data, *ensemble], [walked(data, *ensemble)])


def test_places_beyond_the_ensemble_are_its_ends(check_op):
    """What an ensemble says is data: it decides no address."""
    roots, depths, targets, nodes, values = forest(2, 3, 3, 1)
    wrong = nodes.copy()
    wrong[:, 0], wrong[:, 1:3], depths[:] = 99, -7, 4
    data = RANDOM.standard_normal((20, 3)).astype("float32")
    inner = len(nodes) - len(values)
    kept = nodes.copy()
    kept[:, 0], kept[:, 1:3] = 2, 0
    assert inner
    kept_values = np.concatenate(
        [np.repeat(values[:1], inner, 0), values]
    )  # a node that is no leaf counts as the first
    expected = walked(data, roots, depths, targets, kept, kept_values)
    check_op(ops.TreeEnsemble(outputs=2), [data, roots, depths, targets, wrong, values], [expected])


def types(**changed):
    usual = {
        "data": ("float32", (20, 3)), "roots": ("int32", (2,)), "depths": ("int32", (2,)), "targets": ("int32", (2,)),
        "nodes": ("int32", (9, 4)), "values": ("float32", (5, 1)),
    }  # fmt: skip
    return [TensorType.of(*given) for given in {**usual, **changed}.values()]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data": ("float16", (20, 3))}, "data expects a matrix of float32 or float64, found float16[20, 3]"),
        ({"data": ("float64", (20, 3))}, "nodes expects int32[9, 5], found int32[9, 4]"),
        ({"depths": ("int32", (3,))}, "depths expects int32[2], found int32[3]"),
        ({"values": ("float32", (10, 1))}, "expects values of 1 to 9 leaves, found float32[10, 1]"),
        ({"values": ("float32", (5, 3))}, "expects values of 1 to 2 outputs, found float32[5, 3]"),
        ({"roots": ("int32", (Symbol("t"),))}, "depths expects int32[?t], found int32[2]"),
    ],
)
def test_what_is_no_ensemble_is_refused(changed, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        ops.TreeEnsemble(outputs=2).infer(*types(**changed))


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(InferenceError, match="expects aggregate sum, min, max, found 'mean'"):
        ops.TreeEnsemble(outputs=2, aggregate="mean").infer(*types())
