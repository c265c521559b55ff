"""Groups of axes that a reshape keeps together, padding by several periods, and what moves without gathers."""

import numpy as np
import pytest

from sateen.topi.computations import shape

X = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("old", "new", "groups"),
    [
        ((2, 3, 4, 5), (6, 4, 1, 5), [([0, 1], [0]), ([2], [1]), ([], [2]), ([3], [3])]),
        ((6, 1, 7), (6, 7), [([0], [0]), ([1], []), ([2], [1])]),
        ((4, 6), (8, 3), [([0, 1], [0, 1])]),
        ((), (1,), [([], [0])]),
        ((0, 3), (3, 0), [([0, 1], [0, 1])]),
    ],
    ids=str,
)
def test_a_reshape_splits_into_groups_of_equal_products(old, new, groups):
    assert list(shape.equal_products(old, new)) == groups


@pytest.mark.parametrize("new", [(6, 4, 1, 5), (120,), (5, 4, 3, 2), (2, 60), (1, 2, 3, 4, 5, 1)], ids=str)
def test_reshape(computed, new):
    np.testing.assert_array_equal(computed(lambda v: shape.reshape(v, new), X), X.reshape(new))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [1, 4, 5, 23])
def test_padding_by_more_than_a_period(computed, mode, width):
    found = computed(lambda v: shape.pad(v, (0, 0, 0, width), (0, 0, 1, 2 * width), mode), X)
    np.testing.assert_array_equal(found, np.pad(X, ((0, 0), (0, 0), (0, 1), (width, 2 * width)), mode))


def test_inputs_without_elements_are_read_nowhere(computed):
    empty = X[:, :0]
    for parts in ([empty, X], [X, empty], [X, empty, X], [empty, empty]):
        found = computed(lambda *v: shape.concatenate(v, 1), *parts)
        np.testing.assert_array_equal(found, np.concatenate(parts, 1))


def test_moves_along_memory_are_no_gathers(compiled):
    for operator in (
        lambda v: shape.transpose(v, (0, 2, 1, 3)),
        lambda v: shape.concatenate((v, v), 1),
        lambda v: shape.split(v, 1, (2, 6)),
        lambda v: shape.pad(v, (0, 0, 1, 1), (0, 0, 1, 1)),
        lambda v: shape.reshape(v, (8, 1, 16, 64)),
        lambda v: shape.transpose(v, (0, 2, 3, 1)),
        lambda v: shape.transpose(v, (0, 1, 3, 2)),
        lambda v: shape.strided_slice(v, (0, 0, 0, 0), (1, 8, 16, 64), (1, 1, 2, 2)),
        lambda v: shape.strided_slice(v, (0, 0, 0, 63), (1, 8, 16, -1), (1, 1, 1, -1)),
        lambda v: shape.pad(v, (0, 0, 2, 2), (0, 0, 2, 2), "reflect"),
        lambda v: shape.depth_to_space(v, 2),
        lambda v: shape.tile(v, (1, 1, 1, 3)),
    ):
        assert compiled(operator, (1, 8, 16, 64)).report.gathers == 0


@pytest.mark.parametrize(("before", "after"), [((1, 2), (2, 1)), ((0, 0), (0, 1)), ((0, -1), (1, 1))])
def test_padding_with_a_number(computed, before, after):
    x = np.arange(1, 13, dtype="float32").reshape(3, 4)
    y = computed(lambda v: shape.pad(v, before, after, value=7), x)
    cut = x[:, max(-before[1], 0) :]
    widths = [(max(a, 0), b) for a, b in zip(before, after, strict=True)]
    np.testing.assert_array_equal(y, np.pad(cut, widths, constant_values=7))
