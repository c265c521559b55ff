"""The converter's view of a node: inputs, attributes with the defaults of its operator set, and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from onnx.defs import OpSchema

from sateen.frontends.core.inputs import MOST_ARGUMENTS
from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import static_extents
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.attributes import checked_attributes
from sateen.frontends.onnx.strings import Vocabulary
from sateen.frontends.onnx.tensors import SCHEMA_NAMES
from sateen.graph_ir.ir import Array, Dim, Dimension
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


class OnnxNode(ModelNode):
    """One node while it is converted.

    `schema` describes its operator in the operator set `opset` of its domain, `version` is the one in which the
    operator last changed; `decode` makes an array of a tensor in an attribute. `vocabularies` are those of inputs that
    hold strings, `given_vocabularies` those of outputs.
    """

    how_to_fold = ", as onnxsim does"

    def __init__(
        self,
        proto: onnx.NodeProto,
        schema: OpSchema,
        call: Call,
        decode: Callable[[onnx.TensorProto], Array],
        vocabularies: Sequence[Vocabulary | None] = (),
    ) -> None:
        self.proto = proto
        self.schema = schema
        self.opset = call.heading.opset
        self.version = schema.since_version
        self.domain = call.heading.domain
        self.vocabularies = vocabularies
        self.given_vocabularies: dict[int, Vocabulary] = {}
        self._decode = decode
        super().__init__(call, checked_attributes(proto, schema, self.opset))
        self._check_counts()
        self._check_types()

    def input_name(self, index: int) -> str:
        return self._parameter(index).name

    def standing_for(self, proto: onnx.NodeProto, schema: OpSchema, call: Call) -> OnnxNode:
        """Another node at the place of this one, whose results become part of the same graph."""
        node = OnnxNode(proto, schema, call, self._decode)
        node._emitter = self._emitter
        return node

    def name_beside(self, role: str) -> str:
        """A name for a value on the way to the result."""
        return self._emitter.beside(f"{self._result_name}.{role}")

    def _parameter(self, index: int) -> OpSchema.FormalParameter:
        """The description of input `index`; the last one of a variadic operator stands for all further ones."""
        return self.schema.inputs[min(index, len(self.schema.inputs) - 1)]

    def knows(self, name: str) -> bool:
        """Whether the operator has this attribute in its operator set."""
        return name in self.schema.attributes

    def tensor(self, name: str) -> Array | None:
        """The data of a tensor attribute."""
        value = self.attribute(name)
        return None if value is None else self._decode(value)

    def vocabulary(self, index: int) -> Vocabulary | None:
        """The strings whose positions input `index` holds; None if it holds numbers."""
        return self.vocabularies[index] if index < len(self.vocabularies) else None

    def give_strings(self, vocabulary: Vocabulary, output: int = 0) -> None:
        """Say that an output holds positions of these strings."""
        self.given_vocabularies[output] = vocabulary

    def setting(self, name: str, index: int) -> tuple[int, ...] | None:
        """Integers that are attribute `name` in older operator sets and input `index` in newer ones; None if absent."""
        found = self.dimensions(name, index)
        return None if found is None else static_extents(found, self.described(index))

    def dimensions(self, name: str, index: int) -> tuple[Dim, ...] | None:
        """As `setting`, but the result may contain Dimensions if the input does."""
        if self.knows(name):
            value = self.attribute(name)
            return (int(value),) if isinstance(value, int) else self.optional_integers(name)
        if not self.has(index):
            return None
        data = self.data(index)
        if data.dtype.kind not in "iuO" or data.ndim > 1:
            raise FrontendError(f"expected integers in one dimension as {name}, found {data.dtype}{list(data.shape)}")
        return tuple(i if isinstance(i, Dimension) else int(i) for i in data.flat)

    def required_setting(self, name: str, index: int) -> tuple[int, ...]:
        return static_extents(self.required_dimensions(name, index), self.described(index))

    def required_dimensions(self, name: str, index: int) -> tuple[Dim, ...]:
        value = self.dimensions(name, index)
        if value is None:
            raise FrontendError(f"expected {name}, found none")
        return value

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
                raise FrontendError(f"expected {self.described(index)}, found none")

    def _check_types(self) -> None:
        """Checks that element types are allowed by the operator set, and equal where it says so."""
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


Converter = ConverterOf[OnnxNode]
