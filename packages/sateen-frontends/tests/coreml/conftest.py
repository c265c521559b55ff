"""Small CoreML models, written with the schema of the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sateen.frontends import from_coreml
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.graph_ir.judge import interpret

FLOAT32, DOUBLE, INT32 = 65568, 65600, 131104
"""Values of ArrayDataType."""
BOOL, TEXT, HALF, FLOAT, INT = 1, 2, 10, 11, 23
"""Values of DataType."""


def array(name: str, *shape: int, dtype: int = FLOAT32) -> Any:
    feature = schema.FeatureDescription(name=name)
    feature.type.multiArrayType.shape.extend(shape)
    feature.type.multiArrayType.dataType = dtype
    return feature


def picture(name: str, height: int, width: int, colours: int) -> Any:
    feature = schema.FeatureDescription(name=name)
    feature.type.imageType.height, feature.type.imageType.width = height, width
    feature.type.imageType.colorSpace = colours
    return feature


def layer(kind: str, inputs: str, outputs: str, name: str = "", **parameters: Any) -> Any:
    """A layer with blobs as words; parameters are plain fields, or lists of numbers of weights."""
    made = schema.Layer(name=name or outputs.partition(" ")[0], input=inputs.split(), output=outputs.split())
    given = getattr(made, kind)
    given.SetInParent()
    for field, value in parameters.items():
        descriptor = type(given).DESCRIPTOR.fields_by_name[field]
        if descriptor.message_type is not None and field == "activations":
            getattr(given, field).extend(value)
        elif descriptor.message_type is not None and isinstance(value, (list, np.ndarray)):
            getattr(given, field).floatValue.extend(np.ravel(value).tolist())
        elif descriptor.message_type is not None:
            getattr(given, field).CopyFrom(value)
        elif isinstance(value, (list, tuple)):
            getattr(given, field).extend(value)
        else:
            setattr(given, field, value)
    return made


def model(
    layers: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    *,
    exact: bool = False,
    kind: str = "neuralNetwork",
) -> Any:
    """A model of a network; `exact`: blobs have the shapes of the inputs."""
    made = schema.Model(specificationVersion=4 if exact else 1)
    made.description.input.extend(inputs)
    made.description.output.extend(outputs)
    network = getattr(made, kind)
    network.SetInParent()
    network.layers.extend(layers)
    network.arrayInputShapeMapping = int(exact)
    network.imageInputShapeMapping = int(exact)
    return made


def results(made: Any, data: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """The outputs of a model by the definitions of its operators."""
    graph, _ = from_coreml(made.SerializeToString(), **options)
    given = {v.name: np.asarray(data[v.name], v.type.dtype.numpy) for v in graph.inputs}
    found = interpret(graph, given)
    return {value.name: found[value.name] for value in graph.outputs}


def tensor(name: str, dtype: int, *shape: int) -> Any:
    """A named tensor type; an extent of -1 is unknown."""
    made = schema.NamedValueType(name=name)
    made.type.tensorType.dataType, made.type.tensorType.rank = dtype, len(shape)
    for extent in shape:
        dimension = made.type.tensorType.dimensions.add()
        if extent < 0:
            dimension.unknown.SetInParent()
        else:
            dimension.constant.size = extent
    return made


def value(data: Any, dtype: int = FLOAT) -> Any:
    """A constant: text, or numbers of a type."""
    if isinstance(data, str):
        made = schema.Value(type=tensor("", TEXT).type)
        made.immediateValue.tensor.strings.values.append(data)
        return made
    numbers = np.asarray(data)
    made = schema.Value(type=tensor("", dtype, *numbers.shape).type)
    field = {FLOAT: "floats", INT: "ints", BOOL: "bools"}.get(dtype, "bytes")
    held = getattr(made.immediateValue.tensor, field)
    if field == "bytes":
        held.values = numbers.tobytes()
    else:
        held.values.extend(numbers.reshape(-1).tolist())
    return made


def operation(kind: str, results: Sequence[Any], **arguments: Any) -> Any:
    """An operation; arguments are names, constants, or lists of them."""
    made = schema.Operation(type=kind, outputs=results)
    for name, given in arguments.items():
        for one in given if isinstance(given, list) else [given]:
            bound = {"name": one} if isinstance(one, str) else {"value": one}
            made.inputs[name].arguments.add(**bound)
    return made


def program(operations: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str]) -> Any:
    """A model of an ML program."""
    made = schema.Model(specificationVersion=7)
    function = made.mlProgram.functions["main"]
    function.inputs.extend(inputs)
    function.opset = "CoreML6"
    block = function.block_specializations["CoreML6"]
    block.operations.extend(operations)
    block.outputs.extend(outputs)
    return made


@pytest.fixture
def coreml() -> SimpleNamespace:
    """What writes and runs models: array, picture, layer, model; tensor, value, operation, program; results."""
    parts = (array, picture, layer, model, tensor, value, operation, program, results)
    return SimpleNamespace(**{part.__name__: part for part in parts})


@pytest.fixture
def relu() -> Any:
    """A model of one layer."""
    return model([layer("activation", "x", "y", ReLU=schema.Nothing())], [array("x", 3)], [array("y", 3)])
