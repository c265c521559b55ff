"""Lowering: from a schedule to a function of loop IR, by the passes of `pipelines`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sateen.runtime.device import Device
from sateen.runtime.errors import LoweringError, ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import Function, Let, Stmt
from sateen.tensor_ir.ir.types import INDEX, INT64
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import free_vars, walk
from sateen.tensor_ir.lowering.check_legality import check_legality
from sateen.tensor_ir.lowering.check_reads import check_definitions, check_overhangs, check_steps, find_requirements
from sateen.tensor_ir.lowering.nests import build_nests
from sateen.tensor_ir.lowering.pipelines import PASSES, Observer, Pass, pass_name
from sateen.tensor_ir.lowering.regions import infer_regions
from sateen.tensor_ir.lowering.stage_plan import Plans
from sateen.tensor_ir.schedule.relations import Split, Tail
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.tensor import Operation, Tensor


def lower(
    schedule: Schedule,
    arguments: Sequence[Tensor | Var],
    name: str = "run",
    *,
    buffers: Mapping[Tensor, Buffer] | None = None,
    aliased: Sequence[Tensor] = (),
    passes: Sequence[Pass] = PASSES,
    observe: Observer | None = None,
) -> Function:
    """The loop IR of a schedule: a function over `arguments`, in their order.

    A variable (`te.var`) among them is a number, passed as an array without dimensions; an index is passed as int64. An
    index that extents consist of, such as n of 2 * n, is in [0, 2^31) and in memory of the host.
    `buffers` declares storage other than compact row-major for some arguments. Arguments in `aliased` may overlap each
    other, so an output can take the place of an input; the computation must then read each element before that element
    is overwritten. Intermediate tensors among the arguments are written to the caller's memory, too; placeholders that
    nothing reads are allowed. `passes` rewrite the loops, in order, and may be the user's own; the verifier runs after
    each that changes them. `observe` gets the name of each pass, the function before it and the function after it.
    Raises ScheduleError if a primitive would change the result, or if an argument is missing, of another computation,
    given twice, of another shape than its buffer, or not computed as a whole; LoweringError if a pass returns no
    statement, or a malformed one.
    """
    if not isinstance(schedule, Schedule):
        raise ScheduleError(f"lower expects a schedule, found {type(schedule).__name__}{_advice(schedule)}")
    if not isinstance(name, str):
        raise ScheduleError(f"lower expects a text as the function's name, found {type(name).__name__}")
    if not isinstance(passes, (list, tuple)) or not all(map(callable, passes)):
        raise ScheduleError(f"lower expects passes= to be a list of functions of a statement, found {passes!r:.80}")
    parameters = _parameters(schedule, arguments, {} if buffers is None else buffers, aliased)
    analyzer = Analyzer()
    check_definitions(schedule)
    plans = infer_regions(schedule, analyzer)
    _require_shallow(plans)
    check_legality(plans, analyzer)
    check_overhangs(plans, schedule, analyzer)
    check_steps(plans, schedule, analyzer)
    storage = {t: b for t, b in parameters.items() if isinstance(t, Tensor)}
    body = build_nests(schedule, plans, storage, analyzer)
    sizes = _sizes(schedule, parameters)
    numbers = tuple((v, b) for v, b in parameters.items() if isinstance(v, Var) and v in sizes)
    for variable, buffer in parameters.items():
        if isinstance(variable, Var) and variable not in sizes:
            number: Expr = Load(buffer, (), buffer.dtype)
            body = Let(variable, number.astype(INDEX) if variable.dtype == INDEX else number, body)
    outputs = frozenset(buffer for t, buffer in storage.items() if not t.op.is_given)
    overlapping = frozenset(parameters[t] for t in aliased)
    needs = find_requirements(schedule, storage)
    function = Function(
        name, tuple(parameters.values()), outputs, body, overlapping, numbers=numbers, requirements=needs
    )
    for b in parameters.values():
        if b.on_device is not None:
            raise LoweringError(
                f"lower: expected argument {b.name!r} in memory of the host, or with no device, which means where the "
                f"code runs; found {b.device}"
            )
    _require_numbers(function)
    verify(function, after="build_nests")
    for transform in passes:
        before, function = function, _after(transform, function, analyzer)
        if observe is not None:
            observe(pass_name(transform), before, function)
    return function


MOST_STORED = 150
"""The most stages with storage of their own: each is allocated within the one before, and passes visit by recursion."""


def _require_shallow(plans: Plans) -> None:
    """Raise ScheduleError for more intermediate stages than passes can visit."""
    stored = [stage.name for stage in plans if not stage.is_output]
    if len(stored) > MOST_STORED:
        raise ScheduleError(
            f"lower: expected at most {MOST_STORED} stages whose results are stored in between, found {len(stored)}, "
            f"{stored[0]!r} to {stored[-1]!r}; compute_inline some, or build several functions"
        )


def _require_numbers(function: Function) -> None:
    """Raise ScheduleError for a variable of te whose value no argument gives."""
    shapes = (e for b in function.parameters for e in (*b.shape, *(b.strides or ())))
    given = {symbol for symbol, _ in function.numbers}.union(*map(free_vars, shapes))
    for variable in sorted(free_vars(function.body) - given, key=lambda variable: variable.name):
        if isinstance(variable, IterVar):
            raise ScheduleError(f"lower: axis {variable.name!r} is used outside of the computation that has it")
        raise ScheduleError(
            f"lower: {variable.name!r} is no extent of an argument, which would give its value; list it among the "
            "arguments"
        )


def _after(transform: Pass, function: Function, analyzer: Analyzer) -> Function:
    """The verified function after a pass; the same object if the pass changed nothing."""
    name = pass_name(transform)
    try:
        body = transform(function.body, analyzer)
    except Exception as error:
        error.add_note(f"while running {name}")
        raise
    if body is function.body:
        return function
    if not isinstance(body, Stmt):
        raise LoweringError(f"lower expects pass {name} to return a statement, found {type(body).__name__}")
    changed = replace(function, body=body)
    verify(changed, after=name)
    return changed


def _advice(given: object) -> str:
    """The hint for a value that is no schedule."""
    if isinstance(given, (Tensor, Operation)):
        return f"; te.create_schedule({given.name}) makes one"
    if isinstance(given, (str, Path)):
        return "; a model's file is compiled by sateen.frontends and sateen.graph_ir.build, or the command sateen"
    if isinstance(given, (tuple, list)):
        return "; give the schedule and the list of arguments one after the other"
    return "; te.create_schedule(tensor) makes one"


def _parameters(
    schedule: Schedule, arguments: Sequence[Tensor | Var], buffers: Mapping[Tensor, Buffer], aliased: Sequence[Tensor]
) -> dict[Tensor | Var, Buffer]:
    if not isinstance(arguments, (list, tuple)):
        raise ScheduleError(f"lower expects a list of tensors as arguments, found {type(arguments).__name__}")
    known = {t for s in schedule.stages for t in s.outputs}
    parameters: dict[Tensor | Var, Buffer] = {}
    sizes = _sizes(schedule, (t for t in arguments if isinstance(t, Tensor)))
    if not isinstance(buffers, Mapping) or not all(isinstance(b, Buffer) for b in buffers.values()):
        raise ScheduleError("lower expects buffers= to give a buffer (te.decl_buffer) for a tensor: {A: buffer}")
    for tensor in arguments:
        if not isinstance(tensor, (Tensor, Var)):
            raise ScheduleError(
                f"lower expects tensors as arguments, found {type(tensor).__name__}; arrays are given to the function "
                "that build returns"
            )
        if tensor in parameters:
            raise ScheduleError(f"lower: {tensor.name!r} is among the arguments twice")
        if isinstance(tensor, Var):
            parameters[tensor] = _number(tensor, sizes)
            continue
        is_twin = tensor not in known and tensor.name in {t.name for t in known}
        if is_twin or (tensor not in known and not tensor.op.is_given):
            reason = "another tensor of that name is" if is_twin else "nothing in it reads it"
            raise ScheduleError(f"lower: argument {tensor.name!r} is no tensor of the schedule: {reason}")
        if tensor.op.data is not None:
            raise ScheduleError(f"lower: {tensor.name!r} is a constant, not an argument")
        if reason := _reason_inside(schedule[tensor]) if tensor in known else "":
            raise ScheduleError(
                f"lower: argument {tensor.name!r} {reason}, so the caller's memory can't hold it; compute it as a "
                "whole at root or leave it out"
            )
        if tensor in buffers:
            _check_buffer(tensor, buffers[tensor])
            parameters[tensor] = buffers[tensor]
        else:
            parameters[tensor] = Buffer(tensor.name, tensor.shape, tensor.dtype, alignment=tensor.dtype.bytes)
    for tensor in buffers:
        if tensor not in parameters:
            raise ScheduleError(
                f"lower: {getattr(tensor, 'name', tensor)!r} has a buffer, but is not among the arguments"
            )
    if not isinstance(aliased, (list, tuple)) or not all(isinstance(t, Tensor) for t in aliased):
        raise ScheduleError(f"lower expects aliased= to be a list of tensors, found {aliased!r:.80}")
    for tensor in aliased:
        if tensor not in parameters:
            raise ScheduleError(f"lower: aliased tensor {tensor.name!r} is not among the arguments")
    for tensor in schedule.outputs:
        if tensor not in parameters:
            raise ScheduleError(f"lower: output {tensor.name!r} is not among the arguments")
    return parameters


def _sizes(schedule: Schedule, parameters: Iterable[Tensor | Var]) -> set[Expr]:
    """The symbols that the extents of tensors consist of."""
    tensors = {t for s in schedule.stages for t in s.outputs} | {t for t in parameters if isinstance(t, Tensor)}
    return {v for t in tensors for e in t.shape for v in walk(e) if isinstance(v, Var)}


def _number(variable: Var, sizes: Container[Expr]) -> Buffer:
    """The parameter that holds the value of a variable."""
    if isinstance(variable, IterVar):
        raise ScheduleError(f"lower expects variables made by te.var as arguments, found axis {variable.name!r}")
    kind = INT64 if variable.dtype == INDEX else variable.dtype
    place = Device.of("cpu") if variable in sizes else None
    return Buffer(variable.name, (), kind, alignment=kind.bytes, device=place)


def _reason_inside(stage: StageState) -> str:
    """Why a stage can't write to memory of the caller; '' if it can."""
    if stage.op.is_given:
        return f"is the state of scan {stage.home[0].name!r}" if stage.home is not None else ""
    if stage.inlined:
        return "is inlined"
    if stage.attach is not None:
        return f"is computed at loop {stage.attach[1].name!r} of {stage.attach[0].name!r}"
    if stage.scope is not Scope.GLOBAL:
        return f"is in {stage.scope.value} memory"
    if stage.alignments or any(isinstance(r, Split) and r.tail is Tail.ROUND_UP for r in stage.relations):
        return "has storage that is larger than itself"
    return ""


def _check_buffer(tensor: Tensor, buffer: Buffer) -> None:
    """Check that the storage declared for an argument holds exactly its elements."""
    analyzer = Analyzer()
    same_shape = len(buffer.shape) == tensor.ndim and all(
        analyzer.form(held).same(analyzer.form(needed)) for held, needed in zip(buffer.shape, tensor.shape, strict=True)
    )
    if not same_shape or buffer.dtype != tensor.dtype or buffer.scope is not Scope.GLOBAL:
        place = f" in {buffer.scope.value} memory" if buffer.scope is not Scope.GLOBAL else ""
        raise ScheduleError(f"lower: the buffer of {tensor.name!r} expects {tensor.type}, found {buffer.type}{place}")
    if not tensor.op.is_given and buffer.is_broadcast:
        raise ScheduleError(
            f"lower: output {tensor.name!r} expects an element for each of its own, found a broadcast buffer"
        )
    if not tensor.op.is_given and not buffer.has_places():
        found = ", ".join(map(str, buffer.stride_exprs()))
        raise ScheduleError(f"lower: the buffer of output {tensor.name!r} has elements in one place, strides [{found}]")
