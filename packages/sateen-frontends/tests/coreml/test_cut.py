"""Networks are cut at inner blobs, whose types the layers in front decide."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.frontends import from_coreml
from sateen.frontends.command.main import main
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

RELU = schema.Nothing()


def _chain(coreml, first="activation", **parameters):
    """A layer, twice its result, and one more of that."""
    layers = [
        coreml.layer(first, "x", "h", **parameters),
        coreml.layer("multiply", "h", "m", alpha=2),
        coreml.layer("add", "m", "y", alpha=1),
    ]
    return coreml.model(layers, [coreml.array("x", 3)], [coreml.array("y", 3)])


def test_a_network_begins_at_a_blob_of_the_type_that_the_layers_in_front_give(coreml):
    found = coreml.results(_chain(coreml, ReLU=RELU), {"h": np.arange(3).reshape(1, 3, 1, 1)}, inputs=["h"])
    assert {name: data.tolist() for name, data in found.items()} == {"y": [1, 3, 5]}


def test_open_dimensions_in_front_stay_open(coreml):
    made = coreml.model(
        [coreml.layer("activation", "x", "h", ReLU=RELU), coreml.layer("copy", "h", "y")],
        [coreml.array("x", 3)], [coreml.array("y", 3)], exact=True,
    )  # fmt: skip
    sizes = made.description.input[0].type.multiArrayType.shapeRange.sizeRanges.add()
    sizes.lowerBound, sizes.upperBound = 1, -1
    graph, _ = from_coreml(made.SerializeToString(), inputs=["h"])
    assert [str(v.type) for v in graph.inputs] == ["float32[?x.0]"]
    graph, _ = from_coreml(made.SerializeToString(), inputs=["h"], dims={"x.0": 4})
    assert [str(v.type) for v in graph.inputs] == ["float32[4]"]


def test_a_blob_behind_what_cannot_be_read_needs_a_shape(coreml):
    made = _chain(coreml, "custom", className="mine").SerializeToString()
    with pytest.raises(FrontendError, match=r"input 'h' \(float32\): the model declares no shape"):
        from_coreml(made, inputs=["h"])
    graph, _ = from_coreml(made, inputs=["h"], shapes={"h": (1, 3, 1, 1)})
    assert [str(v.type) for v in graph.inputs] == ["float32[1, 3, 1, 1]"]


def test_an_unknown_blob_is_named(coreml):
    with pytest.raises(FrontendError, match=r"inputs \(--from\) names 'g'; the model's values are"):
        from_coreml(_chain(coreml, ReLU=RELU).SerializeToString(), inputs=["g"])


def test_the_command_cuts_networks_and_pipelines(coreml, tmp_path, capsys):
    network, path, out = _chain(coreml, ReLU=RELU), tmp_path / "net.mlmodel", tmp_path / "net.sateen"
    path.write_bytes(network.SerializeToString())
    assert main(["compile", str(path), "--from", "h", "--to", "m", "-o", str(out), "--no-cache"]) == 0
    pipeline = schema.Model(specificationVersion=1)
    pipeline.description.input.extend(network.description.input)
    pipeline.description.output.extend(network.description.output)
    pipeline.pipeline.models.append(network)
    path.write_bytes(pipeline.SerializeToString())
    assert main(["check", str(path), "--from", "h"]) == 0
    assert "all nodes can be compiled" in capsys.readouterr().out
