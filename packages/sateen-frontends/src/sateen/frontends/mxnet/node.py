"""The converter's view of a node: inputs by their names in MXNet, attributes with their defaults, and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import normal_axes
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.attributes import parsed_attribute
from sateen.frontends.mxnet.types import dtype_of_name
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir.ir import int_range
from sateen.topi.operators import Operator

REQUIRED: Final = object()
"""The default of an attribute that has none."""
_WITHOUT_EFFECT = frozenset(
    {
        "cudnn_algo_bwd_data",
        "cudnn_algo_bwd_filter",
        "cudnn_algo_fwd",
        "cudnn_off",
        "cudnn_tune",
        "ctx",
        "is_int",
        "max_calib_range",
        "min_calib_range",
        "num_args",
        "sparse_grad",
        "workspace",
    }
)
"""Attributes that decide how to compute, not what."""


class MxnetNode(ModelNode):
    """One node while it is converted. `operator` is MXNet's own name, `arguments` names its inputs; `texts` are its
    attributes in the file."""

    def __init__(
        self,
        call: Call,
        operator: str,
        arguments: Sequence[str],
        defaults: Mapping[str, object],
        texts: Mapping[str, str],
    ) -> None:
        self.arguments = arguments
        values = dict(defaults)
        for name, text in texts.items():
            if name in defaults:
                values[name] = parsed_attribute(text)
            elif defaults and name not in _WITHOUT_EFFECT:  # operators without attributes take any
                raise UnsupportedError(f"MXNet's {call.heading.operator} has no attribute {name!r}", "remove it")
        missing = [name for name, value in values.items() if value is REQUIRED]
        if missing:
            raise FrontendError(f"expected attribute {missing[0]!r}, found none")
        super().__init__(call, values)
        self.operator = operator

    def input_name(self, index: int) -> str:
        return self.arguments[index] if index < len(self.arguments) else super().input_name(index)

    def integers(self, name: str) -> tuple[int, ...]:
        """Integers, or a single one."""
        value = self.attribute(name)
        return (value,) if isinstance(value, int) else super().integers(name)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Numbers, or a single one."""
        value = self.attribute(name)
        values = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(number, (int, float)) for number in values):
            raise FrontendError(f"expected numbers as attribute {name!r}, found {value!r}")
        return tuple(map(float, values))

    def element_type(self, name: str) -> DType | None:
        """An attribute that names an element type; None if it is absent."""
        value = self.attribute(name)
        return None if value is None else dtype_of_name(value)

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Axes counted from the front; all if the attribute is None or ()."""
        value = self.attribute(name)
        return tuple(range(rank)) if value in (None, ()) else normal_axes(self.integers(name), rank)

    def finished(self, value: Value, *operators: Operator) -> Value:
        """The node's result: operators of one input, one or more, applied to a value in turn."""
        for op in operators[:-1]:
            value = self.step(op, value)
        return self.result(operators[-1], value)

    def like(self, number: float, data: Value) -> Value:
        """A number in the type of data. MXNet cuts it towards zero for integers."""
        dtype = data.type.dtype
        if dtype.is_float:
            return self.literal(number, dtype)
        least, most = int_range(dtype) if dtype.is_int else (0, 1)
        if not least <= number <= most:
            raise UnsupportedError(f"{number} is no number of {dtype}")
        return self.literal(int(number), dtype)
