"""Pass choose_methods, where Strassen's is one of them."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sateen import graph_ir, runtime
from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import MatMul, Relu, StrassenMatMul
from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.graph_ir.passes.choose_methods import choose_methods
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.topi.computations.products import Panels

MACHINE = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"), l2_bytes=1 << 20, l3_bytes=32 << 20)


def network(*, rows=(2, 65), depth=512, columns=768, constant=True, dtype="float32", matrices=()):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", dtype, (*rows, depth))
    weight = random.standard_normal((*matrices, depth, columns)).astype(dtype)
    w = g.parameter("w", weight) if constant else g.input("w", dtype, weight.shape)
    g.output(g.add(Relu(), g.add(MatMul(), x, w), name="y"), g.add(MatMul(), g.add(Relu(), x), w, name="z"))
    return g.finish()


def test_large_products_with_a_constant_are_made_of_quarters():
    before = network()
    after = remove_dead_nodes(choose_methods(before, MACHINE, numerics="fast"))
    verify_graph(after)
    products = [n for n in after.nodes if isinstance(n.op, StrassenMatMul)]
    assert [n.method for n in products] == [Panels(3), Panels(3)]
    assert len({n.inputs[1] for n in products}) == 1  # the weight is transformed once
    types = [v.type for v in products[0].inputs]
    assert products[0].op.operations(types, [v.type for v in products[0].outputs]) == 2 * 130 * 512 * 768
    x = {"x": np.random.default_rng(1).standard_normal((2, 65, 512)).astype("float32")}
    artifact = graph_ir.build(after, pipeline=(partial(choose_layouts, machine=Machine.of(Target.host())),))
    (y, z), expected = runtime.load(artifact.to_bytes()).run(x).values(), interpret(before, x)
    for found, name in ((y, "y"), (z, "z")):
        assert np.abs(found.numpy() - expected[name]).max() < 5e-6 * np.abs(expected[name]).max()


@pytest.mark.parametrize(
    "graph",
    [
        network(constant=False),
        network(rows=(3, 2)),
        network(rows=(130,)),
        network(columns=100),
        network(dtype="float64"),
        network(matrices=(2,), columns=512),
    ],
    ids=["no constant", "few rows", "no stack", "part of a panel", "float64", "a matrix for each item"],
)
def test_others_stay(graph):
    after = choose_methods(graph, MACHINE, numerics="fast")
    assert [n.op for n in after.nodes] == [n.op for n in graph.nodes]


def test_rows_meet_only_where_numerics_are_fast():
    def operators(numerics):
        pipeline = graph_ir.default_pipeline(runtime.Target.of("llvm -mcpu=x86-64-v4"), numerics)
        return {n.op.op_name() for n in graph_ir.run_pipeline(network(), pipeline).nodes}

    assert "strassen_mat_mul" in operators("fast")
    assert "strassen_mat_mul" not in operators("default") | operators("strict")
