"""Recurrent layers: a product computes the part of the input in all steps, a loop over time the recurrence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Buffer, Expr, Stmt
from sateen.tensor_ir.te import ir_builder
from sateen.topi.computations.recurrent.operands import Inputs, Settings
from sateen.topi.computations.recurrent.step import Step, read_element
from sateen.topi.schedules import (
    Computation,
    balanced,
    elements,
    extent_of,
    largest_divisor,
    loops,
    register_tile,
    share_among_threads,
    vector_of,
)
from sateen.topi.types import Layout, View


class Layer:
    """A recurrent layer: the product with the input, then the recurrence."""

    def __init__(
        self, inputs: Inputs, settings: Settings, gates: int, states: int, step: Callable[[Step], None]
    ) -> None:
        self.inputs, self.settings, self.gates, self.states, self.step = inputs, settings, gates, states, step
        self.time, self.batch, _ = inputs.x.shape
        self.directions, _, self.hidden = inputs.recurrence.shape
        self.width = gates * self.hidden
        self.separate_gate: int | None = None
        """The gate to which the recurrence adds its own bias."""

    def computation(self) -> Computation:
        """Y [time, direction, batch, hidden] and the last states."""
        inputs = self.inputs
        steps, batch, features = inputs.x.shape
        k = te.reduce_axis(features, "k")

        def product(d: Expr, row: Expr, g: Expr) -> Expr:
            return te.sum(inputs.x(row // batch, row % batch, k) * inputs.weight(d, g, k), axis=k)

        self.product: te.Tensor = te.compute((self.directions, steps * batch, self.width), product, name="product")
        self.gate_input = self.product
        if inputs.bias is not None:
            self.gate_input = te.compute(self.product.shape, self._biased, name="gate_input")
        operands = [inputs.recurrence, inputs.bias, inputs.lengths, inputs.hidden, inputs.cell, inputs.peepholes]
        self.operands = [v for v in operands if v is not None]
        state = (self.directions, batch, self.hidden)
        shapes = [(steps, self.directions, batch, self.hidden), *[state] * self.states]
        tensors = te.extern(
            shapes, [self.gate_input, *(v.tensor for v in self.operands)], self._body, "recurrence", inputs.x.dtype
        )
        views = [View(t, s, Layout.row_major(len(s))) for t, s in zip(tensors, shapes, strict=True)]
        return Computation(tuple(views), self.schedule, takes_epilogue=False)

    def _biased(self, d: Expr, row: Expr, g: Expr) -> Expr:
        bias = self.inputs.bias
        assert bias is not None
        value = self.product(d, row, g) + bias(d, g)
        if self.separate_gate is None:
            return value + bias(d, g + self.width)
        first = self.separate_gate * self.hidden
        return te.select(g < first, value + bias(d, te.minimum(g, first - 1) + self.width), value)

    def schedule(self, s: te.Schedule, _output: te.Tensor, machine: Machine) -> None:
        """The product in register tiles of rows x vectors of gates."""
        host = self.gate_input
        lanes = machine.lanes(host.dtype)
        if host is self.product:
            tile = s.cache_write(host, "register")
        else:
            tile = self.product
            s[tile].set_scope("register")
        stage = s[host]
        d, row, g = stage.axes
        panel = self.inputs.weight.layout.block_of(1)
        vectors = panel // lanes if panel % lanes == 0 else min(2, -(-self.width // lanes))
        go, gi = stage.split(g, vectors * lanes, tail="partition")
        gv, lane = stage.split(gi, min(lanes, self.width))
        most = machine.tile_positions(vectors)
        ro, ri = stage.split(row, balanced(self.time * self.batch, most), tail="partition")
        stage.reorder(d, go, ro, ri, gv, lane)
        register_tile(stage, ri, gv, lane)
        features = self.inputs.x.shape[-1]
        work = elements(host) * max(1, features // 8)
        s[tile].compute_at(stage, share_among_threads(stage, [d, go, ro], work, machine))
        part = s[tile]
        d, row, g = part.axes
        ko, ku = part.split(part.op.reduce_axis[0], largest_divisor(features, 4))
        gv, lane = part.split(g, min(lanes, extent_of(g.extent)))
        part.reorder(ko, ku, d, row, gv, lane)
        register_tile(part, ku, d, row, gv, lane)

    def _body(self, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = ir_builder.create()
        given = {id(v): ib.buffer_ptr(b) for v, b in zip(self.operands, ins[1:], strict=True)}
        gate_input = ib.buffer_ptr(ins[0])
        y, *states = (ib.buffer_ptr(b) for b in outs)
        lanes = vector_of(self.inputs.x)
        for state, initial in zip(states, (self.inputs.hidden, self.inputs.cell), strict=False):
            with loops(ib, (self.directions, self.batch, self.hidden), lanes) as i:
                state[tuple(i)] = read_element(given, initial, i) if initial is not None else te.const(0, y.dtype)
        if self.inputs.lengths is not None:
            with loops(ib, (self.time, self.directions, self.batch, self.hidden), lanes) as i:
                y[tuple(i)] = te.const(0, y.dtype)
        step = Step(self.inputs, self.settings, ib, given, gate_input, states)
        for d in range(self.directions):
            with ib.for_range(0, self.time, "step") as number:
                step.enter(d, number)
                self.step(step)
                with step.active() as (b, t), loops(ib, (self.hidden,), lanes) as (j,):
                    y[t, d, b, j] = step.hidden[d, b, j]
        return ib.get()
