"""Operands, tensors or numbers, in their common type."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand, type_of
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Reference
from sateen.frontends.torch.promotion import common_dtype, floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType, Value
from sateen.runtime.dtype import DType
from sateen.topi.operators import Operator


def _type_or_number(node: TorchNode, name: str) -> TensorType | float:
    argument = node.argument(name)
    if isinstance(argument, Reference):
        found = type_of(node.operand_of(argument, name))
        is_python = found.rank == 0 and argument.is_number
        return found if not is_python else 0.0 if found.dtype.is_float else 0 if found.dtype.is_int else False
    return node.number(name)


def common(node: TorchNode, *names: str) -> DType:
    """The type to which operands, tensors or numbers, are promoted."""
    return common_dtype([_type_or_number(node, name) for name in names])


def operand(node: TorchNode, name: str, dtype: DType) -> Value:
    """An operand, a tensor or a number, in a type."""
    if node.is_tensor(name):
        return node.cast(node.tensor(name), dtype)
    return node.literal(node.number(name), dtype)


def pair(node: TorchNode, dtype: DType) -> tuple[Value, Value]:
    return operand(node, "self", dtype), operand(node, "other", dtype)


def binary(op: Operator, of_bool: Operator | None = None) -> Converter:
    """An operator in the common type; of bool another, or none."""

    def convert(node: TorchNode) -> Operand:
        dtype = common(node, "self", "other")
        chosen = of_bool if dtype.is_bool and of_bool is not None else op
        return node.result(chosen, *pair(node, dtype))

    return convert


def real(node: TorchNode, name: str = "self") -> Value:
    """A tensor as floating-point numbers."""
    value = node.tensor(name)
    return node.cast(value, floating(value.type.dtype))


def truth(node: TorchNode, value: Value) -> Value:
    """Whether elements are not 0; NaN is not."""
    if value.type.dtype.is_bool:
        return value
    return node.step(ops.NotEqual(), value, node.literal(0, value.type.dtype))
