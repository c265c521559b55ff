"""The converter's view of an operation: inputs and settings by name, and results of the declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand, normal_axes
from sateen.frontends.core.place import Call
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import Cast, Identity
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

Slots = Mapping[str, tuple[int, ...]]
"""The positions of each argument's values among the inputs of a step."""


class OperationNode(ModelNode):
    """One operation while it is converted.

    `slots` are the positions of its arguments among the inputs, `texts` those arguments that are text, `dtypes` the
    element types of its results, as far as they are declared. `with_defaults` gives settings that are left out.
    """

    how_to_fold = ", as a const operation"

    def __init__(self, call: Call, slots: Slots, texts: Mapping[str, str], dtypes: Sequence[DType | None]) -> None:
        super().__init__(call, {})
        self._slots = slots
        self._texts = texts
        self._dtypes = dtypes
        if any(isinstance(operand, np.ndarray) and operand.dtype == object for operand in self.inputs):
            self.inputs = tuple(map(_as_wide, self.inputs))  # dimensions are int64, and so is what meets them

    def with_defaults(self, defaults: Mapping[str, Any]) -> Self:
        self._values = defaults
        return self

    def input_name(self, index: int) -> str:
        return next((name for name, places in self._slots.items() if index in places), str(index))

    def at(self, name: str) -> int:
        """The position of an argument. Raises FrontendError if it is left out."""
        places = self._slots.get(name, ())
        if len(places) != 1:
            raise FrontendError(f"expected one value as {name!r}, found {len(places) or 'none'}")
        return places[0]

    def places(self, name: str) -> tuple[int, ...]:
        """The positions of the values of a tuple."""
        return self._slots.get(name, ())

    def given(self, name: str) -> bool:
        return bool(self._slots.get(name)) or name in self._texts

    def take(self, name: str) -> Value:
        """An argument as a value of the graph."""
        return self.value(self.at(name))

    def take_of_rank(self, name: str, *ranks: int) -> Value:
        """An argument with one of these numbers of dimensions."""
        value = self.take(name)
        if value.type.rank not in ranks:
            raise FrontendError(f"expected {name} of {' or '.join(map(str, ranks))} dimensions, found {value.type}")
        return value

    def integers_of(self, name: str, count: int, least: int) -> tuple[int, ...]:
        """A setting of `count` numbers of at least `least`."""
        found = self.integers(name)
        if len(found) != count or min(found, default=least) < least:
            raise FrontendError(f"expected {count} numbers of {least} or more as {name}, found {list(found)}")
        return found

    def take_optional(self, name: str) -> Value | None:
        return self.take(name) if self.given(name) else None

    def take_all(self, name: str) -> tuple[Value, ...]:
        """The values of a tuple."""
        return tuple(self.value(index) for index in self._slots.get(name, ()))

    def attribute(self, name: str) -> Any:
        """A setting: text, a number, or numbers; the default if it is left out."""
        if name in self._texts:
            return self._texts[name]
        if not self._slots.get(name):
            return self._values.get(name)
        data = self.constant(self.at(name))
        return data.item() if data.ndim == 0 else data.reshape(-1).tolist()

    def dimensions_of(self, name: str) -> tuple[Dim, ...]:
        """Numbers that may be open dimensions."""
        data = self.data(self.at(name)).reshape(-1)
        return tuple(data) if data.dtype == object else tuple(int(number) for number in data)

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Axes counted from the front; all of them if they are left out."""
        given = self.attribute(name)
        return tuple(range(rank)) if given is None else normal_axes(self.integers(name), rank)

    def typed(self, value: Value, output: int = 0) -> Value:
        """The node's result, in the type that it is declared to have."""
        wanted = self._dtypes[output] if output < len(self._dtypes) else None
        same = wanted is None or wanted == value.type.dtype
        return self.result(Identity() if same or wanted is None else Cast(wanted), value, output=output)

    def typed_step(self, op: Operator, *inputs: Value | None) -> Value:
        """The node's result of an operator, in the type that it is declared to have."""
        return self.typed(self.step(op, *inputs))

    def number_like(self, number: float, value: Value) -> Value:
        """A number as a parameter of a value's type."""
        return self.literal(number, value.type.dtype)


def _as_wide(operand: Operand | None) -> Operand | None:
    is_narrow = isinstance(operand, np.ndarray) and operand.dtype == np.int32
    return operand.astype(np.int64) if is_narrow and isinstance(operand, np.ndarray) else operand


Converter = ConverterOf[OperationNode]


def defaulting(convert: Converter, **defaults: Any) -> Converter:
    """A converter with defaults of settings."""
    return lambda node: convert(node.with_defaults(defaults))
