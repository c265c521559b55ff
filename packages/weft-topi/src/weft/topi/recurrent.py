"""Recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them.

What all time steps take from the input is one matrix product. The recurrence is loops over time and batch around a
product of the state with the recurrent weights and the cell's update, both in vectors along the hidden dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.tensor_ir import Machine, te
from weft.tensor_ir.ir.buffer import Buffer, Scope
from weft.tensor_ir.ir.expr import Expr
from weft.tensor_ir.ir.stmt import Stmt
from weft.tensor_ir.te import ir_builder
from weft.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from weft.topi.layout import Layout, View
from weft.topi.loops import loops, vector_of
from weft.topi.operator import Computation
from weft.topi.tiling import balanced, elements, extent_of, largest_divisor, register_tile, share_among_threads

VECTORS = 4
"""Vectors of gates that are accumulated at once."""

Function = Callable[[Expr], Expr]


def _limited(e: Expr, low: float, high: float) -> Expr:
    return te.minimum(te.maximum(e, te.const(low, e.dtype)), te.const(high, e.dtype))


_ACTIVATIONS: dict[str, tuple[tuple[float, float], Callable[[Expr, float, float], Expr]]] = {
    "Relu": ((0.0, 0.0), lambda e, a, b: te.maximum(e, te.const(0, e.dtype))),
    "Tanh": ((0.0, 0.0), lambda e, a, b: te.tanh(e)),
    "Sigmoid": ((0.0, 0.0), lambda e, a, b: te.sigmoid(e)),
    "Affine": ((1.0, 0.0), lambda e, a, b: e * a + b),
    "LeakyRelu": ((0.01, 0.0), lambda e, a, b: te.select(e < 0.0, e * a, e)),
    "ThresholdedRelu": ((1.0, 0.0), lambda e, a, b: te.select(e > a, e, te.const(0, e.dtype))),
    "ScaledTanh": ((1.0, 1.0), lambda e, a, b: te.tanh(e * b) * a),
    "HardSigmoid": ((0.2, 0.5), lambda e, a, b: _limited(e * a + b, 0.0, 1.0)),
    "Elu": ((1.0, 0.0), lambda e, a, b: te.select(e < 0.0, (te.exp(e) - 1.0) * a, e)),
    "Softsign": ((0.0, 0.0), lambda e, a, b: e / (te.abs(e) + 1.0)),
    "Softplus": ((0.0, 0.0), lambda e, a, b: te.maximum(e, te.const(0, e.dtype)) + te.log(te.exp(-te.abs(e)) + 1.0)),
}
"""By ONNX name: default alpha and beta, and the function."""

ACTIVATIONS = tuple(_ACTIVATIONS)


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation by its ONNX name; None is the default parameter."""

    name: str
    alpha: float | None = None
    beta: float | None = None

    def __call__(self, e: Expr) -> Expr:
        (alpha, beta), function = _ACTIVATIONS[self.name]
        return function(e, alpha if self.alpha is None else self.alpha, beta if self.beta is None else self.beta)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The operands, None where absent.

    x [time, batch, in], weight [direction, gates·hidden, in], recurrence [direction, gates·hidden, hidden],
    bias [direction, 2·gates·hidden], lengths [batch], initial states hidden and cell [direction, batch, hidden],
    peepholes [direction, 3·hidden].
    """

    x: View
    weight: View
    recurrence: View
    bias: View | None = None
    lengths: View | None = None
    hidden: View | None = None
    cell: View | None = None
    peepholes: View | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the layers have in common: activations and whether time runs backwards, per direction; a limit of gates."""

    activations: tuple[tuple[Activation, ...], ...]
    backwards: tuple[bool, ...]
    clip: float | None = None


def weight_layout() -> Layout:
    """The layout in which weights are read: vectors of gates."""
    return Layout((0, 2, 1))


def lstm(inputs: Inputs, settings: Settings, input_forget: bool = False) -> Computation:
    """Y [time, direction, batch, hidden], the last hidden and cell states [direction, batch, hidden]; gates i o f c."""
    return _Layer(inputs, settings, 4, 2, lambda row: _lstm_step(row, input_forget)).computation()


def gru(inputs: Inputs, settings: Settings, linear_before_reset: bool = False) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]; gates z r h."""
    layer = _Layer(inputs, settings, 3, 1, lambda row: _gru_step(row, linear_before_reset))
    layer.separate_gate = 2 if linear_before_reset else None
    return layer.computation()


def rnn(inputs: Inputs, settings: Settings) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]."""
    return _Layer(inputs, settings, 1, 1, _rnn_step).computation()


class _Layer:
    """A recurrent layer: the product with the input, then the recurrence."""

    def __init__(
        self, inputs: Inputs, settings: Settings, gates: int, states: int, step: Callable[[_Row], None]
    ) -> None:
        self.inputs, self.settings, self.gates, self.states, self.step = inputs, settings, gates, states, step
        self.time, self.batch, _ = inputs.x.shape
        self.directions, _, self.hidden = inputs.recurrence.shape
        self.width = gates * self.hidden
        self.separate_gate: int | None = None
        """The gate to which the recurrence adds its own bias."""

    def computation(self) -> Computation:
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
        vectors = min(2, -(-self.width // lanes))
        go, gi = stage.split(g, vectors * lanes, tail="partition")
        gv, lane = stage.split(gi, min(lanes, self.width))
        most = (machine.vector_registers - 1 - vectors) // vectors
        ro, ri = stage.split(row, balanced(self.time * self.batch, most), tail="partition")
        stage.reorder(d, go, ro, ri, gv, lane)
        register_tile(stage, ri, gv, lane)
        features = self.inputs.x.shape[-1]
        s[tile].compute_at(stage, share_among_threads(stage, [d, go, ro], elements(host) * max(1, features // 8)))
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
                state[tuple(i)] = _read(given, initial, i) if initial is not None else te.const(0, y.dtype)
        if self.inputs.lengths is not None:
            with loops(ib, (self.time, self.directions, self.batch, self.hidden), lanes) as i:
                y[tuple(i)] = te.const(0, y.dtype)
        for d in range(self.directions):
            with ib.for_range(0, self.time, "step") as step, ib.for_range(0, self.batch, "b") as b:
                if self.inputs.lengths is None:
                    self._row(ib, given, gate_input, y, states, d, step, self.time, b)
                else:
                    length = ib.let("length", _read(given, self.inputs.lengths, (b,)).astype("int64"))
                    with ib.if_scope(step < length):
                        self._row(ib, given, gate_input, y, states, d, step, length, b)
        return ib.get()

    def _row(
        self, ib: IRBuilder, given: dict[int, BufferPointer], gate_input: BufferPointer, y: BufferPointer,
        states: Sequence[BufferPointer], d: int, step: Expr, length: Expr | int, b: Expr,
    ) -> None:
        """One step of one sequence of the batch."""
        t = ib.let("t", length - 1 - step if self.settings.backwards[d] else step)
        row = _Row(self, ib, given, gate_input, states, d, t, b)
        self.step(row)
        with loops(ib, (self.hidden,), row.lanes) as (j,):
            y[t, d, b, j] = states[0][d, b, j]


class _Row:
    """A step of one sequence: its gates and states."""

    def __init__(
        self, layer: _Layer, ib: IRBuilder, given: dict[int, BufferPointer], gate_input: BufferPointer,
        states: Sequence[BufferPointer], d: int, t: Expr, b: Expr,
    ) -> None:
        self.layer, self.ib, self.given, self.gate_input, self.d, self.t, self.b = layer, ib, given, gate_input, d, t, b
        self.hidden = states[0]
        self.cell = states[-1]
        self.lanes = vector_of(layer.inputs.x)
        self.size = layer.hidden
        self.activations = layer.settings.activations[d]

    def limited(self, e: Expr) -> Expr:
        clip = self.layer.settings.clip
        return e if clip is None else _limited(e, -clip, clip)

    def input(self, g: Expr) -> Expr:
        """What gate element g takes from the input."""
        return self.gate_input[self.d, self.t * self.layer.batch + self.b, g]

    def peephole(self, gate: int, j: Expr, cell: Expr) -> Expr:
        """What a gate takes from a cell state; 0 without peepholes."""
        peepholes = self.layer.inputs.peepholes
        if peepholes is None:
            return te.const(0, cell.dtype)
        return _read(self.given, peepholes, (self.d, j + gate * self.size)) * cell

    def recurrent_bias(self, g: Expr) -> Expr:
        bias = self.layer.inputs.bias
        if bias is None:
            return te.const(0, self.hidden.dtype)
        return _read(self.given, bias, (self.d, g + self.layer.width))

    def products(self, gates: BufferPointer, first: int, count: int, state: Callable[[Expr], Expr]) -> None:
        """gates[g] = Σ state(k) · recurrence[g, k] for `count` elements of the gates from `first` on."""
        ib, lanes = self.ib, self.lanes
        blocks = -(-count // lanes)
        whole = blocks // VECTORS
        if whole:
            with ib.for_range(0, whole, "go") as go:
                self._block(gates, first, count, go * (VECTORS * lanes), VECTORS, state)
        if blocks % VECTORS:
            self._block(gates, first, count, te.const(whole * VECTORS * lanes), blocks % VECTORS, state)

    def _block(
        self, gates: BufferPointer, first: int, count: int, start: Expr, vectors: int, state: Callable[[Expr], Expr]
    ) -> None:
        ib, lanes = self.ib, self.lanes
        sums = ib.allocate(gates.dtype, (vectors * lanes,), Scope.REGISTER, "sums")

        def over(body: Callable[[Expr, Expr], None]) -> None:
            with ib.for_range(0, vectors, "v", "unrolled") as v, ib.for_range(0, lanes, "lane", "vectorized") as lane:
                g = start + v * lanes + lane
                if count % lanes:
                    with ib.if_scope(g < count):
                        body(v * lanes + lane, g)
                else:
                    body(v * lanes + lane, g)

        with ib.for_range(0, vectors, "v", "unrolled") as v, ib.for_range(0, lanes, "lane", "vectorized") as lane:
            sums[v * lanes + lane] = te.const(0, gates.dtype)
        with ib.for_range(0, self.size, "k") as k:
            value = ib.let("value", state(k))
            recurrence = self.layer.inputs.recurrence

            def add(i: Expr, g: Expr) -> None:
                sums[i] = sums[i] + value * _read(self.given, recurrence, (self.d, g + first, k))

            over(add)

        def store(i: Expr, g: Expr) -> None:
            gates[g + first] = sums[i]

        over(store)


def _read(given: dict[int, BufferPointer], view: View, index: Sequence[Any]) -> Expr:
    return given[id(view)][view.layout.physical_index([te.const(i) if isinstance(i, int) else i for i in index])]


def _lstm_step(row: _Row, input_forget: bool) -> None:
    ib, n, d, b = row.ib, row.size, row.d, row.b
    f, g, h = row.activations
    gates = ib.allocate(row.hidden.dtype, (4 * n,), name="gates")
    row.products(gates, 0, 4 * n, lambda k: row.hidden[d, b, k])
    with loops(ib, (n,), row.lanes) as (j,):
        def gate(index: int, extra: Expr) -> Expr:
            return row.limited(gates[j + index * n] + row.input(j + index * n) + extra)

        cell = ib.let("cell", row.cell[d, b, j])
        opened = ib.let("input_gate", f(gate(0, row.peephole(0, j, cell))))
        kept = 1.0 - opened if input_forget else f(gate(2, row.peephole(2, j, cell)))
        following = ib.let("next_cell", kept * cell + opened * g(gate(3, te.const(0, cell.dtype))))
        row.cell[d, b, j] = following
        row.hidden[d, b, j] = f(gate(1, row.peephole(1, j, following))) * h(following)


def _gru_step(row: _Row, linear_before_reset: bool) -> None:
    ib, n, d, b = row.ib, row.size, row.d, row.b
    f, g = row.activations
    gates = ib.allocate(row.hidden.dtype, (3 * n,), name="gates")
    reset = ib.allocate(row.hidden.dtype, (n,), name="reset")
    row.products(gates, 0, 3 * n if linear_before_reset else 2 * n, lambda k: row.hidden[d, b, k])
    with loops(ib, (n,), row.lanes) as (j,):
        opened = ib.let("opened", f(row.limited(gates[j + n] + row.input(j + n))))
        if linear_before_reset:
            reset[j] = opened * (gates[j + 2 * n] + row.recurrent_bias(j + 2 * n))
        else:
            reset[j] = opened * row.hidden[d, b, j]
    if not linear_before_reset:
        row.products(gates, 2 * n, n, lambda k: reset[k])
    with loops(ib, (n,), row.lanes) as (j,):
        update = ib.let("update", f(row.limited(gates[j] + row.input(j))))
        candidate = g(row.limited(row.input(j + 2 * n) + (reset[j] if linear_before_reset else gates[j + 2 * n])))
        row.hidden[d, b, j] = (1.0 - update) * candidate + update * row.hidden[d, b, j]


def _rnn_step(row: _Row) -> None:
    ib, n, d, b = row.ib, row.size, row.d, row.b
    (f,) = row.activations
    gates = ib.allocate(row.hidden.dtype, (n,), name="gates")
    row.products(gates, 0, n, lambda k: row.hidden[d, b, k])
    with loops(ib, (n,), row.lanes) as (j,):
        row.hidden[d, b, j] = f(row.limited(gates[j] + row.input(j)))
