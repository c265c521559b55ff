"""Pass join_moves."""

import random
from math import prod

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Reshape, Transpose
from sateen.graph_ir.passes.join_moves import MOST_MOVES, join_moves
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes


def joined(graph):
    return remove_dead_nodes(join_moves(graph))


@pytest.mark.parametrize(
    ("shape", "before", "after"),
    [
        (
            (1, 8, 6, 4),
            """
            %a = reshape(%x) {shape=(8, 6, 4)}
            %b = transpose(%a) {permutation=(0, 2, 1)}
            %y = reshape(%b) {shape=(1, 8, 4, 6)}
            """,
            "%y = transpose(%x) {permutation=(0, 1, 3, 2)}",
        ),
        (
            (1, 5, 12),
            """
            %a = reshape(%x) {shape=(1, 5, 1, 3, 4)}
            %b = transpose(%a) {permutation=(2, 0, 3, 1, 4)}
            %y = reshape(%b) {shape=(1, 3, 5, 4)}
            """,
            """
            %y.1 = reshape(%x) {shape=(1, 5, 3, 4)}
            %y = transpose(%y.1) {permutation=(0, 2, 1, 3)}
            """,
        ),
        (
            (1, 3, 5, 4),
            """
            %a = transpose(%x) {permutation=(0, 2, 1, 3)}
            %b = reshape(%a) {shape=(1, 5, 12)}
            %y = reshape(%b) {shape=(5, 6, 2)}
            """,
            """
            %y.1 = transpose(%x) {permutation=(0, 2, 1, 3)}
            %y = reshape(%y.1) {shape=(5, 6, 2)}
            """,
        ),
        (
            (12, 4),
            """
            %a = reshape(%x) {shape=(3, 4, 4)}
            %b = transpose(%a) {permutation=(1, 0, 2)}
            %c = reshape(%b) {shape=(12, 4)}
            %d = reshape(%c) {shape=(4, 3, 4)}
            %e = transpose(%d) {permutation=(1, 2, 0)}
            %y = reshape(%e) {shape=(12, 4)}
            """,
            """
            %y.1 = reshape(%x) {shape=(3, 4, 4)}
            %y.2 = transpose(%y.1) {permutation=(0, 2, 1)}
            %y = reshape(%y.2) {shape=(12, 4)}
            """,
        ),
        (
            (2, 1, 3),
            "%a = transpose(%x) {permutation=(1, 0, 2)}\n%y = reshape(%a) {shape=(2, 3)}",
            "%y = reshape(%x) {shape=(2, 3)}",
        ),
    ],
    ids=["in front and behind", "heads", "reshape behind", "back", "no transpose"],
)
def test_moves_that_follow_each_other(check, shape, before, after):
    head = f"input %x: float32[{', '.join(map(str, shape))}]"
    check(joined, f"{head}\n{before}\noutput %y", f"{head}\n{after}\noutput %y")


def test_moves_that_undo_each_other_leave_nothing(check):
    head = "input %x: float32[2, 3, 4]"
    moves = """
    %a = reshape(%x) {shape=(6, 4)}
    %b = transpose(%a) {permutation=(1, 0)}
    %c = reshape(%b) {shape=(4, 2, 3)}
    %d = transpose(%c) {permutation=(1, 2, 0)}
    """
    check(joined, f"{head}\n{moves}\n%y = exp(%d)\noutput %y", f"{head}\n%y = exp(%x)\noutput %y")


@pytest.mark.parametrize(
    "text",
    [
        """
        input %x: float32[2, 3, 4]
        %a = reshape(%x) {shape=(6, 4)}
        %b = transpose(%a) {permutation=(1, 0)}
        %y = reshape(%b) {shape=(2, 2, 6)}
        %z = relu(%a)
        output %y
        output %z
        """,
        """
        input %x: float32[2, 3, 4]
        %a = reshape(%x) {shape=(6, 4)}
        %b = transpose(%a) {permutation=(1, 0)}
        %y = reshape(%b) {shape=(3, 8)}
        output %y
        """,
        """
        input %x: float32[2, 3, 4]
        %a = transpose(%x) {permutation=(1, 0, 2)}
        %y = reshape(%a) {shape=(3, 8)}
        output %y
        """,
        """
        input %x: float32[0, 3]
        %a = transpose(%x) {permutation=(1, 0)}
        %b = reshape(%a) {shape=(0, 3)}
        %y = transpose(%b) {permutation=(1, 0)}
        output %y
        """,
        """
        input %x: float32[?n, 3]
        %a = transpose(%x) {permutation=(1, 0)}
        %b = reshape(%a) {shape=(3, ?n, 1)}
        %y = transpose(%b) {permutation=(1, 0, 2)}
        output %y
        """,
    ],
    ids=["read between", "uneven", "no fewer", "no elements", "unknown sizes"],
)
def test_others_stay(parse, text):
    graph = parse(text)
    assert join_moves(graph) is graph


def test_random_moves_give_the_same_elements_by_no_more_moves():
    draw = random.Random(0)
    for _ in range(300):
        shape = tuple(draw.choices((1, 2, 3, 4), k=draw.randint(1, 4)))
        before = _random_moves(draw, shape)
        after = joined(before)
        verify_graph(after)
        assert len(after.nodes) <= len(before.nodes)
        given = {"x": np.arange(prod(shape), dtype=np.float32).reshape(shape)}
        (expected,), (found,) = interpret(before, given).values(), interpret(after, given).values()
        np.testing.assert_array_equal(found, expected, err_msg=str(before))


def _random_moves(draw, shape):
    g = GraphBuilder("moves")
    value = g.input("x", "float32", shape)
    for _ in range(draw.randint(1, MOST_MOVES + 2)):
        axes = [*range(value.type.rank)]
        if draw.random() < 0.5:
            draw.shuffle(axes)
            value = g.add(Transpose(tuple(axes)), value)
        else:
            value = g.add(Reshape(_random_shape(draw, value.type.static_shape)), value)
    g.output(value)
    return g.finish()


def _random_shape(draw, shape):
    """Another shape of as many elements: factors of the extents, in order, and ones, some of which are multiplied."""
    factors = [f for extent in shape for f in ({4: (2, 2)}.get(extent, (extent,)))]
    factors.insert(draw.randint(0, len(factors)), 1)
    result = [1]
    for factor in factors:
        if draw.random() < 0.5:
            result[-1] *= factor
        else:
            result.append(factor)
    return tuple(result)
