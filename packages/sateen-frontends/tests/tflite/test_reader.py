"""Files of TensorFlow Lite: names, types, constants, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import check, from_onnx, from_tflite, load
from sateen.frontends.core.refusals import DATA_DECIDES
from sateen.frontends.tflite.control_flow import CONTROL_FLOW
from sateen.frontends.tflite.converters import CONVERTERS, CUSTOM
from sateen.frontends.tflite.schema import DIMENSION
from sateen.graph_ir.judge import interpret
from sateen.runtime.errors import FrontendError


@pytest.fixture
def doubled(model):
    """y = x + x of [-1, 2], and z = y · w."""
    x = model.tensor("x", (1, 2), shape_signature=[-1, 2])
    y, z = model.tensor("y", (1, 2)), model.tensor("net/z:0", (1, 2))
    w = model.constant("w", np.array([2, 3], np.float32))
    model.node("ADD", [x, x], [y], activation="NONE")
    model.node("MUL", [y, w], [z], activation="NONE")
    model.inputs, model.outputs = [x], [z]
    return model


def test_names_are_the_files_own(doubled):
    graph, parameters = from_tflite(doubled.bytes())
    assert [str(v.type) for v in graph.inputs] == ["float32[?x.0, 2]"]
    assert [v.name for v in graph.outputs] == ["net/z:0"]
    np.testing.assert_array_equal(parameters["w"], [2, 3])
    assert [(node.outputs[0].name, node.spans[0].node, node.spans[0].operator) for node in graph.nodes] == [
        ("y", "y", "ADD"),
        ("net/z:0", "net/z:0", "MUL"),
    ]


def test_the_format_is_known_by_its_content(doubled, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(doubled.bytes())
    graph, _ = load(path, shapes={"x": (3, 2)})
    found = interpret(graph, {"x": np.ones((3, 2), np.float32)})
    np.testing.assert_array_equal(found["net/z:0"], [[4, 6]] * 3)
    with pytest.raises(FrontendError, match="found a TensorFlow Lite model"):
        from_onnx(path)


def test_a_network_begins_and_ends_at_inner_values(doubled):
    graph, _ = from_tflite(doubled.bytes(), inputs=["y"])
    assert [v.name for v in graph.inputs] == ["y"]
    graph, _ = from_tflite(doubled.bytes(), outputs=["y"])
    assert [v.name for v in graph.outputs] == ["y"]


def test_equal_and_missing_names_are_told_apart(model):
    x, inner, y, z = (model.tensor(name, (2,)) for name in ("t", "t", "", "t.1"))
    model.node("NEG", [x], [inner])
    model.node("EXP", [inner], [y])
    model.node("ABS", [y], [z])
    model.inputs, model.outputs = [x], [z]
    graph, _ = from_tflite(model.bytes())
    assert [v.name for v in graph.inputs] == ["t"]
    assert [node.outputs[0].name for node in graph.nodes] == ["t.1.1", "tensor.2", "t.1"]


def test_operators_out_of_order_are_put_in_order(doubled):
    doubled.operators.reverse()
    graph, _ = from_tflite(doubled.bytes())
    assert [node.outputs[0].name for node in graph.nodes] == ["y", "net/z:0"]


def test_quantisation_stays_in_the_graph(model):
    x = model.tensor("x", (2,), "INT8", scale=0.5, zero_point=-3)
    y = model.tensor("y", (2,), "INT8", scale=0.25, zero_point=7)
    model.node("TANH", [x], [y])
    model.inputs, model.outputs = [x], [y]
    graph, _ = from_tflite(model.bytes())
    assert [node.op.op_name() for node in graph.nodes] == ["dequantize", "tanh", "quantize"]
    assert [str(v.type) for v in (*graph.inputs, *graph.outputs)] == ["int8[2]", "int8[2]"]
    found = interpret(graph, {"x": np.array([-3, 1], np.int8)})["y"]
    np.testing.assert_array_equal(found, np.round(np.tanh([0, 2]) / 0.25) + 7)


def test_four_bits_are_unpacked_and_sparse_constants_filled(model):
    packed = np.array([0x21, 0xF3], np.uint8)
    four = model.tensor("w", (3,), "INT4", scale=1.0, buffer=len(model.buffers))
    model.buffers.append({"data": packed.tobytes()})
    rows = {"format": "SPARSE_CSR", "dense_size": 3}
    rows |= {"segments_type": 3, "segments": (_vector("segments"), {"values": [0, 1, 2]})}
    rows |= {"indices_type": 3, "indices": (_vector("indices"), {"values": [2, 0]})}
    sparsity = {"traversal_order": [0, 1], "dimensions": [{"format": "DENSE", "dense_size": 2}, rows]}
    sparse = model.tensor("s", (2, 3), sparsity=sparsity, buffer=len(model.buffers))
    model.buffers.append({"data": np.array([5, 6], np.float32).tobytes()})
    wide, y, z = (model.tensor(name, (2, 3)) for name in ("wide", "y", "z"))
    model.node("DEQUANTIZE", [four], [wide])
    model.node("DENSIFY", [sparse], [z])
    model.node("ADD", [z, wide], [y], activation="NONE")
    model.outputs = [y]
    graph, _ = from_tflite(model.bytes())
    np.testing.assert_array_equal(interpret(graph, {})["y"], [[1, 2, 8], [7, 2, 3]])


def _vector(name):
    """The kind of table that holds bytes in a field of a sparse dimension."""
    return DIMENSION.fields[name].kinds[3]


@pytest.mark.parametrize(
    ("indices", "inner", "text"),
    [
        ([1, 1], (), "expected a sparse constant with each place once, found one twice"),
        ([0, 0, 0], (), "expected a sparse constant of at most 2 places, found 3"),
        ([0] * 100, (1 << 20,), "expected a sparse constant of at most 2097152 places"),
        ([0] * 100, (1 << 20, 0), "expected 0 bytes of data for 0 elements of FLOAT32"),
        ([0, 2], (), "expected compressed rows within the tensor"),
    ],
)
def test_sparse_constants_with_other_places_are_refused(model, indices, inner, text):
    """Rows of a constant [2, …], which are dense."""
    kinds = DIMENSION.fields["segments"].kinds
    rows = {"format": "SPARSE_CSR", "dense_size": 2, "segments_type": 1, "indices_type": 1}
    rows |= {"segments": (kinds[1], {"values": [0, len(indices)]}), "indices": (kinds[1], {"values": indices})}
    levels = [rows, *({"format": "DENSE", "dense_size": extent} for extent in inner)]
    sparsity = {"traversal_order": list(range(len(levels))), "dimensions": levels}
    s = model.tensor("s", (2, *inner), sparsity=sparsity, buffer=len(model.buffers))
    model.buffers.append({"data": bytes(4 * len(indices))})
    model.outputs = [model.tensor("y", ())]
    model.node("DENSIFY", [s], model.outputs)
    with pytest.raises(FrontendError, match=text):
        from_tflite(model.bytes())


def _variable(model, value):
    """y = x + v, where CALL_ONCE assigns the variable v its first value."""
    x, v, read, y = (model.tensor(name, (2,)) for name in ("x", "v", "read", "y"))
    model.tensors[v]["type"] = "RESOURCE"
    first = model.network()
    handle = first.tensor("handle", (), "RESOURCE")
    first.node("VAR_HANDLE", [], [handle], shared_name="v")
    first.node("ASSIGN_VARIABLE", [handle, first.constant("value", value)], [])
    model.node("CALL_ONCE", [], [], init_subgraph_index=1)
    model.node("VAR_HANDLE", [], [v], shared_name="v")
    model.node("READ_VARIABLE", [v], [read])
    model.node("ADD", [x, read], [y], activation="NONE")
    model.inputs, model.outputs = [x], [y]
    return model


def test_a_variable_that_is_only_read_has_its_first_value(model, run):
    found = run(_variable(model, np.array([1, 2], np.float32)), x=np.ones(2, np.float32))
    np.testing.assert_array_equal(found["y"], [2, 3])


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda m: m.node("ASSIGN_VARIABLE", [1, 3], []), "ASSIGN_VARIABLE"),
        (lambda m: m.networks[0].operators[0]["builtin_options"][1].update(shared_name="w"), "READ_VARIABLE"),
        (lambda m: m.operators[0]["builtin_options"][1].update(init_subgraph_index=9), "READ_VARIABLE"),
        (lambda m: m.tensors[2].update(shape=[3]), "READ_VARIABLE"),
    ],
)
def test_a_variable_that_changes_or_has_no_first_value_is_a_gap(model, damage, text):
    _variable(model, np.array([1, 2], np.float32))
    damage(model)
    gaps = {gap.operator: gap.reason for gap in check(model.bytes()).gaps}
    assert gaps[text] == "it reads or writes a state that outlives a run"


def test_all_gaps_are_reported_at_once(doubled):
    y, z = doubled.tensors[1], doubled.tensors[2]
    assert (y["name"], z["name"]) == ("y", "net/z:0")
    s = doubled.tensor("s", (1,), "STRING")
    v = doubled.tensor("v", (1, 2))
    doubled.node("Acme", [1], [v], custom=b"")
    doubled.node("UNIQUE", [1], [s])
    doubled.node("CAST", [s], [doubled.tensor("t", (1,))])
    doubled.outputs += [v]
    report = check(doubled.bytes())
    assert [(gap.node, gap.qualified_operator, gap.reason) for gap in report.gaps] == [
        ("v", "custom.Acme", "sateen has no such custom operator"),
        ("s", "UNIQUE", DATA_DECIDES[0]),
        ("t", "CAST", "tensor 's' can't be read: its elements are STRING"),
    ]
    assert all("end the network before it" in gap.help for gap in report.gaps)


HUGE = [1 << 20, 1 << 20]
REFUSED = {
    "version": (lambda t: t.update(version=2), "expected version 3 of the format, found 2"),
    "graphs": (lambda t: t.update(subgraphs=[]), "expected a model with a graph, found none"),
    "outputs": (lambda t: t["subgraphs"][0].update(outputs=[]), "it has nothing to compute"),
    "index": (lambda t: t["subgraphs"][0].update(outputs=[9]), "the outputs name tensors of 0 to 3, found [9]"),
    "operator": (lambda t: t["subgraphs"][0]["operators"][0].update(opcode_index=5), "expected one of 2 operators"),
    "data": (lambda t: t["buffers"][1].update(data=b"1234"), "expected 8 bytes of data for 2 elements of FLOAT32"),
    "buffer": (lambda t: t["subgraphs"][0]["tensors"][3].update(buffer=7), "expected one of 2 buffers, found 7"),
    "behind": (lambda t: t["buffers"][1].update(data=None, offset=9999, size=8), "takes 8 bytes at byte 9999"),
    "shape": (lambda t: t["subgraphs"][0]["tensors"][1].update(shape=[-4]), "dimensions of zero or more elements"),
    "variable": (
        lambda t: t["subgraphs"][0]["tensors"][1].update(shape=HUGE, is_variable=True),
        "expected at most 536870912 bytes of variables",
    ),
    "sparse": (
        lambda t: t["subgraphs"][0]["tensors"][3].update(shape=[1 << 15, 1 << 15], sparsity={}),
        "expected a sparse constant of at most 16777216 elements, found 1073741824",
    ),
    "undefined": (lambda t: t["subgraphs"][0]["operators"].pop(0), "nothing defines tensor 'y', which is read"),
    "twice": (
        lambda t: t["subgraphs"][0]["operators"].append(t["subgraphs"][0]["operators"][0]),
        "expected one definition of tensor 'y', found several",
    ),
    "cycle": (
        lambda t: t["subgraphs"][0]["operators"][0].update(inputs=[0, 2]),
        "depends on itself, through a cycle of nodes",
    ),
}


def test_an_operator_without_its_operands_is_a_gap(doubled):
    doubled.operators[0]["inputs"] = [0]
    doubled.operators[1]["inputs"] = [1, -1]
    report = check(doubled.bytes())
    assert [gap.operator for gap in report.gaps] == ["ADD", "MUL"]
    assert report.gaps[1].reason == "expected input 1 (), found none"


@pytest.mark.parametrize(
    ("levels", "last", "text"),
    [
        (1, 1, "graph main depends on itself"),
        (40, 999, "expected at most 50000 nodes and tensors of branches and bodies, found 98298"),
        (70, 999, "expected graphs nested at most 64 deep"),
    ],
)
def test_branches_within_branches_are_bounded(model, levels, last, text):
    """Each graph runs the next one twice, or with 70 levels once; the last one runs itself, or one that is absent."""
    networks = [model, *(model.network() for _ in range(levels))]
    for number, network in enumerate(networks, 1):
        network.inputs, network.outputs = [network.tensor("c", (), "BOOL")], [network.tensor("y", (), "BOOL")]
        following = number if number < len(networks) else last
        other = 999 if levels == 70 else following
        network.node("IF", [0, 0], [1], then_subgraph_index=following, else_subgraph_index=other)
    with pytest.raises(FrontendError, match=text):
        from_tflite(model.bytes())


@pytest.mark.parametrize("case", REFUSED)
def test_a_damaged_model_is_refused(doubled, write, case):
    damage, text = REFUSED[case]
    table = doubled.table()
    damage(table)
    with pytest.raises(FrontendError) as error:
        from_tflite(write(table))
    assert text in str(error.value)
    assert str(error.value).startswith("the given bytes: ")


def test_every_operator_has_a_line_in_the_page():
    page = Path(__file__).parents[4].joinpath("docs/formats/tflite.md").read_text(encoding="utf-8")
    table = page.split("## Operators")[1].split("## What is refused")[0]
    listed = [name for line in table.splitlines() for name in line.split("|")[1:2] for name in name.split("`")[1::2]]
    assert sorted(listed) == sorted(CONVERTERS.keys() | CONTROL_FLOW.keys() | CUSTOM.keys())
