"""The reader of Caffe models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.caffe.recognition import WEIGHTS, is_caffe
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.graph_ir.ir import Array, Graph

CAFFE = Reader(
    "a Caffe model", is_caffe, Deferred("sateen.frontends.caffe.opening", "open_caffe"), weights=WEIGHTS.described
)


def from_caffe(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a Caffe model: its .prototxt and its .caffemodel, in either order, by path or as bytes.

    The second file is looked for beside the first if it is not given. `options` are those of `ReadOptions`; a shape in
    `shapes` replaces that of the file. The second result holds the data of the graph's parameters by name. Raises
    FrontendError where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(CAFFE, source, weights, **options)
