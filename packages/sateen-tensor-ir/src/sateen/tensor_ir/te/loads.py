"""Loads from buffers that stand for tensors, in the place of reads."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.visit import SharingRewriter
from sateen.tensor_ir.te.tensor import Tensor


class Loads(SharingRewriter):
    """`rewrite` gives an expression over the elements of `buffers`."""

    def __init__(self, buffers: Mapping[Tensor, Buffer]) -> None:
        super().__init__()
        self.buffers = buffers

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        e = self.descend(e)
        return Load(self.buffers[e.tensor], e.indices, e.dtype)
