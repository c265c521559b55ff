"""Primitives that say which loops a stage has, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.expr import AxisKind, Const, Expr, IterVar, as_expr, const
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.schedule.checks import (
    at,
    require_axis,
    require_expressions,
    require_own,
    require_own_storage,
    require_unmarked,
    require_untimed,
    twin,
)
from sateen.tensor_ir.schedule.relations import Fuse, Split, Tail
from sateen.tensor_ir.schedule.state import StageState


class LoopPrimitives(StageState):
    """Splits, joins and orders loops."""

    def split(
        self,
        parent: IterVar,
        factor: int | Expr | None = None,
        nparts: int | Expr | None = None,
        tail: Tail | str = Tail.GUARD,
    ) -> tuple[IterVar, IterVar]:
        """Cut a loop into tiles; returns (outer, inner).

            for i in n: C[i] = ...            split(i, factor=f)
            for io in ceil(n / f):
              for ii in f: if io*f + ii < n: C[io*f + ii] = ...

        `tail` says what happens to the last tile if f does not divide n: `guard` keeps the condition, `partition` makes
        the last tile a separate loop nest, `shift` moves it back so that it overlaps the one before (data axes of at
        least f), `round_up` computes the overhang, too, into storage that is enlarged for it (not for outputs).
        """
        split = self._planned_split(parent, factor, nparts, tail)
        self._apply_split(split)
        return split.outer, split.inner

    def _planned_split(
        self, parent: IterVar, factor: int | Expr | None, nparts: int | Expr | None, tail: Tail | str
    ) -> Split:
        """The relation that a split makes, checked."""
        require_own(self, parent, "split")
        require_unmarked(self, parent, "split", at(self, "split", parent))
        if (factor is None) == (nparts is None):
            raise ScheduleError(f"{at(self, 'split', parent)}: give either factor= or nparts=")
        count, word = (factor, "factor") if factor is not None else (nparts, "nparts")
        wrong = f"{at(self, 'split', parent)}: {word} expects an integer of at least 1, found {count!r:.80}"
        if not isinstance(count, (Expr, Integral)) or isinstance(count, bool):
            raise ScheduleError(wrong)
        given = as_expr(count)
        if not given.dtype.is_int or (isinstance(given, Const) and given.value < 1):
            raise ScheduleError(wrong)
        if any(isinstance(v, IterVar) for v in walk(given)):
            raise ScheduleError(f"{wrong}, which differs from iteration to iteration")
        extent = parent.extent
        if factor is not None:
            inner_extent, outer_extent = given, (extent + given - 1) // given
        else:
            inner_extent, outer_extent = (extent + given - 1) // given, given
        try:
            mode = Tail(tail)
        except ValueError:
            known = ", ".join(t.value for t in Tail)
            raise ScheduleError(f"{at(self, 'split', parent)}: tail expects one of {known}, found {tail!r}") from None
        self._check_tail(parent, inner_extent, mode)
        span = caller_span()
        outer = IterVar(f"{parent.name}o", extent=outer_extent, kind=parent.kind, span=span)
        inner = IterVar(f"{parent.name}i", extent=inner_extent, kind=parent.kind, span=span)
        return Split(parent, outer, inner, inner_extent, mode, None if nparts is None else given)

    def _apply_split(self, split: Split) -> None:
        self.relations.append(split)
        self._replace(split.parent, split.outer, split.inner)
        if split.tail is Tail.PARTITION:
            self._add_pragma(split.outer, "partition", True)

    def _check_tail(self, parent: IterVar, factor: Expr, tail: Tail) -> None:
        where = at(self, "split", parent)
        if tail in (Tail.SHIFT, Tail.ROUND_UP):
            require_expressions(self, f"{where}, tail={tail.value!r}")
        if tail is Tail.SHIFT:
            if parent.kind is AxisKind.REDUCE:
                raise ScheduleError(f"{where}: a shifted tail would add the overlapping terms of the reduction twice")
            if (
                not (isinstance(parent.extent, Const) and isinstance(factor, Const))
                or parent.extent.value < factor.value
            ):
                raise ScheduleError(
                    f"{where}: a shifted tail needs an extent of at least the factor, found extent {parent.extent} "
                    f"and factor {factor}"
                )
        if tail is Tail.ROUND_UP and parent.kind is AxisKind.REDUCE:
            raise ScheduleError(f"{where}: a rounded-up tail would add terms that the reduction does not have")
        if tail is Tail.ROUND_UP:
            require_own_storage(self, where)
        if tail is Tail.ROUND_UP and self.is_output:
            raise ScheduleError(
                f"{where}: {self.name!r} is an output, whose storage can't be enlarged; use guard, partition or shift"
            )

    def tile(
        self, x: IterVar, y: IterVar, x_factor: int, y_factor: int, tail: Tail | str = Tail.GUARD
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and put the tiles' loops outside; returns (x outer, y outer, x inner, y inner).

        for x: for y: ...       tile(x, y, a, b)
        for xo: for yo: for xi in a: for yi in b: ...
        """
        if x is y:
            raise ScheduleError(f"{at(self, 'tile', x)}: expects two different loops, found it twice")
        splits = self._planned_split(x, x_factor, None, tail), self._planned_split(y, y_factor, None, tail)
        for split in splits:
            self._apply_split(split)
        first, second = splits
        order = (first.outer, second.outer, first.inner, second.inner)
        self.reorder(*order)
        return order

    def fuse(self, *axes: IterVar) -> IterVar:
        """Join adjacent loops, outermost first, to one loop.

        for i in n: for j in m: ...       fuse(i, j)
        for f in n*m: i = f // m; j = f % m; ...

        Of no loops it makes one of a single iteration around all, for what has no dimensions.
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if not axes:
            if self.axes:
                raise ScheduleError(
                    f"fuse in stage {self.name!r}: expects at least one axis, found none; only a stage without "
                    "dimensions has no loop to name"
                )
            single = IterVar("single", extent=const(1), span=caller_span())
            self.leaves.insert(0, single)
            return single
        first = axes[0]
        for axis in axes:
            require_own(self, axis, "fuse")
            if first.kind is not axis.kind:
                raise ScheduleError(
                    f"{at(self, 'fuse', axis)}: {first.name!r} is a {first.kind.value} axis and {axis.name!r} "
                    f"a {axis.kind.value} axis"
                )
            if len(axes) > 1:
                require_unmarked(self, axis, "fuse", at(self, "fuse", axis))
        place = position(first, self.leaves)
        for offset, (outer, inner) in enumerate(pairwise(axes)):
            if not is_among(inner, self.leaves[place + offset + 1 : place + offset + 2]):
                raise ScheduleError(
                    f"{at(self, 'fuse', inner)}: it must be the loop directly inside {outer.name!r}; reorder first"
                )
        fused = first
        for axis in axes[1:]:
            new = IterVar(
                f"{fused.name}_{axis.name}", extent=fused.extent * axis.extent, kind=axis.kind, span=caller_span()
            )
            self.relations.append(Fuse(fused, axis, new))
            self._unmark(fused)
            self._unmark(axis)
            fused = new
        self.leaves[place : place + len(axes)] = [fused]
        return fused

    def reorder(self, *axes: IterVar) -> None:
        """Put the given loops into the given order; the others stay where they are.

            for i: for j: for k: ...       reorder(k, i)
            for k: for j: for i: ...

        A reduce loop of a stage attached to this one may be named first: it moves out of that stage, around this
        one's loops (K-blocking). Between blocks the partial results are then in this stage's output:

            for i: { CC = 0; for ko: for ki: CC += ...; C[i] = CC + bias }     s[C].reorder(ko, i)
            for ko: for i: { CC = 0 if ko == 0 else C[i]; for ki: CC += ...; C[i] = CC + bias if ko is last else CC }
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if not axes:
            raise ScheduleError(f"reorder in stage {self.name!r}: expects at least one axis, found none")
        for axis in axes:
            require_axis(self, axis, "reorder")
            require_untimed(self, axis, "reorder")
        if len(set(axes)) != len(axes):
            raise ScheduleError(f"reorder in stage {self.name!r}: an axis is named twice")
        foreign = {axis: self._owner_of(axis) for axis in axes if not is_among(axis, self.leaves)}
        if foreign:
            own = [position(axis, self.leaves) for axis in axes if is_among(axis, self.leaves)]
            if not own:
                raise ScheduleError(
                    f"reorder in stage {self.name!r}: expects a loop of this stage to move around, found none"
                )
            self.blocks |= foreign
            self.leaves[min(own) : min(own)] = foreign
            for axis, owner in foreign.items():
                for here, there in zip(self._marks, owner._marks, strict=True):
                    if axis in there:
                        here[axis] = there.pop(axis)
        places = sorted(position(axis, self.leaves) for axis in axes)
        leaves = list(self.leaves)
        for place, axis in zip(places, axes, strict=True):
            leaves[place] = axis
        self._check_order(leaves)
        self.leaves = leaves

    def _check_order(self, leaves: Sequence[IterVar]) -> None:
        """Loops whose iterations follow one another stay in order."""
        before, after = ([x for x in those if x.kind is AxisKind.ORDERED] for those in (self.leaves, leaves))
        for old, new in zip(before, after, strict=True):
            if old is not new:
                raise ScheduleError(
                    f"{at(self, 'reorder', new)}: its iterations follow those of {old.name!r}, since both share "
                    f"elements that {self.name!r} stores; leave these two in order"
                )

    def _owner_of(self, axis: IterVar) -> StageState:
        """The stage that is attached here and whose reduce loop may move into this nest."""
        owner = next((s for s in self.schedule.stages if is_among(axis, s.leaves)), None)
        where = f"reorder in stage {self.name!r}, axis {axis.name!r}"
        if owner is None:
            raise ScheduleError(
                f"{where}: it is no loop of this stage, whose loops are {self.loop_names}{twin(self, axis)}"
            )
        if axis.kind is not AxisKind.REDUCE or owner.attach is None or owner.attach[0] is not self:
            raise ScheduleError(
                f"{where}: it is a loop of {owner.name!r}; only a reduce loop of a stage computed at this one may "
                "move here"
            )
        first_reduce = next(leaf for leaf in owner.leaves if leaf.kind is AxisKind.REDUCE)
        if axis is not first_reduce:
            raise ScheduleError(
                f"{where}: only the outermost reduce loop of {owner.name!r} ({first_reduce.name!r}) may move out of it"
            )
        if len(self.outputs) != 1 or len(owner.outputs) != 1 or self.outputs[0].dtype != owner.outputs[0].dtype:
            raise ScheduleError(
                f"{where}: the partial results of {owner.name!r} can't be kept in {self.name!r}: both need one output "
                "of one type"
            )
        if self.op.reduce_axis:
            raise ScheduleError(f"{where}: {self.name!r} is a reduction itself")
        if self.blocks:
            other = next(iter(self.blocks.values()))
            raise ScheduleError(
                f"{where}: {self.name!r} keeps the partial results of {other.name!r} already, and has place for one"
            )
        return owner
