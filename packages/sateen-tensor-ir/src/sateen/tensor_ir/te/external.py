"""Calls of functions that others define: packed functions of the ABI, C functions, intrinsics of LLVM."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer
from sateen.tensor_ir.ir.expr import Call, Expr
from sateen.tensor_ir.ir.external import EXTERN, INT, PACKED
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.stmt import Evaluate, Stmt
from sateen.tensor_ir.ir.types import element_type
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.tensor_ir.te.tensor import Tensor

_PACKED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
_C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LLVM_NAME = re.compile(r"llvm\.[A-Za-z0-9_.]+")


_EXPECTED = MappingProxyType({"call_packed": "numbers and buffers", "trace": "numbers"})


def call_packed(name: str, *arguments: Any) -> Stmt:
    """A call of a function of the ABI for its effect, as a statement of a body: buffers and numbers as DLTensors.

    The function is one of C, found by its symbol (a dot becomes an underscore), or one of Python that `build` is given
    in `externals`. It may write to buffers that are no inputs of the extern. Raises ExpressionError for a name that is
    no identifier, or identifiers with dots between, and for arguments that are neither buffers nor numbers.
    """
    _check_name("call_packed", name, _PACKED_NAME, "a name such as my.function")
    operands = tuple(_packed_operand(name, a) for a in arguments)
    return Evaluate(Call(PACKED + name, operands, INT), caller_span())


def trace(values: Sequence[Any], name: str) -> Expr:
    """The last of some numbers, which the packed function of that name gets when they are computed (`call_packed`).

    It may stand where a value is always computed, in serial and unrolled loops. Raises ExpressionError for other values
    than numbers, and for none.
    """
    _check_name("trace", name, _PACKED_NAME, "a name such as my.function")
    if not isinstance(values, (list, tuple)) or not values:
        found = "none" if isinstance(values, (list, tuple)) else type(values).__name__
        raise ExpressionError(f"trace of {name!r} expects a list of numbers, found {found}")
    operands = tuple(_number("trace", name, value) for value in values)
    return Call(PACKED + name, operands, operands[-1].dtype)


def call_extern(dtype: DType | str, name: str, *arguments: Any) -> Expr:
    """The result of a C function: a number of `dtype`. Arguments are numbers and addresses (`access_ptr`).

    A Python int is an int of C, a Python float a float; an index becomes int64. In an expression the function may be
    called any number of times; as a statement, once (`ib.emit`). Raises ExpressionError for a name that is no
    identifier of C, and for types that C has not.
    """
    _check_name("call_extern", name, _C_NAME, "an identifier of C")
    return Call(EXTERN + name, _operands("call_extern", name, arguments), _c_type(name, element_type(dtype)))


def call_pure_extern(dtype: DType | str, name: str, *arguments: Any) -> Expr:
    """Another name of `call_extern`: functions in expressions are pure anyway."""
    return call_extern(dtype, name, *arguments)


def call_llvm_intrin(dtype: DType | str, name: str, *arguments: Any) -> Expr:
    """An intrinsic of LLVM with its full name, such as llvm.ctlz.i32, for targets of kind llvm.

    LLVM checks name and types when the function is built. Raises ExpressionError for another name.
    """
    _check_name("call_llvm_intrin", name, _LLVM_NAME, "a name such as llvm.ctlz.i32")
    return Call(name, _operands("call_llvm_intrin", name, arguments), _c_type(name, element_type(dtype)))


def _check_name(function: str, name: object, form: re.Pattern[str], expected: str) -> None:
    if not isinstance(name, str) or not form.fullmatch(name):
        raise ExpressionError(f"{function} expects {expected}, found {name!r:.80}")


def _packed_operand(name: str, value: Any) -> Expr:
    if isinstance(value, (Buffer, BufferPointer)):
        return Address(value if isinstance(value, Buffer) else value.buffer, ex.const(0), "rw")
    if isinstance(value, Address):
        raise ExpressionError(f"call_packed of {name!r} expects buffers, found an address; give the whole buffer")
    return _number("call_packed", name, value)


def _operands(function: str, name: str, arguments: tuple[Any, ...]) -> tuple[Expr, ...]:
    return tuple(a if isinstance(a, Address) else _number(function, name, a) for a in arguments)


def _number(function: str, name: str, value: Any) -> Expr:
    """A number as an operand: an int of Python is an int of C."""
    if isinstance(value, (Buffer, BufferPointer, Tensor, str)):
        what = "a text" if isinstance(value, str) else type(value).__name__
        raise ExpressionError(
            f"{function} of {name!r} expects {_EXPECTED.get(function, 'numbers and addresses')}, found {what}; "
            "buffer.access_ptr('r') is an address"
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return ex.const(value, INT)
    operand = ex.as_data(ex.as_expr(value))
    _c_type(name, operand.dtype)
    return operand


def _c_type(name: str, dtype: DType) -> DType:
    """A type that C has."""
    if dtype.is_float and dtype.bits < 32:
        raise ExpressionError(f"{name!r} expects and gives integers, bool, float32 and float64, found {dtype}")
    return dtype
