"""Calls of functions of numbers: as instructions, intrinsics or functions of the C library."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.rounding import ROUNDINGS, has_rounding, rounded
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, undefined_value
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.functions import FUNCTIONS, library_function
from sateen.tensor_ir.functions.spelling import LlvmInstruction, LlvmIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.types import int_range


def function_call(writer: FunctionWriter, e: ex.Call, arguments: list[LlvmValue]) -> LlvmValue:
    """The result of a function of numbers, one per lane if its operands differ between lanes.

    Raises CodegenError for a function without code.
    """
    if library := library_function(e.name):
        return _library_call(writer, library, arguments)
    function = FUNCTIONS.get(e.name)
    first = arguments[0]
    match function.llvm if function is not None else None:
        case LlvmIntrinsic(name) if name in ROUNDINGS and not has_rounding(writer):
            return rounded(writer, name, first)
        case LlvmIntrinsic(name, overloads):
            call = writer.intrinsic(name, first.type, *arguments, overloads=overloads)
            return writer.emit(call, first.kind, first.lanes)
        case LlvmInstruction(signed, unsigned):
            word = unsigned if int_range(e.dtype)[0] == 0 else signed
            return writer.emit(f"{word} {first.typed}, {arguments[1].text}", first.kind, first.lanes)
    raise CodegenError(f"the LLVM code generator has no function {e.name!r} for {e.dtype}; give a rule for it")


def _library_call(writer: FunctionWriter, name: str, arguments: list[LlvmValue]) -> LlvmValue:
    """A call of the C library, once per lane."""
    kind, lanes = arguments[0].kind, arguments[0].lanes
    symbol = name if kind == "double" else f"{name}f"
    types = ", ".join(kind for _ in arguments)
    writer.module.declarations[f"declare {kind} @{symbol}({types})"] = None
    if not lanes:
        return writer.emit(f"call {kind} @{symbol}({', '.join(a.typed for a in arguments)})", kind)
    writer.module.report.scalarised += 1
    result = undefined_value(kind, lanes)
    for i in range(lanes):
        parts = [writer.emit(f"extractelement {a.typed}, i64 {i}", kind) for a in arguments]
        one = writer.emit(f"call {kind} @{symbol}({', '.join(p.typed for p in parts)})", kind)
        result = writer.emit(f"insertelement {result.typed}, {one.typed}, i64 {i}", kind, lanes)
    return result
