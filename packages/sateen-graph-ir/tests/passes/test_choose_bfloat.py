"""Pass choose_methods, where products of bfloat16 are among them."""

from dataclasses import replace

import numpy as np
import pytest

from sateen import graph_ir, runtime
from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import BfloatConv, BfloatMatMul, Cast, Conv, MatMul, Relu, WinogradConv
from sateen.graph_ir.passes.choose_methods import choose_methods
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.topi.computations.products import PackedTiles

pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
FAST = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"
TILES = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"


def products(*, constant=True, depth=256, rows=16):
    """Two products of one value with one weight."""
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (2, rows, depth))
    weight = random.standard_normal((depth, 128)).astype("float32")
    w = g.parameter("w", weight) if constant else g.input("w", "float32", weight.shape)
    r = g.add(Relu(), x)
    g.output(g.add(Relu(), g.add(MatMul(), r, w), name="y"), g.add(MatMul(), r, w, name="z"))
    return g.finish()


def convolution(channels=64, kernel=1, outputs=64, groups=1):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (1, channels, 14, 14))
    w = g.parameter("w", random.standard_normal((outputs, channels // groups, kernel, kernel)).astype("float32"))
    b = g.parameter("b", random.standard_normal(outputs).astype("float32"))
    pads = (kernel // 2,) * 4
    g.output(g.add(Relu(), g.add(Conv(pads=pads, groups=groups), x, w, b), name="y"))
    return g.finish()


def operators(graph, target=FAST, numerics="fast"):
    after = choose_methods(graph, Machine.of(target), numerics=numerics)
    verify_graph(after)
    return [type(n.op) for n in after.nodes]


def test_a_value_and_a_weight_are_rounded_once_for_all_products():
    after = choose_methods(products(), Machine.of(FAST), numerics="fast")
    verify_graph(after)
    assert [type(n.op) for n in after.nodes] == [Relu, Cast, Cast, BfloatMatMul, Relu, BfloatMatMul]
    assert len({n.inputs for n in after.nodes if isinstance(n.op, BfloatMatMul)}) == 1
    assert str(after.outputs[0].type.dtype) == "float32"


def test_pointwise_convolutions_take_bfloat16():
    assert operators(convolution()) == [Cast, Cast, BfloatConv, Relu]


@pytest.mark.parametrize(
    ("graph", "target", "numerics"),
    [
        (products(), FAST, "default"),
        (products(), FAST, "strict"),
        (convolution(), FAST, "default"),
        (products(constant=False), FAST, "fast"),
        (products(depth=255), FAST, "fast"),
        (convolution(channels=40), FAST, "fast"),
        (convolution(groups=2), FAST, "fast"),
        (products(), f"{TILES} -mattr=-amx-bf16", "fast"),
        (products(), TILES, "default"),
        (products(), "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3", "fast"),
        (products(), "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512bf16", "fast"),
        (products(), "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "fast"),
    ],
    ids=[
        "default", "strict", "a convolution", "no constant", "an odd depth", "no whole blocks", "groups", "a slow unit",
        "tiles by default", "no unit", "a level", "no unit of arm",
    ],
)  # fmt: skip
def test_others_stay_in_float32(graph, target, numerics):
    assert not {BfloatMatMul, BfloatConv} & set(operators(graph, target, numerics))


@pytest.mark.parametrize("rows", [32, 19])
def test_tile_registers_take_products_where_pairs_are_slow(rows):
    after = choose_methods(products(rows=rows), Machine.of(TILES), numerics="fast")
    assert [type(n.method) for n in after.nodes if isinstance(n.op, BfloatMatMul)] == [PackedTiles] * 2


def test_tile_registers_take_pointwise_convolutions():
    after = choose_methods(convolution(), Machine.of(TILES), numerics="fast")
    assert [type(n.method) for n in after.nodes if isinstance(n.op, BfloatConv)] == [PackedTiles]


@pytest.mark.parametrize("graph", [products(rows=32), products(rows=19), convolution()])
def test_a_network_by_tile_registers_gives_what_its_rounded_operands_give(run_in_c, run_with_tiles, graph):
    """The network is chosen for Sapphire Rapids, and has code for this machine with its tile registers."""
    host, (x,) = Target.host(), graph.inputs
    given = {"x": np.random.default_rng(1).standard_normal(x.type.static_shape).astype("float32")}
    target = replace(host, features=(*host.features, "+amx-tile", "+amx-bf16"))
    artifact = graph_ir.build(graph, target, numerics="fast", machine=Machine.of(TILES))
    found = run_in_c(artifact, given, run_with_tiles)
    for name, exact in interpret(graph, given).items():
        assert np.abs(found[name] - exact).max() < 1e-2 * np.abs(exact).max()


def test_a_network_by_tile_registers_is_refused_where_there_are_none():
    if "+amx-tile" in Target.host().features:
        pytest.skip("this machine has tile registers")
    artifact = graph_ir.build(products(), f"{TILES} -mattr=-avx512fp16", numerics="fast")
    with pytest.raises(runtime.SateenError, match="amx-bf16, amx-int8, amx-tile"):
        runtime.load(artifact.to_bytes())


def test_winograd_stays_where_it_takes_less_time():
    assert WinogradConv in operators(convolution(kernel=3, channels=128, outputs=128))


@pytest.mark.parametrize("graph", [products(), convolution(), convolution(kernel=3, channels=16, outputs=48)])
def test_a_network_gives_what_its_rounded_operands_give(graph):
    random = np.random.default_rng(1)
    given = {v.name: random.standard_normal(v.type.static_shape).astype("float32") for v in graph.inputs}
    artifact = graph_ir.build(graph, numerics="fast")
    found, expected = runtime.load(artifact.to_bytes()).run(given), interpret(graph, given)
    assert artifact.options["numerics"] == "fast"
    for name, exact in expected.items():
        assert np.abs(found[name].numpy() - exact).max() < 1e-2 * np.abs(exact).max()


def test_code_for_arm_is_compiled():
    artifact = graph_ir.build(products(), "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", numerics="fast")
    assert "bf16" in Target.of(artifact.target).features or "neoverse-v1" in str(artifact.target)
