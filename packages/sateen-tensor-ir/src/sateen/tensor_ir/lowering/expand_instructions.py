"""Instructions that a target has no code for, by the statements that they have for all targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.storage import strides_of
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import Allocate, Function, Intrinsic, Prefetch, Region, Stmt, Store, intrinsic
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, rename_bound, substitute, walk


def expand_instructions(function: Function, spells: Callable[[TensorIntrinsic], bool]) -> Function:
    """An instruction that the emitter does not spell (`spells`) becomes its body on the regions of its operands.

        intrinsic double C[4*i:4] = A[4*i:4]     =>     for x in [0, 4): C[4*i + x] = A[4*i + x] * 2.0

    One without a body stays, for the emitter to refuse. Raises CodegenError for regions that lie in memory in another
    way than the instruction's buffers.
    """
    body = _Expander(spells).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Expander(StatementRewriter):
    def __init__(self, spells: Callable[[TensorIntrinsic], bool]) -> None:
        self.spells = spells
        self.analyzer = Analyzer()

    def rewrite_Intrinsic(self, s: Intrinsic[TensorIntrinsic]) -> Stmt:
        instruction = s.instruction
        if instruction.body is None or self.spells(instruction):
            return s
        strides = strides_of(s, self.analyzer)
        regions = dict(zip(instruction.storage, s.regions, strict=True))
        body = substitute(rename_bound(instruction.body), strides)
        return self.rewrite(_Placed(regions, body).rewrite(body))


class _Placed(SharingRewriter):
    """Puts regions of buffers in the place of buffers, and new memory in that of memory that is allocated inside."""

    def __init__(self, regions: Mapping[Buffer, Region], body: Stmt) -> None:
        super().__init__()
        self.regions = regions
        self.own = {n.buffer: replace(n.buffer) for n in walk(body) if isinstance(n, Allocate)}

    def _place(self, buffer: Buffer, indices: Sequence[Expr]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Where an element is."""
        region = self.regions.get(buffer)
        if region is None:
            return self.own[buffer], tuple(indices)
        inside = iter([i for i, n in zip(indices, buffer.shape, strict=True) if not ex.is_const(n, 1)])
        places = zip(region.indices, region.extents, strict=True)
        return region.buffer, tuple(first if extent == 1 else first + next(inside) for first, extent in places)

    def rewrite_Load(self, e: Load) -> Expr:
        e = self.descend(e)
        buffer, indices = self._place(e.buffer, e.indices)
        return Load(buffer, indices, e.dtype)

    def rewrite_Address(self, e: Address) -> Expr:
        e = self.descend(e)
        region = self.regions.get(e.buffer)
        if region is None:
            return replace(e, buffer=self.own[e.buffer])
        return replace(e, buffer=region.buffer, offset=region.buffer.offset(region.indices) + e.offset)

    def rewrite_Store(self, s: Store) -> Stmt:
        s = self.descend(s)
        buffer, indices = self._place(s.buffer, s.indices)
        return Store(buffer, indices, s.value, s.span)

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        s = self.descend(s)
        buffer, indices = self._place(s.buffer, s.indices)
        return Prefetch(buffer, indices, s.span)

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        s = self.descend(s)
        return replace(s, buffer=self.own[s.buffer])

    def rewrite_Intrinsic(self, s: Intrinsic[Instruction]) -> Stmt:
        s = self.descend(s)
        regions = [self._region(region) for region in s.regions]
        count = len(s.instruction.outputs)
        return intrinsic(s.instruction, regions[:count], regions[count:], s.span)

    def _region(self, inner: Region) -> Region:
        """A region within one."""
        buffer, indices = self._place(inner.buffer, inner.indices)
        outer = self.regions.get(inner.buffer)
        if outer is None:
            return Region(buffer, indices, inner.extents)
        given = zip(inner.extents, inner.buffer.shape, strict=True)
        extents = iter([n for n, whole in given if not ex.is_const(whole, 1)])
        return Region(buffer, indices, tuple(1 if n == 1 else next(extents) for n in outer.extents))
