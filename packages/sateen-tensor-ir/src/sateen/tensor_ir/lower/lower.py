"""Lowering: from a schedule to a function of loop IR. This file is the table of contents of the tensor compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.stmt import Function, Stmt
from sateen.tensor_ir.ir.verify import verify
from sateen.tensor_ir.lower.check_legality import check_legality
from sateen.tensor_ir.lower.check_reads import check_definitions, check_overhangs
from sateen.tensor_ir.lower.nests import build_nests
from sateen.tensor_ir.lower.partition_loops import partition_loops
from sateen.tensor_ir.lower.regions import infer_regions
from sateen.tensor_ir.lower.simplify import simplify
from sateen.tensor_ir.lower.tighten_loops import tighten_loops
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.te.tensor import ConstantOp, PlaceholderOp, Tensor

Pass = Callable[[Stmt, Analyzer], Stmt]

PASSES: tuple[Pass, ...] = (
    simplify,
    tighten_loops,
    partition_loops,
    simplify,
    tighten_loops,
    simplify,
)
"""What a nest goes through, in order; the verifier runs after each that changes it."""


def lower(
    schedule: Schedule,
    arguments: Sequence[Tensor],
    name: str = "run",
    *,
    buffers: Mapping[Tensor, Buffer] | None = None,
    aliased: Sequence[Tensor] = (),
    passes: Sequence[Pass] = PASSES,
) -> Function:
    """The loop IR of a schedule: a function over `arguments`, in their order.

    `buffers` declares storage other than compact row-major for some arguments. Arguments in `aliased` may overlap each
    other, so an output can take the place of an input; the computation must then read each element before that element
    is overwritten. Raises ScheduleError where a primitive would change the result, or an argument is missing,
    superfluous, given twice or of another shape than its buffer.
    """
    if not isinstance(schedule, Schedule):
        raise ScheduleError(f"lower expects a schedule, found {type(schedule).__name__}")
    parameters = _parameters(schedule, arguments, {} if buffers is None else buffers, aliased)
    analyzer = Analyzer()
    check_definitions(schedule)
    plans = infer_regions(schedule, analyzer)
    check_legality(plans, analyzer)
    check_overhangs(plans, schedule, analyzer)
    body = build_nests(schedule, plans, parameters, analyzer)
    outputs = frozenset(parameters[t] for t in schedule.outputs)
    overlapping = frozenset(parameters[t] for t in aliased)
    function = Function(name, tuple(parameters.values()), outputs, body, overlapping)
    verify(function, after="build_nests")
    for transform in passes:
        changed = transform(function.body, analyzer)
        if changed is not function.body:
            function = replace(function, body=changed)
            verify(function, after=transform.__name__)
    return function


def _parameters(
    schedule: Schedule, arguments: Sequence[Tensor], buffers: Mapping[Tensor, Buffer], aliased: Sequence[Tensor]
) -> dict[Tensor, Buffer]:
    if not isinstance(arguments, (list, tuple)):
        raise ScheduleError(f"lower expects a list of tensors as arguments, found {type(arguments).__name__}")
    known = {t for s in schedule.stages for t in s.outputs}
    parameters: dict[Tensor, Buffer] = {}
    for tensor in arguments:
        if not isinstance(tensor, Tensor):
            raise ScheduleError(f"lower expects tensors as arguments, found {type(tensor).__name__}")
        if tensor in parameters:
            raise ScheduleError(f"lower: {tensor.name!r} is among the arguments twice")
        if tensor not in known:
            is_twin = tensor.name in {t.name for t in known}
            reason = "another tensor of that name is" if is_twin else "nothing in it reads it"
            raise ScheduleError(f"lower: argument {tensor.name!r} is no tensor of the schedule: {reason}")
        if isinstance(tensor.op, ConstantOp):
            raise ScheduleError(f"lower: {tensor.name!r} is a constant, not an argument")
        if tensor not in schedule.outputs and not isinstance(tensor.op, PlaceholderOp):
            raise ScheduleError(
                f"lower: argument {tensor.name!r} is computed inside; give it to create_schedule to make it an output"
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
    for tensor in aliased:
        if tensor not in parameters:
            raise ScheduleError(f"lower: aliased tensor {tensor.name!r} is not among the arguments")
    for tensor in schedule.outputs:
        if tensor not in parameters:
            raise ScheduleError(f"lower: output {tensor.name!r} is not among the arguments")
    return parameters


def _check_buffer(tensor: Tensor, buffer: Buffer) -> None:
    """The storage declared for an argument holds its elements, no others."""
    analyzer = Analyzer()
    same_shape = len(buffer.shape) == tensor.ndim and all(
        analyzer.form(held).same(analyzer.form(needed)) for held, needed in zip(buffer.shape, tensor.shape, strict=True)
    )
    if not same_shape or buffer.dtype != tensor.dtype or buffer.scope is not Scope.GLOBAL:
        expected, found = (f"{x.dtype}[{', '.join(map(str, x.shape))}]" for x in (tensor, buffer))
        place = f" in {buffer.scope.value} memory" if buffer.scope is not Scope.GLOBAL else ""
        raise ScheduleError(f"lower: the buffer of {tensor.name!r} expects {expected}, found {found}{place}")
