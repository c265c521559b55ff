"""The converter's view of a node of a model: inputs, attributes, and results to give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from sateen.frontends.core.attributes import Attributes
from sateen.frontends.core.emitter import Emitter, Evaluation
from sateen.frontends.core.operands import (
    Operand,
    normal_axis,
    open_dimensions_of,
    require_bound,
    require_few,
    static_extents,
    type_of,
)
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import BehindGapError, UnsupportedError
from sateen.graph_ir.ir import Array, Dim, Dimension, Value
from sateen.graph_ir.ops import BroadcastTo, Cast, Reshape, Transpose
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_INT64 = DType.of("int64")
MOST_NAMED = 3
"""The most inputs that a message names."""
MOST_INTEGERS = 4096
"""The most integers of a shape, of axes or of other settings that are inputs."""


class ModelNode(Attributes):
    """One node while it is converted.

    `inputs` are operands, None where an optional input is absent; `outputs` are the names of the results. `how_to_fold`
    is added to errors; it says which program folds constants in models of the format. `called` is the format's word for
    inputs.
    """

    how_to_fold: ClassVar[str] = ""
    called: ClassVar[str] = "inputs"

    def __init__(self, call: Call, attributes: Mapping[str, Any]) -> None:
        super().__init__(attributes)
        self.operator = call.heading.operator
        self.inputs = call.inputs
        self.outputs = call.outputs
        self.call = call
        self._emitter: Emitter = call.place.emitter

    @property
    def is_computed(self) -> bool:
        """Whether an input is a value of the graph."""
        return any(isinstance(operand, Value) for operand in self.inputs)

    def apart(self) -> Evaluation:
        """An emitter of a graph that is evaluated while importing."""
        return self._emitter.apart()

    def within(self, emitter: Emitter) -> Self:
        """The node whose results become part of another graph; its inputs must be data."""
        node = copy(self)
        node._emitter = emitter
        return node

    def input_name(self, index: int) -> str:
        """The format's name of input `index`; by default the model's name of the value."""
        return self.call.heading.inputs[index] if index < len(self.inputs) else str(index)

    def described(self, index: int) -> str:
        return f"input {index} ({self.input_name(index)})"

    def is_value(self, index: int) -> bool:
        """Whether input `index` is a value of the graph, not data and not absent."""
        return index < len(self.inputs) and isinstance(self.inputs[index], Value)

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def operand(self, index: int) -> Operand:
        """Input `index`. Raises FrontendError if it is absent."""
        if not self.has(index):
            raise FrontendError(f"expected {self.described(index)}, found none")
        operand = self.inputs[index]
        assert operand is not None
        return operand

    def value(self, index: int) -> Value:
        """Input `index` as a value of the graph."""
        operand = self.operand(index)
        if not isinstance(self._emitter, Evaluation):
            require_bound(open_dimensions_of(operand), self.described(index))
        return self._emitter.value(operand, self.call.heading.inputs[index], own=not self.call.place.is_inner)

    def require_inputs(self, least: int, most: int) -> None:
        """Raises FrontendError for another number of inputs."""
        if not least <= len(self.inputs) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise FrontendError(f"expected {wanted} {self.called} of {self.operator}, found {len(self.inputs)}")

    def the_value(self) -> Value:
        """The only input."""
        self.require_inputs(1, 1)
        return self.value(0)

    def values(self) -> tuple[Value, ...]:
        """All inputs, none of which may be absent."""
        return tuple(self.value(i) for i in range(len(self.inputs)))

    def present_values(self) -> tuple[Value, ...]:
        """All inputs, without the optional one at the end if it is absent."""
        absent = bool(self.inputs) and self.inputs[-1] is None
        return tuple(self.value(i) for i in range(len(self.inputs) - absent))

    def shape(self, index: int) -> tuple[Dim, ...]:
        return type_of(self.operand(index)).shape

    def rank(self, index: int) -> int:
        return len(self.shape(index))

    def static_shape(self, index: int) -> tuple[int, ...]:
        """The shape of an input, whose dimensions must all be numbers."""
        return static_extents(self.shape(index), self.described(index))

    def dtype(self, index: int) -> DType:
        return type_of(self.operand(index)).dtype

    def axis(self, rank: int, name: str = "axis") -> int:
        return normal_axis(self.integer(name), rank)

    def is_known(self, index: int) -> bool:
        """Whether the data of input `index` is known while importing."""
        operand = self.operand(index)
        return not isinstance(operand, Value) or self._emitter.known((operand,)) is not None

    def constant(self, index: int) -> Array:
        """The data of input `index`. Raises UnsupportedError if it is not known while importing."""
        data = self.data(index)
        require_bound(open_dimensions_of(data), self.described(index))
        return data

    def data(self, index: int) -> Array:
        """As `constant`, but the data may contain Dimensions; then it is an array of objects."""
        operand = self.operand(index)
        if isinstance(operand, Value):
            found = self._emitter.known((operand,))
            if found is None:
                raise self._undecided(index, operand)
            (operand,) = found
        return operand

    def dimensions_at(self, index: int) -> tuple[Dim, ...]:
        """The integers in input `index`, a vector or a single one, which may be open dimensions."""
        data = self.data(index)
        if data.dtype.kind not in "iuO" or data.ndim > 1 or data.size > MOST_INTEGERS:
            what = f"at most {MOST_INTEGERS} integers in one dimension as {self.described(index)}"
            raise FrontendError(f"expected {what}, found {data.dtype}{list(data.shape)}")
        return tuple(extent if isinstance(extent, Dimension) else int(extent) for extent in data.flat)

    def integers_at(self, index: int) -> tuple[int, ...]:
        """The integers in input `index`, a vector or a single one, all of them known."""
        return static_extents(self.dimensions_at(index), self.described(index))

    def pairs_at(self, index: int, count: int) -> list[tuple[int, int]]:
        """Pairs of integers of 0 or more, [count, 2] in input `index`, which must be known."""
        data = self.constant(index)
        if data.shape != (count, 2) or data.dtype.kind not in "iu" or np.any(data < 0):
            found = data.tolist() if data.shape == (count, 2) else list(data.shape)
            what = f"integers [{count}, 2] of 0 or more as {self.described(index)}"
            raise FrontendError(f"expected {what}, found {found}")
        return [(int(first), int(second)) for first, second in data]

    def scalar(self, index: int) -> Any:
        """The single number in input `index`."""
        data = self.constant(index)
        if data.size != 1:
            raise FrontendError(f"expected one number as {self.input_name(index)}, found shape {list(data.shape)}")
        return data.reshape(()).item()

    def _undecided(self, index: int, value: Value) -> UnsupportedError:
        """The error about an input that must be known and is not."""
        what = f"{self.described(index)} must be known while compiling, but"
        if self._emitter.is_behind_gap(value):
            return BehindGapError(f"{what} a node computes it that can't be compiled")
        if self._emitter.is_constant(value):
            return UnsupportedError(
                f"{what} takes long to compute from constants", f"store its data in the model{self.how_to_fold}"
            )
        names = self._emitter.decided_by(value)
        if not names:
            return UnsupportedError(f"{what} a loop computes it")
        few = " and ".join(map(repr, names[:MOST_NAMED]))
        more = " and others" if len(names) > MOST_NAMED else ""
        return UnsupportedError(f"{what} {few}{more} decide{'s' * (len(names) == 1)} it", self.binding(index))

    def binding(self, *indices: int) -> str:
        """How to bind the inputs of the model that decide these inputs; '' if those are unknown."""
        values = [operand for index in indices if isinstance(operand := self.inputs[index], Value)]
        names = list(dict.fromkeys(name for value in values for name in self._emitter.decided_by(value)))[:MOST_NAMED]
        if not names:
            return ""
        constants = ", ".join(f"{name!r}: ..." for name in names)
        options = " ".join(f"--bind {name}=..." for name in names)
        return f"bind what decides it, if the values are always the same: constants={{{constants}}}, or {options}"

    def step(self, op: Operator, *inputs: Value | None) -> Value:
        """Apply an operator on the way to the result."""
        name = self._emitter.beside(f"{self._result_name}.{op.op_name()}")
        return self._emitter.add(op, inputs, (name,), self.call.spans)[0]

    def steps(self, op: Operator, *inputs: Value | None, count: int) -> tuple[Value, ...]:
        """Apply an operator of `count` outputs on the way to the result."""
        names = [self._emitter.beside(f"{self._result_name}.{op.op_name()}.{i}") for i in range(count)]
        return self._emitter.add(op, inputs, names, self.call.spans)

    def cast(self, value: Value, dtype: DType) -> Value:
        """A value in a type, on the way to the result."""
        return value if value.type.dtype == dtype else self.step(Cast(dtype=dtype), value)

    def reshaped(self, value: Value, shape: Sequence[Dim]) -> Value:
        """A value in a shape, on the way to the result."""
        return value if value.type.shape == tuple(shape) else self.step(Reshape(shape=tuple(shape)), value)

    def broadcast(self, value: Value, shape: Sequence[Dim]) -> Value:
        """A value repeated to a shape, on the way to the result."""
        return value if value.type.shape == tuple(shape) else self.step(BroadcastTo(shape=tuple(shape)), value)

    def transposed(self, value: Value, *permutation: int) -> Value:
        """A value with its axes permuted, on the way to the result."""
        is_same = permutation == tuple(range(len(permutation)))
        return value if is_same else self.step(Transpose(permutation=permutation), value)

    def result(self, op: Operator, *inputs: Value | None, output: int = 0) -> Value:
        """Apply the operator that gives an output, by default the first."""
        own = self.outputs[output] if output < len(self.outputs) else ""
        name = own or self._emitter.beside(f"{self._result_name}.{output}")
        return self._emitter.add(op, inputs, (name,), self.call.spans)[0]

    def results(self, op: Operator, *inputs: Value | None, count: int) -> tuple[Value, ...]:
        """Apply an operator of `count` outputs that gives those of the node."""
        given = (*self.outputs, *[""] * count)[:count]
        names = [name or self._emitter.beside(f"{self._result_name}.{i}") for i, name in enumerate(given)]
        return self._emitter.add(op, inputs, names, self.call.spans)

    def label(self, labels: Iterable[str], output: int = 0) -> None:
        """Say what the elements along the last axis of an output of the node are called."""
        if output < len(self.outputs):
            self._emitter.label(self.outputs[output], labels)

    def literal(self, number: float, dtype: DType, shape: tuple[int, ...] = ()) -> Value:
        """A parameter all of whose elements are one number."""
        with np.errstate(over="ignore"):
            data = np.full(shape, number, dtype.numpy)
        if dtype.is_int and data.size and data.flat[0] != number:
            raise UnsupportedError(f"{number} is no number of {dtype}")
        return self.parameter(data, "constant")

    def filled(self, number: float, shape: Sequence[Dim], dtype: DType) -> Value:
        """A parameter of one number, in a shape that must be known."""
        extents = static_extents(tuple(shape), "data of one number")
        require_few(*extents)
        return self.literal(number, dtype, extents)

    def counted(self, extent: Dim, dtype: DType = _INT64) -> Array:
        """The numbers from 0 to before an extent, which must be known."""
        (count,) = static_extents((extent,), "an axis whose positions matter")
        require_few(count)
        return self.evaluated(np.arange(count, dtype=dtype.numpy))

    def positions(self, extent: Dim, dtype: DType = _INT64, trailing: int = 0) -> Value:
        """`counted` as a value, with `trailing` axes of 1 after it."""
        return self.parameter(self.counted(extent, dtype).reshape(-1, *[1] * trailing), "positions")

    def parameter(self, data: Array, role: str) -> Value:
        """A parameter of ours, named after its role for the result."""
        return self._emitter.value(data, f"{self._result_name}.{role}")

    def evaluated(self, data: Array) -> Array:
        """Data computed from known inputs. Raises FrontendError if the model has too much of it."""
        return self._emitter.evaluated(data)

    @property
    def _result_name(self) -> str:
        """The beginning of added names: the first output that has a name."""
        return next((name for name in self.outputs if name), self.operator)


N = TypeVar("N", bound=ModelNode)
Converter = Callable[[N], Operand | Sequence[Operand]]
"""Gives the outputs of a node, the first of them alone or several. Raises FrontendError or InferenceError."""
