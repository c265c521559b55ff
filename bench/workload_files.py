"""ONNX files of the networks that sateen.graph_ir.workloads builds, so that others read them too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sateen.graph_ir import Graph, Node, workloads
from sateen.graph_ir.ops import (
    Add,
    BatchNormalization,
    Clip,
    Concat,
    Conv,
    GlobalAveragePool,
    MatMul,
    MaxPool,
    Relu,
    Reshape,
    Softmax,
)

OPSET, IR_VERSION = 17, 8

NETWORKS: dict[str, Callable[[], Graph]] = {
    "mobilenet": workloads.mobilenet,
    "resnet18": workloads.resnet,
    "resnet50": lambda: workloads.resnet(50),
    "squeezenet": workloads.squeezenet,
    "vgg16": workloads.vgg,
}
UNSEEN: dict[str, Callable[[], Graph]] = {
    "googlenet": workloads.googlenet,
    "resnet34": lambda: workloads.resnet(34),
    "resnet50_160": lambda: workloads.resnet(50, image=160),
    "mobilenet_192": lambda: workloads.mobilenet(image=192),
    "squeezenet_288": lambda: workloads.squeezenet(image=288),
}
"""Networks and sizes of input that no estimate was fitted to."""


def network_file(name: str, folder: Path, models: Path | None = None) -> Path:
    """The first file of `models` whose name begins with `name`; without one, a workload written to `folder`."""
    if models is not None and (found := sorted(models.glob(f"{name}*.onnx"))):
        return found[0]
    path = folder / f"{name}.onnx"
    if not path.exists():
        write_onnx(NETWORKS[name](), path)
    return path


def unseen_files(folder: Path) -> Path:
    """Write the networks of UNSEEN to a folder; the folder."""
    for name, network in UNSEEN.items():
        write_onnx(network(), folder / f"{name}.onnx")
    return folder


def chain_file(nodes: int, folder: Path) -> Path:
    """A row of element-wise nodes and softmaxes in turn, no two of which can be one kernel."""
    names = [f"v{i}" for i in range(nodes + 1)]
    steps = [
        helper.make_node(("Tanh", "Softmax")[i % 2], [before], [after])
        for i, (before, after) in enumerate(pairwise(names))
    ]
    return _row_file(steps, [], (4, 16), (4, 16), folder / "chain.onnx")


def products_file(products: int, folder: Path) -> Path:
    """A row of products with constant matrices, each of another shape."""
    random = np.random.default_rng(0)
    widths = range(16, 17 + products)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape, np.float32) / shape[0], f"w{i}")
        for i, shape in enumerate(pairwise(widths))
    ]
    steps = [helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(products)]
    return _row_file(steps, weights, (8, widths[0]), (8, widths[-1]), folder / "products.onnx")


def _row_file(
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
    given: tuple[int, int],
    made: tuple[int, int],
    path: Path,
) -> Path:
    """Nodes one after the other, from the first one's first input to the last one's output."""
    first, last = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in ((nodes[0].input[0], given), (nodes[-1].output[0], made))
    )
    proto = helper.make_graph(nodes, path.stem, [first], [last], weights)
    opsets = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION), str(path))
    return path


def write_onnx(graph: Graph, path: Path) -> None:
    """Write a network of float32 and the operators below."""
    constants: dict[str, onnx.TensorProto] = {
        v.name: numpy_helper.from_array(np.asarray(a), v.name) for v, a in graph.parameters.items()
    }
    nodes = [_node(node, constants) for node in graph.nodes]
    inputs, outputs = (
        [helper.make_tensor_value_info(v.name, TensorProto.FLOAT, v.type.static_shape) for v in values]
        for values in (graph.inputs, graph.outputs)
    )
    proto = helper.make_graph(nodes, graph.name, inputs, outputs, list(constants.values()))
    opsets = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION), str(path))


def _node(node: Node, constants: dict[str, onnx.TensorProto]) -> onnx.NodeProto:
    names = ["" if v is None else v.name for v in node.inputs]
    attributes: dict[str, Any] = {}
    match node.op:
        case Conv(strides=strides, pads=pads, dilations=dilations, groups=groups):
            kind, attributes = "Conv", {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
        case MaxPool(kernel=kernel, strides=strides, pads=pads, ceil_mode=ceil_mode):
            attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": int(ceil_mode)}
            kind = "MaxPool"
        case BatchNormalization(epsilon=epsilon):
            kind, attributes = "BatchNormalization", {"epsilon": epsilon}
        case Clip(low=low, high=high):
            kind = "Clip"
            for limit, value in (("low", low), ("high", high)):
                names.append("" if value is None else f"{node.outputs[0].name}_{limit}")
                if value is not None:
                    constants[names[-1]] = numpy_helper.from_array(np.array(value, np.float32), names[-1])
        case Reshape(shape=shape):
            kind, name = "Reshape", f"{node.outputs[0].name}_shape"
            constants[name] = numpy_helper.from_array(np.array(shape, np.int64), name)
            names.append(name)
        case Concat(axis=axis) | Softmax(axis=axis):
            kind, attributes = type(node.op).__name__, {"axis": axis}
        case Relu() | Add() | MatMul() | GlobalAveragePool():
            kind = type(node.op).__name__
        case _:
            raise NotImplementedError(f"no ONNX form of {node.op} is written here")
    while names and not names[-1]:
        names.pop()
    told = {name: value for name, value in attributes.items() if value != ()}  # ONNX has no empty attributes
    return helper.make_node(kind, names, [v.name for v in node.outputs], **told)
