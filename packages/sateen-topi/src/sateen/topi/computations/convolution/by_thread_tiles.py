"""Row-major convolutions on devices: sums by rectangles, or strips of a thread where threads have vectors."""

from __future__ import annotations

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.direct import Plan
from sateen.topi.computations.convolution.methods import device_candidates
from sateen.topi.computations.convolution.rectangles import Rectangles
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.convolution.sums_by_rectangles import Sums, schedule_rectangles, schedule_sums_by_element
from sateen.topi.computations.strips import Strips, bind_strips
from sateen.topi.schedules import bind_elements, host_on_device, in_registers


def schedule_by_thread_tiles(plan: Plan, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Tiles of threads; a thread for each element where the kernel has no place in shared memory."""
    gpu = machine.gpu
    assert gpu is not None
    host = host_on_device(s, plan.result, output)
    part = in_registers(s, plan.master, host)
    match _method(plan, gpu):
        case Strips() as method:
            _by_strips(plan, s, s[host], s[part], method)
        case Rectangles() as method:
            schedule_rectangles(_sums(plan), s, s[host], s[host].axes, part, method)
        case None:
            schedule_sums_by_element(_sums(plan), s, s[host], part)


def _sums(plan: Plan) -> Sums:
    copy, weight = plan.source.copy, plan.weight.tensor
    copies = [] if copy is None else [copy]
    operands = [plan.source.data.tensor, weight] if copy is None else [weight]
    return Sums(plan.master, plan.channel, plan.kernel, plan.window, plan.groups, copies, operands)


def _method(plan: Plan, gpu: Gpu) -> Rectangles | Strips | None:
    """The given method if it is one of devices, otherwise the best of the candidates, if there are any."""
    if isinstance(plan.method, Rectangles | Strips):
        return plan.method
    data = plan.source.data
    problem = ConvolutionShapes(data.shape, plan.weight.shape, plan.window, plan.groups, data.dtype)
    found = (c.method for c in device_candidates(problem, gpu))
    return next((method for method in found if isinstance(method, Rectangles | Strips)), None)


def _by_strips(plan: Plan, s: te.Schedule, stage: te.Stage, sums: te.Stage, method: Strips) -> None:
    """A strip of channels and neighbouring positions for each thread; what pads the input is written before."""
    if plan.source.copy is not None:
        bind_elements(s[plan.source.copy])
    n, o, *outer, x = stage.axes
    blocks, channel = stage.split(o, method.rows, tail="shift")
    across, column = stage.split(x, method.columns, tail="shift")
    sums.compute_at(stage, bind_strips(stage, [n, *outer, blocks, across], channel, column))
    sums.reorder(*sums.op.reduce_axis, *sums.axes)
    for axis in sums.axes:
        sums.unroll(axis)
