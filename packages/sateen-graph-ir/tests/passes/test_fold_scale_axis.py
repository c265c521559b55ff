"""Pass fold_scale_axis, with remove_dead_nodes behind it for texts without leftovers."""

from functools import partial

import pytest

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.passes.fold_scale_axis import fold_scale_axis
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes

PADDED = "{pads=(1, 1)}"


def fold(graph: Graph) -> Graph:
    return remove_dead_nodes(fold_scale_axis(graph))


def test_a_factor_and_a_term_behind_a_convolution_go_into_weight_and_bias(check):
    check(
        fold,
        f"""
        input %x: float32[1, 1, 4]
        parameter %w: float32[2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
        parameter %b: float32[2] = [1.0, 1.0]
        parameter %s: float32[2, 1] = [2.0, 0.5]
        parameter %t: float32[1, 2, 1] = [10.0, 20.0]
        %c = conv(%x, %w, %b) {PADDED}
        %m = multiply(%c, %s)
        %y = add(%t, %m)
        output %y
        """,
        f"""
        input %x: float32[1, 1, 4]
        parameter %w: float32[2, 1, 2] = [2.0, 4.0, 1.5, 2.0]
        parameter %b: float32[2] = [12.0, 20.5]
        %y = conv(%x, %w, %b) {PADDED}
        output %y
        """,
    )


def test_a_bias_is_made_where_there_is_none(check):
    check(
        fold,
        """
        input %x: float32[1, 1, 4]
        parameter %w: float32[2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
        parameter %t: float32[1] = [10.0]
        parameter %d: float32[] = [2.0]
        %c = conv(%x, %w)
        %m = divide(%c, %d)
        %y = subtract(%m, %t)
        output %y
        """,
        """
        input %x: float32[1, 1, 4]
        parameter %w: float32[2, 1, 2] = [0.5, 1.0, 1.5, 2.0]
        parameter %b: float32[2] = [-10.0, -10.0]
        %y = conv(%x, %w, %b)
        output %y
        """,
    )


def test_a_factor_in_front_of_grouped_channels(check):
    check(
        fold,
        """
        input %x: float32[1, 4, 3]
        parameter %w: float32[2, 2, 1] = [1.0, 2.0, 3.0, 4.0]
        parameter %s: float32[4, 1] = [1.0, 10.0, 100.0, 1000.0]
        parameter %t: float32[4, 1] = [1.0, 2.0, 3.0, 4.0]
        %m = multiply(%x, %s)
        %a = add(%m, %t)
        %y = conv(%a, %w) {groups=2}
        output %y
        """,
        """
        input %x: float32[1, 4, 3]
        parameter %b: float32[2] = [5.0, 25.0]
        parameter %w: float32[2, 2, 1] = [1.0, 20.0, 300.0, 4000.0]
        %y = conv(%x, %w, %b) {groups=2}
        output %y
        """,
    )


def test_a_factor_around_a_transposed_convolution_of_groups(check):
    attributes = "{strides=(2,), groups=2}"
    check(
        fold,
        f"""
        input %x: float32[1, 2, 3]
        parameter %w: float32[2, 2, 1] = [1.0, 1.0, 1.0, 1.0]
        parameter %s: float32[2, 1] = [3.0, 5.0]
        parameter %t: float32[4, 1] = [1.0, 2.0, 3.0, 4.0]
        %m = multiply(%x, %s)
        %c = conv_transpose(%m, %w) {attributes}
        %y = multiply(%c, %t)
        output %y
        """,
        f"""
        input %x: float32[1, 2, 3]
        parameter %w: float32[2, 2, 1] = [3.0, 6.0, 15.0, 20.0]
        %y = conv_transpose(%x, %w) {attributes}
        output %y
        """,
    )


def test_a_factor_passes_relu_and_the_bias_of_a_product(check):
    check(
        fold,
        """
        input %x: float32[3, 1]
        parameter %w: float32[1, 2] = [1.0, 2.0]
        parameter %b: float32[2] = [1.0, 1.0]
        parameter %s: float32[2] = [2.0, 3.0]
        %p = mat_mul(%x, %w)
        %a = add(%p, %b)
        %r = relu(%a)
        %y = multiply(%r, %s)
        output %y
        """,
        """
        input %x: float32[3, 1]
        parameter %w: float32[1, 2] = [2.0, 6.0]
        parameter %b: float32[2] = [2.0, 3.0]
        %p = mat_mul(%x, %w)
        %a = add(%p, %b)
        %y = relu(%a)
        output %y
        """,
    )


@pytest.mark.parametrize(
    "lines",
    [
        # a constant that varies along another axis
        "parameter %s: float32[3] = [1.0, 2.0, 3.0]\n%c = conv(%x, %w)\n%y = multiply(%c, %s)",
        # one that enlarges its operand
        "parameter %s: float32[2, 1, 1, 1] = [1.0, 2.0]\n%c = conv(%x, %w)\n%y = multiply(%c, %s)",
        # a term in front of padding, which it would not reach
        f"parameter %s: float32[1] = [1.0]\n%a = add(%x, %s)\n%y = conv(%a, %w) {PADDED}",
        # a factor that is not positive behind relu
        "parameter %s: float32[1] = [-1.0]\n%c = conv(%x, %w)\n%r = relu(%c)\n%y = multiply(%r, %s)",
        # a value with another reader
        "parameter %s: float32[1] = [2.0]\n%c = conv(%x, %w)\n%m = multiply(%c, %s)\n%y = add(%m, %c)",
        # a weight that would overflow
        "parameter %s: float32[1] = [1e+38]\n%c = conv(%x, %w)\n%y = multiply(%c, %s)",
        # the divisor zero
        "parameter %s: float32[1] = [0.0]\n%c = conv(%x, %w)\n%y = divide(%c, %s)",
    ],
)
def test_what_would_change_the_result_stays(check_unchanged, lines):
    text = "input %x: float32[1, 1, 4]\nparameter %w: float32[2, 1, 2] = [1.0, 2.0, 3.0, 4.0]"
    check_unchanged(fold, f"{text}\n{lines}\noutput %y")


def test_a_weight_that_is_an_input_stays(check_unchanged):
    text = """
        input %x: float32[1, 1, 4]
        input %w: float32[2, 1, 2]
        parameter %s: float32[1] = [2.0]
        %c = conv(%x, %w)
        %y = multiply(%c, %s)
        output %y
    """
    check_unchanged(partial(fold_scale_axis), text)
