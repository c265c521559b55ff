"""Files: graphs as bytes and text, names of inputs and outputs, and what is refused."""

import numpy as np
import pytest
from google.protobuf import text_format

from sateen.frontends import from_tensorflow, load
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")


@pytest.fixture
def net(make):
    """y = relu(x + w), y1 = -x"""
    return make.graph(
        make.placeholder("x", 1, 2),
        make.constant("w", np.array([[1, -5]], np.float32)),
        make.node("w/read", "Identity", "w", T=FLOAT),
        make.node("sum", "AddV2", "x:0", "w/read", "^w", T=FLOAT),
        make.node("y", "Relu", "sum", T=FLOAT),
        make.node("y1", "Neg", "x", T=FLOAT),
    )


def test_results_are_what_nothing_reads(net, run):
    found = run(net, {"x": np.array([[2, 3]], np.float32)})
    assert {name: y.tolist() for name, y in found.items()} == {"y": [[3, 0]], "y1": [[-2, -3]]}


def test_values_and_spans_have_the_names_of_the_file(net):
    network, parameters = from_tensorflow(net.SerializeToString(), outputs=["y"])
    assert list(parameters) == ["w"]
    assert [value.name for value in network.inputs] == ["x"]
    assert [(span.node, span.operator) for node in network.nodes for span in node.spans] == [
        ("sum", "AddV2"),
        ("y", "Relu"),
    ]


def test_text_is_read_as_bytes_are(net, tmp_path, run):
    path = tmp_path / "graph.pbtxt"
    path.write_text(text_format.MessageToString(net))
    x = np.array([[2, 3]], np.float32)
    np.testing.assert_array_equal(run(path, {"x": x})["y"], run(net, {"x": x})["y"])


def test_networks_begin_and_end_at_inner_tensors(net, run):
    found = run(net, {"sum": np.array([[-1, 4]], np.float32)}, inputs=["sum"], outputs=["y"], shapes={"sum": (1, 2)})
    assert found["y"].tolist() == [[0, 4]]


def test_a_result_that_is_handed_on_needs_no_copy(make):
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("inner", "Relu", "x", T=FLOAT),
        make.node("y", "Identity", "inner", T=FLOAT),
    )
    network, _ = from_tensorflow(graph.SerializeToString())
    assert [node.op.op_name() for node in network.nodes] == ["relu"]
    assert network.outputs[0].name == "y"


@pytest.mark.parametrize(("extents", "expected"), [((), True), ((1,), False)])
def test_a_scalar_placeholder_keeps_its_default(make, extents, expected):
    graph = make.graph(
        make.constant("d", np.full(extents, 2, np.float32)),
        make.node("rate", "PlaceholderWithDefault", "d", dtype=FLOAT, shape=extents),
        make.placeholder("x", 2),
        make.node("y", "Mul", "x", "rate", T=FLOAT),
    )
    network, _ = from_tensorflow(graph.SerializeToString())
    assert (len(network.inputs) == 1) is expected


def test_old_graphs_leave_shapes_open(make):
    graph = make.graph(make.placeholder("x"), make.node("y", "Relu", "x", T=FLOAT))
    graph.versions.producer = 21
    with pytest.raises(FrontendError, match=r"input 'x' \(\w+\): the model declares no shape"):
        from_tensorflow(graph.SerializeToString())
    network, _ = from_tensorflow(graph.SerializeToString(), shapes={"x": (2, 3)})
    assert str(network.outputs[0].type) == "float32[2, 3]"


def test_batches_are_open_dimensions(make):
    graph = make.graph(make.placeholder("x", -1, 3), make.node("y", "Relu", "x", T=FLOAT))
    network, _ = load(graph.SerializeToString())
    assert str(network.inputs[0].type) == "float32[?x.0, 3]"


def damaged(graph, **changes):
    node = graph.node[3]
    for field, value in changes.items():
        if field == "input":
            node.input[0] = value
        else:
            setattr(node, field, value)
    return graph.SerializeToString()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input": "nobody"}, "node 'sum' reads 'nobody', which nothing gives"),
        ({"name": "y"}, "node 'y' is defined twice"),
        ({"input": "y"}, "node 'sum' depends on itself, through a cycle of nodes"),
        ({"input": "x:a"}, "expected tensors called NODE or NODE:NUMBER, found 'x:a'"),
        ({"input": "x:9999999"}, "expected tensors called NODE or NODE:NUMBER, found 'x:9999999'"),
    ],
)
def test_malformed_graphs_are_refused(net, changes, message):
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(damaged(net, **changes))
    assert message in str(refusal.value)


def test_data_must_fit_its_shape(net):
    net.node[1].attr["value"].tensor.tensor_content = b"\0\0"
    with pytest.raises(FrontendError, match=r"expected 8 bytes of float32\[1, 2\], found 2"):
        from_tensorflow(net.SerializeToString(), outputs=["y"])


def test_extents_are_those_of_an_array_even_without_elements(net):
    value = net.node[1].attr["value"].tensor
    value.tensor_content = b""
    value.tensor_shape.dim[0].size, value.tensor_shape.dim[1].size = 1 << 62, 0
    with pytest.raises(FrontendError, match="expected extents of at most 281474976710656 elements"):
        from_tensorflow(net.SerializeToString(), outputs=["y"])


def test_a_constant_at_the_beginning_of_a_long_chain_keeps_its_name(make):
    chain = [make.node(f"c{i + 1}", "Identity", f"c{i}", T=FLOAT) for i in range(20_000)]
    constant = make.constant("c0", np.array([2, 3], np.float32))
    graph = make.graph(make.placeholder("x", 2), constant, *chain, make.node("y", "Mul", "x", "c20000", T=FLOAT))
    network, parameters = from_tensorflow(graph.SerializeToString())
    assert list(parameters) == ["c0"]
    assert len(network.nodes) == 1


def test_the_last_number_of_a_field_is_repeated(net):
    value = net.node[1].attr["value"].tensor
    value.tensor_content = b""
    value.float_val.extend([4.0])
    _, parameters = from_tensorflow(net.SerializeToString())
    assert parameters["w"].tolist() == [[4, 4]]


def test_cut_files_are_recognised(net):
    data = net.SerializeToString()
    with pytest.raises(FrontendError, match="found what can't be parsed"):
        load(data[: len(data) - 9])


def test_deep_text_is_refused():
    deep = "node { attr { value { func { " + "attr { value { func { " * 200 + "} } }" * 201 + "}"
    with pytest.raises(FrontendError, match="nested at most 100 deep"):
        load(deep.encode())


def test_a_large_tensor_of_one_number_stays_an_operator(make):
    constant = make.node("w", "Const", dtype=FLOAT)
    constant.attr["value"].tensor.CopyFrom(make.pb.TensorProto(dtype=1, tensor_shape=make.shape((1 << 12, 1 << 12))))
    constant.attr["value"].tensor.float_val.append(0.5)
    graph = make.graph(make.placeholder("x", 1), constant, make.node("y", "Mul", "x", "w", T=FLOAT))
    network, parameters = from_tensorflow(graph.SerializeToString())
    assert [data.tolist() for data in parameters.values()] == [0.5]
    assert str(network.outputs[0].type) == "float32[4096, 4096]"


def test_a_large_tensor_of_few_numbers_is_refused(make):
    constant = make.node("w", "Const", dtype=FLOAT)
    constant.attr["value"].tensor.CopyFrom(make.pb.TensorProto(dtype=1, tensor_shape=make.shape((1 << 30,))))
    constant.attr["value"].tensor.float_val.extend([0.5, 1.0])
    graph = make.graph(make.placeholder("x", 1), constant, make.node("y", "Mul", "x", "w", T=FLOAT))
    with pytest.raises(FrontendError, match="expected 1073741824 elements, found 2, of which the last is repeated"):
        from_tensorflow(graph.SerializeToString())


def test_text_inputs_are_not_declared(make):
    graph = make.graph(
        make.node("wav", "Placeholder", dtype=make.attribute(make.pb.AttrValue(type=7))),
        make.node("sound", "DecodeWav", "wav", desired_samples=100, desired_channels=1),
        make.node("y", "AudioSpectrogram", "sound:0", window_size=16, stride=8),
    )
    with pytest.raises(FrontendError) as caught:
        load(graph.SerializeToString())
    remedy = "begin the network behind it: inputs=['sound'], or --from sound"
    assert str(caught.value) == f"input 'wav' is text; {remedy}"
    network, _ = load(graph.SerializeToString(), inputs=["sound"])
    assert [str(value.type) for value in (*network.inputs, *network.outputs)] == [
        "float32[100, 1]",
        "float32[1, 11, 9]",
    ]
