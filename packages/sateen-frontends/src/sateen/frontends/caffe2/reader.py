"""The reader of Caffe2 models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.caffe2.recognition import INIT, is_net
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.graph_ir.ir import Array, Graph

CAFFE2 = Reader(
    "a Caffe2 model", is_net, Deferred("sateen.frontends.caffe2.opening", "open_caffe2"), weights=INIT.described
)


def from_caffe2(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a Caffe2 model: its predict net and its init net, in either order, by path or as bytes.

    The second file is looked for beside the first if it is not given. `options` are those of `ReadOptions`; `shapes`
    gives those of the inputs, since nets declare none. The second result holds the data of the graph's parameters
    by name. Raises FrontendError where the model is malformed or has operators that can't be compiled, naming all of
    them.
    """
    return read_as(CAFFE2, source, weights, **options)
