"""The converter's view of a layer: what it reads, its options, its weights, and the result to give."""

from __future__ import annotations

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import BehindGapError
from sateen.frontends.darknet.config import Section
from sateen.frontends.darknet.network import Layer
from sateen.frontends.darknet.weights import Weights
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Reshape
from sateen.runtime.errors import FrontendError


class DarknetNode(ModelNode):
    """One layer while it is converted. Values are pictures [N, C, H, W], or rows [N, C] of connected layers."""

    def __init__(self, call: Call, layer: Layer, weights: Weights) -> None:
        super().__init__(call, layer.section.options)
        self.layer = layer
        self.weights = weights

    @property
    def section(self) -> Section:
        return self.layer.section

    def picture(self, index: int = 0) -> Value:
        """An input with four axes; a row of numbers has as many channels of one element."""
        value = self.value(index)
        if value.type.rank == 4:
            return value
        if value.type.rank != 2:
            raise FrontendError(f"expected a picture [N, C, H, W] or rows [N, C], found {value.type}")
        return self.step(Reshape((*value.type.shape, 1, 1)), value)

    def array(self, role: str) -> Array:
        """Weights by their role."""
        if role not in self.weights:
            raise BehindGapError("its weights lie behind those of a layer that can't be compiled")
        return self.weights[role]

    def weight(self, role: str) -> Value:
        """Weights by their role, as a parameter called LAYER.ROLE."""
        return self._emitter.value(self.array(role), f"{self.layer.name}.{role}")


Converter = ConverterOf[DarknetNode]
