"""Malformed networks and pipelines are refused, with the layer at fault."""

from contextlib import suppress

import numpy as np
import pytest

from sateen.frontends import check, from_coreml
from sateen.frontends.core.refusals import END
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

RELU = schema.Nothing()


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([("x", "y"), ("x", "y")], "layer 'y': expected a new name of its output, found 'y' again"),
        ([("z", "y")], "layer 'y': expected the blob 'z', which nothing gives"),
        ([("b", "a"), ("a", "b"), ("a", "y")], "layer 'a' depends on itself, through a cycle of nodes"),
        ([("x", "x")], "layer 'x': expected a new name of its output, found 'x' again"),
    ],
)
def test_names_that_do_not_fit_are_refused(coreml, layers, message):
    made = [coreml.layer("activation", given, gives, ReLU=RELU) for given, gives in layers]
    with pytest.raises(FrontendError) as caught:
        from_coreml(coreml.model(made, [coreml.array("x", 3)], [coreml.array("y", 3)]).SerializeToString())
    assert str(caught.value).splitlines()[0] == message


@pytest.mark.parametrize("name", ["", "\x1b[31m", "x" * 600])
def test_names_of_features_that_cannot_be_printed_are_refused(coreml, name):
    made = coreml.model([coreml.layer("softmax", name, "y")], [coreml.array(name, 3)], [coreml.array("y", 3)])
    with pytest.raises(FrontendError, match="expected names of features as printable text of 1 to 512 characters"):
        from_coreml(made.SerializeToString())


def test_an_output_that_nothing_gives_is_refused(coreml):
    made = coreml.model([coreml.layer("softmax", "x", "y")], [coreml.array("x", 3)], [coreml.array("z", 3)])
    with pytest.raises(FrontendError, match="output 'z': expected the blob 'z', which no layer gives"):
        from_coreml(made.SerializeToString())


def test_a_layer_without_its_input_is_a_gap(coreml):
    made = coreml.model([coreml.layer("softmax", "", "y")], [coreml.array("x", 3)], [coreml.array("y", 3)])
    assert check(made.SerializeToString()).gaps[0].reason == "expected input 0 (0), found none"


def _pipeline(*models):
    made = schema.Model(specificationVersion=1)
    made.description.input.extend(models[0].description.input)
    made.description.output.extend(models[-1].description.output)
    made.pipeline.models.extend(models)
    made.pipeline.names.extend(["first", "second"][: len(models)])
    return made


def test_a_pipeline_connects_features_and_keeps_inner_names_apart(coreml):
    double = [coreml.layer("multiply", "x", "h", alpha=2), coreml.layer("add", "h", "y", alpha=1)]
    square = [coreml.layer("multiply", "y y", "h"), coreml.layer("add", "h", "z", alpha=0.5)]
    made = _pipeline(
        coreml.model(double, [coreml.array("x", 2)], [coreml.array("y", 2)]),
        coreml.model(square, [coreml.array("y", 2)], [coreml.array("z", 2)]),
    )
    assert coreml.results(made, {"x": [1, 2]})["z"].tolist() == [9.5, 25.5]


def test_a_model_of_a_pipeline_of_another_kind_is_a_gap(coreml):
    first = coreml.model([coreml.layer("softmax", "x", "y")], [coreml.array("x", 2)], [coreml.array("y", 2)])
    second = schema.Model(specificationVersion=1)
    second.description.input.add(name="y")
    second.description.output.append(coreml.array("z", 2))
    made = _pipeline(first, second)
    (gap,) = check(made.SerializeToString()).gaps
    assert (gap.node, gap.help) == ("second", END)
    assert list(coreml.results(made, {"x": [0, 0]}, outputs=["y"])) == ["y"]


def test_damaged_models_are_refused_or_read_but_nothing_else(coreml):
    layers = [
        coreml.layer(
            "convolution", "x", "c", outputChannels=2, kernelChannels=1, kernelSize=[2, 2], weights=np.ones(8)
        ),
        coreml.layer("pooling", "c", "p", kernelSize=[2, 2], stride=[1, 2]),
        coreml.layer("flatten", "p", "f", mode=1),
        coreml.layer("innerProduct", "f", "i", inputChannels=8, outputChannels=3, weights=np.ones(24)),
        coreml.layer("softmax", "i", "y"),
    ]
    seed = coreml.model(layers, [coreml.array("x", 1, 4, 6)], [coreml.array("y", 3)]).SerializeToString()
    random = np.random.default_rng(0)
    for _ in range(200):
        data = bytearray(seed)
        for place in random.integers(0, len(data), random.integers(1, 4)):
            data[place] = random.integers(0, 256)
        with suppress(FrontendError):
            check(bytes(data[: random.integers(len(data) // 2, len(data) + 1)]))


def test_nested_pipelines_and_branches_are_read(coreml):
    """Deeper ones than these are refused by Protocol Buffers, which nests messages 100 deep."""
    made = coreml.model([coreml.layer("softmax", "x", "y")], [coreml.array("x", 2)], [coreml.array("y", 2)])
    block = schema.Block(outputs=["x"])
    for level in range(10):
        made = _pipeline(made)
        operation = coreml.operation("cond", [coreml.tensor(f"y{level}", 11, 2)], pred=coreml.value(True, 1))
        operation.blocks.extend([block, schema.Block(outputs=["x"])])
        block = schema.Block(outputs=[f"y{level}"], operations=[operation])
    assert coreml.results(made, {"x": [1, 1]})["y"].tolist() == [0.5, 0.5]
    program = coreml.program(block.operations, [coreml.tensor("x", 11, 2)], block.outputs)
    assert coreml.results(program, {"x": [3, 4]})["y9"].tolist() == [3, 4]
