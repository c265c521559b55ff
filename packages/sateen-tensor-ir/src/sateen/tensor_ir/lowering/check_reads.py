"""Checks that every read is within its tensor: in the definition of the computation, and in rounded-up tails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer, Linear, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import Requirement
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, substitute, walk
from sateen.tensor_ir.lowering.stage_plan import Plans, StagePlan
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import Operation, Tensor

NO_VALUES: Mapping[Var, Expr] = {}
Guarded = tuple[Read[Tensor], tuple[Expr, ...]]
"""A read, and the conditions that guard it."""


def check_definitions(schedule: Schedule) -> None:
    """Raise ScheduleError for a read that some point of its computation's domain performs out of bounds.

    It checks unguarded reads at indices linear in the axes, along dimensions in which the distance between the last
    index and the end of the tensor is known. So every refusal is right, but not every fault is found.
    """
    for span in _spans(schedule, Analyzer()):
        below = span.before.is_constant and span.before.constant < 0
        if below or (span.beyond.is_constant and span.beyond.constant < 0):
            extent, index = span.read.tensor.shape[span.dimension], span.read.indices[span.dimension]
            raise ScheduleError(
                f"{span.op.name!r} reads {span.read.tensor.name!r} out of its bounds: dimension {span.dimension} has "
                f"extent {extent}, index {index} reaches {span.first if below else span.last}"
            )


def find_requirements(schedule: Schedule, parameters: Mapping[Tensor, Buffer]) -> tuple[Requirement, ...]:
    """What `check_definitions` checks and only a call can tell, since the extents are symbols of different arguments.

    A read of a tensor that is no argument is a requirement of the first output. A symbol that no extent gives is not
    known at a call. The initial rows of a scan are computed as far as it has rows.
    """
    scans = [stage.op for stage in schedule.stages if isinstance(stage.op, ScanOp)]
    initial = {schedule[r.initial].op for scan in scans for r in scan.recurrences}
    known = {v for b in parameters.values() for e in b.shape for v in walk(e) if isinstance(v, Var)}
    if not known:
        return ()
    analyzer = Analyzer.of(parameters.values())
    found: dict[tuple[Buffer, int, object], Requirement] = {}
    output = next(parameters[t] for t in schedule.outputs)
    for span in _spans(schedule, analyzer):
        if span.op in initial:
            continue
        of_read = parameters.get(span.read.tensor)
        place = (of_read, span.dimension) if of_read is not None else (output, 0)
        for slack in (span.before, span.beyond):
            least = analyzer.lower(slack)
            if slack.is_constant or (least is not None and least >= 0) or not place[0].shape:
                continue
            needed = _unless_empty(analyzer.expr(slack), span.axes, analyzer)
            if of_read is not None and of_read.is_broadcast:
                single = of_read.shape[span.dimension] - 1
                needed = ex.minimum(single * single, 1) * needed
            if known.issuperset(n for n in walk(needed) if isinstance(n, Var)) and _is_simple(needed):
                found.setdefault((*place, analyzer.keys.of(needed)), Requirement(*place, needed))
    return tuple(found.values())


def _unless_empty(slack: Expr, axes: Sequence[IterVar], analyzer: Analyzer) -> Expr:
    """A slack that is at least 0, too, where an axis has no iterations."""
    for extent in (axis.extent for axis in axes if not isinstance(axis.extent, ex.Const)):
        if isinstance(extent, Var):
            least = analyzer.lower(analyzer.form(substitute(slack, {extent: ex.const(0)})))
            if least is not None and least >= 0:
                continue
        slack = ex.minimum(ex.maximum(extent, 0), 1) * slack
    return slack


def _is_simple(e: Expr) -> bool:
    """Whether a public function can compute an index."""
    return all(
        isinstance(n, (ex.Const, Var, ex.Add, ex.Sub, ex.Mul, ex.Min, ex.Max))
        or (isinstance(n, (ex.FloorDiv, ex.FloorMod)) and isinstance(n.b, ex.Const) and n.b.value > 0)
        for n in walk(e)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Span:
    """What a read reaches along a dimension over the domain of its operation: `first` to `last`, with so many elements
    `before` and `beyond` them."""

    op: Operation
    read: Read[Tensor]
    dimension: int
    first: Expr
    last: Expr
    before: Linear
    beyond: Linear
    axes: Sequence[IterVar]


def _spans(schedule: Schedule, analyzer: Analyzer) -> Iterator[_Span]:
    """Those of unguarded reads at indices that are linear in the axes."""
    for stage in schedule.stages:
        scan = None if stage.keeper is None else stage.keeper.op
        if isinstance(scan, ScanOp):
            row: dict[Var, Expr] = {stage.axes[0]: scan.start + scan.scan_axis}
            axes = (scan.scan_axis, *stage.axes[1:], *stage.op.reduce_axis)
            yield from _spans_of(stage.op, axes, schedule, analyzer, row)
        elif stage.home is None:
            yield from _spans_of(stage.op, (*stage.op.axis, *stage.op.reduce_axis), schedule, analyzer)


def _spans_of(
    op: Operation,
    axes: Sequence[IterVar],
    schedule: Schedule,
    analyzer: Analyzer,
    values: Mapping[Var, Expr] = NO_VALUES,
) -> Iterator[_Span]:
    """Those of an operation over the domain of `axes`; `values` writes others over these."""
    if any(ex.is_const(a.extent, 0) for a in axes):
        return
    for read in (r for body in op.body for r, conditions in guarded_reads(body) if not conditions):
        if schedule[read.tensor].home is not None:  # what a step computes has rows of that step only
            continue
        for d, (index, extent) in enumerate(zip(read.indices, read.tensor.shape, strict=True)):
            over = substitute(index, values)
            first, last = (_reached(analyzer, over, highest=highest) for highest in (False, True))
            if first is not None and last is not None:
                ends = analyzer.expr(first), analyzer.expr(last)
                yield _Span(op, read, d, *ends, first, analyzer.form(extent) - 1 - last, axes)


def _reached(analyzer: Analyzer, index: Expr, *, highest: bool) -> Linear | None:
    """The greatest or least value of an index over its axes; None if it is not linear in them."""
    form = analyzer.form(index)
    total = constant(form.constant)
    for atom, coefficient in form.terms.items():
        if not isinstance(atom, Var):
            return None
        end = analyzer.form(atom)
        if isinstance(atom, IterVar):
            end = analyzer.form(atom.extent) - 1 if (coefficient > 0) == highest else constant(0)
        total = total + end * coefficient
    return total


def check_overhangs(plans: Plans, schedule: Schedule, analyzer: Analyzer) -> None:
    """Raise ScheduleError if a rounded-up tail would read elements that do not exist or are not computed."""
    for plan in plans.values():
        if plan.rounded:
            _check_overhang(plan, plans, schedule, analyzer)


def check_steps(plans: Plans, schedule: Schedule, analyzer: Analyzer) -> None:
    """Raise ScheduleError if a step of a scan may read a row of a state that is not known before it."""
    for plan in plans.values():
        for read, conditions in (r for body in plan.body for r in guarded_reads(body)):
            home = schedule[read.tensor].home
            if home is None or not read.tensor.op.is_given:
                continue
            scan = home[0].op
            assert isinstance(scan, ScanOp)
            if analyzer.prove(scan.scan_axis.extent <= 0):
                continue
            known = [*plan.guards, *(substitute(c, plan.axis_value) for c in conditions)]
            point = analyzer.form(substitute(read.indices[0], plan.axis_value))
            where = f"lower: {plan.stage.name!r} reads {read}; in scan {scan.name!r}"
            if not _holds(analyzer, analyzer.form(scan.start + scan.scan_axis) - 1 - point, known):
                raise ScheduleError(f"{where} a step may read only rows that are provably before its own")
            if not _holds(analyzer, point, known):
                raise ScheduleError(
                    f"{where} that may be before the first row, as init has {scan.start} of them; give more, or select"
                )


def _check_overhang(plan: StagePlan, plans: Plans, schedule: Schedule, analyzer: Analyzer) -> None:
    for read, conditions in (r for body in plan.body for r in guarded_reads(body)):
        known = [*plan.guards, *(substitute(c, plan.axis_value) for c in conditions)]
        source = plans.get(schedule[read.tensor])
        for d, index in enumerate(read.indices):
            held = analyzer.form(read.tensor.shape[d])
            point = analyzer.form(substitute(index, plan.axis_value))
            starts, ends = [constant(0)], [held]
            if source is not None and source.base:
                axis = source.stage.op.axis[d]
                base = analyzer.form(source.base[axis])
                region = base + analyzer.form(source.extent[axis])
                starts, ends = ([base], [region]) if axis in source.rounded else ([constant(0), base], [held, region])
            would = f"split of {plan.stage.name!r} with a rounded-up tail would read {read.tensor.name!r}"
            for end in ends:
                if not _holds(analyzer, end - 1 - point, known):
                    raise ScheduleError(
                        f"{would} beyond its end: dimension {d} holds {analyzer.expr(end)} elements, index "
                        f"{analyzer.expr(point)} may reach further"
                    )
            for start in starts:
                if not _holds(analyzer, point - start, known):
                    raise ScheduleError(
                        f"{would} before its beginning: dimension {d} begins at {analyzer.expr(start)}, index "
                        f"{analyzer.expr(point)} may be below"
                    )


def _holds(analyzer: Analyzer, form: Linear, known: list[Expr]) -> bool:
    """Whether a form is at least 0, given conditions of which one may imply it."""
    least = analyzer.lower(form)
    if least is not None and least >= 0:
        return True
    for atom, coefficient in form.terms.items():
        if coefficient == -1 and atom in analyzer.divisions:  # x // k <= c exactly where x < (c + 1)·k
            x, k = analyzer.divisions[atom]
            return _holds(analyzer, (form.without(atom) + 1) * k - 1 - x, known)
    for given in filter(None, map(analyzer.slack, known)):
        for times in {1, *_multiples(form, given)}:
            least = analyzer.lower(form - given * times)
            if least is not None and least >= 0:
                return True
    return False


def _multiples(form: Linear, given: Linear) -> Iterator[int]:
    """By what a condition may be multiplied so that an atom of a form cancels."""
    for atom, coefficient in given.terms.items():
        times, rest = divmod(form.terms.get(atom, 0), coefficient)
        if times > 1 and rest == 0:
            yield times


OF_DATA = ex.const(True)
"""Stands for conditions on data, which say nothing about indices."""


def guarded_reads(e: Expr) -> Iterator[Guarded]:
    """Every read in `e` with its guards; a shared node counts once per set of conditions."""
    pending: list[tuple[Expr, tuple[Expr, ...]]] = [(e, ())]
    seen: set[tuple[Expr, tuple[Expr, ...]]] = set()
    while pending:
        found = pending.pop()
        if found in seen:
            continue
        seen.add(found)
        node, conditions = found
        if isinstance(node, Read):
            yield node, conditions
        pending.extend((child, _joined(conditions, more)) for child, more in reversed(list(_operands(node))))


def _joined(conditions: tuple[Expr, ...], more: Iterable[Expr]) -> tuple[Expr, ...]:
    """The conjunction of conditions. One value stands for all conditions on data, so that shared operands are not
    visited once for every combination of choices."""
    told = [c if isinstance(c, ex.Compare) and c.a.dtype == INDEX else OF_DATA for c in more]
    return (*conditions, *(c for c in dict.fromkeys(told) if c is not OF_DATA or OF_DATA not in set(conditions)))


def _operands(e: Expr) -> Iterator[tuple[Expr, Iterable[Expr]]]:
    """The operands of a node, with the conditions under which each is evaluated."""
    match e:
        case ex.Select():
            yield e.condition, ()
            yield e.then, conjuncts(e.condition)
            yield e.otherwise, [ex.logical_not(e.condition)]
        case ex.And():
            yield e.a, ()
            yield e.b, conjuncts(e.a)
        case ex.Or():
            yield e.a, ()
            yield e.b, [ex.logical_not(e.a)]
        case ex.Piecewise():
            yield e.index, ()
            for i, branch in enumerate(e.branches):
                yield branch, [ex.compare(ex.EQ, e.index, i)]
        case Reduce():
            yield e.where, ()
            for source in e.sources:
                yield source, conjuncts(e.where)
        case _:
            for child in children(e):
                assert isinstance(child, Expr)
                yield child, ()
