"""Recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them.

One matrix product computes the part of the input in all time steps. The recurrence is a loop over time with a product
of the batch's states and the recurrent weights, and each cell's update, in vectors along the hidden dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from typing import Any

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Buffer, Expr, Scope, Stmt
from sateen.tensor_ir.targets import least_registers
from sateen.tensor_ir.te import ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations import element_wise
from sateen.topi.computations.arguments import (
    require,
    require_floats,
    require_one_of,
    require_rank,
    require_shape,
    require_views,
)
from sateen.topi.schedules import (
    Computation,
    balanced,
    elements,
    extent_of,
    largest_divisor,
    loop_kind,
    loops,
    register_tile,
    share_among_threads,
    vector_of,
)
from sateen.topi.types import Block, Layout, View

VECTORS = 4
"""The vectors of gates in a panel of weights, which are summed together."""
LEAST_ROWS = 3
"""The least sequences of the batch in a register tile, even if the registers can't hold weights besides the sums: with
fewer, loads take longer than multiply-adds."""

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
    "Elu": ((1.0, 0.0), lambda e, a, b: element_wise.elu(e, a)),
    "Softsign": ((0.0, 0.0), lambda e, a, b: e / (te.abs(e) + 1.0)),
    "Softplus": ((0.0, 0.0), lambda e, a, b: element_wise.softplus(e)),
}
"""Activations by ONNX name: default alpha and beta, and the function."""

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
    """The operands, None if absent.

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
    """The common settings of layers: activations and whether time runs backwards, per direction; a limit of gates."""

    activations: tuple[tuple[Activation, ...], ...]
    backwards: tuple[bool, ...]
    clip: float | None = None


def weight_layout(lanes: int) -> Layout:
    """The layout of weights in reading order: panels of VECTORS vectors of `lanes` gates, term by term."""
    return Layout((0, 1, 2, Block(1, VECTORS * lanes)))


def lstm(inputs: Inputs, settings: Settings, input_forget: bool = False) -> Computation:
    """Y [time, direction, batch, hidden], the last hidden and cell states [direction, batch, hidden]; gates i o f c."""
    _require_layer("lstm", inputs, settings, 4, 3)
    return _Layer(inputs, settings, 4, 2, lambda step: _lstm_step(step, input_forget)).computation()


def gru(inputs: Inputs, settings: Settings, linear_before_reset: bool = False) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]; gates z r h."""
    _require_layer("gru", inputs, settings, 3, 2)
    layer = _Layer(inputs, settings, 3, 1, lambda step: _gru_step(step, linear_before_reset))
    layer.separate_gate = 2 if linear_before_reset else None
    return layer.computation()


def rnn(inputs: Inputs, settings: Settings) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]."""
    _require_layer("rnn", inputs, settings, 1, 1)
    return _Layer(inputs, settings, 1, 1, _rnn_step).computation()


def _require_layer(operator: str, inputs: Inputs, settings: Settings, gates: int, activations: int) -> None:
    """Check that operands fit each other and the number of directions in the settings."""
    require(isinstance(inputs, Inputs), operator, "Inputs", type(inputs).__name__)
    require(isinstance(settings, Settings), operator, "Settings", type(settings).__name__)
    given = {f.name: v for f in fields(inputs) if (v := getattr(inputs, f.name)) is not None}
    require_views(operator, **given)
    require_floats(operator, **{name: v for name, v in given.items() if name != "lengths"})
    require_rank(operator, "x [time, batch, in]", inputs.x, 3)
    require_rank(operator, "recurrence [direction, gates·hidden, hidden]", inputs.recurrence, 3)
    _, batch, features = inputs.x.shape
    directions, hidden = len(settings.backwards), inputs.recurrence.shape[2]
    state = (directions, batch, hidden)
    for name, shape in (
        ("weight", (directions, gates * hidden, features)), ("recurrence", (directions, gates * hidden, hidden)),
        ("bias", (directions, 2 * gates * hidden)), ("lengths", (batch,)), ("hidden", state), ("cell", state),
        ("peepholes", (directions, 3 * hidden)),
    ):  # fmt: skip
        if name in given:
            require_shape(operator, name, given[name], shape)
    require(len(settings.activations) == directions, operator, f"activations for {directions} directions", settings)
    for own in settings.activations:
        require(len(own) == activations, operator, f"{activations} activations for each direction", len(own))
        for activation in own:
            require_one_of(operator, "activation", activation.name, ACTIVATIONS)


class _Layer:
    """A recurrent layer: the product with the input, then the recurrence."""

    def __init__(
        self, inputs: Inputs, settings: Settings, gates: int, states: int, step: Callable[[_Step], None]
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
        panel = self.inputs.weight.layout.block_of(1)
        vectors = panel // lanes if panel % lanes == 0 else min(2, -(-self.width // lanes))
        go, gi = stage.split(g, vectors * lanes, tail="partition")
        gv, lane = stage.split(gi, min(lanes, self.width))
        most = (machine.vector_registers - 1 - vectors) // vectors
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
                state[tuple(i)] = _read(given, initial, i) if initial is not None else te.const(0, y.dtype)
        if self.inputs.lengths is not None:
            with loops(ib, (self.time, self.directions, self.batch, self.hidden), lanes) as i:
                y[tuple(i)] = te.const(0, y.dtype)
        step = _Step(self, ib, given, gate_input, states)
        for d in range(self.directions):
            with ib.for_range(0, self.time, "step") as number:
                step.enter(d, number)
                self.step(step)
                with step.active() as (b, t), loops(ib, (self.hidden,), lanes) as (j,):
                    y[t, d, b, j] = step.hidden[d, b, j]
        return ib.get()


class _Step:
    """A step of all sequences of the batch: their gates and states."""

    def __init__(
        self,
        layer: _Layer,
        ib: IRBuilder,
        given: dict[int, BufferPointer],
        gate_input: BufferPointer,
        states: Sequence[BufferPointer],
    ) -> None:
        self.layer, self.ib, self.given, self.gate_input = layer, ib, given, gate_input
        self.hidden, self.cell = states[0], states[-1]
        self.lanes, self.size = vector_of(layer.inputs.x), layer.hidden
        self.panel = layer.inputs.recurrence.layout.block_of(1)
        width = -(-layer.width // self.panel) * self.panel
        self.gates = ib.allocate(self.hidden.dtype, (layer.batch, width), name="gates")
        self.d = 0
        self.number: Expr = te.const(0)
        self.activations = layer.settings.activations[0]

    def enter(self, d: int, number: Expr) -> None:
        """Go to a step of a direction."""
        self.d, self.number, self.activations = d, number, self.layer.settings.activations[d]

    @contextmanager
    def sequences(self) -> Iterator[tuple[Expr, Expr, Expr | int]]:
        """A loop over the batch: the sequence, the time at which this step reads it, its length."""
        with self.ib.for_range(0, self.layer.batch, "b") as b:
            lengths = self.layer.inputs.lengths
            length: Expr | int = self.layer.time
            if lengths is not None:
                given = _read(self.given, lengths, (b,)).astype("index")
                length = self.ib.let("length", te.minimum(te.maximum(given, 0), self.layer.time))
            backwards = self.layer.settings.backwards[self.d]
            yield b, self.ib.let("t", te.maximum(length - 1 - self.number, 0) if backwards else self.number), length

    @contextmanager
    def active(self) -> Iterator[tuple[Expr, Expr]]:
        """A loop over the sequences that have not ended, and the time in each."""
        ends = self.layer.inputs.lengths is not None
        with self.sequences() as (b, t, length), self.ib.if_scope(self.number < length) if ends else nullcontext():
            yield b, t

    def limited(self, e: Expr) -> Expr:
        clip = self.layer.settings.clip
        return e if clip is None else _limited(e, -clip, clip)

    def input(self, t: Expr, b: Expr, g: Expr) -> Expr:
        """The part of the input in gate element g."""
        return self.gate_input[self.d, t * self.layer.batch + b, g]

    def peephole(self, gate: int, j: Expr, cell: Expr) -> Expr:
        """The part of a cell state in a gate; 0 without peepholes."""
        peepholes = self.layer.inputs.peepholes
        if peepholes is None:
            return te.const(0, cell.dtype)
        return _read(self.given, peepholes, (self.d, j + gate * self.size)) * cell

    def recurrent_bias(self, g: Expr) -> Expr:
        bias = self.layer.inputs.bias
        if bias is None:
            return te.const(0, self.hidden.dtype)
        return _read(self.given, bias, (self.d, g + self.layer.width))

    def products(self, first: int, end: int, state: Callable[[Expr, Expr], Expr]) -> None:
        """gates[b, g] = Σ state(b, k) · recurrence[g, k] for all b, and for g from `first` to before `end`.

        Elements in the same panels are set as well. A thread takes the same panels in each step, so that they stay in
        its cache.
        """
        ib, batch = self.ib, self.layer.batch
        low, high = first // self.panel, -(-end // self.panel)
        registers = least_registers(self._lanes * self.hidden.dtype.bytes)
        rows = balanced(batch, max(LEAST_ROWS, (registers - 1 - VECTORS) // VECTORS))
        work = batch * (end - first) * self.size // 8
        with ib.for_range(low, high, "panel", loop_kind(work)) as panel:
            with ib.for_range(0, batch // rows, "bo") as tile:
                self._tile(panel, tile * rows, rows, state)
            if batch % rows:
                self._tile(panel, te.const(batch // rows * rows), batch % rows, state)

    @property
    def _lanes(self) -> int:
        return self.panel // VECTORS if self.panel % VECTORS == 0 else self.panel

    def _tile(self, panel: Expr, start: Expr, rows: int, state: Callable[[Expr, Expr], Expr]) -> None:
        """The gates of a panel for some rows of the batch, summed in registers."""
        ib, lanes, recurrence = self.ib, self._lanes, self.layer.inputs.recurrence
        weights = self.given[id(recurrence)]
        sums = ib.allocate(self.gates.dtype, (rows, self.panel), Scope.REGISTER, "sums")

        def over(body: Callable[[Expr, Expr], None]) -> None:
            with (
                ib.for_range(0, rows, "row", "unrolled") as row,
                ib.for_range(0, self.panel // lanes, "v", "unrolled") as v,
                ib.for_range(0, lanes, "lane", "vectorized") as lane,
            ):
                body(row, v * lanes + lane)

        def clear(row: Expr, i: Expr) -> None:
            sums[row, i] = te.const(0, self.gates.dtype)

        def add(row: Expr, i: Expr) -> None:
            place = (self.d, panel, k, i) if self.panel > 1 else (self.d, panel, k)
            sums[row, i] = sums[row, i] + state(start + row, k) * weights[place]

        def store(row: Expr, i: Expr) -> None:
            self.gates[start + row, panel * self.panel + i] = sums[row, i]

        over(clear)
        with ib.for_range(0, self.size, "k") as k:
            over(add)
        over(store)


def _read(given: dict[int, BufferPointer], view: View, index: Sequence[Any]) -> Expr:
    return given[id(view)][view.layout.physical_index([te.const(i) if isinstance(i, int) else i for i in index])]


def _lstm_step(step: _Step, input_forget: bool) -> None:
    ib, n, d = step.ib, step.size, step.d
    f, g, h = step.activations
    step.products(0, 4 * n, lambda b, k: step.hidden[d, b, k])
    with step.active() as (b, t), loops(ib, (n,), step.lanes) as (j,):
        fed = [step.gates[b, j + gate * n] + step.input(t, b, j + gate * n) for gate in range(4)]
        cell = ib.let("cell", step.cell[d, b, j])
        opened = ib.let("input_gate", f(step.limited(fed[0] + step.peephole(0, j, cell))))
        kept = 1.0 - opened if input_forget else f(step.limited(fed[2] + step.peephole(2, j, cell)))
        following = ib.let("next_cell", kept * cell + opened * g(step.limited(fed[3])))
        step.cell[d, b, j] = following
        step.hidden[d, b, j] = f(step.limited(fed[1] + step.peephole(1, j, following))) * h(following)


def _gru_step(step: _Step, linear_before_reset: bool) -> None:
    ib, n, d = step.ib, step.size, step.d
    f, g = step.activations
    step.products(0, 3 * n if linear_before_reset else 2 * n, lambda b, k: step.hidden[d, b, k])
    update, reset = (ib.allocate(step.hidden.dtype, (step.layer.batch, n), name=name) for name in ("update", "reset"))
    with step.sequences() as (b, t, _), loops(ib, (n,), step.lanes) as (j,):
        update[b, j] = f(step.limited(step.gates[b, j] + step.input(t, b, j)))
        opened = ib.let("opened", f(step.limited(step.gates[b, j + n] + step.input(t, b, j + n))))
        if linear_before_reset:
            reset[b, j] = opened * (step.gates[b, j + 2 * n] + step.recurrent_bias(j + 2 * n))
        else:
            reset[b, j] = opened * step.hidden[d, b, j]
    if not linear_before_reset:
        step.products(2 * n, 3 * n, lambda b, k: reset[b, k])
    with step.active() as (b, t), loops(ib, (n,), step.lanes) as (j,):
        opened = ib.let("opened", update[b, j])
        given = reset[b, j] if linear_before_reset else step.gates[b, j + 2 * n]
        candidate = g(step.limited(step.input(t, b, j + 2 * n) + given))
        step.hidden[d, b, j] = (1.0 - opened) * candidate + opened * step.hidden[d, b, j]


def _rnn_step(step: _Step) -> None:
    n, d = step.size, step.d
    (f,) = step.activations
    step.products(0, n, lambda b, k: step.hidden[d, b, k])
    with step.active() as (b, t), loops(step.ib, (n,), step.lanes) as (j,):
        step.hidden[d, b, j] = f(step.limited(step.gates[b, j] + step.input(t, b, j)))
