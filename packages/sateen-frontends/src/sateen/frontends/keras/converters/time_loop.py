"""A cell over the time steps of a sequence, as a loop of the graph, with or without a mask.

Source: `rnn` of keras/src/backend/tensorflow/rnn.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.frontends.core.bodies import Subgraph
from sateen.frontends.core.control import counted_loop
from sateen.frontends.core.operands import static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.slices import turned
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import NUMBER, BroadcastTo, Gather, Reshape, Transpose, Where

Compute = Callable[[KerasNode, Sequence[Value], Value, Sequence[Value]], Sequence[Value]]
"""The next states of a cell, the first of which is its output: of a node whose results are part of the loop, captured
values, the input of a time step, and the states."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a loop computes at each time step; `captured` are the values around it that it reads."""

    captured: tuple[Value, ...]
    compute: Compute


@dataclass(frozen=True, slots=True)
class Run:
    """The results of a cell over time: the output of the last time step or of all, and the last states."""

    output: Value
    states: tuple[Value, ...]


def over_time(node: KerasNode, sequence: Value, states: Sequence[Value], cell: Cell, *, is_result: bool = True) -> Run:
    """A cell over a sequence [batch, time, …], backwards if the layer says so; its output is the node's result, or on
    the way to it.

    Where the mask is false, states stay, and the output is the one before, which is 0 at first, or 0 always with
    zero_output_for_mask, as in Bidirectional, which Keras apart from TensorFlow did not have.
    """
    time = static_extents(sequence.type.shape[1:2], node.described(0))[0]
    if time < 1:
        raise UnsupportedError("a sequence without time steps is not supported")
    order = (1, 0, *range(2, sequence.type.rank))
    backwards = bool(node.layer.config.get("go_backwards"))
    steps = _first_to_last(node, node.step(Transpose(order), sequence), backwards)
    given = node.mask()
    if given is not None and node.version.is_alone and node.layer.config.get("zero_output_for_mask"):
        raise UnsupportedError("a mask in Bidirectional of Keras up to 2.3 is not supported", "leave out the mask")
    mask = None if given is None else _mask(node, given, states[0].type.rank, backwards)
    body = node.bodies.open(Subgraph("time_step", (), (), (), (), (), dict))
    inner = node.within(body.emitter)
    iteration = body.input("step", NUMBER)
    carried = [body.input(f"state{i}", state.type) for i, state in enumerate(states)]
    initial = list(states)
    x = inner.step(Gather(axis=0), body.capture(steps), iteration)
    following = list(cell.compute(inner, [body.capture(value) for value in cell.captured], x, carried))
    output = following[0]
    if mask is not None:
        before = body.input("output", states[0].type)
        zero = zeros(node, states[0].type.shape)
        initial.append(zero)
        is_there = inner.step(Gather(axis=0), body.capture(mask), iteration)
        other = body.capture(zero) if node.layer.config.get("zero_output_for_mask") else before
        output = inner.step(Where(), is_there, output, other)
        following = [inner.step(Where(), is_there, new, old) for new, old in zip(following, carried, strict=True)]
        following.append(output)
    all_steps = [output] if node.layer.config.get("return_sequences") else []
    loop, inputs = counted_loop(body, time, initial, [*following, *all_steps])
    results = node.steps(loop, *inputs, count=len(following) + len(all_steps))
    final = results[: len(states)]
    emit = node.result if is_result else node.step
    if all_steps:
        return Run(emit(Transpose(order), results[-1]), final)
    last = results[len(states)] if mask is not None else results[0]
    return Run(emit(Reshape(last.type.shape), last), final)


def zeros(node: KerasNode, shape: Sequence[Dim]) -> Value:
    """Zeros as states and outputs before the first time step."""
    return node.step(BroadcastTo(tuple(shape)), node.number_like(0))


def _first_to_last(node: KerasNode, steps: Value, backwards: bool) -> Value:
    """Time steps in the order of the run."""
    return node.step(turned(steps.type.shape, (0,)), steps) if backwards else steps


def _mask(node: KerasNode, mask: Value, rank: int, backwards: bool) -> Value:
    """The mask [batch, time] as [time, batch, 1, …], in the order of the run."""
    batch, time = mask.type.shape
    turned = node.step(Transpose((1, 0)), mask)
    return _first_to_last(node, node.step(Reshape((time, batch, *(1,) * (rank - 1))), turned), backwards)
