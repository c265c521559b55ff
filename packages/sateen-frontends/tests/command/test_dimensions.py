"""The search for sizes of open dimensions: what it tries, in which order, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sateen.frontends.command.dimensions import MOST_TRIALS, find_sizes, open_dimensions, options_of
from sateen.frontends.core.report import Gap, Report
from sateen.graph_ir.ir import Symbol, TensorType
from sateen.runtime.errors import FrontendError

GAP = Gap("n", "Conv", "", 17, (), "no", "")


def reading(unread: Callable[[Mapping[str, int]], int], nodes: int, tried: list[dict[str, int]]):
    """Reads a model of so many nodes, of which as many can't be read as `unread` says."""

    def read(dims):
        tried.append(dict(dims))
        return None, Report("net", {}, {"Conv": nodes}, (GAP,) * unread(dims), 0)

    return read


def types(**shapes: tuple[int | str, ...]) -> dict[str, TensorType]:
    return {
        name: TensorType.of("float32", [Symbol(d) if isinstance(d, str) else d for d in shape])
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        (("n", 3, "h", "w"), {"n": 1, "h": 224, "w": 224}),
        (("n", "h", "w", 3), {"n": 1, "h": 224, "w": 224}),
        (("n", "c", "h", "w"), {"n": 1, "c": 3, "h": 224, "w": 224}),
        (("n", "time"), {"n": 1, "time": 128}),
        ((8, "batch_size", 64), {"batch_size": 1}),
        ((2, "n", 64), {"n": 1}),
        ((1, "time", 64), {"time": 128}),
    ],
)
def test_usual_sizes_come_first(shape, first):
    tried: list[dict[str, int]] = []
    assert find_sizes(open_dimensions(types(x=shape)), reading(lambda _: 0, 1, tried)).work
    assert tried == [first]


def test_dimensions_that_differ_are_found_one_by_one():
    tried: list[dict[str, int]] = []
    usual = open_dimensions(types(x=("n", "a"), y=("n", "b")))
    sizes = find_sizes(usual, reading(lambda dims: (dims["a"] != 2) + (dims["b"] != 512), 1, tried))
    assert sizes.work
    assert sizes.dims == {"n": 1, "a": 2, "b": 512}
    assert len(tried) <= MOST_TRIALS


@pytest.mark.parametrize(("nodes", "most"), [(1, MOST_TRIALS), (100_000, 3)])
def test_a_search_without_success_ends_soon_with_the_best(nodes, most):
    tried: list[dict[str, int]] = []
    names = [f"d{i}" for i in range(20)]
    usual = open_dimensions(types(**{name: (1, name) for name in names}))
    sizes = find_sizes(usual, reading(lambda dims: 5 - (dims["d0"] == 16), nodes, tried))
    assert not sizes.work
    assert sizes.dims["d0"] == 16
    assert len(tried) <= most


def test_the_sizes_of_an_example_come_first():
    tried: list[dict[str, int]] = []
    usual = open_dimensions(types(x=("n", 3, "h", "w"), y=("n", "time")), {"x": (2, 3, 20, 18), "y": (7,)})
    assert find_sizes(usual, reading(lambda _: 0, 1, tried)).work
    assert tried == [{"n": 2, "h": 20, "w": 18, "time": 128}]


def test_sizes_lie_in_the_ranges_of_the_model():
    ranges = {"n": (4, 16), "time": (2, 100.0), "w": (0, 16)}
    usual = open_dimensions(types(x=("n", 3, "h", "w"), y=("n", "time")), ranges=ranges)
    assert (usual["n"], usual["time"], usual["w"]) == ((4,), (16, 2, 32), (1,))
    assert usual["h"] == open_dimensions(types(x=("n", 3, "h", "w")))["h"]


def test_sizes_that_the_model_does_not_allow_are_passed_over():
    def read(dims):
        if dims["h"] not in allowed:
            raise FrontendError(f"expected {allowed}")
        return None, Report("net", {}, {"Conv": 1}, (), 0)

    usual = open_dimensions(types(x=(1, 3, "h", 4)))
    allowed = {32}
    assert find_sizes(usual, read).dims == {"h": 32}
    allowed = {7}
    with pytest.raises(FrontendError, match=r"expected \{7\}"):
        find_sizes(usual, read)


def test_gaps_that_every_size_has_are_told_apart():
    usual = open_dimensions(types(x=("n", 3)))
    assert not find_sizes(usual, reading(lambda _: 1, 1, [])).matter
    assert find_sizes(usual, reading(lambda dims: dims["n"], 1, [])).tried == 2

    def read(dims):
        return None, Report("net", {}, {"Conv": 1}, (Gap("n", "Conv", "", 17, (), f"not {dims['n']}", ""),), 0)

    assert find_sizes(usual, read).matter


def test_a_shape_is_given_where_dimensions_have_no_names():
    given = types(x=("n", "x.1", 4), y=("n", 2), z=(3,))
    assert options_of(given, {"n": 1, "x.1": 16}) == ["--shape", "x=1x16x4", "--dim", "n=1"]
