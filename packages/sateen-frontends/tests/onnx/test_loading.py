"""Models are data: what is not well formed, or is too large, is refused with a reason."""

from pathlib import Path
from typing import Any

import onnx
import pytest
from google.protobuf.descriptor import FieldDescriptor
from onnx import TensorProto, helper

from sateen.frontends import from_onnx
from sateen.frontends.core.source import Limits
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT
from sateen.frontends.onnx.loading import load_onnx
from sateen.frontends.onnx.recognition import GRAPH_FIELDS, MODEL_FIELDS
from sateen.runtime.errors import FrontendError

FLOAT = TensorProto.FLOAT


def relu_model(**changes: Any) -> onnx.ModelProto:
    """y = Relu(x) over float32[2, 3]."""
    given: dict[str, Any] = {
        "nodes": [helper.make_node("Relu", ["x"], ["y"], name="r")],
        "inputs": [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        "outputs": [helper.make_tensor_value_info("y", FLOAT, [2, 3])],
        "initializers": [],
        "opsets": [helper.make_opsetid("", 17)],
        **changes,
    }
    graph = helper.make_graph(given["nodes"], "net", given["inputs"], given["outputs"], given["initializers"])
    return helper.make_model(graph, opset_imports=given["opsets"], ir_version=10)


def refusal(model: onnx.ModelProto | bytes | Path) -> str:
    with pytest.raises(FrontendError) as caught:
        from_onnx(model)
    return caught.value.report()


def test_a_path_bytes_and_a_message_give_the_same_graph(tmp_path: Path) -> None:
    model = relu_model()
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    graphs = [from_onnx(source)[0] for source in (model, model.SerializeToString(), path, str(path))]
    assert [[(n.op, n.outputs[0].name) for n in g.nodes] for g in graphs] == [
        [(graphs[0].nodes[0].op, "y")] for _ in graphs
    ]


def test_a_file_that_is_absent_is_refused(tmp_path: Path) -> None:
    assert "can't read the model" in refusal(tmp_path / "none.onnx")


def test_what_is_neither_path_nor_bytes_nor_message_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(FrontendError, match="expected an ONNX model: a path, its bytes or its message, found NoneType"):
        from_onnx(nothing)


def test_bytes_that_are_no_model_are_refused() -> None:
    assert "expected an ONNX model" in refusal(b"\x80\x05not a model")


def test_an_empty_file_is_refused() -> None:
    assert "expected an ONNX model, found an empty file" in refusal(b"")


def test_a_model_without_a_graph_is_refused() -> None:
    assert "expected a model with a graph, found none" in refusal(onnx.ModelProto(ir_version=8))


@pytest.mark.parametrize("end", [0.3, 0.7, 0.99])
def test_a_truncated_model_is_refused(end: float) -> None:
    data = relu_model().SerializeToString()
    assert refusal(data[: int(len(data) * end)])


def test_a_model_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(relu_model().SerializeToString())
    with pytest.raises(FrontendError, match="expected a model of at most 10 bytes"):
        load_onnx(path, Limits(model_bytes=10))
    with pytest.raises(FrontendError, match="expected a model of at most 10 bytes"):
        load_onnx(path.read_bytes(), Limits(model_bytes=10))


def test_more_nodes_than_the_limit_are_refused() -> None:
    with pytest.raises(FrontendError, match="expected at most 0 nodes"):
        load_onnx(relu_model(), Limits(nodes=0))


def nested(depth: int) -> onnx.ModelProto:
    """If within If, `depth` graphs in all, each branch returning a constant."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "leaf", [], [helper.make_empty_tensor_value_info("r")]
    )
    for level in range(depth - 1):
        name = f"r{level}"
        node = helper.make_node("If", ["c"], [name], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], "branch", [], [helper.make_empty_tensor_value_info(name)])
    inputs = [helper.make_tensor_value_info("x", FLOAT, [2]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    graph.input.extend(inputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def test_graphs_nested_deeper_than_the_limit_are_refused() -> None:
    load_onnx(nested(3), Limits(nesting=3))
    with pytest.raises(FrontendError, match="expected graphs nested at most 3 deep"):
        load_onnx(nested(4), Limits(nesting=3))


def test_a_name_that_is_not_utf8_is_refused() -> None:
    data = relu_model(nodes=[helper.make_node("Relu", ["x"], ["y"], name="QQQQ")]).SerializeToString()
    assert "expected the name of a node in UTF-8" in refusal(data.replace(b"QQQQ", b"\xff\xfe\xff\xfe"))


def test_an_operator_set_above_the_known_ones_is_refused() -> None:
    message = refusal(relu_model(opsets=[helper.make_opsetid("", 9999)]))
    assert f"expected an operator set of version 1 to {onnx.defs.onnx_opset_version()}" in message
    assert "found 9999; a newer onnx package may know it" in message


def test_a_model_of_a_later_ir_version_is_refused() -> None:
    model = relu_model()
    model.ir_version = 999
    assert "expected a model of IR version up to" in refusal(model)


def test_two_versions_of_one_operator_set_are_refused() -> None:
    message = refusal(relu_model(opsets=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx", 18)]))
    assert "imports versions 17 and 18 of one operator set" in message


def test_the_same_operator_set_twice_is_read() -> None:
    from_onnx(relu_model(opsets=[helper.make_opsetid("", 17), helper.make_opsetid("", 17)]))


def test_a_model_without_outputs_is_refused() -> None:
    model = relu_model()
    del model.graph.output[:]
    assert "expected a model with outputs, found none: it has nothing to compute" in refusal(model)


def test_a_model_that_imports_no_operator_set_is_refused() -> None:
    model = relu_model()
    del model.opset_import[:]
    assert "expected the operator sets that the model imports, found none" in refusal(model)


def test_a_model_before_operator_sets_is_of_opset_1() -> None:
    model = relu_model()
    del model.opset_import[:]
    model.ir_version = 2
    node = from_onnx(model)[0].nodes[0]
    assert node.spans[0].operator == "Relu"


def test_a_cycle_is_refused() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"])]
    message = refusal(relu_model(nodes=[*nodes, helper.make_node("Relu", ["b"], ["y"])]))
    assert "node 'first' (Add) depends on itself, through a cycle of nodes" in message


def test_nodes_out_of_order_are_put_in_order() -> None:
    nodes = [
        helper.make_node("Relu", ["a"], ["y"], name="second"),
        helper.make_node("Relu", ["x"], ["a"], name="first"),
    ]
    graph, _ = from_onnx(relu_model(nodes=nodes))
    assert [node.spans[0].node for node in graph.nodes] == ["first", "second"]


def test_an_input_that_nothing_defines_is_refused() -> None:
    message = refusal(relu_model(nodes=[helper.make_node("Relu", ["ghost"], ["y"], name="r")]))
    assert "node 'r' (Relu) reads 'ghost', which nothing defines" in message


def test_an_output_that_nothing_defines_is_refused() -> None:
    message = refusal(relu_model(outputs=[helper.make_tensor_value_info("ghost", FLOAT, [2, 3])]))
    assert "the output reads 'ghost', which nothing defines" in message


def test_a_name_that_is_defined_twice_is_refused() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["y"], ["y"], name="again")]
    assert "'y'" in refusal(relu_model(nodes=nodes))
    nodes[1].input[0] = "x"
    message = refusal(relu_model(nodes=nodes))
    assert "node 'again' (Relu) defines 'y', which is defined already, by node 0 (Relu)" in message
    message = refusal(relu_model(nodes=[helper.make_node("Relu", ["x"], ["x"])]))
    assert "node 0 (Relu) defines 'x', which is defined already, as an input or initialiser" in message


def test_two_inputs_of_one_name_are_refused() -> None:
    inputs = [helper.make_tensor_value_info("x", FLOAT, [2, 3])] * 2
    assert "the name 'x' belongs to two inputs" in refusal(relu_model(inputs=inputs))


def test_sparse_initialisers_are_refused() -> None:
    model = relu_model()
    model.graph.sparse_initializer.add()
    assert "sparse initialisers are not supported" in refusal(model)


def test_a_function_that_calls_itself_is_refused() -> None:
    body = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")],
        [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
    )  # fmt: skip
    model = relu_model(
        nodes=[helper.make_node("F", ["x"], ["y"], domain="own")],
        opsets=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
    )
    model.functions.append(body)
    assert "function 'F' calls itself" in refusal(model)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, [2])), "found sequence"),
        (helper.make_tensor_type_proto(TensorProto.STRING, [2]), "input 'x' holds strings; a network computes with"),
        (helper.make_tensor_type_proto(FLOAT, [-2]), "expected dimension 0 of zero or more elements, found -2"),
        (helper.make_tensor_type_proto(FLOAT, [2**60]), "expected dimension 0 of zero or more elements"),
        (onnx.TypeProto(), "expected a tensor, found no type"),
    ],
)
def test_an_input_that_is_no_tensor_of_a_known_type_is_refused(kind: onnx.TypeProto, found: str) -> None:
    assert found in refusal(relu_model(inputs=[onnx.ValueInfoProto(name="x", type=kind)]))


@pytest.mark.parametrize(("fields", "message"), [(MODEL_FIELDS, onnx.ModelProto), (GRAPH_FIELDS, onnx.GraphProto)])
def test_models_are_recognised_by_the_fields_that_onnx_describes(fields: dict[int, int], message: type[Any]) -> None:
    kinds = {FieldDescriptor.CPPTYPE_INT64: VARINT}
    described = message.DESCRIPTOR.fields
    assert fields == {field.number: kinds.get(field.cpp_type, LENGTH_DELIMITED) for field in described}
