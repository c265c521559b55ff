"""Small darknet models: sections as text, and numbers behind a version."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]


def _weights(*arrays: Array, version: Sequence[int] = (0, 2, 5)) -> bytes:
    return struct.pack("<iiiq", *version, 64) + b"".join(np.float32(array).tobytes() for array in arrays)


@pytest.fixture
def weights() -> Callable[..., bytes]:
    """weights(array, …): the bytes of a .weights."""
    return _weights


@pytest.fixture
def run() -> Callable[..., dict[str, Array]]:
    """run(sections, picture, array, …): what a network gives for a picture [1, C, H, W]."""

    def run_network(sections: str, picture: Array, *arrays: Array) -> dict[str, Array]:
        _, channels, height, width = picture.shape
        net = f"[net]\nchannels={channels}\nheight={height}\nwidth={width}\n"
        graph, params = frontends.from_darknet((net + sections).encode(), _weights(*arrays))
        found = runtime.load(build(graph, params=params)).run({"data": np.float32(picture)})
        return {name: array.numpy() for name, array in found.items()}

    return run_network
