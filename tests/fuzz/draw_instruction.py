"""An instruction for loops of a stage that are drawn: its definition is read from the stage, and is its code.

Operands may lie in memory as they like. So tensorize takes it wherever tiles are whole, and what differs after that is
a fault of the matcher or of what is put in the place of the instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.tensor_ir import te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Const, Expr, IterVar, Var, is_const
from sateen.tensor_ir.ir.identity import is_among
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, walk
from sateen.tensor_ir.schedule.relations import Split
from sateen.tensor_ir.schedule.stage import Stage
from sateen.tensor_ir.te.tensor import ComputeOp, Tensor


def instruction_for(stage: Stage, leaves: Sequence[IterVar], name: str) -> TensorIntrinsic | None:
    """An instruction that computes what the innermost loops of a stage do; None where its definition can't be read.

    That is so for loops which together don't run over a whole range of an axis, for a body that uses axes other than as
    affine indices, and for stages that read what is inlined.
    """
    extents = _tile(stage, leaves)
    body = stage.op.body
    if extents is None or any(stage.schedule[r.tensor].inlined for e in body for r in te.reads(e)):
        return None
    axes = {root: IterVar(root.name, extent=te.const(n), kind=root.kind) for root, n in extents.items()}
    operands = _Operands(axes)
    first = body[0]
    sources = first.sources if isinstance(first, Reduce) else body
    if isinstance(first, Reduce) and not is_const(first.where, True):
        return None
    try:
        terms = tuple(map(operands.rewrite, sources))
    except _NotAffineError:
        return None
    bare = _WithoutIndices()
    if not operands.made or any(isinstance(n, Var) for e in terms for n in walk(bare.rewrite(e))):
        return None
    data = tuple(axes[a] for a in stage.axes if a in axes)
    if isinstance(first, Reduce):
        over = tuple(axes[a] for a in first.axes if a in axes)
        if not over:
            return None
        terms = tuple(Reduce(first.combiner, terms, over, first.where, i, e.dtype) for i, e in enumerate(terms))
    op = ComputeOp(name, data, terms)
    binds = {t: _anywhere(t) for t in (*op.outputs, *op.inputs)}
    return te.decl_tensor_intrin(op, name=name, binds=binds, otherwise="definition")


def _tile(stage: Stage, leaves: Sequence[IterVar]) -> dict[IterVar, int] | None:
    """How many iterations of each axis of the stage some loops are; None unless they are a range of it."""
    parts: dict[IterVar, list[tuple[int, int]]] = {}
    for leaf in leaves:
        root, weight = leaf, 1
        for relation in reversed(stage.relations):
            if isinstance(relation, Split) and root is relation.inner:
                root = relation.parent
            elif isinstance(relation, Split) and root is relation.outer:
                if not isinstance(relation.factor, Const):
                    return None
                root, weight = relation.parent, weight * int(relation.factor.value)
        if not is_among(root, (*stage.axes, *stage.op.reduce_axis)) or not isinstance(leaf.extent, Const):
            return None
        parts.setdefault(root, []).append((weight, int(leaf.extent.value)))
    for steps in parts.values():
        steps.sort()
        if any(weight != prod(n for _, n in steps[:i]) for i, (weight, n) in enumerate(steps) if n > 1):
            return None
    return {root: prod(n for _, n in steps) for root, steps in parts.items()}


class _NotAffineError(Exception):
    """An index is no sum of multiples of axes."""


@dataclass(eq=False)
class _Operands(SharingRewriter):
    """Elements of operands, at the axes of the instruction, in the place of reads at those of the stage."""

    axes: dict[IterVar, IterVar]

    def __post_init__(self) -> None:
        super().__init__()
        self.analyzer = Analyzer()
        self.made: dict[Any, Tensor] = {}

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        indices, shape = [], []
        for form in map(self.analyzer.form, e.indices):
            inner: Expr = te.const(0)
            extent = 1
            for atom, step in form.terms.items():
                if set(walk(atom)).isdisjoint(self.axes):
                    continue
                if not isinstance(atom, IterVar) or step < 1:
                    raise _NotAffineError
                axis = self.axes[atom]
                assert isinstance(axis.extent, Const)
                inner, extent = inner + axis * step, extent + step * (int(axis.extent.value) - 1)
            if extent > 1:
                indices.append(inner)
                shape.append(extent)
        key = (e.tensor, tuple(self.analyzer.keys.of(i) for i in e.indices))
        if key not in self.made:
            self.made[key] = te.placeholder(tuple(shape), e.dtype, name=f"operand{len(self.made)}")
        return self.made[key](*indices)


class _WithoutIndices(SharingRewriter):
    """Reads without their indices, so that what is left of axes is data."""

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        return Read(e.tensor, (), e.dtype)


def _anywhere(t: Tensor) -> Buffer:
    """Storage with any strides."""
    strides = [te.var(f"step{d}") for d in range(t.ndim)]
    return te.decl_buffer(t.shape, t.dtype, t.name, strides=strides, offset_factor=1)
