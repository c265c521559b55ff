"""Pass choose_layouts."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import (
    AdaptiveMaxPool,
    Add,
    Conv,
    GlobalAveragePool,
    MaxPool,
    Relu,
    Reshape,
    Resize,
    Transpose,
)
from sateen.graph_ir.passes.choose_layouts import CLEARLY, choose_layouts
from sateen.graph_ir.passes.layout_search import Costs, greedy, least
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.pool_methods import Channels, Windows
from sateen.topi.operators import LayoutChoice
from sateen.topi.types import Layout


@dataclass(frozen=True, slots=True)
class Blocked(Relu):
    """A relu that likes blocked layouts, and so takes what is blocked and what is not."""

    name = "acme.Blocked"
    slowdown: float = 1e6

    def layouts(self, _inputs: object, _outputs: object, machine: Machine) -> Iterable[LayoutChoice]:
        layout = Layout.blocked(2, 1, machine.lanes())
        yield LayoutChoice((layout,), (layout,))
        yield LayoutChoice((None,), (None,), self.slowdown)


def values(graph):
    return [str(v.type) for n in graph.nodes for v in n.outputs]


def operators(graph):
    return [n.op.op_name() for n in graph.nodes]


@pytest.fixture
def checked(of_lanes):
    return lambda graph: _checked(graph, of_lanes(4))


def _checked(graph, machine):
    result = choose_layouts(graph, machine)
    verify_graph(result)
    x = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)
    before, after = interpret(graph, {"x": x}), interpret(result, {"x": x})
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    return result


def build(function):
    g = GraphBuilder()
    g.output(*function(g, g.input("x", "float32", (2, 6))))
    return g.finish()


def test_values_are_converted_at_the_borders_of_the_graph_alone(checked):
    result = checked(build(lambda g, x: [g.add(Relu(), g.add(Blocked(), g.add(Blocked(), x)), name="y")]))
    assert operators(result) == ["convert_layout", "acme.Blocked", "acme.Blocked", "relu", "convert_layout"]
    assert values(result) == ["float32[2, 6]@aB4b"] * 4 + ["float32[2, 6]"]


def test_a_value_is_converted_once_for_all_its_readers(checked):
    def network(g, x):
        a, b = g.add(Blocked(), x), g.add(Blocked(), x)
        return [g.add(Reshape((12,)), a), g.add(Reshape((4, 3)), a), g.add(Add(), a, b)]

    result = checked(build(network))
    conversions = [n for n in result.nodes if n.op.op_name() == "convert_layout"]
    assert len([n for n in conversions if n.inputs[0] is result.inputs[0]]) == 1
    assert len({(n.inputs[0], n.outputs[0].type) for n in conversions}) == len(conversions)


def test_a_row_major_reader_takes_the_value_that_was_converted(checked):
    def network(g, x):
        return [g.add(Reshape((12,)), x), g.add(Blocked(), x)]

    result = checked(build(network))
    assert operators(result) == ["reshape", "convert_layout", "acme.Blocked", "convert_layout"]
    assert result.nodes[0].inputs == result.inputs


def test_a_row_major_graph_stays(check_unchanged, of_lanes):
    check_unchanged(
        partial(choose_layouts, machine=of_lanes(4)), "input %x: float32[2, 6]\n%a = relu(%x)\n%y = exp(%a)\noutput %y"
    )


def test_conversions_that_take_longer_than_they_save_are_left_out(checked):
    def network(g, x):
        a = g.add(Reshape((2, 6)), g.add(Reshape((12,)), g.add(Blocked(1.5), x)))
        return [g.add(Reshape((12,)), g.add(Blocked(1.5), a))]

    result = checked(build(network))
    assert "convert_layout" not in operators(result)


def test_one_operator_may_pay_for_the_conversions_of_others(checked):
    def network(g, x):
        a = g.add(Blocked(1e6), g.add(Relu(), x))
        return [g.add(Relu(), g.add(Add(), g.add(Blocked(1.5), a), g.add(Blocked(1.5), a)))]

    result = checked(build(network))
    assert operators(result).count("convert_layout") == 2
    assert values(result)[-2] == "float32[2, 6]@aB4b"


def test_axes_stay_in_order_where_another_order_takes_no_less(checked):
    result = checked(build(lambda g, x: [g.add(Relu(), g.add(Transpose((1, 0)), g.add(Relu(), x)), name="y")]))
    relus = [n.outputs[0].type for n in result.nodes if isinstance(n.op, Relu)]
    assert [str(t) for t in relus] == ["float32[2, 6]", "float32[6, 2]"]


def test_a_choice_that_takes_a_little_less_than_the_first_ones_is_not_taken():
    """Its estimate is within CLEARLY, and no axes move."""

    def network(slowdown):
        return build(lambda g, x: [g.add(Blocked(slowdown), g.add(Relu(), x))])

    machine = Machine.of(Target.of("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4"))

    def estimates(slowdown):
        graph = network(slowdown)
        costs = Costs(graph, machine)
        return costs.total(greedy(graph, costs, in_order=True)), costs.total(least(graph, costs, in_order=False))

    equal = bisect_left(range(1_000_000), 0.0, key=lambda s: estimates(s)[1] - estimates(s)[0])
    first, other = estimates(0.995 * equal)
    assert CLEARLY * first < other < first
    assert "convert_layout" in operators(choose_layouts(network(0.995 * equal), machine))


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize(
    ("op", "method"),
    [
        (MaxPool((3, 3)), Windows(1, 4)), (Resize((1, 64, 20, 20), "cubic"), Passes(32)),
        (AdaptiveMaxPool((7, 7)), Passes(32)), (GlobalAveragePool(), Channels(2)),
    ],
)  # fmt: skip
def test_a_pool_or_a_resize_with_a_method_takes_blocks_only_where_they_are(of_lanes, blocked, op, method):
    g = GraphBuilder("pool")
    x = g.input("x", "float32", (1, 64, 32, 32))
    y = g.add(Conv(), x, g.parameter("w", np.ones((64, 64, 1, 1), "float32"))) if blocked else g.add(Relu(), x)
    g.output(g.add(op, y, name="y", method=method))
    (pool,) = (n for n in choose_layouts(g.finish(), of_lanes(4)).nodes if n.op == op)
    assert pool.method == method
    assert pool.outputs[0].type.layout == (Layout.blocked(4, 1, 4) if blocked else None)
