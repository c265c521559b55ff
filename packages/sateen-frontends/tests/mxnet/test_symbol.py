"""Symbols: their dialects, names of values, and what is refused."""

import json

import numpy as np
import pytest

from sateen import frontends
from sateen.runtime.errors import FrontendError

VARIABLE = ("null", "data", (), {})
SHAPES = {"data": (1, 2, 4, 4)}
BATCH_NORM = [
    VARIABLE,
    ("null", "bn_gamma", (), {}),
    ("null", "bn_beta", (), {}),
    ("BatchNorm", "bn", (0, 1, 2), {"fix_gamma": "False", "weight_lr_mult": "0"}),
]
STATES = {f"bn_{name}": np.full(2, 2, np.float32) for name in ("gamma", "beta", "moving_mean", "moving_var")}


@pytest.mark.parametrize("key", ["attrs", "attr", "param"])
def test_dialects_differ_in_where_attributes_stand(symbol_of, key):
    symbol = symbol_of([VARIABLE, ("Activation", "act", (0,), {"act_type": "relu"})], [(1, 0)], key=key, version=None)
    graph, _ = frontends.load(symbol, shapes=SHAPES)
    assert [type(node.op).__name__ for node in graph.nodes] == ["Relu"]
    assert graph.nodes[0].spans[0].operator == "Activation"


def test_files_before_0_9_leave_out_auxiliary_states(symbol_of, arrays_of):
    old = symbol_of(BATCH_NORM, [(3, 0)], key="attr", version=None)
    graph, params = frontends.load(old, arrays_of(STATES), shapes=SHAPES)
    assert sorted(params) == sorted(STATES)
    assert [value.name for value in graph.outputs] == ["bn_output"]
    new = symbol_of(BATCH_NORM, [(3, 0)], version=900)
    with pytest.raises(FrontendError, match=r"expected input 3 \(moving_mean\), found none"):
        frontends.load(new, arrays_of(STATES), shapes=SHAPES)


def test_files_before_0_9_5_mean_all_axes_by_the_last(symbol_of):
    nodes = [VARIABLE, ("argmax", "best", (0,), {"axis": "-1"})]
    shapes = [
        frontends.load(symbol_of(nodes, [(1, 0)], version=version), shapes=SHAPES)[0].outputs[0].type.shape
        for version in (904, 905)
    ]
    assert shapes == [(1,), (1, 2, 4)]


def test_entries_have_two_or_three_numbers(symbol_of):
    document = json.loads(symbol_of([VARIABLE, ("relu", "y", (0,), {})], [(1, 0)]))
    document["nodes"][1]["inputs"] = [[0, 0]]
    document["heads"] = [[1, 0, 0]]
    assert frontends.load(json.dumps(document).encode(), shapes=SHAPES)[0].outputs[0].name == "y_output"


def test_names_are_those_of_mxnet(symbol_of):
    nodes = [
        VARIABLE,
        ("SliceChannel", "cut", (0,), {"num_outputs": "2"}),
        ("sort", "sorted", ((1, 1),), {}),
        ("topk", "best", ((1, 0),), {"ret_typ": "value"}),
    ]
    graph, _ = frontends.load(symbol_of(nodes, [(1, 0), (2, 0), (3, 0), (0, 0)]), shapes=SHAPES)
    assert [value.name for value in graph.inputs] == ["data"]
    names = [value.name for value in graph.outputs]
    assert names[:3] == ["cut_output0", "sorted_output0", "best_output0"]


def test_values_of_nodes_of_one_name_get_names_that_differ(symbol_of):
    nodes = [VARIABLE, ("relu", "y", (0,), {}), ("tanh", "y", (1,), {})]
    graph, _ = frontends.load(symbol_of(nodes, [(1, 0), (2, 0)]), shapes=SHAPES)
    assert [value.name for value in graph.outputs] == ["y_output", "y_output.1"]


def test_many_nodes_of_one_name_take_no_long_time(symbol_of):
    nodes = [VARIABLE, *(("relu", "y", (index,), {}) for index in range(20_000))]
    graph, _ = frontends.load(symbol_of(nodes, [(300, 0)]), shapes=SHAPES)
    assert graph.outputs[0].name == "y_output.299"


def test_excessive_values_are_refused(symbol_of):
    nodes = [VARIABLE, *(("SliceChannel", f"y{index}", ((index, 249 * bool(index)),), {}) for index in range(4200))]
    with pytest.raises(FrontendError, match="expected at most 1048576 values, found 1049752"):
        frontends.load(symbol_of(nodes, [(4200, 0)]), shapes=SHAPES)


def test_labels_and_what_outputs_do_not_need_are_not_read(symbol_of):
    nodes = [
        VARIABLE,
        ("null", "label", (), {}),
        ("Custom", "unused", (1,), {}),
        ("SoftmaxOutput", "softmax", (0, 2), {}),
    ]
    graph, _ = frontends.load(symbol_of(nodes, [(3, 0)]), shapes=SHAPES)
    assert [value.name for value in graph.inputs] == ["data"]


def test_unknown_extents_are_symbols(symbol_of):
    variable = ("null", "data", (), {"__shape__": "(0, 3L)", "__dtype__": "1"})
    graph, _ = frontends.load(symbol_of([variable, ("relu", "y", (0,), {})], [(1, 0)]))
    assert str(graph.inputs[0].type) == "float64[?data.0, 3]"


def test_an_input_has_the_type_of_the_weight_that_it_meets(symbol_of, arrays_of):
    nodes = [VARIABLE, ("null", "w", (), {}), ("FullyConnected", "y", (0, 1), {"num_hidden": "3", "no_bias": "True"})]
    arrays = arrays_of({"w": np.zeros((3, 2), np.float64)})
    graph, _ = frontends.load(symbol_of(nodes, [(2, 0)]), arrays, shapes={"data": (1, 2)})
    assert str(graph.inputs[0].type) == "float64[1, 2]"


def test_a_network_is_cut_at_inner_values(symbol_of):
    nodes = [VARIABLE, ("Custom", "decode", (0,), {}), ("relu", "y", (1,), {}), ("Custom", "boxes", (2,), {})]
    symbol = symbol_of(nodes, [(3, 0)])
    graph, _ = frontends.load(symbol, inputs=["decode_output"], outputs=["y_output"], shapes={"decode_output": (2, 3)})
    assert [str(value) for value in graph.inputs] == ["%decode_output"]
    assert [str(value) for value in graph.outputs] == ["%y_output"]


def test_all_gaps_are_reported_at_once(symbol_of):
    nodes = [
        VARIABLE,
        ("Custom", "mine", (0,), {"op_type": "x"}),
        ("Activation", "act", (0,), {"act_type": "gone"}),
        ("Activation", "odd", (0,), {"act_type": "relu", "slope": "1"}),
        ("Convolutoin", "typo", (0,), {}),
        ("BatchNorm", "few", (0,), {}),
        ("Group", "all", (1, 2, 3, 4, 5), {}),
    ]
    report = frontends.check(symbol_of(nodes, [(i, 0) for i in range(1, 6)]), shapes=SHAPES)
    assert [(gap.node, gap.reason) for gap in report.gaps] == [
        ("mine", "its code is in Python, which no reader runs"),
        ("act", "expected attribute 'act_type' of relu, sigmoid, softrelu, softsign, tanh, found 'gone'"),
        ("odd", "MXNet's Activation has no attribute 'slope'"),
        ("typo", "sateen has no such operator; did you mean Convolution or Deconvolution?"),
        ("few", "expected input 1 (gamma), found none"),
    ]


NODES = [VARIABLE, ("relu", "y", (0,), {})]


def entry(operator, name, *inputs, **more):
    return {"op": operator, "name": name, "inputs": list(inputs), **more}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": []}, "expected a symbol with heads, found none: it has nothing to compute"),
        ({"heads": [[2, 0, 0]]}, "heads: expected to read one of the 2 nodes before it, found node 2"),
        ({"heads": [[1, 300, 0]]}, "heads: expected an output of 0 to 249, found 300 of node 1"),
        ({"heads": [[0, 1, 0]]}, "variable 'data' has one output, a node reads output 1"),
        ({"heads": [[1]]}, "heads: expected [node, output], found [1]"),
        ({"heads": 3}, "expected a list of heads, found int"),
        ({"nodes": [3]}, "expected node 0 as an object, found int"),
        ({"nodes": [entry("relu", "y", [0, 0, 0])]}, "node 0 'y': expected to read one of the 0 nodes before it"),
        ({"nodes": [entry("null", "a\nb")]}, "name of node 0: expected printable text of 1 to"),
        ({"nodes": [entry("null", "x", attrs={"a": 1})]}, "expected attributes as an object of texts, found {'a': 1}"),
        ({"nodes": [entry("null", "x")] * 2}, "expected variables of different names, found 'x' twice"),
        ({"attrs": {"mxnet_version": "1.9"}}, "expected mxnet_version as ['int', number], found '1.9'"),
    ],
)  # fmt: skip
def test_what_is_refused(symbol_of, change, message):
    document = {**json.loads(symbol_of(NODES, [(1, 0)])), **change}
    with pytest.raises(FrontendError) as caught:
        frontends.load(json.dumps(document).encode(), shapes=SHAPES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"nodes": [', "expected JSON, found what can't be parsed"),
        (b'{"nodes": [], "nodes": []}', "expected each key of a JSON object once, found 'nodes' twice"),
        (b'{"nodes": [' + b"[" * 10**6, "expected JSON nested at most 512 deep, found deeper"),
        (b'{"nodes": [{"op": "\xff"}]}', "expected JSON, found what can't be parsed"),
    ],
    ids=["cut", "twice", "deep", "bytes"],
)
def test_json_is_read_strictly(text, message):
    with pytest.raises(FrontendError, match=message):
        frontends.load(text)


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"__shape__": "(1, x)"}, "variable 'data': expected a shape, found '(1, x)'"),
        ({"__shape__": "(-7,)"}, "variable 'data': expected a shape, found '(-7,)'"),
        ({"__dtype__": "77"}, "variable 'data': expected the number of an element type of MXNet, found 77"),
    ],
)
def test_notes_of_variables_are_checked(symbol_of, notes, message):
    with pytest.raises(FrontendError) as caught:
        frontends.load(symbol_of([("null", "data", (), notes), *NODES[1:]], [(1, 0)]))
    assert str(caught.value) == message
