"""The converter's view of a node: attributes with the defaults of its operator, dimensions among its inputs."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand, open_dimensions_of
from sateen.frontends.core.place import Call
from sateen.frontends.core.refusals import BEGIN, END
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.attributes import attributes_of
from sateen.frontends.tensorflow.operation import Operation
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import DataType, TensorProto
from sateen.frontends.tensorflow.tensors import dtype_of, type_name
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Cast
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

INT32, INT64 = DType.of("int32"), DType.of("int64")
_NO_NUMBERS = frozenset({DataType.DT_COMPLEX64, DataType.DT_COMPLEX128, DataType.DT_STRING})
_OF_COMPLEX = frozenset({"Angle", "Complex", "ComplexAbs", "Conj", "FFT", "IFFT", "IRFFT", "Imag", "RFFT", "Real"})
"""Operators that take or give complex numbers, as pairs of real ones."""
_ONE_TYPE = frozenset(
    {
        "Add", "AddN", "AddV2", "BroadcastArgs", "Concat", "ConcatV2", "Div", "Equal", "FloorDiv", "FloorMod",
        "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum", "Mod", "Mul", "NotEqual", "Pack", "Pow",
        "RealDiv", "Select", "SelectV2", "SquaredDifference", "Sub", "TruncateDiv", "TruncateMod",
    }
)  # fmt: skip
"""Operators whose inputs have one type, whatever else their attribute T says: arithmetic of shapes is made of these."""


class TensorflowNode(ModelNode):
    """One node while it is converted; `decode` makes an array of a tensor in an attribute."""

    how_to_fold = ", as freezing the graph does"

    def __init__(self, operation: Operation, call: Call, decode: Callable[[TensorProto, str], Array]) -> None:
        super().__init__(call, attributes_of(operation.type, operation.attributes))
        self.operation = operation
        self.decode = decode
        self.inputs = _of_one_type(self) if operation.type in _ONE_TYPE else call.inputs
        self._require_numbers()

    def _require_numbers(self) -> None:
        """Raises UnsupportedError for a node on strings or complex numbers, which sateen does not have."""
        if self.operator in _OF_COMPLEX:
            return
        for name in ("T", "dtype", "SrcT", "DstT", "Tparams"):
            code = self.attribute(name)
            if isinstance(code, int) and code in _NO_NUMBERS:
                raise self._refusal(code)

    def _refusal(self, code: int) -> UnsupportedError:
        if code == DataType.DT_STRING:
            return UnsupportedError(f"elements of type {type_name(code)} are not supported", BEGIN)
        return UnsupportedError(
            f"complex numbers ({type_name(code)}) go through Fourier transforms only, not through {self.operator}",
            f"compute with their parts; or {END}; or {BEGIN}",
        )

    def values(self) -> tuple[Value, ...]:
        if not self.inputs:
            raise FrontendError(f"expected inputs of {self.operator}, found none")
        return super().values()

    def type(self, name: str) -> DType:
        """An attribute that is an element type."""
        return dtype_of(self.integer(name), f"attribute {name!r}")

    def tensor_message(self, name: str) -> TensorProto:
        """An attribute that is a tensor, as in the file."""
        found = self.attribute(name)
        if not isinstance(found, TensorProto):
            raise FrontendError(f"expected a tensor as attribute {name!r}, found {found!r}")
        return found

    def tensor(self, name: str) -> Array:
        """The data of an attribute that is a tensor."""
        return self.decode(self.tensor_message(name), f"attribute {name!r}")

    def result_as(self, dtype: DType, op: Operator, *inputs: Value, output: int = 0) -> Value:
        """The node's result: the result of `op`, in another type."""
        found = self.step(op, *inputs)
        return self.result(Cast(dtype=dtype), found, output=output)

    def copied(self) -> TensorflowNode:
        """Another view of the node."""
        return copy(self)


def _of_one_type(node: ModelNode) -> tuple[Operand | None, ...]:
    """The inputs of a node, integers that are known being in one type: int64 if there are open dimensions among them,
    which always are, otherwise that of the attribute T."""
    known = [x for x in node.inputs if isinstance(x, np.ndarray)]
    if not any(x.dtype in (np.int64, object) for x in known):
        return node.inputs
    if any(open_dimensions_of(x) for x in known):
        wanted = INT64
    elif node.attribute("T") == DataType.DT_INT32:
        wanted = INT32
    else:
        return node.inputs
    return tuple(
        x.astype(wanted.numpy) if isinstance(x, np.ndarray) and x.dtype.kind == "i" else x for x in node.inputs
    )


Converter = ConverterOf[TensorflowNode]
