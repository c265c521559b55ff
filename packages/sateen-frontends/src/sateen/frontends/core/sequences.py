"""Sequences of a batch, each with a length of its own."""

from __future__ import annotations

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Cast, GatherND, Less, Reshape, Subtract, Transpose, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

_INT64 = DType.of("int64")


def reversed_sequences(node: ModelNode, data: Value, lengths: Value, time: int, batch: int) -> Value:
    """The node's result: the first elements along time in reverse, as many as each sequence has, and those behind as
    they are. Lengths are [batch]."""
    shape = data.type.shape
    if time == batch or lengths.type.shape != (shape[batch],):
        raise FrontendError(f"expected lengths of {shape[batch]} sequences, found {listed(lengths.type.shape)}")
    wide = lengths if lengths.type.dtype == _INT64 else node.step(Cast(dtype=_INT64), lengths)
    counts = node.step(Reshape(shape=(shape[batch], 1, 1)), wide)
    places = node.positions(shape[time], trailing=1)
    last = node.step(Subtract(), counts, node.literal(1, _INT64))
    chosen = node.step(Where(), node.step(Less(), places, counts), node.step(Subtract(), last, places), places)
    order = (batch, time, *(axis for axis in range(len(shape)) if axis not in (batch, time)))
    taken = node.step(GatherND(batch_dims=1), node.step(Transpose(permutation=order), data), chosen)
    return node.result(Transpose(permutation=tuple(order.index(axis) for axis in range(len(shape)))), taken)
