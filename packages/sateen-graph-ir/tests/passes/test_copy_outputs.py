"""Outputs that no node computes are copied."""

import numpy as np

from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.ir import Graph
from sateen.graph_ir.passes import run_pipeline
from sateen.graph_ir.passes.copy_outputs import copy_outputs
from sateen.runtime import load


def test_what_is_given_is_copied(parse):
    given = "input %x: float32[2]\nparameter %w: float32[1] = [3.0]\n"
    graph = parse(given + "%y = exp(%x)\noutput %x\noutput %y\noutput %w")
    copied = copy_outputs(graph)
    assert str(copied).split("\n") == [
        "graph test",
        "  input %x: float32[2]",
        "  parameter %w: float32[1] = [3.0]",
        "  %y: float32[2] = exp(%x)",
        "  %x.1: float32[2] = identity(%x)",
        "  %w.1: float32[1] = identity(%w)",
        "  output %x.1",
        "  output %y",
        "  output %w.1",
    ]
    run_pipeline(graph, (copy_outputs,))
    assert copy_outputs(copied) is copied


def test_a_graph_whose_outputs_are_computed_stays(check_unchanged):
    check_unchanged(copy_outputs, "input %x: float32[2]\n%y = exp(%x)\noutput %y")


def network() -> Graph:
    g = GraphBuilder("net")
    x, w = g.input("x", "float32", (3, 4)), g.parameter("w", np.float32([1, 2]))
    g.output(x, w)
    g.alias(x, x)
    return g.finish()


def test_outputs_that_are_inputs_or_constants_keep_their_names():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for pipeline in (None, ()):
        artifact = build(network(), pipeline=pipeline)
        assert [p.name for p in artifact.outputs] == ["x", "w"]
        model = load(artifact)
        found = model.run({"x": x})
        np.testing.assert_array_equal(found["x"].numpy(), x)
        np.testing.assert_array_equal(found["w"].numpy(), [1, 2])
        assert not np.shares_memory(found["x"].numpy(), x)
        model.run({"x": x}, out={"x": x})
