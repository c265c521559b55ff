"""Instructions that a target has no code for, by the statements that they have for all targets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.definition import copied
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.storage import strides_of
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.renamed_buffers import with_buffers
from sateen.tensor_ir.ir.stmt import (
    Allocate,
    Function,
    Intrinsic,
    Prefetch,
    Region,
    Seq,
    Stmt,
    Store,
    intrinsic,
    sequence,
)
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, rename_bound, substitute, walk


def expand_instructions(function: Function, spells: Callable[[TensorIntrinsic], bool]) -> Function:
    """An instruction that the emitter does not spell (`spells`) becomes its body on the regions of its operands.

        intrinsic double C[4*i:4] = A[4*i:4]     =>     for x in [0, 4): C[4*i + x] = A[4*i + x] * 2.0

    Instructions of warps that share sums become loops together. An input that an output may overlap is copied first,
    unless the body reads all of it before it stores. An instruction without a body stays, for the emitter to refuse.
    Raises CodegenError for regions that lie in memory in another way than the instruction's buffers, and for an input
    to be copied whose strides are not constant.
    """
    body = _Expander(function.aliased, spells).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Expander(StatementRewriter):
    def __init__(self, aliased: Collection[Buffer], spells: Callable[[TensorIntrinsic], bool]) -> None:
        self.aliased = aliased
        self.spells = spells
        self.analyzer = Analyzer()
        self.loose: set[Buffer] = set()
        """Memory of warps that stays memory, since some of the instructions on it have no code."""

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        if s.scope is Scope.WARP:
            users = [n.instruction for n in walk(s.body) if isinstance(n, Intrinsic) and s.buffer in n.buffers]
            if not all(map(self.spells, users)):
                self.loose.add(s.buffer)
        return self.descend(s)

    def rewrite_Intrinsic(self, s: Intrinsic[TensorIntrinsic]) -> Stmt:
        instruction = s.instruction
        if instruction.body is None or (self.spells(instruction) and self.loose.isdisjoint(s.buffers)):
            return s
        strides = strides_of(s, self.analyzer)
        regions = dict(zip(instruction.storage, s.regions, strict=True))
        body = rename_bound(instruction.body)
        count = len(instruction.outputs)
        outputs, inputs = instruction.storage[:count], instruction.storage[count:]
        for operand, declared in zip(instruction.inputs, inputs, strict=True):
            written = [b for b in outputs if b is not declared and self._may_overlap(regions[b], regions[declared])]
            if written and not _reads_first(body, declared, written):
                copy = self._copy(s, operand.name, declared, strides)
                body = Allocate(copy, sequence(copied(declared, copy), with_buffers(body, {declared: copy})))
        body = substitute(body, strides)
        return self.rewrite(_Placed(regions, body).rewrite(body))

    def _may_overlap(self, one: Region, other: Region) -> bool:
        """Whether two regions may have an element in common."""
        if one.buffer is not other.buffer:
            return one.buffer in self.aliased and other.buffer in self.aliased
        prove = self.analyzer.prove
        return not any(
            prove(i + n <= j) or prove(j + m <= i)
            for i, n, j, m in zip(one.indices, one.extents, other.indices, other.extents, strict=True)
        )

    @staticmethod
    def _copy(s: Intrinsic[TensorIntrinsic], name: str, declared: Buffer, values: Mapping[Var, Expr]) -> Buffer:
        """Memory for the elements of an input, which lie there as in its region."""
        strides = None if declared.strides is None else tuple(substitute(n, values) for n in declared.strides)
        copy = replace(declared, scope=Scope.LOCAL, strides=strides)
        if copy.size() is None:
            raise CodegenError(
                f"intrinsic {s.instruction.name!r}, operand {name!r}: an output may overlap it, and its strides "
                f"[{', '.join(map(str, copy.stride_exprs()))}] are not constant, so it can't be copied first; read all "
                "of it before the first store"
            )
        return copy


def _reads_first(body: Stmt, source: Buffer, outputs: Collection[Buffer]) -> bool:
    """Whether a body reads `source` for the last time before it stores an output for the first time."""
    while isinstance(body, Allocate):
        body = body.body
    steps = body.body if isinstance(body, Seq) else (body,)
    last = max((i for i, step in enumerate(steps) if source in all_read(step)), default=-1)
    first = min((i for i, step in enumerate(steps) if not all_written(step).isdisjoint(outputs)), default=len(steps))
    return last < first or (last == first and isinstance(steps[last], Store))


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
