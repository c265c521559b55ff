"""A schedule: how a set of tensors is computed. It starts as plain loops, one nest per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from sateen.runtime.display import named
from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Scope, tagged_scope
from sateen.tensor_ir.ir.choices import all_of
from sateen.tensor_ir.ir.expr import TRUE, AxisKind, Expr, IterVar
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute, walk
from sateen.tensor_ir.schedule.checks import require_axis, require_unmarked
from sateen.tensor_ir.schedule.groups import Group, between, inline_all, is_elementwise, is_injective
from sateen.tensor_ir.schedule.relations import Fuse, Split
from sateen.tensor_ir.schedule.stage import Stage
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import ComputeOp, Operation, Tensor


class Schedule:
    """The stages of a computation, producers first. `schedule[tensor]` is the stage that computes it."""

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        self.stages: list[Stage] = []
        self._stage_of: dict[Tensor, Stage] = {}
        for op in _producers_first([t.op for t in outputs]):
            self._insert(Stage(self, op, op.outputs), len(self.stages))
        for stage in list(self.stages):
            if isinstance(stage.op, ScanOp):
                self._enter(stage, stage.op)

    def _enter(self, scan: Stage, op: ScanOp) -> None:
        """Place what a step of a scan computes in its loop over time."""
        step = {self[inner] for inner in op.inner}
        states = [r.state for r in op.recurrences if r.state in self._stage_of]  # an update may need none
        for tensor in (*(t for inner in op.inner for t in inner.outputs), *states):
            stage = self[tensor]
            others = [s.name for s in self.consumers(stage) if s not in step and s is not scan]
            if others or stage.home not in (None, (scan, op.scan_axis)):
                reader = others[0] if others else f"a step of scan {stage.home[0].name!r}" if stage.home else ""
                raise ScheduleError(
                    f"create_schedule: {reader} reads {tensor.name!r}, which exists within a step of scan "
                    f"{scan.name!r}; read {scan.name!r}"
                )
            stage.home = (scan, op.scan_axis)
        for recurrence in op.recurrences:
            self[recurrence.update].keeper = scan

    def _insert(self, stage: Stage, position: int) -> None:
        self.stages.insert(position, stage)
        for tensor in stage.outputs:
            self._stage_of[tensor] = stage

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        tensor = key.outputs[0] if isinstance(key, Operation) else key
        stage = self._stage_of.get(tensor) if isinstance(tensor, Tensor) else None
        if stage is None:
            computed = ", ".join(s.name for s in self.stages)
            if not isinstance(tensor, Tensor):
                found = f"{type(key).__name__}: {key!r:.80}"
                raise ScheduleError(f"expected a tensor of this schedule ({computed}), found {found}")
            twin = any(t.name == tensor.name for t in self._stage_of)
            reason = "another tensor of that name is" if twin else f"those are {computed}"
            raise ScheduleError(f"{tensor.name!r} is no tensor of this schedule: {reason}")
        return stage

    def __repr__(self) -> str:
        return f"Schedule({named([stage.name for stage in self.stages])})"

    def consumers(self, stage: StageState) -> list[Stage]:
        """The stages that read an output of `stage`."""
        return [s for s in self.stages if any(t in stage.outputs for t in s.op.inputs)]

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """The stages on all ways from `inputs` to `outputs`, to be placed together: `group.compute_at(stage, axis)`.

        Raises ScheduleError for an output that is not computed from the inputs.
        """
        ends = [list(given) if isinstance(given, (list, tuple)) else [given] for given in (outputs, inputs)]
        if not all(ends):
            raise ScheduleError("create_group: expects tensors as outputs and as inputs, found none")
        last, first = ([self[t] for t in end] for end in ends)
        return between(self.stages, last, first, include_inputs)

    def auto_inline_elementwise(self) -> None:
        """Inline every stage, outputs aside, whose elements are computed from the elements at the same place."""
        inline_all(self.stages, is_elementwise)

    def auto_inline_injective(self) -> None:
        """Inline every stage, outputs aside, that is no reduction."""
        inline_all(self.stages, is_injective)

    def cache_read(
        self, tensor: Tensor, scope: Scope | str, readers: Tensor | Operation | Sequence[Tensor | Operation]
    ) -> Tensor:
        """A copy of `tensor` in `scope` for `readers`, one or a list, to read instead; schedule it like any stage.

        C[i] = f(A[i])       AA = cache_read(A, "local", [C])
        =>  AA[i] = A[i];  C[i] = f(AA[i])
        """
        source = self[tensor]
        if isinstance(readers, (Tensor, Operation)):
            readers = [readers]
        if not isinstance(readers, (list, tuple)):
            found = type(readers).__name__
            raise ScheduleError(f"cache_read of {tensor.name!r}: expects a reader or a list of them, found {found}")
        stages = [self[r] for r in readers]
        if not stages:
            raise ScheduleError(f"cache_read of {tensor.name!r}: expects at least one reader, found none")
        for stage in stages:
            if tensor not in stage.op.inputs or not stage.op.body:
                raise ScheduleError(f"cache_read of {tensor.name!r}: {stage.name!r} does not read it as a compute")
        axis = tuple(IterVar(f"ax{d}", extent=e) for d, e in enumerate(tensor.shape))
        place, tag = tagged_scope(scope, f"cache_read of {tensor.name!r}")
        name = f"{tensor.name}.{place.value}{tag}"
        copy = ComputeOp(name, axis, (Read(tensor, axis, tensor.dtype),))
        cached = Stage(self, copy, copy.outputs)
        cached.scope, cached.scope_tag = place, tag
        cached.home = source.home
        self._insert(cached, self.stages.index(source) + 1)
        for stage in stages:
            redirect = _Redirect(tensor, copy.outputs[0])
            stage.op = _same_axes(stage.op, tuple(redirect.rewrite(b) for b in stage.op.body))
        return copy.outputs[0]

    def cache_write(self, tensor: Tensor | list[Tensor] | tuple[Tensor, ...], scope: Scope | str) -> Any:
        """Compute `tensor` in `scope` first, then copy it to where it belongs; returns the tensor in `scope`. Of an
        operation with several results all go there, given as a list or by one of them; they are returned as a tuple.

            for i: for k: C[i] += ...       CC = cache_write(C, "register")
            =>  for i: for k: CC[i] += ...;  for i: C[i] = CC[i]

        `C.op.axis` still names the loops of the copy; those of the computation are `CC.op.axis`, `CC.op.reduce_axis`.
        The latter are those of C, unless their extents depend on data axes.
        """
        if isinstance(tensor, (list, tuple)):
            return self._cache_all(tensor, scope)
        stage = self[tensor]
        op = stage.op
        if not op.body:
            raise ScheduleError(f"cache_write of {tensor.name!r}: it is not computed by te.compute")
        if any(isinstance(r, Split) and r.parent.kind is AxisKind.REDUCE for r in stage.relations):
            raise ScheduleError(
                f"cache_write of {tensor.name!r}: its reduce axes are already split; call cache_write first"
            )
        for leaf in stage.leaves:
            if leaf.kind is AxisKind.REDUCE:
                require_unmarked(stage, leaf, "cache_write", f"cache_write of {tensor.name!r}, axis {leaf.name!r}")
        fresh: dict[ex.Var, IterVar] = {}
        for a in (*op.axis, *op.reduce_axis):  # the extent of a reduction may depend on data axes
            extent = substitute(a.extent, fresh)
            is_kept = a.kind is AxisKind.REDUCE and extent is a.extent
            fresh[a] = a if is_kept else IterVar(a.name, extent=extent, kind=a.kind, span=a.span)
        place, tag = tagged_scope(scope, f"cache_write of {tensor.name!r}")
        inner = ComputeOp(f"{op.name}.{place.value}{tag}", tuple(fresh[a] for a in op.axis), _renamed(op.body, fresh))
        if op.instruction is not None:
            replaced, instruction = op.instruction
            inner.instruction = tuple(fresh[a] for a in replaced), instruction
            stage.tensorized = None
        cached = Stage(self, inner, inner.outputs)
        cached.scope, cached.scope_tag = place, tag
        cached.home = stage.home
        stage.op = _same_axes(op, tuple(t(*op.axis) for t in inner.outputs))
        stage.leaves = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.DATA]
        self._insert(cached, self.stages.index(stage))
        return inner.outputs if len(inner.outputs) > 1 else inner.outputs[0]

    def _cache_all(self, tensors: Sequence[Tensor], scope: Scope | str) -> tuple[Tensor, ...]:
        """`cache_write` of all results of an operation, in the given order."""
        stages = [self[t] for t in tensors]
        if not stages:
            raise ScheduleError("cache_write: expects at least one tensor, found none")
        results = stages[0].outputs
        if len(set(tensors)) < len(tensors) or set(tensors) != set(results):
            raise ScheduleError(
                f"cache_write of {named([t.name for t in tensors])}: expects all results of one operation, which are "
                f"{named([t.name for t in results])} for the first"
            )
        made = self.cache_write(tensors[0], scope)
        cached = made if isinstance(made, tuple) else (made,)
        return tuple(cached[results.index(t)] for t in tensors)

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Make a reduce loop a data axis of a partial result, which the stage then reduces over.

            for k: C[i] += f(i, k)       (after split(k) into ko, ki) rfactor(C, ki)
            =>  for ki: for ko: CF[ki, i] += f(i, ko*K + ki);   for ki: C[i] += CF[ki, i]

        This reassociates the reduction. `factor_axis` is the place of the new axis among those of the partial result.
        """
        stage = self[tensor]
        op = stage.op
        require_axis(stage, axis, "rfactor")
        where = f"rfactor of {tensor.name!r}, axis {axis.name!r}"
        if not op.reduce_axis or axis.kind is not AxisKind.REDUCE or not is_among(axis, stage.leaves):
            raise ScheduleError(f"{where}: expects a reduce loop of the stage, whose loops are {stage.loop_names}")
        if any(isinstance(v, IterVar) for v in walk(axis.extent)):
            raise ScheduleError(f"{where}: expects an extent that is the same everywhere, found {axis.extent}")
        if not isinstance(factor_axis, Integral) or not 0 <= factor_axis <= len(op.axis):
            raise ScheduleError(f"{where}: factor_axis expects 0 to {len(op.axis)}, found {factor_axis!r:.80}")
        first = op.body[0]
        assert isinstance(first, Reduce)
        leaves = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.REDUCE]
        for leaf in leaves:
            require_unmarked(stage, leaf, "rfactor", f"rfactor of {tensor.name!r}, axis {leaf.name!r}")
        values, guards = _axis_values([r for r in stage.relations if _reduces(r)], leaves)
        data: dict[ex.Var, IterVar] = {a: IterVar(a.name, extent=a.extent, span=a.span) for a in op.axis}
        factor = IterVar(axis.name, extent=axis.extent, span=axis.span)
        rest: dict[ex.Var, IterVar] = {
            l: IterVar(l.name, extent=substitute(l.extent, data), kind=AxisKind.REDUCE, span=l.span)
            for l in leaves
            if l is not axis
        }
        if not rest:
            one = IterVar("one", extent=ex.const(1), kind=AxisKind.REDUCE)
            rest = {one: one}
        new: dict[ex.Var, Expr] = dict([*data.items(), (axis, factor), *rest.items()])
        env: dict[ex.Var, Expr] = {**new, **{root: substitute(values[root], new) for root in op.reduce_axis}}
        condition = all_of([*(substitute(g, new) for g in guards), substitute(first.where, env)])
        sources = tuple(substitute(s, env) for s in first.sources)
        body = tuple(
            Reduce(first.combiner, sources, tuple(rest.values()), condition, i, s.dtype) for i, s in enumerate(sources)
        )
        axes = list(data.values())
        axes.insert(factor_axis, factor)
        partial = ComputeOp(f"{op.name}.rf", tuple(axes), body)
        partials = Stage(self, partial, partial.outputs)
        partials.home = stage.home
        self._insert(partials, self.stages.index(stage))
        last = IterVar(axis.name, extent=axis.extent, kind=AxisKind.REDUCE, span=axis.span)
        indices: list[IterVar] = list(op.axis)
        indices.insert(factor_axis, last)
        reads = tuple(t(*indices) for t in partial.outputs)
        stage.op = _same_axes(
            op, tuple(Reduce(first.combiner, reads, (last,), TRUE, i, r.dtype) for i, r in enumerate(reads))
        )
        stage.relations = [r for r in stage.relations if not _reduces(r)]
        place = position(leaves[0], stage.leaves)
        stage.leaves = [l for l in stage.leaves if not is_among(l, leaves)]
        stage.leaves.insert(place, last)
        return partial.outputs if len(partial.outputs) > 1 else partial.outputs[0]


def create_schedule(outputs: Any) -> Schedule:
    """The default schedule of one or more tensors (or operations): every stage at root, loops in the order of axes.

    An operation stands for all that it computes, and an output that is given twice is one. Raises ScheduleError for
    none, for what is no tensor, and for one that is given rather than computed.
    """
    items = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    tensors: list[Tensor] = []
    for item in items:
        if not isinstance(item, (Tensor, Operation)):
            raise ScheduleError(
                f"create_schedule expects tensors that te.compute or te.extern made, found {type(item).__name__}: "
                f"{item!r:.80}"
            )
        tensors.extend(item.outputs if isinstance(item, Operation) else [item])
    tensors = list(dict.fromkeys(tensors))  # each output once, however often its operation is named
    if not tensors:
        raise ScheduleError("create_schedule expects at least one tensor, found none")
    for tensor in tensors:
        if tensor.op.is_given:
            raise ScheduleError(f"create_schedule: {tensor.name!r} is given, not computed")
    return Schedule(tensors)


def _producers_first(roots: list[Operation]) -> list[Operation]:
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(roots)]
    while stack:
        op, ready = stack.pop()
        if op in order:
            continue
        if ready:
            order[op] = None
            continue
        stack.append((op, True))
        stack.extend((t.op, False) for t in reversed(op.inputs) if t.op not in order)
    return list(order)


def _same_axes(op: Operation, body: tuple[Expr, ...]) -> ComputeOp:
    """`op` with another body; consumers keep reading the tensors of the first op, which the stage still answers for."""
    new = ComputeOp(op.name, op.axis, body)
    new.span = op.span
    return new


def _renamed(body: tuple[Expr, ...], fresh: Mapping[ex.Var, IterVar]) -> tuple[Expr, ...]:
    renamed = []
    for e in body:
        new = substitute(e, fresh)
        if isinstance(new, Reduce):
            new = Reduce(new.combiner, new.sources, tuple(fresh[a] for a in new.axes), new.where, new.output, new.dtype)
        renamed.append(new)
    return tuple(renamed)


def _reduces(relation: Split | Fuse) -> bool:
    return (relation.parent if isinstance(relation, Split) else relation.fused).kind is AxisKind.REDUCE


def _axis_values(relations: list[Split | Fuse], leaves: list[IterVar]) -> tuple[dict[IterVar, Expr], list[Expr]]:
    """Each axis as an expression of the leaves, and the conditions under which a tile is within its axis."""
    values: dict[IterVar, Expr] = {leaf: leaf for leaf in leaves}
    guards = []
    for relation in reversed(relations):
        if isinstance(relation, Split):
            value = values[relation.outer] * relation.factor + values[relation.inner]
            values[relation.parent] = value
            covered = relation.outer.extent * relation.inner.extent
            if not (isinstance(covered, ex.Const) and ex.is_const(relation.parent.extent, covered.value)):
                guards.append(value < relation.parent.extent)
        else:
            values[relation.outer] = values[relation.fused] // relation.inner.extent
            values[relation.inner] = values[relation.fused] % relation.inner.extent
    return values, guards


class _Redirect(SharingRewriter):
    """Reads of one tensor become reads of another."""

    def __init__(self, old: Tensor, new: Tensor) -> None:
        super().__init__()
        self.old, self.new = old, new

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        e = self.descend(e)
        return Read(self.new, e.indices, e.dtype, e.span) if e.tensor is self.old else e
