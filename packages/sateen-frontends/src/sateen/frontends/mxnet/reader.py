"""The reader of MXNet models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.mxnet.recognition import ARRAYS, is_mxnet
from sateen.graph_ir.ir import Array, Graph

MXNET = Reader(
    "an MXNet model", is_mxnet, Deferred("sateen.frontends.mxnet.opening", "open_mxnet"), weights=ARRAYS.described
)


def from_mxnet(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read an MXNet model: its symbol (`-symbol.json`) or its arrays (`.params`), with the options of `ReadOptions`.

    The other file is `weights`, or is found beside the first by name. MXNet rarely stores shapes of inputs: give them
    by `shapes`. The second result holds the data of the graph's parameters by name. Raises FrontendError where a file
    is malformed, the two don't belong together, or the network has nodes that can't be compiled, naming all of them.
    """
    return read_as(MXNET, source, weights, **options)
