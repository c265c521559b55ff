"""Pass choose_methods."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, Problem, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import (
    AdaptiveAveragePool,
    AdaptiveMaxPool,
    AveragePool,
    Conv,
    GlobalMaxPool,
    MatMul,
    MaxPool,
    Resize,
    WinogradConv,
    WinogradWeight,
)
from sateen.graph_ir.passes.choose_methods import choose_methods
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import Blocks, Direct, Rectangles, Winograd, WinogradTiles
from sateen.topi.computations.pass_methods import Passes
from sateen.topi.computations.pool_methods import Channels, Lines, Windows
from sateen.topi.computations.products import Tiled, Warped
from sateen.topi.computations.strips import Strips

MACHINE = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"), l2_bytes=1 << 20, l3_bytes=32 << 20)
transform = partial(choose_methods, machine=MACHINE)


def network(*, size=16, channels=32, strides=(), constant=True, weight=None):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (1, channels, size, size))
    if weight is None:
        weight = random.standard_normal((32, channels, 3, 3)).astype("float32")
    w = g.parameter("w", weight) if constant else g.input("w", "float32", weight.shape)
    b = g.parameter("b", random.standard_normal(32).astype("float32"))
    g.output(g.add(Conv(strides, (1, 1, 1, 1)), x, w, b, name="y"))
    return g.finish()


def test_a_large_convolution_is_transformed_and_keeps_its_values():
    before = network()
    after = remove_dead_nodes(transform(before))
    verify_graph(after)
    assert [(n.op, n.method) for n in after.nodes] == [
        (WinogradWeight(4), None), (WinogradConv(4, 1, (1, 1, 1, 1)), Blocks(1, 4, 2)),
    ]  # fmt: skip
    assert [v.name for v in after.outputs] == ["y"]
    x = np.random.default_rng(1).standard_normal((1, 32, 16, 16)).astype("float32")
    expected, found = interpret(before, {"x": x})["y"], interpret(after, {"x": x})["y"]
    assert np.abs(found - expected).max() < 2e-5 * np.abs(expected).max()


def test_others_get_a_tile():
    for graph in (network(channels=8), network(strides=(2, 1)), network(size=1), network(constant=False)):
        (node,) = transform(graph).nodes
        assert isinstance(node.op, Conv)
        assert isinstance(node.method, Direct)


def test_strict_numerics_are_direct():
    (node,) = transform(network(), numerics="strict").nodes
    assert isinstance(node.op, Conv)


def test_equal_problems_of_a_network_are_asked_once(monkeypatch):
    given = MatMul.candidates
    asked = []
    monkeypatch.setattr(MatMul, "candidates", lambda *arguments: asked.append(arguments) or given(*arguments))
    g = GraphBuilder("test")
    x = g.input("x", "float32", (37, 311))
    for name in ("v", "w"):
        x = g.add(MatMul(), x, g.parameter(name, np.ones((311, 311), np.float32)))
    g.output(x)
    first, second = transform(g.finish()).nodes
    assert first.method == second.method is not None
    assert len(asked) == 1


def single_taps():
    """A weight with which tiles of 6 x 6 lose more than is allowed: each output is one element of the input."""
    weight = np.zeros((32, 32, 3, 3), "float32")
    weight[np.arange(32), np.arange(32), 2, 2] = 1
    return weight


def test_a_weight_that_a_tile_loses_too_much_of_gets_a_smaller_tile():
    chosen = transform(network(size=60), known=lambda problem: (Winograd(6, 10, 10, 1), Winograd(4, 15, 15, 1)))
    few = transform(
        network(size=60, weight=single_taps()), known=lambda problem: (Winograd(6, 10, 10, 1), Winograd(4, 15, 15, 1))
    )
    assert [n.op.tile for n in (*chosen.nodes, *few.nodes)] == [6, 6, 4, 4]


@pytest.mark.parametrize("method", [Direct(1, 4, 1), Winograd(2, 8, 8, 1)])
def test_what_is_known_is_taken(method):
    *_, node = transform(network(), known=lambda problem: (method,)).nodes
    if isinstance(method, Direct):
        assert (node.op, node.method) == (Conv(pads=(1, 1, 1, 1)), method)
    else:
        assert (node.op, node.method) == (WinogradConv(2, 1, (1, 1, 1, 1)), Blocks(8, 8, 1))


def grouped(outputs):
    g = GraphBuilder("test")
    w = g.parameter("w", np.ones((outputs, 16, 3, 3), "float32"))
    g.output(g.add(Conv(groups=2), g.input("x", "float32", (1, 32, 16, 16)), w))
    return g.finish()


def test_groups_take_tiles():
    (node,) = transform(grouped(32)).nodes
    assert isinstance(node.method, Direct)
    assert node.method.vectors == 1


def test_groups_that_fill_no_vector_are_left_alone():
    graph = grouped(40)
    assert transform(graph) is graph


@pytest.mark.parametrize(("target", "kind"), [("opencl", Rectangles), ("opencl -mcpu=processor", Strips)])
def test_devices_have_methods_of_their_own_in_row_major_layouts(target, kind):
    before, machine = network(), Machine.of(target)
    after = choose_methods(before, machine)
    (node,) = after.nodes
    assert isinstance(node.op, Conv)
    found = [c.method for c in Problem.of(before.nodes[0]).candidates(machine)]
    best, *others = [m for m in found if not isinstance(m, WinogradTiles)]
    assert isinstance(best, kind)
    assert node.method == best
    (choice,) = node.layouts(node.input_types, machine)
    assert choice.inputs == (None, None, None)
    assert choice.outputs == (None,)
    (node,) = choose_methods(before, machine, known=lambda problem: (Direct(1, 4, 1), others[-1])).nodes
    assert node.method == others[-1]
    assert node.outputs == before.outputs


@pytest.mark.parametrize("numerics", ["strict", "default"])
def test_sums_in_an_order_of_the_processor_s_own_are_not_strict(numerics):
    g = GraphBuilder("test")
    g.output(g.add(MatMul(), g.input("a", "float16", (256, 256)), g.input("b", "float16", (256, 256))))
    (node,) = choose_methods(g.finish(), Machine.of("cuda -mcpu=sm_80"), numerics=numerics).nodes
    assert isinstance(node.method, Tiled if numerics == "strict" else Warped)


def pools(channels=32):
    g = GraphBuilder("test")
    x = g.input("x", "float32", (1, channels, 20, 20))
    y = g.add(MaxPool((5, 5), (1, 1), (2, 2, 2, 2)), x, name="y")
    g.output(g.add(AveragePool((2, 2), (2, 2)), y, name="z"))
    return g.finish()


def test_pools_in_blocks_of_channels_have_methods():
    first, second = transform(pools(), numerics="strict").nodes
    assert isinstance(first.method, Lines)
    assert isinstance(second.method, Windows)
    assert [n.method for n in transform(pools(channels=3)).nodes] == [None, None]


def test_resizes_and_pools_without_windows_have_methods():
    g = GraphBuilder("test")
    x = g.input("x", "float32", (1, 32, 20, 20))
    y = g.add(Resize((1, 32, 40, 40), "linear"), x, name="y")
    z = g.add(AdaptiveAveragePool((7, 7)), y, name="z")
    g.output(g.add(GlobalMaxPool(), z, name="w"), g.add(AdaptiveMaxPool((10, 10)), x, name="v"))
    g.output(g.add(Resize((1, 32, 40, 40)), x, name="u"))
    found = {n.outputs[0].name: type(n.method) for n in transform(g.finish(), numerics="strict").nodes}
    assert found == {"y": Passes, "z": Passes, "w": Channels, "v": Windows, "u": type(None)}


def test_a_measured_method_of_a_pool_is_taken():
    way = Windows(1, 7)
    first, _ = transform(pools(), known=lambda problem: [way] if isinstance(problem.op, MaxPool) else []).nodes
    assert first.method == way
