"""Outputs in the memory of inputs: what is written last stays there, what is not is copied at the end."""

import re
from textwrap import dedent, indent

import numpy as np
import pytest

from sateen.graph_ir import OPS, GraphBuilder, build, interpret, parse_graph
from sateen.graph_ir.ops import Add, Exp, Tanh
from sateen.runtime import ArgumentError, InferenceError, load

NETWORKS = {
    "in place": ("%y = add(%s, %x)\noutput %y", 0),
    "read by the next node": ("%y = add(%s, %x)\n%z = reduce_sum(%s) {axes=(0,)}\noutput %y\noutput %z", 1600),
    "elements in another order": ("%y = slice(%s) {starts=(0, 99), ends=(4, -1), steps=(1, -1)}\noutput %y", 1600),
    "in pieces": (
        """
        %a = slice(%s) {starts=(2, 0), ends=(4, 100), steps=(1, 1)}
        %b = slice(%s) {starts=(0, 0), ends=(2, 100), steps=(1, 1)}
        %c = exp(%a)
        %d = tanh(%b)
        %y = concat(%c, %d) {axis=0}
        output %y
        """,
        1600,
    ),
    "under another shape": (
        "%a = reshape(%s) {shape=(400,)}\n%b = exp(%a)\n%y = reshape(%b) {shape=(4, 100)}\noutput %y", 0
    ),
    "its input": ("%y = identity(%s)\noutput %y", 0),
    "read by a later loop": (
        """
        %y = add(%s, %x)
        %z = loop(%x, %s) {count=3, carried=1}
          body = graph step
            input %i: int64[]
            input %before: float32[4, 100]
            input %own: float32[4, 100]
            %after = add(%before, %own)
            output %after
        output %y
        output %z
        """,
        1600,
    ),
}  # fmt: skip
"""Of each: nodes from the inputs %s, whose memory is %y's, and %x; the bytes of workspace that %y needs."""


@pytest.mark.parametrize("name", NETWORKS)
def test_a_state_is_updated_in_place(name):
    nodes, least = NETWORKS[name]
    lines = f"input %s: float32[4, 100]\ninput %x: float32[4, 100]\n{dedent(nodes).strip()}\nalias %y = %s"
    graph = parse_graph("graph net\n" + indent(lines, "  "), OPS)
    artifact = build(graph)
    assert dict(artifact.aliases) == {"y": "s"}
    assert (artifact.workspace_bytes >= least) if least else artifact.workspace_bytes == 0
    model = load(artifact)
    random = np.random.default_rng(0)
    state, x = (random.standard_normal((4, 100)).astype(np.float32) for _ in range(2))
    for _ in range(2):
        expected = interpret(graph, {"s": state, "x": x})
        apart = model.run({"s": state.copy(), "x": x})
        found = model.run({"s": state, "x": x}, out={"y": state})
        for output, values in expected.items():
            np.testing.assert_allclose(apart[output].numpy(), values, rtol=1e-5)
            np.testing.assert_array_equal(found[output].numpy(), apart[output].numpy())
        np.testing.assert_array_equal(state, apart["y"].numpy())


def test_states_that_depend_on_each_other():
    g = GraphBuilder("swapped")
    a, b = g.input("a", "float32", (64,)), g.input("b", "float32", (64,))
    y, z = g.add(Exp(), b, name="y"), g.add(Tanh(), a, name="z")
    g.output(y, z)
    g.alias(y, a)
    g.alias(z, b)
    first, second = np.linspace(-1, 1, 64, dtype=np.float32), np.linspace(0, 2, 64, dtype=np.float32)
    expected = np.exp(second), np.tanh(first)
    load(build(g.finish())).run({"a": first, "b": second}, out={"y": first, "z": second})
    for found, values in zip((first, second), expected, strict=True):
        np.testing.assert_allclose(found, values, rtol=1e-5)


def test_memory_that_no_alias_names_is_refused():
    g = GraphBuilder("net")
    state, x = g.input("state", "float32", (64,)), g.input("x", "float32", (64,))
    y = g.add(Add(), state, x, name="y")
    g.output(y)
    g.alias(y, state)
    model = load(build(g.finish()))
    given = {"state": np.zeros(64, np.float32), "x": np.ones(64, np.float32)}
    with pytest.raises(ArgumentError, match="expected memory of its own, found memory that another argument uses too"):
        model.run(given, out={"y": given["x"]})
    with pytest.raises(ArgumentError, match="can't be a constant, as its memory may be that of output %y"):
        build(g.finish(), params={"state": given["state"]})


def test_an_input_is_the_memory_of_one_output():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (2,))
    y, z = g.add(Exp(), x), g.add(Tanh(), x)
    g.output(y, z)
    g.alias(y, x)
    with pytest.raises(InferenceError, match="expected an input for each output, found %x for %exp and %tanh"):
        g.alias(z, x)
    with pytest.raises(ArgumentError, match=re.escape("alias: expected an input of the graph, found %exp")):
        g.alias(z, y)
