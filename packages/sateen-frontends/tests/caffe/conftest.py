"""Small Caffe models: text, and weights by the messages of the reader's own schema."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.frontends.caffe.schemas.weights_pb2 import Weights
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]


def _weights(**layers: Sequence[Array]) -> bytes:
    """The bytes of a .caffemodel with these blobs of layers."""
    proto = Weights(name="net")
    for name, arrays in layers.items():
        layer = proto.layer.add(name=name)
        for array in arrays:
            blob = layer.blobs.add(data=[array.astype("<f4").tobytes()])
            blob.shape.dim.extend(array.shape)
    if not layers:
        proto.layer.add(name="none")
    return proto.SerializeToString()


@pytest.fixture
def weights() -> Callable[..., bytes]:
    """weights(layer=[array, …], …): the bytes of a .caffemodel."""
    return _weights


@pytest.fixture
def run() -> Callable[..., dict[str, Array]]:
    """run(text, inputs, layer=[array, …], …): what a network gives."""

    def run_network(text: str, inputs: Mapping[str, Array], **layers: Sequence[Array]) -> dict[str, Array]:
        heads = "".join(
            f'input: "{name}" input_shape {{ {" ".join(f"dim: {n}" for n in array.shape)} }}\n'
            for name, array in inputs.items()
        )
        graph, params = frontends.from_caffe((heads + text).encode(), _weights(**layers))
        found = runtime.load(build(graph, params=params)).run(dict(inputs))
        return {name: array.numpy() for name, array in found.items()}

    return run_network
