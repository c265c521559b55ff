"""Pass move_reshapes_up."""

import pytest

from sateen.graph_ir.passes.move_reshapes_up import move_reshapes_up
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes

INPUTS = """
    input %x: float32[2, 3, 4]
    parameter %w: float32[4, 2] = [1.0, -1.0, 0.5, 2.0, 3.0, 1.0, -2.0, 1.5]
    parameter %b: float32[2] = [1.0, -1.0]
"""


def moved(graph):
    return remove_dead_nodes(move_reshapes_up(graph))


def test_rows_that_are_given_back_need_no_reshapes(check):
    before = """
        %r: float32[6, 4] = reshape(%x) {shape=(6, 4)}
        %a: float32[6, 2] = mat_mul(%r, %w)
        %s: float32[6, 2] = add(%a, %b)
        %t: float32[2, 3, 2] = reshape(%s) {shape=(2, 3, 2)}
        %y: float32[2, 3, 2] = relu(%t)
        output %y
    """
    after = """
        %a: float32[2, 3, 2] = mat_mul(%x, %w)
        %t: float32[2, 3, 2] = add(%a, %b)
        %y: float32[2, 3, 2] = relu(%t)
        output %y
    """
    check(moved, INPUTS + before, INPUTS + after)


def test_rows_that_get_another_shape_have_it_before_the_product(check):
    inputs = INPUTS.replace("    parameter %b: float32[2] = [1.0, -1.0]\n", "")
    before = """
        %r: float32[6, 4] = reshape(%x) {shape=(6, 4)}
        %a: float32[6, 2] = mat_mul(%r, %w)
        %y: float32[3, 2, 2] = reshape(%a) {shape=(3, 2, 2)}
        output %y
    """
    after = """
        %r: float32[3, 2, 4] = reshape(%x) {shape=(3, 2, 4)}
        %y: float32[3, 2, 2] = mat_mul(%r, %w)
        output %y
    """
    check(moved, inputs + before, inputs + after)


@pytest.mark.parametrize(
    "text",
    [
        """
        %a: float32[2, 3, 2] = mat_mul(%x, %w)
        %y: float32[6, 2] = reshape(%a) {shape=(6, 2)}
        output %y
        """,
        """
        %r: float32[6, 4] = reshape(%x) {shape=(6, 4)}
        %a: float32[6, 2] = mat_mul(%r, %w)
        %y: float32[2, 6] = reshape(%a) {shape=(2, 6)}
        output %y
        """,
        """
        %r: float32[6, 4] = reshape(%x) {shape=(6, 4)}
        %a: float32[6, 2] = mat_mul(%r, %w)
        %y: float32[2, 3, 2] = reshape(%a) {shape=(2, 3, 2)}
        output %y
        output %a
        """,
        """
        %r: float32[6, 4] = reshape(%x) {shape=(6, 4)}
        %a: float32[6, 2] = mat_mul(%r, %w)
        %s: float32[6, 2] = add(%a, %a)
        %y: float32[2, 3, 2] = reshape(%s) {shape=(2, 3, 2)}
        output %y
        """,
    ],
    ids=["rows as they are", "other columns", "another reader", "no bias"],
)
def test_others_stay(check_unchanged, text):
    check_unchanged(move_reshapes_up, INPUTS + text)
