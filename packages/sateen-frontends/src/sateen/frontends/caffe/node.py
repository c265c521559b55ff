"""The converter's view of a layer: bottoms, parameters, blobs, and tops to give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sateen.frontends.caffe.network import Layer
from sateen.frontends.caffe.weights import Blob
from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


class CaffeNode(ModelNode):
    """One layer while it is converted; `blobs` are its weights, in the file's order."""

    called = "bottoms"

    def __init__(self, call: Call, layer: Layer, parameters: Mapping[str, Any], blobs: Sequence[Blob]) -> None:
        super().__init__(call, parameters)
        self.layer = layer
        self.blobs = blobs

    def weight(self, index: int, *shape: int) -> Value:
        """A blob as a parameter, which is called LAYER.INDEX. Raises FrontendError if it is missing or of another
        shape."""
        return self._emitter.value(self.blob(index, *shape).data.reshape(shape), f"{self.layer.name}.{index}")

    def blob(self, index: int, *shape: int) -> Blob:
        """A blob that has to have this shape."""
        if index >= len(self.blobs):
            raise FrontendError(f"expected blob {index} of its weights, found {len(self.blobs) or 'no'} blobs")
        blob = self.blobs[index]
        if not blob.has(shape):
            raise FrontendError(f"expected blob {index} of shape {list(shape)}, found {list(blob.shape)}")
        return blob


Converter = ConverterOf[CaffeNode]
