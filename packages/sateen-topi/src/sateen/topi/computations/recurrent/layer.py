"""Recurrent layers: a product computes the part of the input in all steps, a loop over time the recurrence.

On devices the product is that of matrices by tiles of threads, and each step a launch or two (`BlockStep`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Buffer, Expr, Stmt
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import ir_builder
from sateen.topi.computations.products import matmul
from sateen.topi.computations.recurrent.block_step import BlockStep
from sateen.topi.computations.recurrent.methods import GateTiles
from sateen.topi.computations.recurrent.operands import Inputs, Settings
from sateen.topi.computations.recurrent.step import Step, read_element
from sateen.topi.schedules import (
    Computation,
    ask_ahead,
    balanced,
    bind_elements,
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
        self, inputs: Inputs, settings: Settings, gates: int, states: int,
        step: Callable[[Step], None], block_step: Callable[[BlockStep], None], method: GateTiles | None,
    ) -> None:  # fmt: skip
        self.inputs, self.settings, self.gates, self.states, self.method = inputs, settings, gates, states, method
        self.step, self.block_step = step, block_step
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
            self.gate_input = te.compute(
                self.product.shape, lambda d, row, g: self._with_bias(d, self.product(d, row, g), g), name="gate_input"
            )
        return Computation(self._recurrence(self.gate_input, self._body), self.schedule, False, self._by_blocks)

    def _by_blocks(self, gpu: Gpu) -> Computation:
        """The input's part by a product of matrices: for one direction of a matrix for each time, for several of one
        with all of them."""
        x, weight = self.inputs.x, self.inputs.weight
        steps, batch, features = x.shape
        rows: te.Tensor | None = None
        if self.directions > 1:
            rows = te.compute((1, steps * batch, features), lambda _, i, k: x(i // batch, i % batch, k), name="rows")
            x = View(rows, (1, steps * batch, features), Layout.row_major(3))
        by_term = View(weight.tensor, (self.directions, features, self.width), weight.layout.transposed((0, 2, 1)))
        product = matmul(x, by_term)

        def element(i: Expr, j: Expr, g: Expr) -> Expr:
            return self._with_bias(te.const(0) if rows is None else i, product.view(i, j, g), g)

        shape = product.view.shape
        gate_input = te.compute(shape, element, "gate_input") if self.inputs.bias is not None else product.view.tensor

        def body(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
            return self._body_of_blocks(ins, outs, gpu)

        def schedule(s: te.Schedule, _output: te.Tensor, machine: Machine) -> None:
            if rows is not None:
                bind_elements(s[rows])
            product.schedule_on(machine)(s, gate_input, machine)

        return Computation(self._recurrence(gate_input, body), schedule, takes_epilogue=False)

    def _recurrence(self, gate_input: te.Tensor, body: Callable[..., Stmt]) -> tuple[View, ...]:
        """What the loops of a body give: the output and the last states."""
        steps, batch, _ = self.inputs.x.shape
        state = (self.directions, batch, self.hidden)
        shapes = [(steps, *state[:1], batch, self.hidden), *[state] * self.states]
        inputs = [gate_input, *(v.tensor for v in self.operands)]
        tensors = te.extern(shapes, inputs, body, "recurrence", self.inputs.x.dtype)
        return tuple(View(t, s, Layout.row_major(len(s))) for t, s in zip(tensors, shapes, strict=True))

    @property
    def operands(self) -> list[View]:
        """What the recurrence reads besides the input's part."""
        i = self.inputs
        operands = [i.recurrence, i.bias, i.lengths, i.hidden, i.cell, i.peepholes]
        return [v for v in operands if v is not None]

    def _with_bias(self, d: Expr, product: Expr, g: Expr) -> Expr:
        """The part of the input in a gate element, from its product with the weights."""
        bias = self.inputs.bias
        assert bias is not None
        value = product + bias(d, g)
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
        if panel > 1:
            ask_ahead(part, self.inputs.weight.tensor, ko, 2, self.time * self.batch, machine)

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

        def fed(d: Expr, t: Expr, b: Expr, g: Expr) -> Expr:
            return gate_input[d, t * self.batch + b, g]

        step = Step(self.inputs, self.settings, ib, given, fed, states, self.method)
        for d in range(self.directions):
            with ib.for_range(0, step.longest, "step") as number:
                step.enter(d, number)
                self.step(step)
                with step.active() as (b, t), loops(ib, (self.hidden,), lanes) as (j,):
                    y[t, d, b, j] = step.hidden[d, b, j]
        return ib.get()

    def _body_of_blocks(self, ins: Sequence[Buffer], outs: Sequence[Buffer], gpu: Gpu) -> Stmt:
        ib = ir_builder.create()
        given = {id(v): ib.buffer_ptr(b) for v, b in zip(self.operands, ins[1:], strict=True)}
        fed = ib.buffer_ptr(ins[0])
        y, *states = (ib.buffer_ptr(b) for b in outs)

        def gate_input(d: Expr, t: Expr, b: Expr, g: Expr) -> Expr:
            return fed[t, b, g] if self.directions == 1 else fed[d, t * self.batch + b, g]

        step = BlockStep(self.inputs, self.settings, ib, given, gate_input, y, states, gpu)
        with ib.for_range(0, self.time, "step") as number:
            step.number = number
            self.block_step(step)
        return ib.get()
