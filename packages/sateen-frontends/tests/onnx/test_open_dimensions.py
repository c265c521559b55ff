"""Models whose dimensions are open: what survives import, and where sizes are asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends import from_onnx
from sateen.graph_ir import interpret
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.runtime import FrontendError

FLOAT = TensorProto.FLOAT
IMAGE = ("n", 3, "h", "w")
ROWS = ("n", "m")


def i(*numbers: int) -> np.ndarray[Any, Any]:
    return np.int64(numbers)


def network(
    nodes: Sequence[onnx.NodeProto],
    dims: Sequence[int | str],
    outputs: Sequence[str] = ("y",),
    constants: dict[str, np.ndarray[Any, Any]] | None = None,
    opset: int = 18,
) -> onnx.ModelProto:
    """A model of an input x and of constants; `axis`, `one` and `two` are known to all."""
    data = {"zero": np.int64(0), "one": np.int64(1), "two": np.int64(2), "axis": i(0)} | (constants or {})
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", FLOAT, dims)],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(operator: str, *inputs: str, outputs: Sequence[str] = ("y",), **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, outputs, **attributes)


def size_of(axis: str, name: str) -> list[onnx.NodeProto]:
    """The extent of an axis of x, whose number is a constant called `axis`, as a vector called `name`."""
    return [
        node("Shape", "x", outputs=[f"{name}.shape"]),
        node("Gather", f"{name}.shape", axis, outputs=[f"{name}.scalar"]),
        node("Unsqueeze", f"{name}.scalar", "axis", outputs=[name]),
    ]


HALVES = [
    *size_of("one", "m"),
    node("Div", "m", "two", outputs=["half"]),
    node("Sub", "m", "half", outputs=["rest"]),
    node("Concat", "half", "rest", outputs=["sizes"], axis=0),
    node("Split", "x", "sizes", outputs=["y", "z"], axis=1),
]
KERNEL = {"w": np.ones((4, 3, 3, 3), np.float32)}
MODELS: dict[str, tuple[onnx.ModelProto, list[str]]] = {
    "padded convolution": (
        network([node("Conv", "x", "w", pads=[1, 1, 1, 1])], IMAGE, constants=KERNEL), ["?n, 4, ?h, ?w"],
    ),
    "strided convolution": (
        network([node("Conv", "x", "w", strides=[2, 3])], IMAGE, constants=KERNEL), ["?n, 4, (?h + 1)//2 - 1, ?w//3"],
    ),
    "same padding": (
        network([node("Conv", "x", "w", auto_pad="SAME_UPPER")], IMAGE, constants=KERNEL), ["?n, 4, ?h, ?w"],
    ),
    "pool": (network([node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])], IMAGE), ["?n, 3, ?h//2, ?w//2"]),
    "rounded up": (
        network([node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)], IMAGE),
        ["?n, 3, (?h + 1)//2, (?w + 1)//2"],
    ),
    "scaled": (
        network([node("Resize", "x", "", "s", mode="nearest")], IMAGE, constants={"s": np.float32([1, 1, 2, 0.5])}),
        ["?n, 3, ?h*2, ?w//2"],
    ),
    "flattened": (network([node("Flatten", "x")], IMAGE), ["?n, ?h*?w*3"]),
    "reshaped by numbers": (
        network([node("Reshape", "x", "s")], ("n", 2, 6), constants={"s": i(0, -1, 3)}), ["?n, 4, 3"]
    ),
    "reshaped by its shape": (
        network(
            [*size_of("zero", "n"), node("Concat", "n", "s", outputs=["t"], axis=0), node("Reshape", "x", "t")],
            ("n", "m", 12), constants={"s": i(-1, 4)},
        ),
        ["?n, ?m*3, 4"],
    ),
    "all in one row": (network([node("Reshape", "x", "s")], ROWS, constants={"s": i(-1)}), ["?m*?n"]),
    "new axes": (
        network([node("Unsqueeze", "x", "s", outputs=["u"]), node("Squeeze", "u", "axis")], ROWS,
                constants={"s": i(0, 3)}), ["?n, ?m, 1"],
    ),
    "without the first": (
        network([node("Slice", "x", "b", "e", "one_axis")], ROWS,
                constants={"b": i(1), "e": i(2**63 - 1), "one_axis": i(1)}), ["?n, ?m - 1"],
    ),
    "the last": (
        network([node("Slice", "x", "b", "e")], ROWS, constants={"b": i(-1), "e": i(2**31 - 1)}), ["1, ?m"]
    ),
    "backwards": (
        network([node("Slice", "x", "b", "e", "axis", "s")], ROWS,
                constants={"b": i(2**31 - 1), "e": i(-(2**63)), "s": i(-2)}), ["(?n + 1)//2, ?m"],
    ),
    "halves": (network(HALVES, ROWS, ["y", "z"]), ["?n, ?m//2", "?n, ?m - ?m//2"]),
    "even parts": (
        network([node("Concat", "x", "x", outputs=["c"], axis=1), node("Split", "c", outputs=["y", "z"], axis=1,
                 num_outputs=2)], ROWS, ["y", "z"]), ["?n, ?m", "?n, ?m"],
    ),
    "padded": (network([node("Pad", "x", "p")], ROWS, constants={"p": i(0, 1, 0, 2)}), ["?n, ?m + 3"]),
    "repeated": (network([node("Tile", "x", "s")], ROWS, constants={"s": i(2, 3)}), ["?n*2, ?m*3"]),
    "expanded": (
        network([node("Shape", "x", outputs=["s"]), node("Expand", "one_row", "s")], ROWS,
                constants={"one_row": np.float32([[2]])}), ["?n, ?m"],
    ),
    "filled": (network([node("Shape", "x", outputs=["s"]), node("ConstantOfShape", "s")], ROWS), ["?n, ?m"]),
    "chosen by a known answer": (
        network([node("Shape", "x", outputs=["s"]), node("Less", "s", "axis", outputs=["c"]),
                 node("Where", "c", "ones", "s", outputs=["t"]), node("Reshape", "x", "t")], ROWS,
                constants={"ones": i(1, 1)}), ["?n, ?m"],
    ),
    "places": (
        network([*size_of("one", "m"), node("Squeeze", "m", outputs=["limit"]),
                 node("Range", "one", "limit", "two", outputs=["r"]), node("Cast", "r", to=FLOAT)], ROWS), ["?m//2"],
    ),
    "a product of rows": (
        network([node("Einsum", "x", "x", equation="bqd,bkd->bqk")], ("n", "m", 4)), ["?n, ?m, ?m"]
    ),
    "a product that broadcasts": (
        network([node("Einsum", "x", "v", equation="...ab,...b->...a")], ("n", "m", 4, "h"),
                constants={"v": np.ones((1, 1), np.float32)}), ["?n, ?m, 4"],
    ),
    "a vector times a matrix": (
        network([node("MatMul", "v", "x")], (2, "m"), constants={"v": np.ones(2, np.float32)}), ["?m"]
    ),
}  # fmt: skip
"""Models, and the shapes of their outputs."""


@pytest.mark.parametrize("name", MODELS)
def test_symbols_survive_and_binding_gives_what_known_sizes_do(name: str) -> None:
    model, shapes = MODELS[name]
    graph, _ = from_onnx(model)
    assert [str(v.type) for v in graph.outputs] == [f"float32[{shape}]" for shape in shapes]
    for sizes in ({"n": 2, "m": 5, "h": 7, "w": 9}, {"n": 1, "m": 1, "h": 6, "w": 4}):
        known, _ = from_onnx(model, dims={name: sizes[name] for name in graph.inputs[0].type.symbols})
        bound = bind_dims(graph, sizes)
        assert [v.type for v in bound.outputs] == [v.type for v in known.outputs]
        x = {"x": np.random.default_rng(0).standard_normal(known.inputs[0].type.static_shape).astype(np.float32)}
        for one, other in zip(interpret(bound, x).values(), interpret(known, x).values(), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("nodes", "dims", "constants", "reason"),
    [
        ([node("Reshape", "x", "s")], ROWS, {"s": i(-1, 3)},
         "Reshape (opset 18): whether shape [-1, 3] holds ?m*?n elements depends on dimensions without a number: m, n"),
        ([node("Reshape", "x", "s")], ("n", 4), {"s": i(1, 4)},
         "Reshape (opset 18): whether shape [1, 4] holds ?n*4 elements depends on dimensions without a number: n"),
        ([node("Squeeze", "x")], ROWS, {}, "Squeeze (opset 18): input 0 (data) depends on dimensions without a number"),
        ([node("Squeeze", "x", "axis")], ("n", 4), {},
         "Squeeze (opset 18): whether axis 0 has extent 1 depends on dimensions without a number: n"),
        ([node("Slice", "x", "b", "e")], ("n", 4), {"b": i(0), "e": i(5)},
         "Slice (opset 18): expected to know whether ?n < 5, which the sizes of n decide"),
        ([node("Split", "x", outputs=["y", "z"], num_outputs=2)], ("n", 4), {},
         "Split (opset 18): input 0 (input) depends on dimensions without a number: n"),
        ([node("Split", "x", "s", outputs=["y", "z"])], ("n", 4), {"s": i(1, 2)},
         "Split (opset 18): whether extent ?n is split into [1, 2] depends on dimensions without a number: n"),
        ([node("Expand", "x", "s")], ("n", 4), {"s": i(3, 4)},
         "Expand (opset 18): whether [?n, 4] broadcasts against [3, 4] depends on dimensions without a number: n"),
        ([node("Add", "x", "b")], ("n", 4), {"b": np.ones((3, 4), np.float32)},
         "Add (opset 18): add: shapes [?n, 4] and [3, 4] differ in dimension 0 of the common shape"),
        ([*size_of("zero", "n"), node("Squeeze", "n", outputs=["limit"]),
          node("Range", "two", "limit", "one", outputs=["r"]), node("Cast", "r", to=FLOAT)], ("n", 4), {},
         "Range (opset 18): expected to know whether ?n - 2 < 0, which the sizes of n decide"),
        ([*size_of("zero", "n"), node("Squeeze", "n", outputs=["limit"]),
          node("Range", "limit", "two", "one", outputs=["r"]), node("Cast", "r", to=FLOAT)], ("n", 4), {},
         "Range (opset 18): input 0 (start) depends on dimensions without a number: n"),
        ([node("Einsum", "x", equation="ii->i")], ("n", "n"), {},
         "Einsum (opset 18): label 'i', which an operand has twice, depends on dimensions without a number: n"),
        ([node("Einsum", "x", "b", equation="ij,ik->jk")], ("n", 2), {"b": np.ones((3, 2), np.float32)},
         "Einsum (opset 18): label 'i', which stands for extents ?n and 3, depends on dimensions without a number: n"),
        ([node("MaxPool", "x", kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER")], (1, 2, "n"), {},
         "auto_pad SAME_UPPER of input 0 (X) depends on dimensions without a number: n"),
        ([node("Resize", "x", "", "s", mode="nearest")], ("n", 4), {"s": np.float32([1.3, 1])},
         "Resize (opset 18): input 0 (X) depends on dimensions without a number: n"),
        ([*size_of("zero", "n"), node("Equal", "n", "one", outputs=["c"]),
          node("Where", "c", "two", "n", outputs=["t"]), node("Expand", "x", "t")], ("n", 4), {},
         "Equal (opset 18): input 0 (A) depends on dimensions without a number: n"),
    ],
)  # fmt: skip
def test_where_sizes_decide_they_are_asked_for(
    nodes: list[onnx.NodeProto], dims: Sequence[int | str], constants: dict[str, Any], reason: str
) -> None:
    with pytest.raises(FrontendError) as caught:
        from_onnx(network(nodes, dims, constants=constants))
    assert reason in str(caught.value)
    assert "bind them: dims={" in str(caught.value)


def test_a_shape_that_is_an_output_needs_sizes() -> None:
    model = network([node("Shape", "x")], ROWS)
    with pytest.raises(FrontendError) as caught:
        from_onnx(model)
    assert str(caught.value).splitlines()[1:] == [
        "  1 x output: its value depends on dimensions without a number: m, n",
        "    node 'y'; inputs none",
        "    bind them: dims={'m': ..., 'n': ...}, or --dim m=... --dim n=...",
    ]
