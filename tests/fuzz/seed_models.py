"""The small models that are damaged: a network of everything, a convolution, and the one-node models of ONNX's tests.

Inputs of a backend test are bound by its own data, some or none of them, so that shapes and indices can be damaged too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from sateen.frontends import from_onnx
from sateen.runtime.errors import SateenError

MOST_BYTES = 1 << 20
"""Of a model that is damaged."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A model, and inputs that a test of ONNX gives it: their values may become initialisers."""

    name: str
    model: ModelProto
    inputs: tuple[np.ndarray, ...] = ()

    def drawn(self, rng: Random) -> ModelProto:
        """A copy of the model with none, all or all but the first of its inputs bound."""
        model = ModelProto()
        model.CopyFrom(self.model)
        first = rng.choice((0, 1, 1, len(self.inputs)))
        values = list(model.graph.input)[first : len(self.inputs)]
        for value, array in zip(values, self.inputs[first:], strict=True):
            model.graph.input.remove(value)
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        return model


def seed_models(files: list[Path]) -> list[Seed]:
    """The built-in models, those in files, and the backend tests whose inputs are tensors."""
    own = [Seed("chain", chain()), Seed("convolution", convolution())]
    return [*own, *(Seed(path.name, onnx.load(path, load_external_data=False)) for path in files), *_backend_tests()]


def _backend_tests() -> list[Seed]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases compute logarithms of negative numbers and the like
        cases = sorted(load_model_tests(kind="node"), key=lambda case: case.name)
    seeds = []
    for case in cases:
        inputs = case.data_sets[0][0] if case.model is not None and case.data_sets else ()
        tensors = all(isinstance(array, (np.ndarray, np.generic)) for array in inputs)
        if case.model is not None and inputs and tensors and case.model.ByteSize() < MOST_BYTES:
            arrays = tuple(np.asarray(array) for array in inputs)
            seeds.append(Seed(case.name, case.model, arrays if len(arrays) == len(case.model.graph.input) else ()))
    return seeds


def draw(seeds: list[Seed], rng: Random) -> ModelProto:
    """One of the models: now and then a built-in one, else any."""
    return (rng.choice(seeds[:2]) if rng.random() < 0.2 else rng.choice(seeds)).drawn(rng)


def draw_compilable(seeds: list[Seed], rng: Random) -> ModelProto:
    """One of the models that the compiler takes."""
    while True:
        model = draw(seeds, rng)
        try:
            graph, _ = from_onnx(model.SerializeToString())
        except SateenError:
            continue
        if all(value.type.is_static for value in graph.inputs):
            return model


def chain() -> ModelProto:
    """A small network: product with a bias, shape arithmetic, slices, a branch and a function."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((12, 8), np.float32), "b": np.ones(8, np.float32), "zero": np.int64(0),
        "axis": np.int64([0]), "rest": np.int64([-1]), "starts": np.int64([1]), "ends": np.int64([7]),
        "on": np.array(True),
    }  # fmt: skip
    leaf = [helper.make_empty_tensor_value_info("r")]
    then = helper.make_graph([helper.make_node("Relu", ["g"], ["r"])], "then", [], leaf)
    otherwise = helper.make_graph([helper.make_node("Identity", ["g"], ["r"])], "else", [], leaf)
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["g"], alpha=0.5),
        helper.make_node("If", ["on"], ["i"], then_branch=then, else_branch=otherwise),
        helper.make_node("Twice", ["i"], ["d"], domain="own"),
        helper.make_node("Slice", ["d", "starts", "ends", "rest"], ["l"]),
        helper.make_node("Split", ["l"], ["p", "q"], axis=1),
        helper.make_node("Sub", ["p", "q"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = helper.make_function("own", "Twice", ["a"], ["c"], [helper.make_node("Add", ["a", "a"], ["c"])], opsets[:1])
    return helper.make_model(graph, opset_imports=opsets, functions=[body], ir_version=9)


def convolution() -> ModelProto:
    """Convolution, clip and transpose, with data in the fields of its type."""
    weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        helper.make_node("Clip", ["c"], ["k"], min=0.0, max=6.0),
        helper.make_node("Transpose", ["k"], ["y"], perm=[0, 2, 3, 1]),
    ]
    graph = helper.make_graph(
        nodes, "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.ravel().tolist())],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)
