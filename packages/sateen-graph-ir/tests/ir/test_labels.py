"""Outputs whose elements have names, from the builder to the artifact."""

import numpy as np
import pytest

from sateen.graph_ir import OPS, GraphBuilder, build, parse_graph
from sateen.graph_ir.ir import verify_graph
from sateen.graph_ir.ops import Relu
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.runtime import ArgumentError, InferenceError, read_artifact

LABELS = ("cat", 'a "dog"')


def scores(*labels: str, extents=(1, 2)):
    g = GraphBuilder("g")
    y = g.add(Relu(), g.input("x", "float32", extents), name="y")
    g.output(y)
    g.label(y, labels)
    return g.finish()


def test_labels_stay_in_text_passes_and_artifact():
    graph = scores(*LABELS)
    assert '  labels %y = "cat", "a \\"dog\\""' in str(graph).splitlines()
    for kept in (parse_graph(str(graph), OPS), remove_dead_nodes(graph), bind_dims(graph, {})):
        verify_graph(kept)
        assert kept.labels == {"y": LABELS}
    artifact = read_artifact(build(graph).to_bytes())
    assert artifact.labels == {"y": LABELS}


def test_there_is_a_label_for_each_element():
    with pytest.raises(InferenceError, match="labels: expected one for each element along the last axis of %y"):
        scores("cat")
    g = GraphBuilder("g")
    x = g.input("x", "float32", (2,))
    with pytest.raises(ArgumentError, match="label: expected an output of the graph, found %x"):
        g.label(x, LABELS)
    with pytest.raises(InferenceError, match="expected labels of outputs, found those of 'x'"):
        verify_graph(parse_graph(str(scores(*LABELS)).replace("labels %y", "labels %x"), OPS))


def test_an_artifact_without_labels_has_no_field_for_them():
    graph = scores(*LABELS)
    assert "labels" in build(graph).fields()
    plain = parse_graph("graph g\n  input %x: float32[2]\n  %y = relu(%x)\n  output %y", OPS)
    assert "labels" not in build(plain).fields()
    assert np.array_equal(list(build(plain).labels), [])
