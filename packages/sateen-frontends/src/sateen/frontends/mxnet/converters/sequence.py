"""Operators on sequences of different lengths: their data are [time, batch, …], or [batch, time, …] with axis 1."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.sequences import reversed_sequences
from sateen.frontends.core.slices import turned
from sateen.frontends.mxnet.description import operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_INT64 = DType.of("int64")


def _time(node: MxnetNode) -> int:
    if node.rank(0) < 2:
        raise FrontendError(f"expected sequences of two axes or more, found {node.rank(0)}")
    return node.axis(2)


def _lengths(node: MxnetNode) -> Value:
    """The length of each sequence."""
    lengths = node.cast(node.value(1), _INT64)
    batch = node.shape(0)[1 - _time(node)]
    if lengths.type.shape != (batch,):
        raise FrontendError(f"expected a length of each of {batch} sequences, found {lengths.type}")
    return lengths


def _mask(node: MxnetNode) -> Operand:
    """A value in place of what follows the end of a sequence."""
    if not node.flag("use_sequence_length"):
        return node.operand(0)
    data, time, rest = node.value(0), _time(node), node.rank(0) - 2
    batch = node.shape(0)[1 - time]
    lengths = node.reshaped(_lengths(node), (*[1] * (1 - time), batch, *[1] * (time + rest)))
    steps = node.positions(node.shape(0)[time], _INT64, trailing=1 - time + rest)
    inside = node.step(ops.Less(), steps, lengths)
    return node.result(ops.Where(), inside, data, node.like(node.number("value"), data))


def _last(node: MxnetNode) -> Operand:
    """The last element of each sequence."""
    data, shape, time = node.value(0), node.shape(0), _time(node)
    others = tuple(extent for axis, extent in enumerate(shape) if axis != time)
    if not node.flag("use_sequence_length"):
        end = shape[time]
        op = ops.Slice(
            starts=tuple(end - 1 if axis == time else 0 for axis in range(len(shape))),
            ends=shape,
            steps=(1,) * len(shape),
        )
        return node.result(ops.Reshape(shape=others), node.step(op, data))
    places = node.step(ops.Subtract(), _lengths(node), node.literal(1, _INT64))
    first = node.transposed(data, 1 - time, time, *range(2, len(shape)))
    return node.result(ops.GatherND(batch_dims=1), first, node.reshaped(places, (shape[1 - time], 1)))


def _reverse(node: MxnetNode) -> Operand:
    """Each sequence backwards, what follows its end as it is."""
    data, time = node.value(0), _time(node)
    if not node.flag("use_sequence_length"):
        return node.result(turned(data.type.shape, (time,)), data)
    return reversed_sequences(node, data, _lengths(node), time, 1 - time)


SEQUENCE = {
    "SequenceLast": operator(_last, "data sequence_length", use_sequence_length=False, axis=0),
    "SequenceMask": operator(_mask, "data sequence_length", use_sequence_length=False, value=0.0, axis=0),
    "SequenceReverse": operator(_reverse, "data sequence_length", use_sequence_length=False, axis=0),
}
