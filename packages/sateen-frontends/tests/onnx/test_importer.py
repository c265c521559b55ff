"""Graphs that models become: operators by operator set, names, shapes, folding, branches, functions, reports."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends import check_onnx, from_onnx
from sateen.graph_ir import build
from sateen.graph_ir.ir import Graph, Symbol
from sateen.graph_ir.ops import (
    GRU,
    LSTM,
    RNN,
    AveragePool,
    Conv,
    ConvTranspose,
    LogSoftmax,
    MatMul,
    MaxPool,
    ReduceSum,
    Resize,
    Softmax,
    TopK,
    broadcast,
    element_wise,
    shape,
)
from sateen.runtime import load
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Dims = Sequence[int | str | None]


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, tuple[int, Dims]],
    outputs: Sequence[str] = ("y",),
    constants: dict[str, Any] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, dtype, dims) for name, (dtype, dims) in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node_graph(
    operator: str, x: Dims, opset: int = 17, constants: dict[str, Any] | None = None, **attributes: Any
) -> Graph:
    """The graph of one node over x and constants."""
    outputs = ["y", "indices"] if operator == "TopK" else ["y"]
    node = helper.make_node(operator, ["x", *(constants or {})], outputs, name="n", **attributes)
    return from_onnx(model_of([node], {"x": (FLOAT, x)}, constants=constants, opset=opset))[0]


def ops(graph: Graph) -> list[Operator]:
    return [node.op for node in graph.nodes]


def refusal(model: onnx.ModelProto, **bindings: Any) -> str:
    with pytest.raises(FrontendError) as caught:
        from_onnx(model, **bindings)
    return str(caught.value)


def test_inputs_outputs_and_parameters_have_the_names_of_the_model() -> None:
    nodes = [helper.make_node("Add", ["x", "bias"], ["add"]), helper.make_node("Relu", ["add"], ["y"])]
    graph, params = from_onnx(model_of(nodes, {"x": (FLOAT, [2])}, constants={"bias": np.float32([1, 2])}))
    assert [v.name for v in graph.inputs] == ["x"]
    assert [v.name for v in graph.outputs] == ["y"]
    assert {v.name: data.tolist() for v, data in graph.parameters.items()} == {"bias": [1, 2]}
    np.testing.assert_array_equal(params["bias"], [1, 2])
    assert [str(node.spans[0]) for node in graph.nodes] == [
        "node 'add' (Add) of model 'net'", "node 'y' (Relu) of model 'net'"
    ]  # fmt: skip


def test_inputs_and_constants_may_be_outputs() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    graph, params = from_onnx(model_of(nodes, {"x": (FLOAT, [2])}, ["x", "y", "w"], {"w": np.float32([1, 2])}))
    assert [v.name for v in graph.outputs] == ["x", "y", "w"]
    found = load(build(graph, params=params)).run({"x": np.float32([-1, 3])})
    assert {name: values.numpy().tolist() for name, values in found.items()} == {"x": [-1, 3], "y": [0, 3], "w": [1, 2]}


def test_names_that_we_add_give_way_to_those_of_the_model() -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["y.mat_mul.1"]),
        helper.make_node("Gemm", ["x", "w", "b"], ["y"]),
        helper.make_node("Relu", ["y"], ["y.mat_mul"]),
    ]
    data = {"w": np.ones((3, 4), np.float32), "b": np.ones(4, np.float32)}
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [2, 3])}, ["y.mat_mul", "y.mat_mul.1"], data))
    names = [v.name for node in graph.nodes for v in node.outputs]
    assert len(set(names)) == len(names)
    assert [v.name for v in graph.outputs] == ["y.mat_mul", "y.mat_mul.1"]


def test_an_output_that_is_a_constant_or_an_input_keeps_its_name() -> None:
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["c"], ["z"])]
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [2])}, ["y", "z", "c"], {"c": np.float32([1, 2])}))
    assert [v.name for v in graph.outputs] == ["y", "z", "c"]
    assert ops(graph) == [element_wise.Identity()] * 3


def test_an_input_with_data_is_a_constant() -> None:
    node = helper.make_node("Add", ["x", "b"], ["y"])
    model = model_of([node], {"x": (FLOAT, [2]), "b": (FLOAT, [2])}, constants={"b": np.float32([1, 2])})
    assert [v.name for v in from_onnx(model)[0].inputs] == ["x"]


def test_dimensions_stay_symbols_until_they_are_bound() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, ["batch", None, "?", 4])})
    assert from_onnx(model)[0].inputs[0].type.shape == (Symbol("batch"), Symbol("x.1"), Symbol("x.2"), 4)
    assert from_onnx(model, dims={"batch": 2, "x.1": 3})[0].inputs[0].type.shape == (2, 3, Symbol("x.2"), 4)
    assert from_onnx(model, shapes={"x": (2, 3, 5, 4)})[0].outputs[0].type.shape == (2, 3, 5, 4)


def test_a_shape_binds_the_symbol_in_other_inputs_too() -> None:
    model = model_of([helper.make_node("Add", ["a", "b"], ["y"])], {"a": (FLOAT, ["n"]), "b": (FLOAT, ["n"])})
    assert from_onnx(model, shapes={"a": (3,)})[0].inputs[1].type.shape == (3,)
    assert "input 'b': dimension 0 is 3 in the model or dims, found 4" in refusal(model, shapes={"a": (3,), "b": (4,)})


def test_bindings_that_name_or_contradict_nothing_of_the_model_are_refused() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, ["n", 4])})
    assert refusal(model, shapes={"z": (1,)}) == "shapes (--shape) names 'z'; the model's inputs are 'x'"
    assert refusal(model, dims={"m": 1}) == "dims (--dim) names 'm'; the model's open dimensions are 'n'"
    assert refusal(model, constants={"z": np.zeros(1)}) == "constants (--bind) names 'z'; the model's inputs are 'x'"
    assert refusal(model, shapes={"x": (1, 5)}) == "input 'x': dimension 1 is 4 in the model or dims, found 5"
    assert refusal(model, shapes={"x": (1,)}) == "input 'x' has 2 dimensions, float32[?n, 4]; found shape [1]"
    assert refusal(model, dims={"n": 0}) == "expected dimensions of one or more elements, found {'n': 0}"
    assert (
        refusal(model, constants={"x": np.zeros((1, 4))})
        == "constant 'x': expected float32[?n, 4], found float64[1, 4]"
    )


def test_a_mistyped_dimension_is_told_with_the_closest() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, ["batch", "height"])})
    assert refusal(model, dims={"hight": 224}) == (
        "dims (--dim) names 'hight'; the model's open dimensions are 'batch', 'height'; did you mean height?"
    )
    closed = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2])})
    assert refusal(closed, dims={"n": 1}) == "dims (--dim) names 'n'; the model has no open dimensions"


@pytest.mark.parametrize(("kind", "number"), [(FLOAT, 2), (FLOAT, 0.5), (TensorProto.INT64, 3)])
def test_a_scalar_is_bound_to_a_number(kind: int, number: float) -> None:
    model = model_of([helper.make_node("Add", ["x", "s"], ["y"])], {"x": (kind, [2]), "s": (kind, [])})
    graph, parameters = from_onnx(model, constants={"s": number})
    assert [v.name for v in graph.inputs] == ["x"]
    assert [float(data) for data in parameters.values()] == [number]


@pytest.mark.parametrize(
    ("kind", "number", "found"),
    [
        (TensorProto.FLOAT16, 1e6, "expected float16[], found float64[]"),
        (FLOAT, 10**40, "expected float32[], found float64[]"),
        (FLOAT, 10**400, "expected float32, found an integer beyond float64"),
    ],
)
def test_a_number_does_not_become_infinite(kind: int, number: float, found: str) -> None:
    model = model_of([helper.make_node("Mul", ["x", "s"], ["y"])], {"x": (kind, [2]), "s": (kind, [])})
    assert refusal(model, constants={"s": number}) == f"constant 's': {found}"


@pytest.mark.parametrize(("number", "found"), [(1.5, "float64"), (300, "int64"), (True, "bool")])
def test_a_number_that_the_type_does_not_hold_is_refused(number: float, found: str) -> None:
    kind = TensorProto.INT8
    model = model_of([helper.make_node("Add", ["x", "s"], ["y"])], {"x": (kind, [2]), "s": (kind, [])})
    assert refusal(model, constants={"s": number}) == f"constant 's': expected int8[], found {found}[]"


@pytest.mark.parametrize("unknown", [-1, "-1", "?", ""])
def test_a_dimension_of_minus_one_is_unknown(unknown: int | str) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [unknown, 3])})
    assert from_onnx(model)[0].outputs[0].type.shape == (Symbol("x.0"), 3)
    assert from_onnx(model, shapes={"x": (2, 3)})[0].outputs[0].type.shape == (2, 3)
    assert from_onnx(model, dims={"x.0": 4})[0].outputs[0].type.shape == (4, 3)


def test_declared_types_of_results_give_way_to_inference() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["y"])]
    model = model_of(nodes, {"x": (FLOAT, [2, 3])})
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [-1, 7]))
    model.graph.value_info.append(helper.make_tensor_value_info("r", INT64, [5]))
    assert str(from_onnx(model)[0].outputs[0].type) == "float32[2, 3]"


def test_an_input_without_a_shape_needs_one() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [1])})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert refusal(model) == (
        "input 'x' (float32): the model declares no shape; give sizes of all dimensions: shapes={'x': (...)}, or "
        "--shape x=...x..."
    )
    assert from_onnx(model, shapes={"x": (2, 3)})[0].inputs[0].type.shape == (2, 3)


def flatten_by_hand() -> list[onnx.NodeProto]:
    """Reshape(x, [Shape(x)[0], -1]), as exporters write a flatten."""
    return [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]


INDICES = {"zero": np.int64(0), "axis": np.int64([0]), "rest": np.int64([-1])}


def test_shape_arithmetic_becomes_a_number() -> None:
    graph, params = from_onnx(model_of(flatten_by_hand(), {"x": (FLOAT, [2, 3, 4])}, constants=INDICES))
    assert ops(graph) == [shape.Reshape(shape=(2, 12))]
    assert not params


def test_shape_arithmetic_on_open_dimensions_becomes_an_expression() -> None:
    graph, params = from_onnx(model_of(flatten_by_hand(), {"x": (FLOAT, ["batch", 3, 4])}, constants=INDICES))
    assert ops(graph) == [shape.Reshape(shape=(Symbol("batch"), 12))]
    assert not params


def test_known_dimensions_can_be_taken_from_a_shape_with_unknown_ones() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["c"]),
        helper.make_node("Cast", ["c"], ["f"], to=FLOAT),
        helper.make_node("Div", ["x", "f"], ["y"]),
    ]
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, ["n", 3])}, constants={"one": np.int64(1)}))
    assert ops(graph) == [broadcast.Divide()]
    assert [data.tolist() for data in graph.parameters.values()] == [3]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "expected"),
    [
        ("Add", [np.int64([1, 2]), np.int64(3)], {}, [4, 5]),
        ("Cast", [np.float32([1.7, -1.7])], {"to": INT64}, [1, -1]),
        ("ConstantOfShape", [np.int64([2])], {"value": numpy_helper.from_array(np.int64([7]))}, [7, 7]),
        ("Div", [np.int64([7, -7, 7]), np.int64([2, 2, -2])], {}, [3, -3, -3]),
        ("Equal", [np.int64([1, 2]), np.int64([1, 3])], {}, [True, False]),
        ("Expand", [np.int64([[1], [2]]), np.int64([1, 2])], {}, [[1, 1], [2, 2]]),
        ("Gather", [np.int64([5, 6, 7]), np.int64([-1, 0])], {}, [7, 5]),
        ("Max", [np.int64([1, 5]), np.int64([3, 3])], {}, [3, 5]),
        ("Mod", [np.int64([-7]), np.int64([3])], {}, [2]),
        ("Mod", [np.int64([-7]), np.int64([3])], {"fmod": 1}, [-1]),
        ("NonZero", [np.int64([0, 3, 4])], {}, [[1, 2]]),
        ("Range", [np.int64(1), np.int64(8), np.int64(3)], {}, [1, 4, 7]),
        ("ReduceProd", [np.int64([2, 3, 4])], {"keepdims": 0}, 24),
        ("Slice", [np.int64([1, 2, 3, 4]), np.int64([-1]), np.int64([-(2**63)]), np.int64([0]), np.int64([-2])], {},
         [4, 2]),
        ("Slice", [np.int64([1, 2, 3, 4]), np.int64([-9]), np.int64([-99]), np.int64([0]), np.int64([-1])], {}, [1]),
        ("Squeeze", [np.int64([[3]]), np.int64([0])], {}, [3]),
        ("Tile", [np.int64([1, 2]), np.int64([2])], {}, [1, 2, 1, 2]),
        ("Transpose", [np.int64([[1, 2], [3, 4]])], {}, [[1, 3], [2, 4]]),
        ("Where", [np.array([True, False]), np.int64([1, 2]), np.int64([3, 4])], {}, [1, 4]),
        ("Clip", [np.int64([-3, 2**62 + 1]), np.int64(0)], {}, [0, 2**62 + 1]),
        ("CumSum", [np.int64([1, 2, 3]), np.int64(0)], {}, [1, 3, 6]),
        ("Einsum", [np.float32([1, 2]), np.float32([3, 4])], {"equation": "i,i->"}, 11),
        ("Pow", [np.float32([2, 3]), np.float32(2)], {}, [4, 9]),
        ("Round", [np.float32([0.5, 1.5])], {}, [0, 2]),
        ("Compress", [np.int64([5, 6, 7]), np.array([True, False, True])], {"axis": 0}, [5, 7]),
        ("Cast", [np.float32([np.inf])], {"to": INT64}, [2**63 - 1]),
        ("PRelu", [np.float32([-2, 2]), np.float32([0.5])], {}, [-1, 2]),
        ("HardSwish", [np.float32([4])], {}, [4]),
    ],
)  # fmt: skip
def test_operators_on_known_data_are_evaluated(
    operator: str, inputs: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    names = [f"i{k}" for k in range(len(inputs))]
    nodes = [helper.make_node(operator, names, ["y"], **attributes)]
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [1])}, constants=dict(zip(names, inputs, strict=True))))
    assert ops(graph) == [element_wise.Identity()]
    assert next(iter(graph.parameters.values())).tolist() == expected


SMALL_MATRIX = np.eye(64, dtype=np.float32)


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [("Gather", [np.zeros((2, 4), np.float32), np.int64(np.arange(4000) % 2)]), ("MatMul", [SMALL_MATRIX] * 2)],
)
def test_large_results_of_small_constants_are_left_to_the_compiler(operator: str, inputs: list[Any]) -> None:
    names = [f"i{k}" for k in range(len(inputs))]
    nodes = [helper.make_node(operator, names, ["y"])]
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [1])}, constants=dict(zip(names, inputs, strict=True))))
    assert [op.op_name() for op in ops(graph)] == ["gather" if operator == "Gather" else "mat_mul"]


def test_what_must_be_known_may_come_out_of_large_constants() -> None:
    mask = np.zeros(10_000, np.float32)
    mask[[3, 9_999]] = 1
    nodes = [
        helper.make_node("Greater", ["mask", "half"], ["bool"]),
        helper.make_node("NonZero", ["bool"], ["places"]),
        helper.make_node("Squeeze", ["places", "zero"], ["flat"]),
        helper.make_node("Gather", ["x", "flat"], ["y"]),
    ]
    constants = {"mask": mask, "half": np.float32(0.5), "zero": np.int64([0])}
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [10_000])}, constants=constants))
    gather = graph.nodes[-1]
    assert gather.inputs[1] is not None
    assert graph.parameters[gather.inputs[1]].tolist() == [3, 9_999]


def test_constants_that_take_long_to_compute_are_told() -> None:
    nodes = [helper.make_node("MatMul", ["m", "m"], ["p"]), helper.make_node("NonZero", ["p"], ["y"])]
    message = refusal(model_of(nodes, {"x": (FLOAT, [1])}, constants={"m": np.eye(200, dtype=np.float32)}))
    assert "input 0 (X) must be known while compiling, but takes long to compute from constants" in message
    assert "store its data in the model, as onnxsim does" in message


def test_same_padding_that_is_computed_becomes_numbers() -> None:
    """max((ceil(extent / stride) - 1) * stride + kernel - extent, 0), as exporters of dynamic SAME padding write it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"], start=2, end=3),
        helper.make_node("Cast", ["shape"], ["extent"], to=FLOAT),
        helper.make_node("Div", ["extent", "stride"], ["steps"]),
        helper.make_node("Ceil", ["steps"], ["count"]),
        helper.make_node("Sub", ["count", "one"], ["last"]),
        helper.make_node("Mul", ["last", "stride"], ["first"]),
        helper.make_node("Add", ["first", "kernel"], ["end"]),
        helper.make_node("Sub", ["end", "extent"], ["overhang"]),
        helper.make_node("Clip", ["overhang", "zero"], ["missing"]),
        helper.make_node("Cast", ["missing"], ["total"], to=INT64),
        helper.make_node("BitShift", ["unsigned", "shift"], ["half.u"], direction="RIGHT"),
        helper.make_node("Cast", ["total"], ["unsigned"], to=TensorProto.UINT64),
        helper.make_node("Cast", ["half.u"], ["half"], to=INT64),
        helper.make_node("Sub", ["total", "half"], ["rest"]),
        helper.make_node("Concat", ["none", "none", "half", "half", "none", "none", "rest", "rest"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads"], ["y"]),
    ]
    numbers = {"stride": np.float32([2]), "one": np.float32([1]), "kernel": np.float32([4]), "zero": np.float32(0)}
    constants = {**numbers, "none": np.int64([0]), "shift": np.uint64([1])}
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [1, 3, 9, 9])}, constants=constants))
    assert ops(graph) == [shape.Pad(pads=(0, 0, 1, 1, 0, 0, 2, 2))]


def test_large_fills_are_left_to_the_compiler() -> None:
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["y"])]
    graph, params = from_onnx(model_of(nodes, {"x": (FLOAT, [1])}, constants={"s": np.int64([1 << 20, 1 << 10])}))
    assert ops(graph) == [shape.BroadcastTo(shape=(1 << 20, 1 << 10))]
    assert sum(data.size for data in params.values()) == 1


@pytest.mark.parametrize(
    ("operator", "inputs", "reason"),
    [
        ("Div", [np.int64([1]), np.int64([0])], "its constants give no result: tensor 'divide': division by zero"),
        ("Range", [np.int64(0), np.int64(9), np.int64(0)], "finite numbers and a delta other than 0"),
        ("Range", [np.int64(0), np.int64(2**62), np.int64(1)], "is more than the"),
        ("ConstantOfShape", [np.int64([-1])], "expected dimensions of zero or more, found [-1]"),
        ("Gather", [np.int64([1, 2]), np.int64([5])], "expected indices of -2 to 1, found 5"),
    ],
)
def test_known_data_that_has_no_result_is_refused(operator: str, inputs: list[Any], reason: str) -> None:
    names = [f"i{k}" for k in range(len(inputs))]
    nodes = [helper.make_node(operator, names, ["y"], name="n")]
    assert reason in refusal(model_of(nodes, {"x": (FLOAT, [1])}, constants=dict(zip(names, inputs, strict=True))))


@pytest.mark.parametrize(
    ("operator", "x", "opset", "constants", "attributes", "expected"),
    [
        ("Clip", [2], 6, {}, {"min": 0.0, "max": 6.0}, [element_wise.Clip(0.0, 6.0)]),
        ("Clip", [2], 13, {"lo": np.float32(0), "hi": np.float32(6)}, {}, [element_wise.Clip(0.0, 6.0)]),
        ("Reshape", [2, 3], 1, {}, {"shape": [3, 2]}, [shape.Reshape((3, 2))]),
        ("Reshape", [2, 3], 5, {"s": np.int64([0, -1])}, {}, [shape.Reshape((2, 3))]),
        ("Slice", [4, 4], 1, {}, {"starts": [1], "ends": [9], "axes": [1]}, [shape.Slice((0, 1), (4, 4), (1, 1))]),
        ("Slice", [4], 13, {"a": np.int64([-1]), "b": np.int64([-9]), "c": np.int64([0]), "d": np.int64([-1])}, {},
         [shape.Slice((3,), (-1,), (-1,))]),
        ("Slice", [4], 13, {"a": np.int64([-9]), "b": np.int64([-9]), "c": np.int64([0]), "d": np.int64([-2])}, {},
         [shape.Slice((0,), (-1,), (-2,))]),
        ("Squeeze", [1, 3], 11, {}, {"axes": [0]}, [shape.Reshape((3,))]),
        ("Squeeze", [1, 3], 13, {"axes": np.int64([-2])}, {}, [shape.Reshape((3,))]),
        ("Unsqueeze", [3], 11, {}, {"axes": [0, 2]}, [shape.Reshape((1, 3, 1))]),
        ("Unsqueeze", [3], 13, {"axes": np.int64([-1])}, {}, [shape.Reshape((3, 1))]),
        ("Pad", [2], 1, {}, {"paddings": [1, 0], "value": 3.0}, [shape.Pad("constant", (1, 0), 3.0)]),
        ("Pad", [2], 2, {}, {"pads": [1, 0], "mode": "edge"}, [shape.Pad("edge", (1, 0), 0.0)]),
        ("Pad", [2, 2], 18, {"p": np.int64([1, 2]), "v": np.float32(4), "axes": np.int64([-1])}, {},
         [shape.Pad("constant", (0, 1, 0, 2), 4.0)]),
        ("Transpose", [2, 3], 17, {}, {}, [shape.Transpose((1, 0))]),
        ("Flatten", [2, 3, 4], 17, {}, {"axis": -1}, [shape.Reshape((6, 4))]),
        ("Expand", [3, 1], 13, {"s": np.int64([2, 1, 4])}, {}, [shape.BroadcastTo((2, 3, 4))]),
        ("Tile", [2], 13, {"r": np.int64([3])}, {}, [shape.Tile((3,))]),
        ("Tile", [2, 2], 1, {"r": np.float32(3), "a": np.float32(1)}, {}, [shape.Tile((1, 3))]),
        ("Cast", [2], 5, {}, {"to": "INT32"}, [element_wise.Cast(element_wise.DType.of("int32"))]),
        ("Cast", [2], 17, {}, {"to": TensorProto.INT32}, [element_wise.Cast(element_wise.DType.of("int32"))]),
        ("Add", [2, 3, 4], 6, {"b": np.float32([1, 2, 3])}, {"broadcast": 1, "axis": 1},
         [shape.Reshape((3, 1)), broadcast.Add()]),
        ("Add", [2, 3], 6, {"b": np.float32([1, 2, 3])}, {"broadcast": 1}, [broadcast.Add()]),
        ("PRelu", [1, 3, 2, 2], 6, {"s": np.float32([1, 2, 3])}, {}, [shape.Reshape((3, 1, 1)), broadcast.PRelu()]),
        ("Gemm", [2, 3], 17, {"w": np.ones((4, 3), np.float32)}, {"transB": 1}, [shape.Transpose((1, 0)), MatMul()]),
        ("MatMul", [3], 17, {"w": np.ones((3, 4), np.float32)}, {},
         [shape.Reshape((1, 3)), MatMul(), shape.Reshape((4,))]),
        ("Softmax", [2, 3, 4], 13, {}, {"axis": 1}, [Softmax(1)]),
        ("Softmax", [2, 3, 4], 11, {}, {"axis": 1}, [shape.Reshape((2, 12)), Softmax(1), shape.Reshape((2, 3, 4))]),
        ("Softmax", [2, 3, 1, 1], 11, {}, {"axis": 1}, [Softmax(1)]),
        ("LogSoftmax", [2, 3], 1, {}, {}, [LogSoftmax(1)]),
        ("Conv", [1, 1, 5, 5], 11, {"w": np.ones((1, 1, 2, 2), np.float32)}, {"auto_pad": "SAME_UPPER"},
         [Conv(pads=(0, 0, 1, 1))]),
        ("Conv", [1, 1, 5, 5], 11, {"w": np.ones((1, 1, 2, 2), np.float32)}, {"auto_pad": "SAME_LOWER"},
         [Conv(pads=(1, 1, 0, 0))]),
        ("MaxPool", [1, 1, 5, 5], 7, {}, {"kernel_shape": [2, 2], "strides": [2, 2]},
         [MaxPool((2, 2), (2, 2))]),
        ("AveragePool", [1, 1, 5], 10, {},
         {"kernel_shape": [2], "ceil_mode": 1, "count_include_pad": 1, "pads": [1, 0]},
         [AveragePool((2,), (), (1, 0), (), True, True)]),
        ("ConvTranspose", [1, 1, 3], 11, {"w": np.ones((1, 1, 3), np.float32)}, {"strides": [2], "output_shape": [6]},
         [ConvTranspose((2,), (1, 0))]),
        ("ConvTranspose", [1, 1, 3], 11, {"w": np.ones((1, 1, 3), np.float32)}, {"strides": [2], "output_shape": [8]},
         [ConvTranspose((2,), output_padding=(1,))]),
        ("Resize", [1, 1, 2, 2], 10, {"s": np.float32([1, 1, 2, 2])}, {},
         [Resize((1, 1, 4, 4), "nearest", "asymmetric", "floor", scales=(1, 1, 2, 2))]),
        ("Upsample", [1, 1, 2, 2], 7, {}, {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"},
         [Resize((1, 1, 4, 4), "linear", "asymmetric", "floor", scales=(1, 1, 2, 2))]),
        ("Upsample", [1, 1, 2, 2], 1, {}, {"height_scale": 2.0, "width_scale": 3.0},
         [Resize((1, 1, 4, 6), "nearest", "asymmetric", "floor", scales=(1, 1, 2, 3))]),
        ("ReduceSum", [2, 3], 11, {}, {"axes": [-1], "keepdims": 0}, [ReduceSum((1,), False)]),
        ("ReduceSum", [2, 3], 13, {"axes": np.int64([-1])}, {"keepdims": 0}, [ReduceSum((1,), False)]),
        ("ReduceSum", [2, 3], 13, {}, {}, [ReduceSum((0, 1), True)]),
        ("TopK", [4], 1, {}, {"k": 2}, [TopK(2, 0, True, True)]),
        ("Affine", [2], 7, {}, {"alpha": 2.0, "beta": 1.0}, [broadcast.Multiply(), broadcast.Add()]),
        ("Crop", [1, 3, 8, 8], 7, {}, {"border": [1, 2, 3, 4]}, [shape.Slice((0, 0, 2, 1), (1, 3, 4, 5), (1,) * 4)]),
    ],
)  # fmt: skip
def test_operators_of_each_operator_set(
    operator: str, x: Dims, opset: int, constants: dict[str, Any], attributes: dict[str, Any], expected: list[Operator]
) -> None:
    assert ops(node_graph(operator, x, opset, constants, **attributes)) == expected


def test_a_computed_bound_makes_clip_a_maximum_and_a_minimum() -> None:
    node = helper.make_node("Clip", ["x", "lo", "hi"], ["y"])
    graph, _ = from_onnx(model_of([node], {"x": (FLOAT, [2]), "lo": (FLOAT, []), "hi": (FLOAT, [])}))
    assert ops(graph) == [broadcast.Maximum(), broadcast.Minimum()]


def recurrent(operator: str, gates: int, outputs: Sequence[str], **attributes: Any) -> Graph:
    """A layer over x [5, 2, 3] (layout 1: [2, 5, 3]) with hidden size 4."""
    node = helper.make_node(operator, ["x", "w", "r"], outputs, hidden_size=4, **attributes)
    data = {"w": np.ones((1, 4 * gates, 3), np.float32), "r": np.ones((1, 4 * gates, 4), np.float32)}
    x = [2, 5, 3] if attributes.get("layout") else [5, 2, 3]
    return from_onnx(model_of([node], {"x": (FLOAT, x)}, [name for name in outputs if name], data))[0]


def test_recurrent_layers_give_the_outputs_that_are_named() -> None:
    graph = recurrent("LSTM", 4, ["", "", "cell"], input_forget=1)
    assert ops(graph) == [LSTM(hidden_size=4, input_forget=True)]
    assert [(v.name, v.type.shape) for v in graph.outputs] == [("cell", (1, 2, 4))]
    assert ops(recurrent("RNN", 1, ["y"])) == [RNN(hidden_size=4)]


def test_activations_take_their_parameters_in_order() -> None:
    graph = recurrent("GRU", 3, ["y"], activations=["SIGMOID", "leakyrelu"], activation_alpha=[0.5], clip=2.0)
    assert ops(graph) == [
        GRU(hidden_size=4, activations=("Sigmoid", "LeakyRelu"), alphas=(None, 0.5), clip=2.0)
    ]  # fmt: skip


def test_batches_before_time_are_transposed() -> None:
    graph = recurrent("GRU", 3, ["y", "last"], layout=1)
    assert [(v.name, v.type.shape) for v in graph.outputs] == [("y", (2, 5, 1, 4)), ("last", (2, 1, 4))]


def test_an_unknown_activation_is_refused_with_all_that_there_are() -> None:
    known = "Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, Softsign, Tanh, ThresholdedRelu"
    close = re.escape("; did you mean Softsign or Softplus?\n")
    with pytest.raises(FrontendError, match=f"expected activations of {known}; found 'Softsine'{close}"):
        recurrent("GRU", 3, ["y"], activations=["Sigmoid", "Softsine"])


@pytest.mark.parametrize(
    ("policy", "sizes"), [("stretch", (1, 1, 7, 6)), ("not_larger", (1, 1, 6, 6)), ("not_smaller", (1, 1, 7, 7))]
)
def test_resize_to_sizes_keeps_proportions_where_asked(policy: str, sizes: tuple[int, ...]) -> None:
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], axes=[2, 3], keep_aspect_ratio_policy=policy)
    graph, _ = from_onnx(model_of([node], {"x": (FLOAT, [1, 1, 4, 4])}, constants={"s": np.int64([7, 6])}, opset=19))
    assert graph.outputs[0].type.shape == sizes


def test_split_gives_an_output_per_part() -> None:
    node = helper.make_node("Split", ["x"], ["a", "b"], axis=1)
    graph, _ = from_onnx(model_of([node], {"x": (FLOAT, [2, 6])}, ["b", "a"]))
    assert ops(graph) == [shape.Split(axis=1, sizes=(3, 3))]
    assert [v.name for v in graph.outputs] == ["b", "a"]


def test_dropout_at_inference_is_its_input() -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["d", "mask"]), helper.make_node("Relu", ["d"], ["y"])]
    graph, _ = from_onnx(model_of(nodes, {"x": (FLOAT, [2])}, ["y", "mask"]))
    relu = next(node for node in graph.nodes if node.op == element_wise.Relu())
    assert relu.inputs[0] is graph.inputs[0]
    assert str(graph.outputs[1].type) == "bool[2]"


def test_what_decides_an_input_that_must_be_known_is_named() -> None:
    nodes = [helper.make_node("Mul", ["x", "k"], ["z"]), helper.make_node("NonZero", ["z"], ["y"])]
    message = refusal(model_of(nodes, {"x": (FLOAT, [2]), "k": (FLOAT, [1])}))
    assert "input 0 (X) must be known while compiling, but 'x' and 'k' decide it" in message
    assert "bind what decides it, if the values are always the same: constants={'x': ..., 'k': ...}, or " in message
    assert "--bind x=... --bind k=..." in message


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (helper.make_node("Relu", ["x", "x"], ["y"]), "expected 1 to 1 inputs of Relu, found 2"),
        (helper.make_node("Relu", [""], ["y"]), "expected input 0 (X), found none"),
        (helper.make_node("Relu", ["x"], ["y"], alpha=1.0), "Relu of opset 17 has no attribute 'alpha'"),
        (helper.make_node("Elu", ["x"], ["y"], alpha=1), "expected attribute 'alpha' of type FLOAT, found INT"),
        (helper.make_node("Cast", ["x"], ["y"]), "expected attribute 'to', found none"),
        (
            helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING),
            "Cast: elements of type string are not supported",
        ),
        (helper.make_node("Add", ["x", "i"], ["y"]), "input 1 (B) is int64, but must be float32 as input 0"),
        (helper.make_node("And", ["x", "x"], ["y"]), "input 0 (A) is float32; And of opset 17 takes bool"),
        (helper.make_node("Concat", ["x", "x"], ["y"], axis=7), "expected an axis of -2 to 1, found 7"),
        (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 0]), "expected a permutation of 2 axes, found [0, 0]"),
        (helper.make_node("Reshape", ["x", "i"], ["y"]), "shape [5, 5] can't hold the 6 elements of [2, 3]"),
        (helper.make_node("Upsample", ["x", "x"], ["y"]), "ONNX has no operator of this name in ai.onnx 17"),
        (helper.make_node("MatMul", ["x", "x"], ["y"]), "mat_mul: the inner dimensions differ"),
    ],
)
def test_malformed_nodes_are_refused(node: onnx.NodeProto, reason: str) -> None:
    assert reason in refusal(model_of([node], {"x": (FLOAT, [2, 3])}, constants={"i": np.int64([5, 5])}))


def test_interpolation_of_integers_is_refused_with_what_to_do() -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")
    scales = np.float32([1, 1, 2, 2])
    message = refusal(model_of([node], {"x": (TensorProto.UINT8, [1, 1, 2, 2])}, constants={"s": scales}))
    assert "mode linear of uint8 is not supported: the standard does not say how it rounds" in message
    assert "cast the data to float32 before it" in message


def test_a_single_attribute_stands_for_a_list_of_one() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=3, strides=2, auto_pad="")
    assert {a.name: a.type for a in node.attribute}["strides"] == onnx.AttributeProto.INT
    expected = MaxPool(kernel=(3,), strides=(2,))
    assert ops(from_onnx(model_of([node], {"x": (FLOAT, [1, 2, 9])}))[0]) == [expected]
    message = refusal(model_of([node], {"x": (FLOAT, [1, 2, 9, 9])}))
    assert "expected 1 strides and dilations, 2 pads, 3 dimensions as the kernel has, found strides [2]" in message


@pytest.mark.parametrize(("name", "value"), [("axis", [1]), ("axis", 1.0)])
def test_an_attribute_of_another_type_is_refused(name: str, value: Any) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"], **{name: value})
    assert "expected attribute 'axis' of type INT, found" in refusal(model_of([node], {"x": (FLOAT, [1, 2])}))


def test_an_attribute_that_is_given_twice_is_refused() -> None:
    node = helper.make_node("Elu", ["x"], ["y"], alpha=1.0)
    node.attribute.append(node.attribute[0])
    assert "attribute 'alpha' is given twice" in refusal(model_of([node], {"x": (FLOAT, [2])}))


def test_an_output_of_another_type_than_declared_is_refused() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2])})
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", INT64, [2]))
    assert refusal(model) == "output 'y' is declared int64, but computed as float32"


def choice() -> onnx.ModelProto:
    """Relu(x) or Neg(x)."""

    def branch(operator: str) -> onnx.GraphProto:
        nodes = [helper.make_node(operator, ["x"], ["inner"]), helper.make_node("Relu", ["inner"], ["result"])]
        return helper.make_graph(nodes, "branch", [], [helper.make_empty_tensor_value_info("result")])

    node = helper.make_node("If", ["c"], ["y"], name="choose", then_branch=branch("Exp"), else_branch=branch("Neg"))
    return model_of([node], {"x": (FLOAT, [2]), "c": (BOOL, [])})


@pytest.mark.parametrize(("condition", "taken"), [(True, element_wise.Exp()), (False, element_wise.Negative())])
def test_if_with_a_known_condition_is_the_branch_that_it_takes(condition: bool, taken: Operator) -> None:
    graph, _ = from_onnx(choice(), constants={"c": np.array(condition)})
    assert ops(graph) == [taken, element_wise.Relu()]
    assert [v.name for v in graph.inputs] == ["x"]
    assert graph.outputs[0].name == "y"
    assert graph.nodes[0].spans[0].node == "choose"


def test_a_function_of_the_model_is_expanded_with_its_attributes() -> None:
    scale = helper.make_node("Elu", ["a"], ["t"])
    reference = onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    scale.attribute.append(reference)
    body = helper.make_function(
        "own", "Twice", ["a"], ["b"], [scale, helper.make_node("Relu", ["t"], ["b"])],
        [helper.make_opsetid("", 17)], ["slope"],
    )  # fmt: skip
    nodes = [
        helper.make_node("Twice", ["x"], ["t"], domain="own", slope=0.5),
        helper.make_node("Twice", ["t"], ["y"], domain="own", slope=0.25),
    ]
    model = model_of(nodes, {"x": (FLOAT, [2])})
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(body)
    graph, _ = from_onnx(model)
    relu = element_wise.Relu()
    assert ops(graph) == [element_wise.Elu(0.5), relu, element_wise.Elu(0.25), relu]
    assert [v.name for v in graph.nodes[1].outputs] == ["t"]


def test_an_operator_that_we_lack_is_expanded_by_its_standard_body() -> None:
    graph = node_graph("Swish", [2], opset=24, alpha=1.0)
    assert element_wise.Sigmoid() in ops(graph)
    assert graph.outputs[0].name == "y"
    assert {node.spans[0].operator for node in graph.nodes} == {"Swish"}


@pytest.mark.parametrize(
    ("shapes", "attributes", "reason"),
    [
        ([[2, 4, 3, 8], [2, 4, 5, 8], [2, 5, 32]], {}, "Q, K and V of 3 dimensions each or of 4 each, found [4, 4, 3]"),
        ([[2, 3, 32], [2, 5, 32], [2, 5, 32]], {}, "q_num_heads, which parts the columns of Q [2, 3, 32], found None"),
        (
            [[2, 3, 32], [2, 5, 32], [2, 5, 32]],
            {"q_num_heads": 4, "kv_num_heads": 3},
            "K of a multiple of kv_num_heads = 3 columns, found 32",
        ),
        ([[2, 4, 3, 8], [1, 4, 5, 8], [2, 4, 5, 8]], {}, "one number of batches of Q, K and V, found 2, 1, 2"),
        ([[2, 4, 3, 8], [2, 4, 5, 8], [2, 2, 5, 8]], {}, "one number of heads of K and V, found 4, 2"),
        ([[2, 4, 3, 8], [2, 3, 5, 8], [2, 3, 5, 8]], {}, "heads of Q as a multiple of those of K and V, found 4 and 3"),
        ([[2, 4, 3, 8], [2, 4, 5, 9], [2, 4, 5, 8]], {}, "one number of elements of a head in Q and K, found 8, 9"),
        ([[2, 4, 3, 8], [2, 4, 5, 8], [2, 4, 6, 8]], {}, "one number of tokens of K and V, found 5, 6"),
        (
            [[2, 4, 3, 8], [2, 4, 5, 8], [2, 4, 5, 8], [3, 6]],
            {},
            "attn_mask that broadcasts to the scores [2, 4, 3, 5]",
        ),
        (
            [[2, 4, 3, 8], [2, 4, 5, 8], [2, 4, 5, 8], None, [2, 4, 7, 8]],
            {},
            "past_key and past_value together, found past_key without past_value",
        ),
        (
            [[2, 4, 3, 8], [2, 4, 5, 8], [2, 4, 5, 6], None, [2, 4, 7, 8], [2, 4, 7, 8]],
            {},
            "past_value [2, 4, past, 6], found [2, 4, 7, 8]",
        ),
        (
            [[2, 4, 3, 8], [2, 4, 5, 8], [2, 4, 5, 8], None, [2, 4, 7, 8], [2, 4, 9, 8]],
            {},
            "one number of tokens of past_key and past_value, found 7, 9",
        ),
    ],
)
def test_inputs_of_attention_that_contradict_each_other_are_told_by_their_names(
    shapes: list[list[int] | None], attributes: dict[str, int], reason: str
) -> None:
    given = {f"x{i}": (FLOAT, shape) for i, shape in enumerate(shapes) if shape is not None}
    names = [f"x{i}" if shape is not None else "" for i, shape in enumerate(shapes)]
    node = helper.make_node("Attention", names, ["y"], "mine", **attributes)
    (gap,) = check_onnx(model_of([node], given, opset=23)).gaps
    assert (gap.node, gap.operator) == ("mine", "Attention")
    assert f"expected {reason}" in gap.reason


def test_all_gaps_are_reported_at_once() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("StringNormalizer", ["s"], ["u"], name="text"),
        helper.make_node("Alien", ["a"], ["b"], name="first", domain="far.away"),
        helper.make_node("Alien", ["b"], ["c"], name="second", domain="far.away"),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    model = model_of(nodes, {"x": (FLOAT, [2, 3]), "s": (FLOAT, [2])})
    model.opset_import.append(helper.make_opsetid("far.away", 3))
    report = check_onnx(model)
    assert [(gap.node, gap.operator, gap.domain, gap.opset, gap.inputs) for gap in report.gaps] == [
        ("text", "StringNormalizer", "", 17, ("float32[2]",)),
        ("first", "Alien", "far.away", 3, ("float32[2, 3]",)),
        ("second", "Alien", "far.away", 3, ("?",)),
    ]
    assert report.unchecked == 1
    assert report.operators == {"Relu": 2, "StringNormalizer": 1, "far.away.Alien": 2}
    assert report.to_json()["supported"] is False
    assert refusal(model) == str(report)
    assert "2 x far.away.Alien (opset 3): ONNX has no operator of this name in far.away 3" in str(report)
    assert "node 'first', 'second'; inputs float32[2, 3]" in str(report)
    assert "looked up by name only: 1 node behind these" in str(report)


@pytest.mark.parametrize(
    ("operator", "domain", "meant"),
    [
        ("Rleu", "", "ai.onnx 17; names like it: Relu"),
        ("BatchNorm", "", "ai.onnx 17; names like it: BatchNormalization"),
        ("Gelu", "", "ai.onnx 17; there is one since operator set 20"),
        ("Upsample", "", "ai.onnx 17; it was withdrawn"),
        ("Gelu", "far.away", "far.away 1; there is one in ai.onnx"),
        ("LabelEncodr", "ai.onnx.ml", "ai.onnx.ml 1; names like it: LabelEncoder"),
        ("Alien", "far.away", "far.away 1"),
    ],
)
def test_what_an_unknown_operator_may_mean_is_told(operator: str, domain: str, meant: str) -> None:
    model = model_of([helper.make_node(operator, ["x"], ["y"], domain=domain)], {"x": (FLOAT, [2])})
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    assert f"ONNX has no operator of this name in {meant}\n" in refusal(model)


def test_declared_types_let_nodes_behind_a_gap_be_checked() -> None:
    nodes = [
        helper.make_node("Alien", ["x"], ["a"], name="gap", domain="far.away"),
        helper.make_node("And", ["a", "a"], ["y"], name="wrong"),
    ]
    model = model_of(nodes, {"x": (FLOAT, [2])})
    model.graph.value_info.append(helper.make_tensor_value_info("a", FLOAT, [2]))
    report = check_onnx(model)
    assert [gap.node for gap in report.gaps] == ["gap", "wrong"]
    assert report.gaps[1].reason == "input 0 (A) is float32; And of opset 17 takes bool"
    model.graph.node[1].op_type = "Add"
    assert [gap.node for gap in check_onnx(model).gaps] == ["gap"]
    model.graph.node[1].op_type = "And"
    model.graph.value_info[0].type.tensor_type.shape.dim[0].dim_param = "of nobody"
    assert [gap.node for gap in check_onnx(model).gaps] == ["gap"]


def test_a_network_is_cut_at_values_within_it() -> None:
    """What lies before and behind may be of types and operators that sateen lacks; a branch reads what is around it."""
    branch = helper.make_graph([helper.make_node("Add", ["t", "w"], ["r"])], "branch", [], [
        helper.make_empty_tensor_value_info("r")
    ])  # fmt: skip
    nodes = [
        helper.make_node("Alien", ["name"], ["t"], domain="far.away"),
        helper.make_node("Relu", ["v"], ["w"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Alien", ["y"], ["end"], domain="far.away"),
    ]
    inputs = {"name": (TensorProto.STRING, [1]), "v": (FLOAT, [2]), "u": (FLOAT, [2]), "c": (BOOL, [])}
    model = model_of(nodes, inputs, outputs=["end"])
    with pytest.raises(FrontendError, match="can't begin at 't': the model does not say of what type it is"):
        from_onnx(model, inputs=["t"], outputs=["y"])
    model.graph.value_info.append(helper.make_tensor_value_info("t", FLOAT, None))
    graph, _ = from_onnx(model, inputs=["t"], outputs=["y"], shapes={"t": [2]}, constants={"c": np.array(True)})
    assert [str(v.type) for v in graph.inputs] == ["float32[2]"] * 2
    assert [v.name for v in (*graph.inputs, *graph.outputs)] == ["v", "t", "y"]
    assert ops(graph) == [element_wise.Relu(), broadcast.Add()]
    assert check_onnx(model, inputs=["t"], outputs=["y"], shapes={"t": [2]}).nodes == 2


def test_long_texts_of_a_report_lose_their_middle() -> None:
    nodes = [helper.make_node("Concat", ["x"] * 100, ["c"], axis=0), helper.make_node("Reshape", ["c", "s"], ["y"])]
    model = model_of(nodes, {"x": (FLOAT, [2])}, constants={"s": np.arange(2, 202)})
    whole = check_onnx(model).gaps[0].reason
    (line,) = [line for line in refusal(model).splitlines() if "Reshape (opset 17)" in line]
    assert line.endswith(" elements of [200]")
    assert len(whole) > 500
    assert len(line) < 280


def test_a_model_without_gaps_has_a_report_that_says_so() -> None:
    report = check_onnx(model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2])}))
    assert report.is_supported
    assert str(report) == "model 'net', 1 node, operator sets ai.onnx 17: all nodes can be compiled"
