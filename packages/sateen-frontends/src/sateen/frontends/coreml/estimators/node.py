"""The converter's view of a model that is no network: its parameters, and its features by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.place import Call
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

FLOAT = DType.of("float32")


class EstimatorNode(ModelNode):
    """One model while it is converted. Doubles are float32, in which the graph computes."""

    def __init__(self, call: Call, parameters: Message) -> None:
        super().__init__(call, {})
        self.parameters = parameters

    def at(self, name: str) -> int:
        """The position of a feature. Raises FrontendError if the model does not have it."""
        if name not in self.call.heading.inputs:
            known = ", ".join(map(repr, self.call.heading.inputs))
            raise FrontendError(f"expected the feature {name!r}, the model has {known or 'none'}")
        return self.call.heading.inputs.index(name)

    def numbers(self, index: int) -> Value:
        """A feature in float32."""
        value = self.value(index)
        return value if value.type.dtype == FLOAT else self.step(ops.Cast(FLOAT), value)

    def row(self) -> Value:
        """The only feature as one row [1, F]. Raises FrontendError if there are several."""
        if len(self.inputs) != 1:
            raise FrontendError(f"expected one array as the features, found {len(self.inputs)}")
        data = self.numbers(0)
        return self.step(ops.Reshape((1, product(data.type.shape))), data)

    def vector(self, row: Value, output: int = 0) -> Value:
        """The node's result: a row [1, N] as N numbers."""
        return self.result(ops.Reshape((row.type.shape[1],)), row, output=output)

    def float_parameter(self, numbers: Sequence[float] | Sequence[Sequence[float]] | Array, role: str) -> Value:
        return self.parameter(np.asarray(numbers, np.float32), role)


Converter = Callable[[EstimatorNode], Operand | Sequence[Operand]]
"""Gives the outputs of a model. Raises FrontendError or InferenceError."""
