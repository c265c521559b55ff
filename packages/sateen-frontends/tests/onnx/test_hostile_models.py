"""Models that ask for too much, or for what has no meaning: refused with a reason, soon and in little memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends import from_onnx
from sateen.frontends.core import emitter
from sateen.frontends.core.inputs import Bindings
from sateen.frontends.core.source import Limits
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import load_onnx
from sateen.graph_ir.ops import OPS, Conv
from sateen.runtime.errors import FrontendError

FLOAT = TensorProto.FLOAT


def model_of(
    nodes: Sequence[onnx.NodeProto],
    x: Sequence[int | str] = (2, 3),
    constants: dict[str, Any] | None = None,
    outputs: Sequence[str] = ("y",),
    functions: Sequence[onnx.FunctionProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", FLOAT, x)],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


def refusal(source: onnx.ModelProto | Path) -> str:
    with pytest.raises(FrontendError) as caught:
        from_onnx(source)
    return caught.value.report()


@pytest.mark.parametrize("extents", [[1 << 40], [1 << 20, 1 << 20]])
@pytest.mark.parametrize("operator", ["ConstantOfShape", "Expand"])
def test_a_result_beyond_any_memory_is_refused_with_its_size(operator: str, extents: list[int]) -> None:
    inputs = ["s"] if operator == "ConstantOfShape" else ["x", "s"]
    model = model_of([helper.make_node(operator, inputs, ["y"])], [1], {"s": np.int64(extents)})
    assert "expected tensors of at most 68719476736 bytes, 'y' of type float32" in refusal(model)
    assert "takes 4398046511104" in refusal(model)


def test_an_input_beyond_any_memory_is_refused_with_its_size() -> None:
    assert "'x' of type float32[1099511627776] takes" in refusal(
        model_of([helper.make_node("Relu", ["x"], ["y"])], [1 << 40])
    )


def test_many_ranges_are_refused_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "EVALUATED_BYTES", 10 * 8 * 1000)
    constants = {"zero": np.int64(0), "end": np.int64(1000), "one": np.int64(1)}
    ranges = [helper.make_node("Range", ["zero", "end", "one"], [f"r{i}"]) for i in range(20)]
    model = model_of([*ranges, helper.make_node("Relu", ["x"], ["y"])], constants=constants)
    assert "expected to evaluate at most 80000 bytes while importing, found more" in refusal(model)


def test_functions_that_call_for_a_billion_nodes_are_refused() -> None:
    functions = []
    for level in range(30):
        callee, domain = (f"L{level + 1}", "own") if level < 29 else ("Neg", "")
        calls = [helper.make_node(callee, [a], [b], domain=domain) for a, b in (("a", "b"), ("b", "c"))]
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"L{level}", ["a"], ["c"], calls, imports))
    model = model_of([helper.make_node("L0", ["x"], ["y"], domain="own")], functions=functions)
    _, report = import_onnx(load_onnx(model, Limits(expanded=500)), Bindings(), OPS)
    assert "expected at most 500 nodes from functions, found more" in str(report)


@pytest.mark.parametrize(
    ("operator", "attributes", "reason"),
    [
        ("ReduceSum", {"keepdims": 2}, "expected 0 or 1 as attribute 'keepdims', found 2"),
        ("Elu", {"alpha": float("nan")}, "expected a finite number as attribute 'alpha', found nan"),
        ("LeakyRelu", {"alpha": float("inf")}, "expected a finite number as attribute 'alpha', found inf"),
    ],
)
def test_attributes_without_meaning_are_refused(operator: str, attributes: dict[str, Any], reason: str) -> None:
    assert reason in refusal(model_of([helper.make_node(operator, ["x"], ["y"], **attributes)]))


def test_a_normalisation_over_no_axis_of_its_input_is_refused() -> None:
    node = helper.make_node("RMSNormalization", ["x", "w"], ["y"], axis=3)
    model = model_of([node], constants={"w": np.ones(3, np.float32)}, opset=23)
    assert "expected an axis of -2 to 1, found 3" in refusal(model)


def test_strides_beyond_the_data_take_its_length() -> None:
    """Positions that a stride of 2**62 leads to are no numbers of int64."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 1 << 62], pads=[1, 1, 1, 1])
    graph, _ = from_onnx(model_of([node], [1, 3, 8, 8], {"w": np.ones((4, 3, 3, 3), np.float32)}))
    assert [n.op for n in graph.nodes] == [Conv(strides=(2, 10), pads=(1, 1, 1, 1))]
    assert graph.outputs[0].type.shape == (1, 4, 4, 1)


def test_windows_beyond_reason_are_refused() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1 << 30], pads=[1 << 29, 1 << 29])
    assert "expects kernel of 1 to 16777216, found [1073741824]" in refusal(model_of([node], [1, 3, 8]))


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 0.0, -1.0])
def test_scales_that_are_no_factors_are_refused(scale: float) -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"])
    model = model_of([node], [4], {"s": np.float32([scale])})
    assert "expected scales above 0 and below 16777216, found" in refusal(model)


def test_scales_in_two_dimensions_are_refused() -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"])
    assert "expected numbers in one dimension, found float32[1, 2]" in refusal(
        model_of([node], constants={"s": np.float32([[1, 2]])})
    )


def test_k_of_two_numbers_is_refused() -> None:
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"])
    assert "expected one number as k, found [1, 2]" in refusal(model_of([node], constants={"k": np.int64([1, 2])}))


def test_weights_of_too_few_dimensions_or_elements_are_refused() -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["y"])
    model = model_of([conv], [1, 3, 8, 8], {"w": np.ones((0, 3, 3, 3), np.float32)})
    assert "weight float32[0, 3, 3, 3] gives no output channels" in refusal(model)
    lstm = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=1)
    model = model_of([lstm], [1, 1, 2], {"w": np.ones((1, 4, 2), np.float32), "r": np.float32(1)})
    assert "expected R of 3 dimensions, found []" in refusal(model)


@pytest.mark.parametrize("arrangement", ["Split", "Concat"])
def test_nodes_of_too_many_values_are_refused(arrangement: str) -> None:
    parts = [f"p{i}" for i in range(251)]
    split = helper.make_node("Split", ["x"], parts, axis=0)
    concat = helper.make_node("Concat", ["x"] * 251, ["y"], axis=0)
    node = split if arrangement == "Split" else concat
    model = model_of([node], [251], outputs=["p0"] if arrangement == "Split" else ["y"], opset=11)
    assert "more than 250 inputs or outputs of a node are not supported" in refusal(model)


def test_a_model_of_too_many_outputs_is_refused() -> None:
    names = [f"y{i}" for i in range(250)]
    model = model_of([helper.make_node("Relu", ["x"], [name]) for name in names], outputs=names)
    assert "expected at most 250 inputs and outputs of a model, found 1 and 250" in refusal(model)


def test_names_that_can_not_be_printed_are_escaped_or_refused() -> None:
    hostile = "\n\x1b[2J\u202e"
    model = model_of([helper.make_node("Alien" + hostile, ["x"], ["y"], name="n" + hostile)])
    model.graph.name = "net" + hostile
    words = refusal(model)
    assert all(c.isprintable() or c == "\n" for c in words)
    assert "1 x Alien\\n\\x1b[2J\\u202e (opset 17)" in words
    model = model_of([helper.make_node("Relu", ["x"], ["y" + hostile])], outputs=["y" + hostile])
    assert "expected names of inputs and outputs as printable text of 1 to 512 characters" in refusal(model)
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], ["d" + hostile])
    assert "'x': expected the name of dimension 0 as printable text" in refusal(model)


def test_a_branch_may_define_a_name_again() -> None:
    leaf = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "leaf", [], [helper.make_empty_tensor_value_info("y")]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=leaf, else_branch=leaf)
    graph, _ = from_onnx(model_of([node], constants={"c": np.array(True)}))
    assert [n.op.op_name() for n in graph.nodes] == ["relu"]


def test_a_constant_truth_value_is_read() -> None:
    condition = helper.make_tensor("c", TensorProto.BOOL, [], b"\x01", raw=True)
    leaf = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "leaf", [], [helper.make_empty_tensor_value_info("r")]
    )
    nodes = [
        helper.make_node("Constant", [], ["c"], value=condition),
        helper.make_node("If", ["c"], ["y"], then_branch=leaf, else_branch=leaf),
    ]
    graph, _ = from_onnx(model_of(nodes))
    assert [n.op.op_name() for n in graph.nodes] == ["relu"]


def field(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes."""
    length, size = len(content), b""
    while length >= 0x80:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content


def test_graphs_two_hundred_deep_are_refused() -> None:
    graph = b""
    for _ in range(200):
        attribute = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05"
        graph = field(1, field(1, b"c") + field(2, b"r") + field(4, b"If") + field(5, attribute))
    with pytest.raises(FrontendError, match="expected an ONNX model, found what protobuf can't parse"):
        from_onnx(b"\x08\x08" + field(7, graph))


@pytest.mark.parametrize("operator", ["MatMul", "Softmax", "LayerNormalization"])
def test_what_has_no_elements_is_not_computed(operator: str) -> None:
    constants = {"MatMul": np.ones((5, 4), np.float32), "LayerNormalization": np.ones(5, np.float32)}
    given = {"w": constants[operator]} if operator in constants else {}
    node = helper.make_node(operator, ["x", *given], ["y"])
    graph, _ = from_onnx(model_of([node], [0, 5], given))
    assert [n.op.op_name() for n in graph.nodes] == ["identity"]
    assert graph.outputs[0].type.shape == (0, 4 if operator == "MatMul" else 5)


def test_a_transposed_convolution_whose_padding_would_be_negative_is_refused() -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 7])
    model = model_of([node], [1, 1, 3, 3], {"w": np.ones((1, 2, 3, 3), np.float32)})
    assert "the strides [2, 7] leave gaps between windows of [3, 3]" in refusal(model)


@pytest.mark.parametrize(
    ("node", "constants"),
    [
        (helper.make_node("Reshape", ["x", "s"], ["y"]), {"s": np.ones(65, np.int64)}),
        (helper.make_node("Unsqueeze", ["x", "s"], ["y"]), {"s": np.arange(64)}),
        (helper.make_node("Expand", ["x", "s"], ["y"]), {"s": np.ones(65, np.int64)}),
    ],
)
def test_more_dimensions_than_numpy_has_are_refused(node: onnx.NodeProto, constants: dict[str, Any]) -> None:
    told = refusal(model_of([node], x=(1,), constants=constants))
    assert "of at most 32 dimensions, found 65" in told


def test_inputs_and_constants_of_more_dimensions_than_numpy_has_are_refused() -> None:
    told = refusal(model_of([helper.make_node("Relu", ["x"], ["y"])], x=(1,) * 65))
    assert told.startswith("FrontendError: 'x': expected at most 32 dimensions, found 65")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])])
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1] * 65, raw_data=bytes(4))
    model.graph.initializer.append(tensor)
    assert refusal(model).startswith("FrontendError: initialiser 'w': expected at most 32 dimensions, found 65")
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    model = model_of([constant, helper.make_node("Add", ["x", "w"], ["y"])])
    assert "tensor 'w': expected at most 32 dimensions, found 65" in refusal(model)
