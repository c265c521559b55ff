"""LLVM text of checks: instructions one after the other, each check a way out with its status."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.runtime.abi import Status
from sateen.runtime.device import Device
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.devices import call_to_find
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.targets import AbiLayout


class CheckWriter:
    """Writes the checks of one function; `layout` is that of the records that it reads."""

    def __init__(self, layout: AbiLayout) -> None:
        self.layout = layout
        self.storage: list[str] = []
        self.lines: list[str] = []
        self.number = 0

    def emit(self, operation: str) -> str:
        self.number += 1
        self.lines.append(f"  %v{self.number} = {operation}")
        return f"%v{self.number}"

    def reserve(self, kind: str) -> str:
        """Storage on the stack, taken where the function begins, so that its frame has one size."""
        self.number += 1
        self.storage.append(f"  %v{self.number} = alloca {kind}\n")
        return f"%v{self.number}"

    def field(self, base: str, offset: int, kind: str, alignment: str = "") -> str:
        place = self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.emit(f"load {kind}, ptr {place}{alignment}")

    def device(self, device: Device) -> str:
        """The identity of a device of the host, `DLDevice` as one integer."""
        table = self.emit(call_to_find("%h", device))
        self.require(self.emit(f"icmp ne ptr {table}, null"), Status.NO_DEVICE)
        return self.emit(f"load i64, ptr {table}, align 4")

    def require(self, condition: str, status: int) -> None:
        """Return `status` unless the i1 operand holds."""
        self.number += 1
        self.lines += [
            f"  br i1 {condition}, label %ok{self.number}, label %bad{self.number}, !prof !0",
            f"bad{self.number}:",
            f"  ret i32 {status}",
            f"ok{self.number}:",
        ]

    def index(self, operand: str, bits: int) -> str:
        """An i64 operand as an index of a kernel, with its type."""
        return f"i64 {operand}" if bits == 64 else f"i{bits} {self.emit(f'trunc i64 {operand} to i{bits}')}"

    def integer(self, e: Expr, symbols: Mapping[Var, str]) -> str:
        """An extent or stride as an i64 operand.

        Raises CodegenError for one that is not simple arithmetic.
        """
        match e:
            case ex.Const():
                return str(int(e.value))
            case Var():
                return symbols[e]
            case ex.Add() | ex.Sub() | ex.Mul():
                return self.emit(f"{_WORDS[type(e)]} i64 {self.integer(e.a, symbols)}, {self.integer(e.b, symbols)}")
            case ex.FloorDiv(b=ex.Const(value=divisor)) | ex.FloorMod(b=ex.Const(value=divisor)) if divisor > 0:
                a = self.integer(e.a, symbols)
                remainder = self.emit(f"srem i64 {a}, {divisor}")
                negative = self.emit(f"icmp slt i64 {remainder}, 0")
                if isinstance(e, ex.FloorMod):
                    return self.emit(
                        f"select i1 {negative}, i64 {self.emit(f'add i64 {remainder}, {divisor}')}, i64 {remainder}"
                    )
                quotient = self.emit(f"sdiv i64 {a}, {divisor}")
                return self.emit(f"select i1 {negative}, i64 {self.emit(f'sub i64 {quotient}, 1')}, i64 {quotient}")
            case ex.Min() | ex.Max():
                a, b = self.integer(e.a, symbols), self.integer(e.b, symbols)
                less = self.emit(f"icmp {'slt' if isinstance(e, ex.Min) else 'sgt'} i64 {a}, {b}")
                return self.emit(f"select i1 {less}, i64 {a}, i64 {b}")
        raise CodegenError(f"expected extents of + - * min max, // and % by a positive literal; found {e}")


_WORDS = {ex.Add: "add", ex.Sub: "sub", ex.Mul: "mul"}
