"""Pass sink_transposes, and networks for channels last."""

import numpy as np
import pytest

from sateen.graph_ir import build, run_pipeline, workloads
from sateen.graph_ir.compile import lowered
from sateen.graph_ir.passes import default_pipeline
from sateen.graph_ir.passes.sink_transposes import sink_transposes
from sateen.runtime import Target, load

LAST, FIRST = "transpose({}) {{permutation=(0, 2, 3, 1)}}".format, "transpose({}) {{permutation=(0, 3, 1, 2)}}".format


def lines(*nodes, inputs="input %x: float32[1, 2, 3, 4]", output="%y"):
    return "\n".join([inputs, *nodes, f"output {output}"])


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("relu(%a)", "relu(%x)"),
        ("concat(%a, %a) {axis=3}", "concat(%x, %x) {axis=1}"),
        ("pad(%a) {pads=(0, 1, 2, 0, 0, 3, 0, 5)}", "pad(%x) {pads=(0, 0, 1, 2, 0, 5, 3, 0)}"),
        ("slice(%a) {starts=(0, 1, 0, 0), ends=(1, 3, 4, 1), steps=(1, 1, 2, 1)}",
         "slice(%x) {starts=(0, 0, 1, 0), ends=(1, 1, 3, 4), steps=(1, 1, 1, 2)}"),
        ("tile(%a) {repeats=(1, 1, 2, 3)}", "tile(%x) {repeats=(1, 3, 1, 2)}"),
        ("reduce_mean(%a) {axes=(1, 2)}", "reduce_mean(%x) {axes=(2, 3)}"),
        ("less(%a, %a)", "less(%x, %x)"),
    ],
)  # fmt: skip
def test_a_node_between_two_transposes_takes_what_is_not_transposed(check, node, expected):
    before = lines(f"%a = {LAST('%x')}", f"%b = {node}", f"%y = {FIRST('%b')}")
    check(sink_transposes, before, lines(f"%y = {expected}"))


def test_reductions_that_drop_axes_need_no_transpose(check):
    before = lines(f"%a = {LAST('%x')}", "%y = reduce_max(%a) {axes=(1, 2), keepdims=false}")
    check(sink_transposes, before, lines("%y = reduce_max(%x) {axes=(2, 3), keepdims=false}"))


def test_what_is_reduced_is_transposed_later(check):
    reduced = "reduce_sum({}) {{axes=({},), keepdims=false}}".format
    before = lines(f"%a = {LAST('%x')}", f"%b = {reduced('%a', 1)}", "%y = relu(%b)")
    after = lines(f"%b = {reduced('%x', 2)}", "%c = transpose(%b) {permutation=(0, 2, 1)}", "%y = relu(%c)")
    check(sink_transposes, before, after)


def test_pieces_of_a_split_are_transposed(check):
    before = lines(
        f"%a = {LAST('%x')}", "%b, %c = split(%a) {axis=3, sizes=(1, 1)}", f"%d = {FIRST('%b')}", f"%e = {FIRST('%c')}",
        "%y = add(%d, %e)",
    )  # fmt: skip
    check(sink_transposes, before, lines("%b, %c = split(%x) {axis=1, sizes=(1, 1)}", "%y = add(%b, %c)"))


def test_scales_of_an_axis_stay_as_they_are(check):
    types = "input %x: int8[1, 2, 3, 4]\nparameter %s: float32[2] = [1.0, 2.0]"
    before = lines(f"%a = {LAST('%x')}", "%b = dequantize(%a, %s) {axis=3}", f"%y = {FIRST('%b')}", inputs=types)
    check(sink_transposes, before, lines("%y = dequantize(%x, %s)", inputs=types))


def test_scales_of_blocks_keep_the_transpose(check):
    types = "input %x: int8[1, 2, 3, 4]\ninput %s: float32[1, 3, 4, 1]"
    same = lines(f"%a = {LAST('%x')}", "%b = dequantize(%a, %s) {axis=3, block=2}", f"%y = {FIRST('%b')}", inputs=types)
    check(sink_transposes, same, same)


def test_constants_are_transposed_with_what_they_meet(check):
    parameter = "parameter %s: float32[2] = [1.0, 2.0]"
    before = lines(parameter, f"%a = {LAST('%x')}", "%b = multiply(%a, %s)", f"%y = {FIRST('%b')}")
    after = lines("parameter %s.1: float32[1, 2, 1, 1] = [1.0, 2.0]", "%y = multiply(%x, %s.1)")
    check(sink_transposes, before, after)


def test_one_element_meets_any_transpose(check):
    inputs = "input %x: float32[1, 2, 3, 4]\ninput %s: float32[]"
    before = lines(f"%a = {LAST('%x')}", "%b = multiply(%a, %s)", f"%y = {FIRST('%b')}", inputs=inputs)
    check(sink_transposes, before, lines("%y = multiply(%x, %s)", inputs=inputs))


@pytest.mark.parametrize(
    "text",
    [
        lines(f"%a = {LAST('%x')}", "%y = relu(%a)"),
        lines(f"%a = {LAST('%x')}", "%b = softmax(%a) {axis=3}", f"%y = {FIRST('%b')}"),
        lines(
            f"%a = {LAST('%x')}", "%b = add(%a, %z)", f"%y = {FIRST('%b')}",
            inputs="input %x: float32[1, 2, 3, 4]\ninput %z: float32[1, 3, 4, 2]",
        ),
    ],
    ids=["nothing meets it", "an operator that tells nothing", "another operand"],
)  # fmt: skip
def test_others_stay(check_unchanged, text):
    check_unchanged(sink_transposes, text)


def test_a_permutation_that_gains_is_moved_though_another_does_not(check):
    heads = "%h = transpose(%y) {permutation=(0, 2, 1, 3)}\n%k = exp(%h)"
    before = lines(f"%a = {LAST('%x')}", "%b = relu(%a)", f"%y = {FIRST('%b')}", heads, output="%k")
    check(sink_transposes, before, lines("%y = relu(%x)", heads, output="%k"))


@pytest.mark.parametrize("network", [workloads.squeezenet, workloads.mobilenet_v2])
def test_a_network_for_channels_last_takes_no_more_steps(network):
    first, last = (lowered(graph, Target.host()) for graph in (network(), workloads.channels_last(network())))
    assert len(last.calls) == len(first.calls)
    assert len(last.kernels) == len(first.kernels)


def test_a_network_for_channels_last_computes_the_same():
    first = workloads.squeezenet(image=64)
    last = workloads.channels_last(first)
    x = np.random.default_rng(0).standard_normal(first.inputs[0].type.static_shape).astype(np.float32)
    name = first.inputs[0].name
    (expected,) = load(build(first)).run({name: x}).values()
    (found,) = load(build(last)).run({name: np.ascontiguousarray(x.transpose(0, 2, 3, 1))}).values()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_a_transpose_of_an_input_is_another_layout_of_it():
    graph = run_pipeline(workloads.channels_last(workloads.squeezenet()), default_pipeline(Target.host()))
    moved = [n for n in graph.nodes if n.op.op_name() == "transpose"]
    assert [n.op.parts_of_input(n.input_types, n.output_types) for n in moved] == [(0,)] * len(moved)
