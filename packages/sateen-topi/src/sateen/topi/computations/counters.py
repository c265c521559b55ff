"""Numbers that the statements of te.extern change."""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import IRBuilder


class Counter:
    """A number that statements change."""

    def __init__(self, ib: IRBuilder, name: str) -> None:
        self._number = ib.allocate("int64", (1,), name=name)
        self._number[0] = te.const(0, "int64")

    @property
    def value(self) -> Expr:
        return self._number[0]

    def increase(self, by: int = 1) -> None:
        self._number[0] = self.value + by
