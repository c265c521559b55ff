"""Pass fuse_normalizations."""

import pytest

from sateen.graph_ir.passes.fuse_normalizations import fuse_normalizations
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes

INPUTS = """
input %x: float32[2, 3, 4]
input %w: float32[4]
"""
NUMBERS = """
parameter %epsilon: float32[] = [0.5]
parameter %two: float32[] = [2.0]
parameter %one: float32[1] = [1.0]
"""
LINES = {
    "square": "%s = multiply(%x, %x)",
    "mean": "%m = reduce_mean(%s) {axes=(2,)}",
    "total": "%e = add(%m, %epsilon)",
    "root": "%d = sqrt(%e)",
    "inverse": "%r = reciprocal(%d)",
    "normal": "%n = multiply(%x, %r)",
    "scaled": "%y = multiply(%w, %n)",
}


def text(inputs=INPUTS, **changed):
    """The nodes of a normalization, some of them written in another way."""
    lines = "\n".join((LINES | changed).values())
    return f"{inputs}{NUMBERS}{lines}\n" + ("" if "output" in lines else "output %y")


def fused(graph):
    return remove_dead_nodes(fuse_normalizations(graph))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"square": "%s = power(%x, %two)"},
        {"total": "%e = add(%epsilon, %m)"},
        {"inverse": "%r = divide(%one, %d)"},
        {"inverse": "", "normal": "%n = divide(%x, %d)"},
        {"normal": "%n = multiply(%r, %x)", "scaled": "%y = multiply(%n, %w)"},
    ],
    ids=["as PyTorch writes it", "power", "epsilon first", "one by the root", "quotient", "other orders"],
)
def test_products_means_and_roots_are_a_normalization(check, changed):
    after = f"{INPUTS}%y = rms_normalization(%x, %w) {{axis=2, epsilon=0.5}}\noutput %y"
    check(fused, text(**changed), after)


def test_without_a_scale(check):
    before = text(scaled="%y = relu(%n)")
    after = f"{INPUTS}%n = rms_normalization(%x) {{axis=2, epsilon=0.5}}\n%y = relu(%n)\noutput %y"
    check(fused, before, after)


def test_over_several_axes(check):
    before = text(mean="%m = reduce_mean(%s) {axes=(2, 1)}")
    check(fused, before, f"{INPUTS}%y = rms_normalization(%x, %w) {{axis=1, epsilon=0.5}}\noutput %y")


def test_a_normalization_that_is_read_twice_is_scaled_apart(check):
    both = "%y = multiply(%w, %n)\n%z = relu(%n)\noutput %y\noutput %z"
    normal = "%n = rms_normalization(%x) {axis=2, epsilon=0.5}"
    check(fused, text(scaled=both), f"{INPUTS}{normal}\n{both}")


DIFFERENCES = {
    "square": "%c = reduce_mean(%x) {axes=(2,)}\n%t = subtract(%x, %c)\n%s = power(%t, %two)",
    "inverse": "",
    "normal": "%n = divide(%t, %d)",
    "scaled": "%l = multiply(%n, %w)\n%y = add(%l, %w)",
}


@pytest.mark.parametrize("scaled", [DIFFERENCES["scaled"], "%l = multiply(%w, %n)\n%y = add(%w, %l)"])
def test_of_differences_to_the_mean_it_is_layer_normalization(check, scaled):
    after = f"{INPUTS}%y = layer_normalization(%x, %w, %w) {{axis=2, epsilon=0.5}}\noutput %y"
    check(fused, text(**(DIFFERENCES | {"scaled": scaled})), after)


def test_what_has_more_axes_is_added_behind(check):
    before = text(**(DIFFERENCES | {"scaled": "%l = multiply(%n, %w)\n%y = add(%l, %x)"}))
    normal = "%l = layer_normalization(%x, %w) {axis=2, epsilon=0.5}"
    check(fused, before, f"{INPUTS}{normal}\n%y = add(%l, %x)\noutput %y")


def test_differences_that_something_else_reads(check):
    outputs = "%z = relu(%t)\noutput %y\noutput %z"
    before = text(**(DIFFERENCES | {"scaled": f"{DIFFERENCES['scaled']}\n{outputs}"}))
    normal = "%y = layer_normalization(%x, %w, %w) {axis=2, epsilon=0.5}"
    differences = "%c = reduce_mean(%x) {axes=(2,)}\n%t = subtract(%x, %c)"
    check(fused, before, f"{INPUTS}{differences}\n{normal}\n{outputs}")


@pytest.mark.parametrize(
    "square",
    [
        "%c = reduce_mean(%x) {axes=(1,)}\n%t = subtract(%x, %c)\n%s = power(%t, %two)",
        "%c = reduce_max(%x) {axes=(2,)}\n%t = subtract(%x, %c)\n%s = power(%t, %two)",
        "%u = relu(%x)\n%c = reduce_mean(%u) {axes=(2,)}\n%t = subtract(%x, %c)\n%s = power(%t, %two)",
    ],
    ids=["over another axis", "no mean", "of other data"],
)
def test_other_differences_are_the_data_of_a_normalization(check, square):
    differences = square[: square.rindex("\n")]
    normal = "%l = rms_normalization(%t, %w) {axis=2, epsilon=0.5}"
    after = f"{INPUTS}{differences}\n{normal}\n%y = add(%l, %w)\noutput %y"
    check(fused, text(**(DIFFERENCES | {"square": square})), after)


@pytest.mark.parametrize(
    "changed",
    [
        {"mean": "%m = reduce_mean(%s) {axes=(1,)}"},
        {"mean": "%m = reduce_sum(%s) {axes=(2,)}"},
        {"mean": "%k = reduce_mean(%s) {axes=(2,), keepdims=false}\n%m = reshape(%k) {shape=(2, 3, 1)}"},
        {"square": "%s = multiply(%x, %w)"},
        {"square": "%s = power(%x, %one)"},
        {"total": "%e = add(%m, %w)"},
        {"inverse": "%r = divide(%two, %d)"},
        {"scaled": "%y = multiply(%w, %n)\n%z = relu(%s)\noutput %y\noutput %z"},
        {"scaled": "%y = multiply(%w, %n)\n%z = relu(%d)\noutput %y\noutput %z"},
        {"normal": "%n = divide(%r, %x)"},
        {"normal": "%q = relu(%x)\n%n = multiply(%q, %r)"},
    ],
    ids=["not the last axis", "a sum", "axes dropped", "no square", "another power", "no number", "no inverse",
         "square read", "root read", "no normalization", "other data"],
)  # fmt: skip
def test_others_stay(check_unchanged, changed):
    check_unchanged(fuse_normalizations, text(**changed))


def test_means_that_meet_other_rows_stay(check_unchanged):
    """Without its axis the mean of a row broadcasts to a column, if there are as many."""
    square = "input %x: float32[4, 4]\ninput %w: float32[4]\n"
    check_unchanged(fuse_normalizations, text(square, mean="%m = reduce_mean(%s) {axes=(1,), keepdims=false}"))
