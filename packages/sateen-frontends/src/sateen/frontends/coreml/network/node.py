"""The converter's view of a layer: its parameters, its inputs as blobs, and results to give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import normal_axis
from sateen.frontends.core.place import Call
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.weights import array_of
from sateen.graph_ir.ir import Array, Dim, Value
from sateen.graph_ir.ops import Cast, Reshape
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

FLOAT = DType.of("float32")
"""The type of every blob, indices and conditions included."""
INDEX = DType.of("int64")
CHANNEL, HEIGHT, WIDTH = -3, -2, -1


class LayerNode(ModelNode):
    """One layer while it is converted.

    `parameters` is the message of its kind. `has_batch` says whether blobs of rank 5 are [Seq, Batch, C, H, W]; without
    it they are kept as [Seq, C, H, W], since nothing in the network gives Batch another extent than 1.
    """

    how_to_fold = ", as a loadConstant layer"

    def __init__(self, call: Call, parameters: Message, has_batch: bool) -> None:
        super().__init__(call, {})
        self.parameters = parameters
        self.has_batch = has_batch

    def weights(self, name: str, shape: Sequence[int], channel_axis: int = 0) -> Array:
        """Weights in a field of the parameters. Raises FrontendError if they don't have this shape."""
        return array_of(getattr(self.parameters, name), shape, name, channel_axis)

    def weight(self, name: str, shape: Sequence[int], channel_axis: int = 0) -> Value:
        return self.parameter(self.weights(name, shape, channel_axis), name)

    def number(self, name: str, otherwise: float = 0.0) -> float:
        """A number of the parameters; `otherwise` if it is 0 or not set, which the format does not distinguish."""
        found = float(getattr(self.parameters, name))
        if not np.isfinite(found):
            raise FrontendError(f"expected a finite number as {name}, found {found}")
        return found if found != 0 else otherwise

    def pair(self, name: str, otherwise: int) -> tuple[int, int]:
        """Two numbers [H, W] of 1 or more; the given one twice if the parameters have none."""
        found = tuple(getattr(self.parameters, name)) or (otherwise, otherwise)
        if len(found) != 2 or not all(0 < number < 1 << 31 for number in found):
            raise FrontendError(f"expected two numbers of 1 or more as {name}, found {list(found)}")
        return found[0], found[1]

    def normal(self, axis: int, index: int = 0) -> int:
        """An axis of an input counted from the front."""
        return normal_axis(axis, self.rank(index))

    def normal_parameter(self, name: str = "axis", index: int = 0) -> int:
        return self.normal(getattr(self.parameters, name), index)

    def require_rank(self, least: int, index: int = 0) -> None:
        if self.rank(index) < least:
            raise FrontendError(f"expected a blob of {least} or more dimensions, found {self.operand_text(index)}")

    def operand_text(self, index: int) -> str:
        return f"{self.input_name(index)!r} of shape {list(self.shape(index))}"

    def images(self, index: int = 0) -> Value:
        """A blob as [N, C, H, W]: all axes before the channels are a batch."""
        self.require_rank(3, index)
        data, shape = self.value(index), self.shape(index)
        return data if len(shape) == 4 else self.step(Reshape((product(shape[:-3]), *shape[-3:])), data)

    def of_images(self, op: Operator, *inputs: Value) -> Value:
        """The node's result: what an operator on images gives, with the axes of the first input before the channels."""
        return self.as_blob(op, inputs, self.shape(0)[:-3])

    def as_blob(self, op: Operator, inputs: Sequence[Value], batch: Sequence[Dim]) -> Value:
        """The node's result: what an operator gives as [N, C, H, W], with `batch` in place of N."""
        if len(batch) == 1:
            return self.result(op, *inputs)
        images = self.step(op, *inputs)
        return self.result(Reshape((*batch, *images.type.shape[1:])), images)

    def blob_shape(self, channels: int, height: int, width: int) -> tuple[int, ...]:
        """The shape of a blob of rank 5 with one image."""
        return (1, 1, channels, height, width) if self.has_batch else (1, channels, height, width)

    def indices(self, index: int) -> Value:
        """A blob of whole numbers as integers."""
        value = self.value(index)
        return value if value.type.dtype == INDEX else self.step(Cast(INDEX), value)

    def integers_of(self, index: int) -> tuple[int, ...]:
        """The whole numbers of a blob that is known while importing."""
        data = np.asarray(self.constant(index)).reshape(-1)
        if not np.all(np.isfinite(data)) or np.any(data != np.trunc(data)):
            raise FrontendError(f"expected whole numbers in {self.input_name(index)!r}, found {data.tolist()[:8]}")
        return tuple(int(number) for number in data)

    def dimensions_of(self, index: int) -> tuple[Dim, ...]:
        """The whole numbers of a known blob, which may be open dimensions."""
        data = self.data(index)
        return tuple(data.reshape(-1)) if data.dtype == object else self.integers_of(index)

    def float_result(self, value: Value, output: int = 0) -> Value:
        """The node's result, as numbers of a blob."""
        return self.result(Cast(FLOAT), value, output=output)

    def scalar_literal(self, number: float) -> Value:
        return self.literal(number, FLOAT)


Converter = ConverterOf[LayerNode]
Make = Callable[..., Any]
