"""A node of a model as its converter sees it: inputs, attributes with the defaults of its operator set, and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from math import isfinite
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto
from onnx.defs import OpSchema

from sateen.frontends.onnx.emitter import Emitter, Operand, symbols_of, type_of
from sateen.frontends.onnx.loading import text
from sateen.frontends.onnx.structure import MOST_ARGUMENTS, plain_domain
from sateen.frontends.onnx.tensors import SCHEMA_NAMES, Array
from sateen.graph_ir.graph import NodeSpan, Value
from sateen.graph_ir.types import Dim, Symbol
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimension import symbols_of as names_of
from sateen.topi.operator import Operator

_FIELDS = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
}

_LISTS = {
    AttributeProto.FLOAT: AttributeProto.FLOATS,
    AttributeProto.INT: AttributeProto.INTS,
    AttributeProto.STRING: AttributeProto.STRINGS,
}
"""A single one, as some exporters write it, stands for a list of one."""

_FLAGS = frozenset({
    "allowzero", "antialias", "broadcast", "ceil_mode", "count_include_pad", "detect_negative", "detect_positive",
    "exclude_outside", "exclusive", "fmod", "input_forget", "is_causal", "keepdims", "largest", "linear_before_reset",
    "noop_with_empty_axes", "reverse", "saturate", "select_last_index", "sorted", "transA", "transB", "upper",
})  # fmt: skip
"""Attributes that the standard describes for the values 0 and 1 only."""
_DATA = frozenset({"extrapolation_value", "max", "min", "value", "value_float"})
"""Attributes that are elements of a tensor or bounds of such, so that NaN and infinity mean something."""


MOST_NAMED = 3
"""Inputs that a message names."""


class UnsupportedError(FrontendError):
    """A node that is well formed but can't be compiled. `help` says what would change that."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.help = remedy


class ImportedNode:
    """One node while it is converted.

    `opset` is the operator set of the model in the node's domain, `version` the one in which its operator last changed.
    `inputs` are operands, None where an optional input is absent; `outputs` are the names that the results take;
    `is_inner` says that the node stands in a function body or a branch, whose names are not the model's; `decode` makes
    an array of a tensor in an attribute.
    """

    def __init__(
        self,
        proto: onnx.NodeProto,
        schema: OpSchema,
        opset: int,
        inputs: Sequence[Operand | None],
        outputs: Sequence[str],
        is_inner: bool,
        spans: tuple[NodeSpan, ...],
        emitter: Emitter,
        decode: Callable[[onnx.TensorProto], Array],
    ) -> None:
        self.proto = proto
        self.operator = text(proto.op_type, "an operator")
        self.schema = schema
        self.opset = opset
        self.version = schema.since_version
        self.domain = plain_domain(proto.domain)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._is_inner = is_inner
        self._spans = spans
        self._emitter = emitter
        self._decode = decode
        self._attributes = self._checked_attributes()
        self._check_counts()
        self._check_types()

    @property
    def is_computed(self) -> bool:
        """Whether an input is a value of the graph."""
        return any(isinstance(operand, Value) for operand in self.inputs)

    def apart(self) -> Emitter:
        """An emitter of a graph that is evaluated while importing."""
        return self._emitter.apart()

    def within(self, emitter: Emitter) -> ImportedNode:
        """The node whose results become part of another graph; its inputs must be data."""
        node = copy(self)
        node._emitter = emitter
        return node

    def is_value(self, index: int) -> bool:
        """Whether input `index` is a value of the graph, not data and not absent."""
        return index < len(self.inputs) and isinstance(self.inputs[index], Value)

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def operand(self, index: int) -> Operand:
        """Input `index`. Raises FrontendError where it is absent."""
        if not self.has(index):
            raise FrontendError(f"expected {self._described(index)}, found none")
        operand = self.inputs[index]
        assert operand is not None
        return operand

    def value(self, index: int) -> Value:
        """Input `index` as a value of the graph."""
        operand = self.operand(index)
        require_bound(symbols_of(operand), self._described(index))
        return self._emitter.value(operand, self.proto.input[index], own=not self._is_inner)

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
        """The shape of an input all of whose dimensions are numbers."""
        return static_extents(self.shape(index), self._described(index))

    def dtype(self, index: int) -> DType:
        return type_of(self.operand(index)).dtype

    def constant(self, index: int) -> Array:
        """The data of input `index`. Raises UnsupportedError where it is not known while importing."""
        data = self.extents(index)
        require_bound(symbols_of(data), self._described(index))
        return data

    def extents(self, index: int) -> Array:
        """As `constant`, but the data may hold Symbols."""
        operand = self.operand(index)
        if not isinstance(operand, Value):
            return operand
        found = self._emitter.known((operand,))
        if found is None:
            raise self._unknown(index, operand)
        return found[0]

    def _unknown(self, index: int, value: Value) -> UnsupportedError:
        """What is said of an input that must be known and is not."""
        what = f"{self._described(index)} must be known while compiling, but"
        if self._emitter.is_constant(value):
            return UnsupportedError(
                f"{what} takes long to compute from constants", "store its data in the model, as onnxsim does"
            )
        names = self._emitter.decided_by(value)
        if not names:
            return UnsupportedError(f"{what} a loop computes it")
        few = " and ".join(map(repr, names[:MOST_NAMED]))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return UnsupportedError(f"{what} {few}{more} decide{'s' * (len(names) == 1)} it", self.binding(index))

    def binding(self, *indices: int) -> str:
        """What makes inputs known that inputs of the model decide; '' where these are not known."""
        values = [operand for index in indices if isinstance(operand := self.inputs[index], Value)]
        names = list(dict.fromkeys(name for value in values for name in self._emitter.decided_by(value)))[:MOST_NAMED]
        if not names:
            return ""
        constants = ", ".join(f"{name!r}: ..." for name in names)
        options = " ".join(f"--bind {name}=..." for name in names)
        return f"bind what decides it, if the values are always the same: constants={{{constants}}}, or {options}"

    def _described(self, index: int) -> str:
        return f"input {index} ({self._input_name(index)})"

    def _input_name(self, index: int) -> str:
        return self._parameter(index).name

    def _parameter(self, index: int) -> OpSchema.FormalParameter:
        """The description of input `index`; the last one of a variadic operator stands for all further ones."""
        return self.schema.inputs[min(index, len(self.schema.inputs) - 1)]

    def knows(self, name: str) -> bool:
        """Whether the operator has this attribute in its operator set."""
        return name in self.schema.attributes

    def attribute(self, name: str) -> Any:
        """The attribute, else its default; None where it has neither."""
        return self._attributes.get(name)

    def integer(self, name: str) -> int:
        return int(self._required(name))

    def number(self, name: str) -> float:
        return float(self._required(name))

    def text(self, name: str) -> str:
        value = self._required(name)
        assert isinstance(value, str)
        return value

    def flag(self, name: str) -> bool:
        """An attribute of 0 or 1; false where the operator set has no such attribute."""
        return bool(self._attributes.get(name) or 0)

    def integers(self, name: str) -> tuple[int, ...]:
        return tuple(int(i) for i in self._required(name))

    def optional_integers(self, name: str) -> tuple[int, ...] | None:
        return None if self.attribute(name) is None else self.integers(name)

    def tensor(self, name: str) -> Array | None:
        """The data of a tensor attribute."""
        value = self.attribute(name)
        return None if value is None else self._decode(value)

    def setting(self, name: str, index: int) -> tuple[int, ...] | None:
        """Integers that older operator sets give as attribute `name`, newer ones as input `index`; None if absent."""
        if self.knows(name):
            value = self.attribute(name)
            return (int(value),) if isinstance(value, int) else self.optional_integers(name)
        if not self.has(index):
            return None
        data = self.constant(index)
        if data.dtype.kind not in "iu" or data.ndim > 1:
            raise FrontendError(f"expected integers in one dimension as {name}, found {data.dtype}{list(data.shape)}")
        return tuple(int(i) for i in data.flat)

    def required_setting(self, name: str, index: int) -> tuple[int, ...]:
        value = self.setting(name, index)
        if value is None:
            raise FrontendError(f"expected {name}, found none")
        return value

    def scalar(self, index: int) -> Any:
        """The one number that input `index` holds."""
        data = self.constant(index)
        if data.size != 1:
            raise FrontendError(f"expected one number as {self._input_name(index)}, found shape {list(data.shape)}")
        return data.reshape(()).item()

    def axis(self, rank: int, name: str = "axis") -> int:
        return normal_axis(self.integer(name), rank)

    def _required(self, name: str) -> Any:
        value = self.attribute(name)
        if value is None:
            raise FrontendError(f"expected attribute {name!r}, found none")
        return value

    def _checked_attributes(self) -> dict[str, Any]:
        known = self.schema.attributes
        values = {
            name: _attribute_value(rule.default_value)
            for name, rule in known.items()
            if rule.default_value.type != AttributeProto.UNDEFINED
        }
        given: set[str] = set()
        for attribute in self.proto.attribute:
            name = text(attribute.name, "an attribute")
            if name not in known:
                raise FrontendError(f"{self.operator} of opset {self.opset} has no attribute {name!r}")
            if name in given:
                raise FrontendError(f"attribute {name!r} is given twice")
            expected, found = _code_of(known[name].type), attribute.type
            is_single = _LISTS.get(found) == expected
            if found != expected and not is_single:
                kinds = {code: kind for kind, code in AttributeProto.AttributeType.items()}
                raise FrontendError(
                    f"expected attribute {name!r} of type {kinds[expected]}, found {kinds.get(found, found)}"
                )
            given.add(name)
            value = _attribute_value(attribute)
            _check_value(name, value)
            values[name] = [value] if is_single else value
        missing = [name for name, rule in known.items() if rule.required and name not in given]
        if missing:
            raise FrontendError(f"expected attribute {missing[0]!r}, found none")
        return values

    def step(self, op: Operator, *inputs: Value | None) -> Value:
        """Apply an operator on the way to the result."""
        name = self._emitter.beside(f"{self._result_name}.{op.op_name()}")
        return self._emitter.add(op, inputs, (name,), self._spans)[0]

    def steps(self, op: Operator, *inputs: Value | None, count: int) -> tuple[Value, ...]:
        """Apply an operator of `count` outputs on the way to the result."""
        names = [self._emitter.beside(f"{self._result_name}.{op.op_name()}.{i}") for i in range(count)]
        return self._emitter.add(op, inputs, names, self._spans)

    def result(self, op: Operator, *inputs: Value | None, output: int = 0) -> Value:
        """Apply the operator that gives an output, by default the first."""
        own = self.outputs[output] if output < len(self.outputs) else ""
        name = own or self._emitter.beside(f"{self._result_name}.{output}")
        return self._emitter.add(op, inputs, (name,), self._spans)[0]

    def results(self, op: Operator, *inputs: Value | None, count: int) -> tuple[Value, ...]:
        """Apply an operator of `count` outputs that gives those of the node."""
        given = (*self.outputs, *[""] * count)[:count]
        names = [name or self._emitter.beside(f"{self._result_name}.{i}") for i, name in enumerate(given)]
        return self._emitter.add(op, inputs, names, self._spans)

    def literal(self, number: float, dtype: DType, shape: tuple[int, ...] = ()) -> Value:
        """A parameter all of whose elements are one number."""
        with np.errstate(over="ignore"):
            data = np.full(shape, number, dtype.numpy)
        if dtype.is_int and data.size and data.flat[0] != number:
            raise UnsupportedError(f"{number} is no number of {dtype}")
        return self.parameter(data, "constant")

    def evaluated(self, data: Array) -> Array:
        """Data that was made of known inputs. Raises FrontendError where there is too much of it in the model."""
        return self._emitter.evaluated(data)

    def parameter(self, data: Array, role: str) -> Value:
        """A parameter of ours, named after its role for the result."""
        return self._emitter.value(data, f"{self._result_name}.{role}")

    @property
    def _result_name(self) -> str:
        """What names of ours begin with: the first output that has a name."""
        return next((name for name in self.outputs if name), self.operator)

    def _check_counts(self) -> None:
        count = len(self.proto.input)
        if not self.schema.min_input <= count <= self.schema.max_input:
            raise FrontendError(
                f"expected {self.schema.min_input} to {self.schema.max_input} inputs of {self.operator}, found {count}"
            )
        if max(count, len(self.outputs)) > MOST_ARGUMENTS:
            raise UnsupportedError(f"more than {MOST_ARGUMENTS} inputs or outputs of a node are not supported")
        if len(self.outputs) > self.schema.max_output:
            raise FrontendError(f"expected at most {self.schema.max_output} outputs, found {len(self.outputs)}")
        for index, operand in enumerate(self.inputs):
            if operand is None and self._parameter(index).option == OpSchema.FormalParameterOption.Single:
                raise FrontendError(f"expected {self._described(index)}, found none")

    def _check_types(self) -> None:
        """Element types are those that the operator set allows, alike where it says so."""
        first: dict[str, tuple[int, DType]] = {}
        for index, operand in enumerate(self.inputs):
            if operand is None:
                continue
            rule, dtype = self._parameter(index), self.dtype(index)
            if SCHEMA_NAMES[dtype] not in rule.types:
                allowed = ", ".join(sorted(name.removeprefix("tensor(").removesuffix(")") for name in rule.types))
                raise FrontendError(
                    f"input {index} ({rule.name}) is {dtype}; {self.operator} of opset {self.opset} takes {allowed}"
                )
            earlier, expected = first.setdefault(rule.type_str, (index, dtype))
            if expected != dtype and rule.is_homogeneous:
                raise FrontendError(
                    f"input {index} ({rule.name}) is {dtype}, but must be {expected} as input {earlier}"
                )


Converter = Callable[[ImportedNode], Operand | Sequence[Operand]]
"""Gives the outputs of a node, the first of them alone or several. Raises FrontendError or InferenceError."""


def require_bound(symbols: Iterable[Symbol], what: str) -> None:
    """Raises UnsupportedError where a dimension has no number."""
    names = sorted({symbol.name for symbol in symbols})
    if names:
        binding = ", ".join(f"{name!r}: ..." for name in names)
        options = " ".join(f"--dim {name}=..." for name in names)
        raise UnsupportedError(
            f"{what} depends on dimensions without a number: {', '.join(names)}",
            f"bind them: dims={{{binding}}}, or {options}",
        )


def static_extents(shape: Sequence[Dim], what: str) -> tuple[int, ...]:
    """The dimensions, all of which are numbers. Raises UnsupportedError where one is not."""
    require_bound(map(Symbol, names_of(*shape)), what)
    return tuple(extent for extent in shape if isinstance(extent, int))


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front. Raises FrontendError where there is none such."""
    if not -rank <= axis < rank:
        raise FrontendError(f"expected an axis of {-rank} to {rank - 1}, found {axis}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order. Raises FrontendError where one is given twice."""
    result = sorted(normal_axis(axis, rank) for axis in axes)
    if len(set(result)) < len(result):
        raise FrontendError(f"expected each axis once, found {list(axes)}")
    return tuple(result)


def _attribute_value(attribute: AttributeProto) -> Any:
    field = _FIELDS.get(attribute.type)
    if field is None:
        return attribute
    value = getattr(attribute, field)
    if field == "s":
        return _decoded(value, attribute.name)
    if field == "strings":
        return [_decoded(item, attribute.name) for item in value]
    return list(value) if field in {"floats", "ints"} else value


def _check_value(name: str, value: Any) -> None:
    """Raises FrontendError for a flag other than 0 and 1, and for NaN or infinity where no data is meant."""
    if name in _FLAGS and value not in {0, 1}:
        raise FrontendError(f"expected 0 or 1 as attribute {name!r}, found {value}")
    if isinstance(value, float) and not isfinite(value) and name not in _DATA:
        raise FrontendError(f"expected a finite number as attribute {name!r}, found {value}")


def _decoded(value: bytes, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise FrontendError(f"expected text in UTF-8 as attribute {name!r}, found {value!r}") from None


def _code_of(kind: Any) -> int:
    """The number of an attribute's type, which onnx's own types leave out."""
    return int(kind)
