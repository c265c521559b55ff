"""The nodes that bench/operators.py measures: of each family several, with shapes of real networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
OPSET = 21
"""The operator set of the nodes: the newest of which onnxruntime implements every one."""
RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Operand:
    """An input of a node: data, or a constant of the network."""

    data: Array
    constant: bool = False


@dataclass(frozen=True)
class Case:
    """A network of one node. `blocked`: its data comes and goes in blocks of channels, as between convolutions."""

    family: str
    operator: str
    operands: tuple[Operand | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    blocked: bool = False
    outputs: int = 1

    @property
    def title(self) -> str:
        """The operator, the shape of its data, and other distinguishing attributes."""
        operands = " ".join(_described(o) for o in self.operands if o is not None)
        named = (f"{key} {value}" for key, value in self.attributes.items())
        return " ".join([self.operator, operands, *named, *(["blocked"] if self.blocked else [])])

    def model(self) -> onnx.ModelProto:
        """The network: inputs in0, in1, …, outputs out0, out1, …"""
        names = [f"in{i}" if o is not None else "" for i, o in enumerate(self.operands)]
        given = [(n, o) for n, o in zip(names, self.operands, strict=True) if o is not None]
        outputs = [f"out{i}" for i in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, outputs, **self.attributes)],
            self.operator.lower(),
            [_info(n, o.data) for n, o in given if not o.constant],
            [helper.make_empty_tensor_value_info(n) for n in outputs],
            [numpy_helper.from_array(o.data, n) for n, o in given if o.constant],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)

    def inputs(self) -> dict[str, Array]:
        """The inputs at run time."""
        return {f"in{i}": o.data for i, o in enumerate(self.operands) if o is not None and not o.constant}


def _described(operand: Operand) -> str:
    """Few round numbers as they are, other data by its shape."""
    values = operand.data.reshape(-1)
    if operand.constant and values.size <= 8 and np.all(values == np.round(values, 1)):
        numbers = [f"{v:g}" for v in values.tolist()]
        return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"
    return "x".join(map(str, operand.data.shape)) or "scalar"


def _info(name: str, data: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)


def data(*shape: int) -> Operand:
    """Normal numbers."""
    return Operand(RANDOM.standard_normal(shape, np.float32))


def weight(*shape: int) -> Operand:
    """Small normal numbers that are constants of the network."""
    return Operand(RANDOM.standard_normal(shape, np.float32) * np.float32(0.05), constant=True)


def positive(*shape: int, constant: bool = False) -> Operand:
    """Numbers between 0.5 and 2."""
    return Operand(RANDOM.uniform(0.5, 2.0, shape).astype(np.float32), constant)


def places(extent: int, *shape: int) -> Operand:
    """Indices below an extent, at run time."""
    return Operand(RANDOM.integers(0, extent, shape))


def number(value: float) -> Operand:
    return Operand(np.array(value, np.float32), constant=True)


def integers(*values: int) -> Operand:
    return Operand(np.array(values, np.int64), constant=True)


def cases() -> list[Case]:
    """All of them."""
    found: list[Case] = []

    def add(family: str, operator: str, *operands: Operand | None, blocked: bool = False, **attributes: Any) -> None:
        outputs = attributes.pop("outputs", 1)
        found.append(Case(family, operator, operands, attributes, blocked, outputs))

    _add_element_wise(add)
    _add_reductions(add)
    _add_windows(add)
    _add_movements(add)
    _add_convolutions(add)
    for operator, gates, batch, n in (
        ("LSTM", 4, 1, 256), ("GRU", 3, 1, 256), ("LSTM", 4, 16, 256), ("GRU", 3, 16, 256), ("LSTM", 4, 1, 512),
    ):  # fmt: skip
        weights = (weight(1, gates * n, n), weight(1, gates * n, n), weight(1, 2 * gates * n))
        add("recurrent", operator, data(64, batch, n), *weights, hidden_size=n)
    return found


def _add_element_wise(add: Any) -> None:
    for shape in ((1, 128, 3072), (1, 64, 56, 56)):
        for operator in ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Gelu", "HardSwish", "Sqrt", "Softplus", "Mish"):
            add("element-wise", operator, positive(*shape) if operator == "Sqrt" else data(*shape))
        add("element-wise", "Clip", data(*shape), number(0), number(6))
        add("element-wise", "Pow", positive(*shape), number(2))
        add("element-wise", "Pow", positive(*shape), number(0.5))
        add("element-wise", "Pow", positive(*shape), number(3))
    add("element-wise", "Gelu", data(1, 128, 3072), approximate="tanh")
    add("element-wise", "Log", positive(1, 1000))
    add("element-wise", "LeakyRelu", data(1, 256, 56, 56), alpha=0.1)
    add("element-wise", "Elu", data(1, 64, 56, 56))
    add("element-wise", "Cast", data(1, 128, 768), to=onnx.TensorProto.INT32)
    add("element-wise", "Cast", data(1, 128, 768), to=onnx.TensorProto.FLOAT16)
    add("element-wise", "Cast", places(1000, 1, 128, 768), to=onnx.TensorProto.FLOAT)
    add("element-wise", "Sin", data(1, 128, 768))
    add("element-wise", "Relu", data(8, 64, 56, 56), blocked=True)

    add("broadcast", "Add", data(1, 64, 56, 56), data(1, 64, 56, 56))
    add("broadcast", "Mul", data(1, 64, 56, 56), data(1, 64, 1, 1))
    add("broadcast", "Mul", data(1, 512, 14, 14), data(1, 512, 1, 1))
    add("broadcast", "Add", data(1, 64, 56, 56), data(1, 64, 1, 1), blocked=True)
    add("broadcast", "Add", data(1, 256, 56, 56), data(1, 256, 56, 56), blocked=True)
    add("broadcast", "Add", data(1, 128, 768), weight(768))
    add("broadcast", "Div", data(1, 12, 128, 128), number(8))
    add("broadcast", "Add", data(1, 12, 128, 128), data(1, 1, 1, 128))
    add("broadcast", "Sub", data(1, 128, 768), data(1, 128, 1))
    add("broadcast", "Pow", positive(1, 128, 768), positive(1, 128, 768))
    add("broadcast", "Max", data(1, 128, 768), data(1, 128, 768))
    add("broadcast", "Greater", data(1, 128, 768), data(1, 128, 768))
    add("broadcast", "Equal", places(100, 1, 128, 128), integers(7))
    add("broadcast", "Where", Operand(RANDOM.random((1, 1, 128, 128)) > 0.5), data(1, 12, 128, 128), number(-1e9))
    add("broadcast", "PRelu", data(1, 64, 56, 56), weight(64, 1, 1))
    add("broadcast", "Mod", places(1000, 1, 128, 768), integers(7))


def _add_reductions(add: Any) -> None:
    image, tokens = (1, 512, 14, 14), (1, 128, 768)
    for operator in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"):
        add("reduce", operator, data(*tokens), integers(2))
        add("reduce", operator, data(*tokens), integers(1))
    for operator in ("ReduceMean", "ReduceMax"):
        add("reduce", operator, data(*image), integers(2, 3))
        add("reduce", operator, data(*image), integers(1))
        add("reduce", operator, data(*tokens), integers(0, 1, 2))
    add("reduce", "ReduceMean", data(1, 64, 56, 56), integers(2, 3), blocked=True)
    add("reduce", "ReduceLogSumExp", data(*tokens), integers(2))
    add("reduce", "ReduceProd", data(*tokens), integers(2))
    for axis, shape in ((1, (1, 1000)), (2, tokens), (1, tokens), (1, (1, 21, 224, 224))):
        add("reduce", "ArgMax", data(*shape), axis=axis)

    add("ordered", "CumSum", data(*tokens), integers(1))
    add("ordered", "CumSum", data(*tokens), integers(2))
    add("ordered", "CumSum", data(1, 1000), integers(1))
    add("ordered", "TopK", data(1, 1000), integers(5), outputs=2)
    add("ordered", "TopK", data(128, 1000), integers(5), outputs=2)
    add("ordered", "TopK", data(1, 8400), integers(300), outputs=2)
    add("ordered", "TopK", data(1, 64, 256), integers(256), outputs=2)

    for shape, axis in (((12, 128, 128), -1), ((1, 1000), -1), ((1, 21, 56, 56), 1), ((8, 1000), -1)):
        add("softmax", "Softmax", data(*shape), axis=axis)
    add("softmax", "LogSoftmax", data(8, 1000), axis=-1)
    add("softmax", "LogSoftmax", data(128, 30522), axis=-1)

    add("norm", "LayerNormalization", data(*tokens), weight(768), weight(768))
    add("norm", "LayerNormalization", data(1, 3136, 96), weight(96), weight(96))
    for blocked in (False, True):
        add("norm", "InstanceNormalization", data(1, 64, 56, 56), weight(64), weight(64), blocked=blocked)
        channels = [weight(64) for _ in range(3)]
        variance = positive(64, constant=True)
        add("norm", "BatchNormalization", data(1, 64, 56, 56), *channels, variance, blocked=blocked)
    add("norm", "GroupNormalization", data(1, 64, 56, 56), weight(64), weight(64), num_groups=8)
    add("norm", "LRN", data(1, 64, 56, 56), size=5)
    add("norm", "LpNormalization", data(*tokens), axis=-1)


def _add_windows(add: Any) -> None:
    for blocked in (False, True):
        image = data(1, 64, 112, 112)
        add("pool", "MaxPool", image, blocked=blocked, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        add("pool", "MaxPool", data(1, 64, 56, 56), blocked=blocked, kernel_shape=[2, 2], strides=[2, 2])
        same = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}
        add("pool", "MaxPool", data(1, 256, 28, 28), blocked=blocked, **same)
        add("pool", "AveragePool", data(1, 192, 35, 35), blocked=blocked, **same)
        add("pool", "AveragePool", data(1, 128, 56, 56), blocked=blocked, kernel_shape=[2, 2], strides=[2, 2])
        add("pool", "GlobalAveragePool", data(1, 512, 14, 14), blocked=blocked)
        add("pool", "GlobalAveragePool", data(8, 512, 7, 7), blocked=blocked)
        add("pool", "GlobalMaxPool", data(1, 64, 56, 56), blocked=blocked)
    add("pool", "MaxPool", data(1, 1, 28, 28), kernel_shape=[2, 2], strides=[2, 2])

    twice = Operand(np.array([1, 1, 2, 2], np.float32), constant=True)
    larger = Operand(np.array([1, 1, 1.5, 1.5], np.float32), constant=True)
    for blocked in (False, True):
        for mode in ("nearest", "linear", "cubic"):
            add("resize", "Resize", data(1, 64, 28, 28), None, twice, mode=mode, blocked=blocked)
    add("resize", "Resize", data(1, 3, 224, 224), None, larger, mode="linear")
    add("resize", "Resize", data(1, 3, 224, 224), None, larger, mode="nearest")


def _add_movements(add: Any) -> None:
    for shape, order in (
        ((1, 64, 56, 56), [0, 2, 3, 1]), ((1, 56, 56, 64), [0, 3, 1, 2]), ((1, 3, 224, 224), [0, 2, 3, 1]),
        ((1, 224, 224, 3), [0, 3, 1, 2]), ((1, 128, 12, 64), [0, 2, 1, 3]), ((1, 12, 128, 64), [0, 1, 3, 2]),
        ((1, 128, 12, 64), [0, 2, 3, 1]), ((768, 3072), [1, 0]), ((8, 1000), [1, 0]),
    ):  # fmt: skip
        add("shape", "Transpose", data(*shape), perm=order)
    for blocked in (False, True):
        add("shape", "Concat", data(1, 64, 56, 56), data(1, 64, 56, 56), axis=1, blocked=blocked)
    add("shape", "Concat", data(1, 128, 384), data(1, 128, 384), axis=2)
    add("shape", "Concat", data(1, 64, 28, 28), data(1, 96, 28, 28), data(1, 32, 28, 28), axis=1)
    add("shape", "Split", data(1, 128, 2304), integers(768, 768, 768), axis=2, outputs=3)
    add("shape", "Split", data(1, 64, 56, 56), integers(32, 32), axis=1, outputs=2)
    add("shape", "Slice", data(1, 64, 56, 56), integers(0, 0), integers(56, 56), integers(2, 3), integers(2, 2))
    add("shape", "Slice", data(1, 128, 768), integers(64), integers(128), integers(1))
    add("shape", "Pad", data(1, 64, 56, 56), integers(0, 0, 1, 1, 0, 0, 1, 1))
    add("shape", "Pad", data(1, 32, 112, 112), integers(0, 0, 3, 3, 0, 0, 3, 3), mode="reflect")
    add("shape", "Tile", data(1, 64, 56), integers(1, 1, 16))
    add("shape", "Expand", data(1, 64, 1, 1), integers(1, 64, 56, 56))
    add("shape", "DepthToSpace", data(1, 64, 56, 56), blocksize=2)
    add("shape", "SpaceToDepth", data(1, 3, 224, 224), blocksize=2)
    add("shape", "Trilu", data(12, 128, 128), upper=0)
    values = Operand(np.array([0, 1], np.float32), constant=True)
    add("shape", "OneHot", places(1000, 128), Operand(np.array(1000), constant=True), values)

    add("gather", "Gather", weight(30522, 768), places(30522, 1, 128))
    add("gather", "Gather", data(1, 128, 768), places(768, 64), axis=2)
    add("gather", "GatherElements", data(128, 768), places(768, 128, 768), axis=1)
    add("gather", "GatherElements", data(128, 768), places(128, 128, 768), axis=0)
    add("gather", "GatherND", data(64, 64, 32), places(64, 1024, 2))
    add("gather", "ScatterElements", data(128, 768), places(768, 128, 64), data(128, 64), axis=1)
    add("gather", "ScatterND", data(128, 768), places(128, 32, 1), data(32, 768))


def _add_convolutions(add: Any) -> None:
    def conv(image: Sequence[int], kernel: Sequence[int], blocked: bool = False, **attributes: Any) -> None:
        add("conv", "Conv", data(*image), weight(*kernel), weight(kernel[0]), blocked=blocked, **attributes)

    same: dict[str, Any] = {"pads": [1, 1, 1, 1]}
    half = {**same, "strides": [2, 2]}
    conv((1, 64, 56, 56), (64, 64, 3, 3), True, **same)
    conv((1, 3, 224, 224), (64, 3, 7, 7), True, pads=[3, 3, 3, 3], strides=[2, 2])
    conv((1, 128, 28, 28), (256, 128, 3, 3), True, **half)
    conv((1, 256, 14, 14), (1024, 256, 1, 1), True)
    conv((1, 64, 28, 28), (64, 64, 3, 3), True, pads=[2, 2, 2, 2], dilations=[2, 2])
    conv((1, 32, 112, 112), (32, 1, 3, 3), True, group=32, **same)
    conv((1, 512, 14, 14), (512, 1, 3, 3), True, group=512, **same)
    conv((1, 144, 56, 56), (144, 1, 5, 5), True, group=144, pads=[2, 2, 2, 2], strides=[2, 2])
    conv((1, 128, 56, 56), (128, 4, 3, 3), True, group=32, **same)
    conv((1, 1, 28, 28), (8, 1, 5, 5), pads=[2, 2, 2, 2])
    conv((1, 16, 112, 112), (3, 16, 3, 3), **same)
    conv((1, 80, 3000), (384, 80, 3), True, pads=[1, 1])
    conv((1, 384, 3000), (384, 384, 3), True, pads=[1, 1], strides=[2])
    conv((1, 1, 16000), (64, 1, 10), strides=[5])
    conv((1, 16, 16, 56, 56), (32, 16, 3, 3, 3), True, pads=[1] * 6)
    conv((1, 3, 16, 112, 112), (64, 3, 3, 7, 7), True, pads=[1, 3, 3, 1, 3, 3], strides=[1, 2, 2])

    for image, kernel, blocked, attributes in (
        ((1, 64, 28, 28), (64, 32, 4, 4), True, half), ((1, 32, 56, 56), (32, 3, 4, 4), False, half),
        ((1, 64, 56, 56), (64, 64, 2, 2), True, {"strides": [2, 2]}), ((1, 56, 64, 64), (56, 1, 9, 9), False,
        {"strides": [2, 2], "pads": [4, 4, 4, 4], "output_padding": [1, 1]}), ((1, 32, 256), (32, 1, 4), False,
        {"strides": [2], "pads": [1, 1]}), ((1, 100, 1, 1), (100, 512, 4, 4), True, {}),
    ):  # fmt: skip
        outputs = weight(kernel[1])
        add("transposed conv", "ConvTranspose", data(*image), weight(*kernel), outputs, blocked=blocked, **attributes)
