"""Parts of buffers: storage with further dimensions in front, one element of which is the storage that there was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import Intrinsic, Prefetch, Region, Stmt, Store, intrinsic
from sateen.tensor_ir.ir.visit import SharingRewriter


def widened(buffer: Buffer, counts: Sequence[int], scope: Scope | None = None) -> Buffer:
    """Storage with further dimensions in front, in another scope if one is given."""
    strides = buffer.strides
    if strides is not None:
        step = buffer.offset(tuple(extent - 1 for extent in buffer.shape)) + 1
        for count in reversed(counts):
            strides, step = (step, *strides), step * count
    shape = (*map(ex.const, counts), *buffer.shape)
    return replace(buffer, shape=shape, strides=strides, scope=buffer.scope if scope is None else scope)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of widened storage, at these indices along the dimensions in front."""

    buffer: Buffer
    indices: tuple[Expr, ...]


def in_parts(statement: Stmt, parts: Mapping[Buffer, Part]) -> Stmt:
    """The statement with accesses to parts of other storage instead of these buffers."""
    return _InParts(parts).rewrite(statement) if parts else statement


class _InParts(SharingRewriter):
    def __init__(self, parts: Mapping[Buffer, Part]) -> None:
        super().__init__()
        self.parts = parts

    def rewrite_Load(self, e: Load) -> Expr:
        e = self.descend(e)
        part = self.parts.get(e.buffer)
        return e if part is None else Load(part.buffer, (*part.indices, *e.indices), e.dtype)

    def rewrite_Address(self, e: Address) -> Expr:
        e = self.descend(e)
        part = self.parts.get(e.buffer)
        if part is None:
            return e
        first = (*part.indices, *(ex.const(0) for _ in e.buffer.shape))
        return replace(e, buffer=part.buffer, offset=part.buffer.offset(first) + e.offset)

    def rewrite_Store(self, s: Store) -> Stmt:
        s = self.descend(s)
        part = self.parts.get(s.buffer)
        return s if part is None else replace(s, buffer=part.buffer, indices=(*part.indices, *s.indices))

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        s = self.descend(s)
        part = self.parts.get(s.buffer)
        return s if part is None else replace(s, buffer=part.buffer, indices=(*part.indices, *s.indices))

    def rewrite_Intrinsic(self, s: Intrinsic[Instruction]) -> Stmt:
        s = self.descend(s)
        if self.parts.keys().isdisjoint(s.buffers):
            return s
        outputs, inputs = [*map(self._region, s.outputs)], [*map(self._region, s.inputs)]
        return intrinsic(s.instruction, outputs, inputs, s.span)

    def _region(self, r: Region) -> Region:
        part = self.parts.get(r.buffer)
        if part is None:
            return r
        return Region(part.buffer, (*part.indices, *r.indices), (*(1 for _ in part.indices), *r.extents))
