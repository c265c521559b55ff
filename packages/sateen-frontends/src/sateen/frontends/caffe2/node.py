"""The converter's view of an operator: inputs, arguments with defaults, and results to give."""

from __future__ import annotations

from collections.abc import Collection

from sateen.frontends.caffe2.network import Operation
from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


class Caffe2Node(ModelNode):
    """One operator while it is converted. Arguments that Caffe2 does not know it ignores, and so do we."""

    def __init__(self, call: Call, operation: Operation, used: Collection[str]) -> None:
        super().__init__(call, operation.arguments)
        self._used = [name in used for name in operation.outputs]

    def require_one_result(self) -> None:
        """Raises UnsupportedError if something reads an output beyond the first, which is for training."""
        if any(self._used[1:]):
            raise UnsupportedError("outputs beyond the first are not supported", "end the network before they are read")

    def given(self, name: str) -> bool:
        return self.attribute(name) is not None

    def whole(self, name: str, default: int) -> int:
        return self.integer(name) if self.given(name) else default

    def real(self, name: str, default: float) -> float:
        return self.number(name) if self.given(name) else default

    def word(self, name: str, default: str) -> str:
        value = self.attribute(name)
        if value is None:
            return default
        return _text(name, value)

    def plain(self, name: str) -> int | float | str | tuple[int | float | str, ...]:
        """An argument as a number or text, or several; the net does not tell an empty list of one from another."""
        value = self.attribute(name)
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, bytes):
            return self.word(name, "")
        return tuple(_text(name, one) if isinstance(one, bytes) else one for one in value)

    def wholes(self, name: str) -> tuple[int, ...]:
        """The integers of a repeated argument; () if it is absent."""
        value = self.attribute(name)
        if value is None or isinstance(value, (int, float, bytes)):
            return () if value is None else (self.integer(name),)
        if not all(isinstance(number, int) for number in value):
            raise FrontendError(f"expected integers as argument {name!r}, found others")
        return tuple(value)

    @property
    def is_channels_last(self) -> bool:
        order = self.word("order", "NCHW")
        if order not in {"NCHW", "NHWC"}:
            raise FrontendError(f"expected order NCHW or NHWC, found {order!r}")
        return order == "NHWC"

    def picture(self, index: int = 0) -> Value:
        """An input with its channels on axis 1."""
        value = self.value(index)
        return to_channels_first(self, value) if self.is_channels_last else value

    def pictured(self, op: Operator, *inputs: Value) -> Value:
        """The result of an operator on channels first, in the order of the node."""
        if not self.is_channels_last:
            return self.result(op, *inputs)
        return result_channels_last(self, self.step(op, *inputs))


Converter = ConverterOf[Caffe2Node]


def _text(name: str, value: object) -> str:
    if not isinstance(value, bytes) or not value.isascii():
        raise FrontendError(f"expected text as argument {name!r}, found {value!r:.80}")
    return value.decode()
