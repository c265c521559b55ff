"""The reader of darknet models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.darknet.recognition import WEIGHTS, is_darknet
from sateen.graph_ir.ir import Array, Graph

DARKNET = Reader(
    "a darknet model",
    is_darknet,
    Deferred("sateen.frontends.darknet.opening", "open_darknet"),
    weights=WEIGHTS.described,
)


def from_darknet(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a darknet model: its .cfg and its .weights, in either order, by path or as bytes.

    The second file is looked for beside the first if it is not given. `options` are those of `ReadOptions`; the input
    is called data, layer 3 of type route route_3. Outputs are the results of detectors, planes that are not decoded,
    and of the last layer. The second result holds the data of the graph's parameters by name. Raises FrontendError
    where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(DARKNET, source, weights, **options)
