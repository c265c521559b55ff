"""Statements about other buffers: the same accesses to other memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import Intrinsic, Invoke, Prefetch, Stmt, Store
from sateen.tensor_ir.ir.visit import N, SharingRewriter


def with_buffers(node: N, buffers: Mapping[Buffer, Buffer]) -> N:
    """The node with other buffers in place of some, which have as many dimensions."""
    return _Renaming(buffers).rewrite(node)


class _Renaming(SharingRewriter):
    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        super().__init__()
        self.buffers = buffers

    def _of(self, b: Buffer) -> Buffer:
        return self.buffers.get(b, b)

    def rewrite_Load(self, e: Load) -> Expr:
        load = self.descend(e)
        return replace(load, buffer=self._of(load.buffer))

    def rewrite_Address(self, e: Address) -> Expr:
        address = self.descend(e)
        return replace(address, buffer=self._of(address.buffer))

    def rewrite_Store(self, s: Store) -> Stmt:
        store = self.descend(s)
        return replace(store, buffer=self._of(store.buffer))

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        prefetch = self.descend(s)
        return replace(prefetch, buffer=self._of(prefetch.buffer))

    def rewrite_Invoke(self, s: Invoke) -> Stmt:
        invoked = self.descend(s)
        return replace(invoked, buffers=tuple(map(self._of, invoked.buffers)))

    def rewrite_Intrinsic(self, s: Intrinsic[Instruction]) -> Stmt:
        intrinsic = self.descend(s)
        return replace(intrinsic, buffers=tuple(map(self._of, intrinsic.buffers)))
