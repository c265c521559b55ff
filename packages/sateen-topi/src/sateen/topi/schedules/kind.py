"""The kind of a computation for fusion, derived from its reads."""

from __future__ import annotations

from enum import IntEnum

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import IterVar, Read, Reduce, is_among, is_const, walk
from sateen.tensor_ir.te import Operation, Tensor, reads
from sateen.topi.schedules.computation import Computation


class Kind(IntEnum):
    """The kinds of computations by access pattern, from most to least fusible."""

    ELEMENT_WISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    OPAQUE = 4


def kind_of(computation: Computation) -> Kind:
    """The kind, derived from the reads of each output: the same element of every input, a broadcast one, any one, or
    many."""
    kinds = [Kind.OPAQUE if len(computation.outputs) > 1 else Kind.ELEMENT_WISE]
    for view in computation.outputs:
        op = view.tensor.op
        if not op.body:
            kinds.append(Kind.OPAQUE)
            continue
        kinds.append(_kind_of_stage(op))
        if not all(t.op.is_given for t in op.inputs):
            kinds.append(Kind.OPAQUE)
    if computation.schedule is not None:
        kinds.append(Kind.REDUCTION)
    return max(kinds)


def _kind_of_stage(op: Operation) -> Kind:
    if isinstance(op.body[0], Reduce):
        return Kind.REDUCTION
    analyzer = Analyzer()
    for axis in op.axis:
        analyzer.bind(axis, 0, axis.extent)
    return max((_kind_of_read(r, op.axis, analyzer) for b in op.body for r in reads(b)), default=Kind.BROADCAST)


def _kind_of_read(read: Read[Tensor], axes: tuple[IterVar, ...], analyzer: Analyzer) -> Kind:
    indices = [analyzer.simplify(i) for i in read.indices]
    own = [a for a in axes if not is_const(a.extent, 1)]
    moving = [i for i, extent in zip(indices, read.tensor.shape, strict=True) if not is_const(extent, 1)]
    if len(moving) == len(own) and all(a is b for a, b in zip(moving, own, strict=True)):
        return Kind.ELEMENT_WISE
    plain = all(is_among(i, axes) or set(axes).isdisjoint(walk(i)) for i in indices)
    return Kind.BROADCAST if plain else Kind.INJECTIVE
