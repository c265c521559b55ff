"""Models for a batch: `nox -s bench -- batched FOLDER OUT [--batch N] [--only NAME...]`.

Reads ONNX files for a batch of one and writes NAME_batchN.onnx, for `nox -s bench -- models --models OUT`. Inputs take
N items, constants of shapes that begin with 1 begin with N, and constants that index one item are repeated.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, numpy_helper

BY_ITEM = {"GatherElements": (0, 1), "GatherND": (1,)}
"""The inputs that have a part for each item, by operator, where other operators would broadcast."""


def batched(model: ModelProto, batch: int) -> ModelProto:
    """The model for a batch, in place of a batch of one.

    Raises ValueError for an input of another batch, and onnx.shape_inference.InferenceError where shapes don't fit.
    """
    graph = model.graph
    for value in graph.input:
        first = value.type.tensor_type.shape.dim[0]
        if first.dim_value != 1:
            raise ValueError(f"{graph.name}: expected a batch of one, found input {value.name} with {first.dim_value}")
        first.dim_value = batch
    del graph.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    for tensor in graph.initializer:
        if _is_shape(graph, tensor.name):
            _replace(tensor, np.concatenate([[batch], numpy_helper.to_array(tensor)[1:]]))
        elif _is_by_item(graph, tensor.name) and tensor.dims[0] == 1:
            _replace(tensor, np.repeat(numpy_helper.to_array(tensor), batch, axis=0))
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)


def _is_shape(graph: GraphProto, name: str) -> bool:
    """Whether a constant is the shape of a Reshape whose first extent is the batch's."""
    return any(node.op_type == "Reshape" and node.input[1] == name for node in graph.node)


def _is_by_item(graph: GraphProto, name: str) -> bool:
    """Whether a constant has a part for each item of the batch."""
    return any(node.input[i] == name for node in graph.node for i in BY_ITEM.get(node.op_type, ()))


def _replace(tensor: onnx.TensorProto, data: np.ndarray) -> None:
    tensor.CopyFrom(numpy_helper.from_array(data.astype(numpy_helper.to_array(tensor).dtype), tensor.name))


def main() -> None:
    """Write the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the ONNX files are")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=["resnet50_v1", "bert_base_128"])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        model = batched(onnx.load(given.folder / f"{name}.onnx"), given.batch)
        onnx.save(model, given.out / f"{name}_batch{given.batch}.onnx")


if __name__ == "__main__":
    main()
