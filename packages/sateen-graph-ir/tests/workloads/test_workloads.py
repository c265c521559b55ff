"""The classic networks."""

import numpy as np
import pytest

from sateen.graph_ir import workloads
from sateen.graph_ir.ir import large_parameters, parse_graph, structural_key, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, BatchNormalization
from sateen.graph_ir.passes import default_pipeline, run_pipeline
from sateen.runtime import Target

PASSES = default_pipeline(Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4"))

# Networks of full depth on small images, and the shape of their output.
NETWORKS = {
    "alexnet": (lambda: workloads.alexnet(image=64), (1, 1000)),
    "dcgan": (lambda: workloads.dcgan(width=8), (1, 3, 64, 64)),
    "densenet121": (lambda: workloads.densenet(image=32), (1, 1000)),
    "dqn": (workloads.dqn, (1, 18)),
    "googlenet": (lambda: workloads.googlenet(image=64), (1, 1000)),
    "inception_v3": (lambda: workloads.inception_v3(image=80), (1, 1000)),
    "lstm": (lambda: workloads.lstm(length=3, features=8, hidden=8), (3, 1, 8)),
    "mlp": (workloads.mlp, (1, 10)),
    "mobilenet": (lambda: workloads.mobilenet(image=32), (1, 1000)),
    "mobilenet_v2": (lambda: workloads.mobilenet_v2(image=32), (1, 1000)),
    "nin": (lambda: workloads.nin(image=96), (1, 1000)),
    "resnet18": (lambda: workloads.resnet(image=32), (1, 1000)),
    "resnet50": (lambda: workloads.resnet(50, image=32), (1, 1000)),
    "squeezenet": (lambda: workloads.squeezenet(image=64), (1, 1000)),
    "transformer": (lambda: workloads.transformer(length=4, width=8, heads=2), (1, 4, 8)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_well_formed_before_and_after_passes(name):
    build, shape = NETWORKS[name]
    graph = build()
    verify_graph(graph)
    assert [v.type.shape for v in graph.outputs] == [shape]
    after = run_pipeline(graph, PASSES)
    assert not any(isinstance(n.op, BatchNormalization) for n in after.nodes)
    assert [v.name for v in after.outputs] == [v.name for v in graph.outputs]


@pytest.mark.parametrize(
    ("build", "millions"),
    [
        (lambda: workloads.resnet(50), 25.6),
        (workloads.mobilenet, 4.2),
        (workloads.mobilenet_v2, 3.5),
        (workloads.squeezenet, 1.2),
        (workloads.densenet, 8.0),
        (workloads.inception_v3, 23.8),
        (workloads.googlenet, 7.0),
    ],
)
def test_networks_have_the_parameters_that_are_published(build, millions):
    elements = sum(data.size for data in build().parameters.values())
    assert elements / 1e6 == pytest.approx(millions, abs=0.1)


def test_the_seed_decides_the_weights():
    assert structural_key(workloads.mlp(seed=1)) == structural_key(workloads.mlp(seed=1))
    assert structural_key(workloads.mlp(seed=1)) != structural_key(workloads.mlp(seed=2))


def test_the_text_of_a_network_is_read_back():
    graph = workloads.squeezenet(image=32)
    assert str(parse_graph(str(graph), OPS, large_parameters(graph))) == str(graph)


@pytest.mark.parametrize(
    "build",
    [
        lambda: workloads.mlp(features=20),
        lambda: workloads.transformer(length=4, width=8, heads=2),
        lambda: workloads.mobilenet_v2(image=32, classes=5),
    ],
    ids=["mlp", "transformer", "mobilenet_v2"],
)
def test_passes_keep_the_values(build):
    graph = build()
    (data,) = graph.inputs
    x = np.random.default_rng(0).standard_normal(data.type.static_shape, np.float32)
    before, after = interpret(graph, {"data": x}), interpret(run_pipeline(graph, PASSES), {"data": x})
    for name, expected in before.items():
        assert np.abs(after[name] - expected).max() <= 1e-5 * np.abs(expected).max()
