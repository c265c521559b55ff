"""Networks as formulas: names, operators, composition, JSON, and what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sateen.graph_ir import build, interpret, sym
from sateen.runtime import load
from sateen.runtime.errors import ArgumentError, InferenceError


def classifier(data):
    net = sym.relu(sym.conv2d(data, channels=4, kernel_size=(3, 3), padding=(1, 1), name="conv"))
    net = sym.batch_norm(net, scale=False)
    return sym.softmax(sym.dense(sym.flatten(net), units=5, use_bias=False))


PARAMETERS = (
    "conv_weight", "conv_bias", "batch_norm0_beta", "batch_norm0_moving_mean", "batch_norm0_moving_var",
    "dense0_weight",
)  # fmt: skip


def test_parameters_are_made_and_named_and_get_their_shapes_from_the_data() -> None:
    net = classifier(sym.Variable("data"))
    assert (net.inputs, net.outputs) == (("data", *PARAMETERS), ("softmax0",))
    graph = sym.to_graph(net, {"data": (1, 3, 4, 4)}, "tiny")
    assert graph.name == "tiny"
    assert [(v.name, v.type.shape) for v in graph.inputs[1:]] == list(
        zip(PARAMETERS, [(4, 3, 3, 3), (4,), (4,), (4,), (4,), (5, 64)], strict=True)
    )


def test_data_of_parameters_makes_them_constants() -> None:
    random = np.random.default_rng(0)
    graph = sym.to_graph(classifier(sym.Variable("data")), {"data": (1, 3, 4, 4)})
    params = {v.name: random.random(v.type.static_shape, np.float32) for v in graph.inputs[1:]}
    x = random.random((1, 3, 4, 4), np.float32)
    model = load(build(graph, params=params))
    assert [spec.name for spec in model.inputs] == ["data"]
    (expected,) = interpret(graph, {"data": x, **params}).values()
    np.testing.assert_allclose(model.run({"data": x})["softmax0"].numpy(), expected, rtol=1e-4)


def test_dimensions_may_stay_open() -> None:
    graph = sym.to_graph(classifier(sym.Variable("data")), {"data": ("n", 3, 4, 4)})
    assert [str(v.type) for v in graph.outputs] == ["float32[?n, 5]"]
    assert graph.inputs[-1].type.shape == (5, 64)


def test_operators_of_networks() -> None:
    x, y = sym.Variable("x", (2, 4)), sym.Variable("y", (2, 4))
    a, b = np.arange(1, 9, dtype="float32").reshape(2, 4), np.full((2, 4), 3, "float32")
    nets = {
        "sum": (x + y, a + b), "more": (1 + x, 1 + a), "less": (x - 1, a - 1), "rest": (9 - x, 9 - a),
        "product": (2 * x * y, 2 * a * b), "quotient": (x / y, a / b), "inverse": (1 / x, 1 / a),
        "power": (x**2, a**2), "exponential": (2**x, 2**a), "negative": (-x, -a),
        "comparison": (x > y, (a > b) * 1.0), "at_most": (x <= 3, (a <= 3) * 1.0), "row": (x[1:, ::2], a[1:, ::2]),
        "difference": (x - y, a - b), "below": (x < 2, (a < 2) * 1.0), "at_least": (x >= y, (a >= b) * 1.0),
    }  # fmt: skip
    found = interpret(sym.to_graph(sym.Group([net for net, _ in nets.values()]), {}), {"x": a, "y": b})
    for value, (name, (_, expected)) in zip(found.values(), nets.items(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, err_msg=name)


def test_shifts_of_integers() -> None:
    x = sym.Variable("x", (3,), "int32")
    found = interpret(sym.to_graph(sym.Group([x << 2, x >> x]), {}), {"x": np.array([1, 2, 3], "int32")})
    assert [v.tolist() for v in found.values()] == [[4, 8, 12], [0, 0, 0]]


def test_outputs_by_number_and_name_and_inner_values() -> None:
    pieces = sym.split(sym.Variable("x", (2, 6)), indices_or_sections=3, name="cut")
    assert (len(pieces), pieces.outputs) == (3, ("cut", "cut.1", "cut.2"))
    assert pieces[1].outputs == pieces["cut.1"].outputs == ("cut.1",)
    assert [one.outputs for one in pieces] == [("cut",), ("cut.1",), ("cut.2",)]
    net = classifier(sym.Variable("data"))
    inner = net.internals["relu0"]
    assert (inner.inputs, inner.outputs) == (("data", "conv_weight", "conv_bias"), ("relu0",))


def test_a_network_of_another_network() -> None:
    net = classifier(sym.Variable("data"))
    whole = net(data=sym.tanh(sym.Variable("z"), name="squashed"))
    assert whole.inputs == ("z", *PARAMETERS)
    assert sym.to_graph(whole, {"z": (1, 3, 4, 4)}).nodes[0].outputs[0].name == "squashed"
    assert net.inputs == ("data", *PARAMETERS)
    shared = sym.Variable("w")
    twice = sym.dense(
        sym.dense(sym.Variable("x", (1, 4)), shared, units=4, use_bias=False), shared, units=4, use_bias=False
    )
    assert [v.name for v in sym.to_graph(twice, {}).inputs] == ["x", "w"]


def test_an_output_is_never_an_input_and_each_is_its_own_value() -> None:
    x = sym.Variable("x", (3,))
    graph = sym.to_graph(sym.Group([x, x, sym.relu(x)]), {})
    assert [v.name for v in graph.outputs] == ["x_output", "x_output.1", "relu0"]


def test_names_that_are_given_are_kept_and_not_made_again() -> None:
    x = sym.Variable("x", (3,))
    net = sym.relu(sym.relu(x), name="relu0")
    assert net.internals.outputs == ("x", "relu1", "relu0")
    with pytest.raises(ArgumentError, match="expected each name once, found 'x' for two nodes"):
        (x + sym.Variable("x")).inputs  # noqa: B018 - names are made when they are asked for


def test_json_keeps_a_network() -> None:
    net = sym.Group([classifier(sym.Variable("data", (1, 3, 4, 4))), sym.ones(shape=(2,))])
    text = sym.save_json(net)
    again = sym.load_json(text)
    assert sym.save_json(again) == text
    assert str(sym.to_graph(again, {})) == str(sym.to_graph(net, {}))
    assert text == sym.save_json(sym.Group([classifier(sym.Variable("data", (1, 3, 4, 4))), sym.ones(shape=(2,))]))


GOOD = json.loads(sym.save_json(sym.relu(sym.Variable("x"))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sateen": 2}, "load_json expects version 1, found 2"),
        ({"heads": [[5, 0]]}, "load_json expects the text of save_json, found IndexError"),
        ({"heads": [[-1, 0]]}, "expects numbers of a node and an output, found [-1, 0]"),
        ({"heads": [["a", 0]]}, "expects numbers of a node and an output, found ['a', 0]"),
        ({"nodes": [{"op": "eval", "name": "x", "inputs": [], "attrs": {}}]}, "found 'eval' in node 'x'"),
        ({"nodes": [{"op": "relu", "name": 3, "inputs": [], "attrs": {}}]}, "load_json expects names, found 3"),
        ({"nodes": [{"op": "relu"}]}, "expects the text of save_json, found KeyError"),
        ({"nodes": 3}, "expects the text of save_json, found TypeError"),
        ({"heads": [[1, 1]]}, "load_json expects an output below 1 of node 'relu0', found 1"),
        ({"nodes": [{"op": "relu", "name": "r", "inputs": [], "attrs": {}}]}, "relu: expected inputs data; found 0"),
        (
            {"nodes": [{"op": "ones", "name": "r", "inputs": [], "attrs": {"shape": ["a"]}}]},
            "ones: shape expects a tuple of integers, found ('a',)",
        ),
        ({"nodes": [{"op": "variable", "name": "", "inputs": [], "attrs": {}}]}, "Variable expects a name, found ''"),
        ({"nodes": [{"op": "variable", "name": "x", "inputs": [], "attrs": {"size": 3}}]}, "found TypeError"),
    ],
    ids=str,
)
def test_other_text_is_refused(change, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        sym.load_json(json.dumps(GOOD | change))


def test_what_is_no_json_is_refused() -> None:
    for text in ("{", "[" * 100_000, "[]"):
        with pytest.raises(ArgumentError, match="load_json expects the text of save_json"):
            sym.load_json(text)


X = sym.Variable("x", (1, 2, 3, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (sym.relu, "relu: expected input 'data', found none"),
        (lambda: sym.relu(X, X), "relu: expected inputs data; found 2"),
        (lambda: sym.relu(3), "relu: data expects a network such as Variable('x'), found int"),
        (lambda: sym.relu(sym.Group([X, X])), "relu: data expects one output, found 2: choose one by net[0]"),
        (lambda: sym.softmax(X, axes=1), "softmax: unknown attributes axes; it has axis"),
        (lambda: sym.dense(X), "dense: missing attributes units; it has units, use_bias"),
        (sym.concatenate, "concatenate: expected at least one input, found 0"),
        (lambda: sym.conv2d(X, channels=2, kernel_size=3), "conv2d: kernel_size expects a tuple of integers, found 3"),
        (lambda: sym.dense(X, units="5"), "dense: units expects an integer, found '5'"),
        (lambda: sym.dense(X, units=5, use_bias=0), "dense: use_bias expects True or False, found 0"),
        (lambda: sym.Variable(""), "Variable expects a name, found ''"),
        (lambda: X + "a", "expected a network or a number as an operand, found str"),
        (lambda: X[3], "expected the number of an output below 1, found 3"),
        (lambda: X["y"], "expected the name of an output, x; found 'y'"),
        (lambda: X[1.5], "expected an output's number or name, or slices such as net[:, 1:], found 1.5"),
        (lambda: X(y=X), "expected names of variables, x; found y"),
        (lambda: sym.to_graph(X, {"y": (1,)}), "shapes: expected names of variables, x; found y"),
        (lambda: sym.to_graph(sym.relu(sym.Variable("y")), {}), "variable 'y' has no shape; give shapes={'y': …}"),
        (lambda: sym.to_graph(sym.Variable("y"), {}), "variable 'y' has no shape"),
    ],
)
def test_wrong_use_is_told(make, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        make()


def test_shapes_that_do_not_fit_are_refused_with_the_node() -> None:
    net = sym.conv2d(X, sym.Variable("w", (4, 9, 1, 1)), channels=4, kernel_size=(1, 1), use_bias=False, name="c")
    with pytest.raises(InferenceError, match="data has 2 channels but weight expects 9") as caught:
        sym.to_graph(net, {})
    assert 'in node "c" (conv2d) of network "net"' in caught.value.__notes__


def test_there_is_no_other_function() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'conv9d'"):
        _ = sym.conv9d
    assert {"conv2d", "Variable"} <= set(dir(sym))
