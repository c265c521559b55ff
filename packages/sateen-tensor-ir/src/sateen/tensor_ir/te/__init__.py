"""Tensor expressions: what to compute, without how. The vocabulary is that of TVM's te."""

from typing import Any as _Any

from sateen.runtime.dtype import DType as _DType
from sateen.tensor_ir.functions.arithmetic import ceil, floor, fma, round, sqrt, trunc
from sateen.tensor_ir.functions.exponential import erf, exp, sigmoid, tanh
from sateen.tensor_ir.functions.integer import bitwise_and, bitwise_or, bitwise_xor, popcount
from sateen.tensor_ir.functions.integer import shift_left as left_shift
from sateen.tensor_ir.functions.integer import shift_right as right_shift
from sateen.tensor_ir.functions.logarithm import log, log2, log10
from sateen.tensor_ir.functions.logarithm import pow as power
from sateen.tensor_ir.functions.trigonometric import cos, sin
from sateen.tensor_ir.ir import choices as _choices
from sateen.tensor_ir.ir import expr as _expr
from sateen.tensor_ir.ir.buffer import Buffer, decl_buffer
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Call, Expr, IterVar, Var, cast, const, maximum, minimum, reinterpret
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.schedule import Schedule, Stage, create_schedule
from sateen.tensor_ir.te import ir_builder
from sateen.tensor_ir.te.extern_body import extern
from sateen.tensor_ir.te.external import call_extern, call_llvm_intrin, call_packed, call_pure_extern, trace
from sateen.tensor_ir.te.math import (
    abs,
    atan,
    bitwise_not,
    div,
    floordiv,
    floormod,
    fmod,
    indexdiv,
    indexmod,
    isnan,
    likely,
    nearbyint,
    rsqrt,
    truncdiv,
    truncmod,
)
from sateen.tensor_ir.te.operations import compute, constant, piecewise, placeholder, var
from sateen.tensor_ir.te.recurrence import scan
from sateen.tensor_ir.te.reduction import comm_reducer, max, max_value, min, min_value, prod, reduce_axis, sum
from sateen.tensor_ir.te.tensor import Operation, Tensor, reads
from sateen.tensor_ir.te.threads import thread_axis

# isort: split
from sateen.tensor_ir.intrinsics.declaration import decl_tensor_intrin  # last, since instructions are defined in te


def all(*conditions: _Any) -> Expr:
    """The conjunction, evaluated left to right; true for none. Raises ExpressionError for an operand that is no
    condition."""
    return _choices.all_of([_expr.as_condition(c, "te.all") for c in conditions])


def any(*conditions: _Any) -> Expr:
    """The disjunction, evaluated left to right; false for none. Raises ExpressionError for an operand that is no
    condition."""
    result: Expr = const(False)
    for condition in conditions:
        result = _expr.logical_or(result, _expr.as_condition(condition, "te.any"))
    return result


def if_then_else(condition: _Any, then: _Any, otherwise: _Any) -> Expr:
    """Another name of `select`: only the chosen operand's loads are performed."""
    return select(condition, then, otherwise)


def call(name: str, *args: _Any, dtype: str | None = None) -> Expr:
    """A function by name, for which the build is given a rule; of the first argument's type unless `dtype` says."""
    return _expr.call(name, args, None if dtype is None else _DType.of(dtype))


__all__ = [
    "Buffer",
    "Call",
    "Expr",
    "IterVar",
    "Operation",
    "Schedule",
    "Stage",
    "Stmt",
    "Tensor",
    "Var",
    "abs",
    "all",
    "any",
    "atan",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "call",
    "call_extern",
    "call_llvm_intrin",
    "call_packed",
    "call_pure_extern",
    "cast",
    "ceil",
    "comm_reducer",
    "compute",
    "const",
    "constant",
    "cos",
    "create_schedule",
    "decl_buffer",
    "decl_tensor_intrin",
    "div",
    "erf",
    "exp",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "ir_builder",
    "isnan",
    "left_shift",
    "likely",
    "log",
    "log2",
    "log10",
    "max",
    "max_value",
    "maximum",
    "min",
    "min_value",
    "minimum",
    "nearbyint",
    "piecewise",
    "placeholder",
    "popcount",
    "power",
    "prod",
    "reads",
    "reduce_axis",
    "reinterpret",
    "right_shift",
    "round",
    "rsqrt",
    "scan",
    "select",
    "sigmoid",
    "sin",
    "sqrt",
    "sum",
    "tanh",
    "thread_axis",
    "trace",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]
