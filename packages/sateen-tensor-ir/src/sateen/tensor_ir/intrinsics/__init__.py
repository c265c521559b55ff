"""Instructions that te can't express, each as one value: operands, te definition, code per target."""

from sateen.tensor_ir.intrinsics.code import FunctionText, StatementText, VectorCall, VectorType
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.table import INTRINSICS

__all__ = ["INTRINSICS", "FunctionText", "StatementText", "TensorIntrinsic", "VectorCall", "VectorType"]
