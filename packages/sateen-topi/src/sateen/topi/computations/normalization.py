"""Normalizations: of rows, channels and groups by mean and variance, across channels, by a norm."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import (
    require,
    require_axis,
    require_broadcast,
    require_count,
    require_floats,
    require_one_of,
    require_rank,
    require_shape,
    require_views,
)
from sateen.topi.computations.broadcast import element
from sateen.topi.schedules import (
    Computation,
    Rows,
    accumulator_type,
    elements,
    extent_of,
    for_machines,
    host_of,
    host_on_device,
    in_registers,
    on_cpu,
    reduce_by_threads,
    register_tile,
    share_among_threads,
)
from sateen.topi.types import Layout, View, compute


def batch_normalization(
    x: View, scale: View, bias: View, mean: View, variance: View, epsilon: float, layout: Layout | None = None
) -> Computation:
    """(x - mean) / sqrt(variance + epsilon) · scale + bias by channel (axis 1), with given statistics."""
    operands = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
    _require_channels("batch_normalization", x, **operands)
    kind = accumulator_type(x.dtype)

    def value(*index: Expr) -> Expr:
        c = index[1]
        factor = scale(c).astype(kind) / te.sqrt(variance(c).astype(kind) + epsilon)
        return ((x(*index).astype(kind) - mean(c).astype(kind)) * factor + bias(c).astype(kind)).astype(x.dtype)

    return Computation((compute(x.shape, value, "batch_normalization", layout or x.layout),))


def _require_channels(operator: str, x: View, **vectors: View) -> None:
    """Floating-point data [N, C, …] and vectors over its channels."""
    require_views(operator, x=x, **vectors)
    require_rank(operator, "x [N, C, …]", x, 2, or_more=True)
    require_floats(operator, x=x, **vectors)
    for name, vector in vectors.items():
        require_shape(operator, name, vector, x.shape[1:2])


class _Moments:
    """1 / standard deviation and mean of each row, in two passes over it.

    The variance is computed from the differences to the mean, and sums add up sums of parts: the mean is accurate to
    some 10⁻⁷ of the largest element in float32, for rows of any length and any distance from zero.
    """

    def __init__(self, rows: Rows, x: Callable[[Expr, Expr, Expr], Expr], kind: DType, epsilon: float) -> None:
        size = float(rows.length)
        total = rows.reduction(te.sum, lambda o, r, i: x(o, r, i).astype(kind), "total")
        self.mean = rows.statistic(lambda o, i: total(o, i) / size, "mean")
        squares = rows.reduction(te.sum, lambda o, r, i: _square(x(o, r, i).astype(kind) - self.mean(o, i)), "squares")
        self.inverse = rows.statistic(lambda o, i: 1.0 / te.sqrt(squares(o, i) / size + epsilon), "inverse")


def _square(e: Expr) -> Expr:
    return e * e


def layer_normalization(x: View, scale: View | None, bias: View | None, axis: int, epsilon: float) -> Computation:
    """(x - mean) / sqrt(variance + epsilon) · scale + bias over axes from `axis` on; scale and bias broadcast to x."""
    _require_rows("layer_normalization", x, axis, scale=scale, bias=bias)
    kind = accumulator_type(x.dtype)
    rows = Rows(x.shape, axis, x.ndim)
    moments = _Moments(rows, lambda o, r, i: x(*rows.index(o, r, i)), kind, epsilon)

    def value(*index: Expr) -> Expr:
        o, i = rows.row_of(index)
        result = (x(*index).astype(kind) - moments.mean(o, i)) * moments.inverse(o, i)
        if scale is not None:
            result = result * element(scale, index).astype(kind)
        if bias is not None:
            result = result + element(bias, index).astype(kind)
        return result.astype(x.dtype)

    return rows.computation(value, "layer_normalization")


def _require_rows(operator: str, x: View, axis: int, **operands: View | None) -> None:
    """Floating-point data with that axis, and operands that broadcast to it, or are absent."""
    named = {name: v for name, v in operands.items() if v is not None}
    require_views(operator, x=x, **named)
    require_floats(operator, x=x)
    require_axis(operator, axis, x.ndim)
    for name, view in named.items():
        require_broadcast(operator, name, view, x.shape)


def rms_normalization(x: View, scale: View | None, axis: int, epsilon: float) -> Computation:
    """x / sqrt(mean of x² + epsilon) · scale over axes from `axis` on; scale broadcasts to x."""
    _require_rows("rms_normalization", x, axis, scale=scale)
    kind = accumulator_type(x.dtype)
    rows = Rows(x.shape, axis, x.ndim)
    size = float(rows.length)
    squares = rows.reduction(te.sum, lambda o, r, i: _square(x(*rows.index(o, r, i)).astype(kind)), "squares")
    inverse = rows.statistic(lambda o, i: 1.0 / te.sqrt(squares(o, i) / size + epsilon), "inverse")

    def value(*index: Expr) -> Expr:
        result = x(*index).astype(kind) * inverse(*rows.row_of(index))
        if scale is not None:
            result = result * element(scale, index).astype(kind)
        return result.astype(x.dtype)

    return rows.computation(value, "rms_normalization")


def group_normalization(x: View, scale: View, bias: View, groups: int, epsilon: float) -> Computation:
    """(x - mean) / sqrt(variance + epsilon) · scale + bias over each of `groups` groups of the channels (axis 1).

    One group per channel is instance normalization.
    """
    _require_channels("group_normalization", x, scale=scale, bias=bias)
    require_count("group_normalization", "groups", groups, 1)
    require(x.shape[1] % groups == 0, "group_normalization", f"a multiple of {groups} channels", x.shape[1])
    kind = accumulator_type(x.dtype)
    n, c, *spatial = x.shape
    size = c // groups
    rows = Rows((n, groups, size, *spatial), 2, 2 + 1 + len(spatial))

    def grouped(o: Expr, r: Expr, i: Expr) -> Expr:
        b, g, member, *position = rows.index(o, r, i)
        return x(b, g * size + member, *position)

    moments = _Moments(rows, grouped, kind, epsilon)

    def value(*index: Expr) -> Expr:
        b, channel, *_ = index
        o = b * groups + channel // size
        zero = te.const(0)
        result = (x(*index).astype(kind) - moments.mean(o, zero)) * moments.inverse(o, zero)
        return (result * scale(channel).astype(kind) + bias(channel).astype(kind)).astype(x.dtype)

    result: te.Tensor = te.compute(x.shape, value, name="group_normalization")

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result, output, machine)
        if host is not result:
            s[result].compute_inline()
        stage = s[host]
        b, channel, *position = stage.axes
        group, member = stage.split(channel, size)
        last = stage.fuse(*position) if position else stage.split(member, 1)[1]
        lanes = machine.lanes(kind)
        _, lane = stage.split(last, min(lanes, extent_of(last.extent)), tail="partition")
        stage.vectorize(lane)
        place = share_among_threads(stage, [b, group], elements(host) * 4, machine)
        rows.schedule_statistics(s, stage, place, machine)

    def on_device(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_on_device(s, result, output)
        b, channel, *position = s[host].axes
        group, member = s[host].split(channel, size)
        tail = "shift" if size > 1 else "guard"  # no element beyond a group, which would need another's statistics
        rows.schedule_on_device(s, result, host, [b, group], [member, *position], [], machine, tail)

    return Computation((View(result, x.shape, Layout.row_major(x.ndim)),), for_machines(schedule, on_device))


def blocked_instance_normalization(x: View, scale: View, bias: View, epsilon: float) -> Computation:
    """Instance normalization of data blocked by channels: statistics of a vector of channels at a time.

    Sums add up the sums of rows, so that rounding errors of large images stay small.
    """
    _require_channels("blocked_instance_normalization", x, scale=scale, bias=bias)
    require_rank("blocked_instance_normalization", "x [N, C, …]", x, 3, or_more=True)
    kind = accumulator_type(x.dtype)
    n, c, *spatial = x.shape
    block = Layout.blocked(2, 1, x.layout.block_of(1))
    size = 1.0
    for extent in spatial:
        size *= extent

    def total(value: Callable[..., Expr], name: str) -> tuple[View, View]:
        inner = te.reduce_axis(spatial[-1], "x")
        outer = [te.reduce_axis(extent, "y") for extent in spatial[:-1]]
        by_row = Layout((0, 1, *range(2, 1 + len(spatial)), *block.order[2:]))
        partial = _unpadded((n, c, *spatial[:-1]), lambda *i: te.sum(value(*i, inner), axis=inner), name, by_row)
        if not outer:
            return partial, partial
        return partial, _unpadded((n, c), lambda b, ch: te.sum(partial(b, ch, *outer), axis=outer), name, block)

    partial_sums, sums = total(lambda *i: x(*i).astype(kind), "total")
    mean = _unpadded((n, c), lambda b, ch: sums(b, ch) / size, "mean", block)
    partial_squares, squares = total(lambda b, ch, *p: _square(x(b, ch, *p).astype(kind) - mean(b, ch)), "squares")
    inverse = _unpadded((n, c), lambda b, ch: 1.0 / te.sqrt(squares(b, ch) / size + epsilon), "inverse", block)

    def value(*index: Expr) -> Expr:
        b, ch, *_ = index
        factor = inverse(b, ch) * scale(ch).astype(kind)
        return ((x(*index).astype(kind) - mean(b, ch)) * factor + bias(ch).astype(kind)).astype(x.dtype)

    result = compute(x.shape, value, "instance_normalization", x.layout)

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result.tensor, output, machine)
        if host is not result.tensor:
            s[result.tensor].compute_inline()
        stage = s[host]
        b, cb, *_, lane = stage.axes
        stage.vectorize(lane)
        place = share_among_threads(stage, [b, cb], elements(host) * 4, machine)
        for view in (sums, mean, squares, inverse):
            part = s[view.tensor]
            part.set_scope("register")
            part.compute_at(stage, place)
            *data, lane = part.axes
            part.reorder(*part.op.reduce_axis, *data, lane)
            register_tile(part, *data, lane)
        for view, whole in ((partial_sums, sums), (partial_squares, squares)):
            if view is whole:
                continue
            part, around = s[view.tensor], s[whole.tensor]
            part.set_scope("register")
            part.compute_at(around, around.op.reduce_axis[-1])
            *data, lane = part.axes
            part.reorder(*part.op.reduce_axis, *data, lane)
            register_tile(part, *data, lane)

    return Computation((result,), on_cpu(schedule))


def _unpadded(shape: tuple[int, ...], value: Callable[..., Expr], name: str, layout: Layout) -> View:
    """A view whose blocks are computed whole; elements beyond the last channel are never used."""
    tensor = te.compute(layout.physical_shape(shape), lambda *p: value(*layout.logical_index(p)), name=name)
    return View(tensor, shape, layout)


def local_response_normalization(x: View, size: int, alpha: float, beta: float, bias: float) -> Computation:
    """x / (bias + alpha / size · Σ x²)^beta, the sum over `size` neighbouring channels (ONNX LRN)."""
    require_views("local_response_normalization", x=x)
    require_floats("local_response_normalization", x=x)
    require_rank("local_response_normalization", "x [N, C, …]", x, 3, or_more=True)
    require_count("local_response_normalization", "size", size, 1)
    kind = accumulator_type(x.dtype)
    channels = x.shape[1]
    k = te.reduce_axis(size, "k")
    before = (size - 1) // 2

    def window(*index: Expr) -> Expr:
        n, c, *position = index
        neighbour = c + k - before
        inside = te.all(neighbour >= 0, neighbour < channels)
        return te.sum(_square(x(n, neighbour, *position).astype(kind)), axis=k, where=inside)

    squares: te.Tensor = te.compute(x.shape, window, name="squares")

    def value(*index: Expr) -> Expr:
        base = squares(*index) * (alpha / size) + bias
        return (x(*index).astype(kind) / _power(base, beta)).astype(x.dtype)

    result: te.Tensor = te.compute(x.shape, value, name="lrn")

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result, output, machine)
        tile = in_registers(s, squares, host)
        stage = s[host]
        *loops, last = stage.axes
        lanes = min(machine.lanes(kind), extent_of(last.extent))
        outer, lane = stage.split(last, lanes, tail="partition")
        stage.vectorize(lane)
        place = share_among_threads(stage, [*loops, outer], elements(host) * size, machine)
        s[tile].compute_at(stage, place)
        *data, lane = s[tile].axes
        s[tile].reorder(*s[tile].op.reduce_axis, *data, lane)
        register_tile(s[tile], *data, lane)

    def on_device(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        assert machine.gpu is not None
        host = host_on_device(s, result, output)
        reduce_by_threads(s, squares, host, prod(x.shape[2:]) * channels, machine.gpu)

    return Computation((View(result, x.shape, Layout.row_major(x.ndim)),), for_machines(schedule, on_device))


def _power(base: Expr, exponent: float) -> Expr:
    """base^exponent; by square roots for the usual exponents."""
    root = te.sqrt(base)
    if exponent == 0.75:
        return root * te.sqrt(root)
    if exponent == 0.5:
        return root
    return base if exponent == 1.0 else te.power(base, te.const(exponent, base.dtype))


def lp_normalization(x: View, axis: int, p: int) -> Computation:
    """x / (Σ |x|^p)^(1/p) along an axis, p 1 or 2; 0 where the norm is 0."""
    require_views("lp_normalization", x=x)
    require_floats("lp_normalization", x=x)
    require_axis("lp_normalization", axis, x.ndim)
    require_one_of("lp_normalization", "p", p, (1, 2))
    kind = accumulator_type(x.dtype)
    rows = Rows(x.shape, axis, axis + 1)

    def term(o: Expr, r: Expr, i: Expr) -> Expr:
        e = x(*rows.index(o, r, i)).astype(kind)
        return te.abs(e) if p == 1 else _square(e)

    total = rows.reduction(te.sum, term, "total")
    norm = rows.statistic(lambda o, i: total(o, i) if p == 1 else te.sqrt(total(o, i)), "norm")

    def value(*index: Expr) -> Expr:
        o, i = rows.row_of(index)
        size = norm(o, i)
        quotient = te.select(size.equal(0.0), te.const(0, kind), x(*index).astype(kind) / size)
        return quotient.astype(x.dtype)

    return rows.computation(value, "lp_normalization")
