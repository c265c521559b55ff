"""Buffers of the stages of a schedule, and the elements of tensors in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.stmt import Allocate, Stmt
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.visit import SharingRewriter
from sateen.tensor_ir.lowering.double_buffers import COPIES, part_in_use
from sateen.tensor_ir.lowering.places import find_places
from sateen.tensor_ir.lowering.stage_plan import Plans, StagePlan
from sateen.tensor_ir.schedule.schedule import Schedule
from sateen.tensor_ir.schedule.state import StageState
from sateen.tensor_ir.te.tensor import Tensor


class StageBuffers:
    """The buffer of each tensor that is stored: an argument, or storage of the stage that computes it.

    Raises ScheduleError for a tensor that nothing gives, and for registers whose shape is not constant.
    """

    def __init__(
        self, schedule: Schedule, plans: Plans, arguments: Mapping[Tensor, Buffer], analyzer: Analyzer
    ) -> None:
        self.schedule = schedule
        self.plans = plans
        self.arguments = arguments
        self.analyzer = analyzer
        self.buffers: dict[Tensor, Buffer] = dict(arguments)
        self.places = find_places(schedule, plans, arguments, analyzer)
        for stage in schedule.stages:
            for tensor in stage.outputs:
                if tensor in self.places:
                    continue
                if tensor not in self.buffers and (stage in plans or stage.op.data is not None):
                    self.buffers[tensor] = self._buffer(stage, tensor)
                elif tensor not in self.buffers and stage.op.is_given:
                    raise ScheduleError(f"lower: {tensor.name!r} is read, but is not among the arguments")
        self.buffers |= {tensor: self.buffers[scan] for tensor, scan in self.places.items()}
        self.loads = _ReadsToLoads(self)

    def _buffer(self, stage: StageState, tensor: Tensor) -> Buffer:
        if stage.op.data is not None:
            return Buffer(tensor.name, tensor.shape, tensor.dtype, Scope.GLOBAL, data=stage.op.data)
        plan = self.plans[stage]
        axes = stage.op.region_axes
        shape = tensor.shape if axes is None else tuple(plan.extent[a] for a in axes)
        shape = tuple(map(self.analyzer.simplify, shape))
        if stage.scope is Scope.REGISTER and not all(isinstance(e, ex.Const) for e in shape):
            raise ScheduleError(
                f"set_scope of {tensor.name!r}: registers need a constant shape, found [{', '.join(map(str, shape))}]; "
                "compute it at a loop inside of which its extents are constant"
            )
        alignments = stage.alignments
        if stage.is_double_buffered:
            shape = (ex.const(COPIES), *shape)
            alignments = {d + 1: padding for d, padding in alignments.items()}
        strides = _padded_strides(shape, alignments) if alignments else None
        return Buffer(tensor.name, shape, tensor.dtype, stage.scope, strides)

    def allocated(self, plans: Sequence[StagePlan], body: Stmt) -> Stmt:
        """`body` with storage for the stages computed in it, except arguments."""
        for plan in reversed(plans):
            for tensor in plan.stage.outputs:
                if tensor not in self.arguments and tensor not in self.places:
                    body = Allocate(self.buffers[tensor], body, plan.stage.op.span)
        return body

    def index(self, tensor: Tensor, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The index of an element in the tensor's buffer, whose origin is the base of its region."""
        plan = self.plans.get(self.schedule[tensor])
        if plan is not None and plan.base and tensor not in self.places:
            indices = [i - plan.base[a] for i, a in zip(indices, plan.stage.axes, strict=True)]
        return (*self.part(self.schedule[tensor]), *map(self.analyzer.simplify, indices))

    def part(self, stage: StageState) -> tuple[Expr, ...]:
        """The first index of all elements of a double buffer."""
        if not stage.is_double_buffered:
            return ()
        assert stage.attach is not None
        return (part_in_use(stage.attach[1]),)


def _padded_strides(shape: tuple[Expr, ...], alignments: Mapping[int, tuple[int, int]]) -> tuple[Expr, ...]:
    strides: list[Expr] = []
    step: Expr = ex.const(1)
    for d in reversed(range(len(shape))):
        if d in alignments:
            factor, offset = alignments[d]
            step = step + (offset - step) % factor
        strides.append(step)
        step = step * shape[d]
    return tuple(reversed(strides))


class _ReadsToLoads(SharingRewriter):
    def __init__(self, storage: StageBuffers) -> None:
        super().__init__()
        self.storage = storage

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        indices = self.storage.index(e.tensor, [self.rewrite(i) for i in e.indices])
        buffer = self.storage.buffers[e.tensor]
        if buffer.is_broadcast:
            indices = tuple(select(extent.equal(1), 0, i) for extent, i in zip(buffer.shape, indices, strict=True))
        return Load(buffer, indices, e.dtype)
