from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir import Graph, GraphBuilder, NodeSpan, build
from sateen.graph_ir.ops import MatMul, Relu
from sateen.runtime import ArgumentError, Artifact, CodegenError, load, time_steps


def _network() -> Graph:
    """out = relu(x w) v."""
    g = GraphBuilder("net")
    x = g.input("x", "float32", (4, 8))
    w, v = g.parameter("w", np.ones((8, 8), np.float32)), g.parameter("v", np.ones((8, 2), np.float32))
    product = g.add(MatMul(), x, w, spans=(NodeSpan("net", "first", "MatMul"),))
    rectified = g.add(Relu(), product, spans=(NodeSpan("net", "rectify", "Relu"),))
    g.output(g.add(MatMul(), rectified, v, name="out"))
    return g.finish()


@pytest.fixture(scope="module")
def timed() -> Artifact:
    return build(_network(), timed=True)


def test_steps_tell_the_nodes_of_the_model_and_their_work(timed):
    first, second = timed.steps
    assert first.nodes == ("first", "rectify")
    assert first.operators == ("mat_mul", "relu")
    assert first.outputs == ("float32[4, 8]",)
    assert first.operations == 2 * 4 * 8 * 8
    assert second.nodes == ("out",)  # no span: the value's name stands for the node
    assert second.inputs[0] == "float32[4, 8]"


def test_each_step_has_as_many_samples_as_asked_and_their_sum_is_less_than_a_run(timed):
    model = load(timed, threads=1)
    inputs = {"x": np.ones((4, 8), np.float32)}
    times = time_steps(model, inputs, samples=30)
    assert len(times) == 2
    assert all(len(t.samples) >= 30 and t.minimum >= 0 for t in times)
    assert 0 < sum(t.median for t in times) < 0.05


def test_a_timed_network_computes_the_same(timed):
    x = np.arange(32, dtype=np.float32).reshape(4, 8) - 10
    (out,) = load(timed).run({"x": x}).values()
    (expected,) = load(build(_network())).run({"x": x}).values()
    assert np.array_equal(out.numpy(), expected.numpy())


def test_an_untimed_network_is_refused_with_what_to_do():
    model = load(build(_network()))
    with pytest.raises(ArgumentError, match=r"found one without; compile it again with them: `sateen compile --timed`"):
        time_steps(model, {"x": np.ones((4, 8), np.float32)})


def test_no_samples_are_refused(timed):
    with pytest.raises(ArgumentError, match="expected 1 sample or more, found 0"):
        time_steps(load(timed), {"x": np.ones((4, 8), np.float32)}, samples=0)


def test_a_target_without_a_clock_is_refused():
    with pytest.raises(CodegenError, match="the target has no clock"):
        build(_network(), target="llvm -mtriple=armv7-linux-gnueabihf", timed=True)
