"""A step of a recurrent layer: products of states and weights, and the operands of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr, Scope
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.recurrent.activations import limited
from sateen.topi.computations.recurrent.methods import USUAL_VECTORS, GateTiles, default_tiles
from sateen.topi.computations.recurrent.operands import Inputs, Settings
from sateen.topi.schedules import loop_kind, vector_of
from sateen.topi.types import View

GateInput = Callable[[Expr, Expr, Expr, Expr], Expr]
"""The part of the input in a gate element: (direction, time, sequence, element)."""


class StepOperands:
    """What cells compute with in a step: the parts of the input and of peepholes in gates, and activations."""

    def __init__(
        self, inputs: Inputs, settings: Settings, ib: IRBuilder, given: dict[int, BufferPointer], gate_input: GateInput
    ) -> None:
        self.inputs, self.settings, self.ib, self.given, self.gate_input = inputs, settings, ib, given, gate_input
        self.time, self.batch, _ = inputs.x.shape
        self.directions, self.width, self.size = inputs.recurrence.shape
        self.d: Expr = te.const(0)
        self.number: Expr = te.const(0)

    def activation(self, number: int) -> Callable[[Expr], Expr]:
        """An activation of the present direction."""
        first, *others = (own[number] for own in self.settings.activations)

        def activated(e: Expr) -> Expr:
            value = first(e)
            for d, other in enumerate(others, start=1):
                value = value if other == first else te.select(self.d.equal(d), other(e), value)
            return value

        return activated

    def limited(self, e: Expr) -> Expr:
        clip = self.settings.clip
        return e if clip is None else limited(e, -clip, clip)

    def input(self, t: Expr, b: Expr, g: Expr) -> Expr:
        """The part of the input in gate element g."""
        return self.gate_input(self.d, t, b, g)

    def peephole(self, gate: int, j: Expr, cell: Expr) -> Expr:
        """The part of a cell state in a gate; 0 without peepholes."""
        peepholes = self.inputs.peepholes
        if peepholes is None:
            return te.const(0, cell.dtype)
        return read_element(self.given, peepholes, (self.d, j + gate * self.size)) * cell

    def recurrent_bias(self, g: Expr) -> Expr:
        bias = self.inputs.bias
        if bias is None:
            return te.const(0, self.inputs.x.dtype)
        return read_element(self.given, bias, (self.d, g + self.width))

    def length(self, b: Expr) -> Expr:
        """The steps of a sequence of the batch."""
        lengths = self.inputs.lengths
        if lengths is None:
            return te.const(self.time)
        given = read_element(self.given, lengths, (b,)).astype("index")
        return self.ib.let("length", te.minimum(te.maximum(given, 0), self.time))

    @property
    def backwards(self) -> Expr:
        """Whether the present direction is from the end of a sequence to its begin."""
        return te.any(te.const(False), *(self.d.equal(d) for d, back in enumerate(self.settings.backwards) if back))

    def time_of(self, length: Expr) -> Expr:
        """The time at which this step reads a sequence; any after its end."""
        return te.select(self.backwards, te.maximum(length - 1 - self.number, 0), self.number)


class Step(StepOperands):
    """A step of all sequences of the batch: their gates and states."""

    def __init__(
        self,
        inputs: Inputs,
        settings: Settings,
        ib: IRBuilder,
        given: dict[int, BufferPointer],
        gate_input: GateInput,
        states: Sequence[BufferPointer],
        method: GateTiles | None,
    ) -> None:
        super().__init__(inputs, settings, ib, given, gate_input)
        self.hidden, self.cell = states[0], states[-1]
        self.lanes = vector_of(inputs.x)
        self.panel = inputs.recurrence.layout.block_of(1)
        vectors = USUAL_VECTORS if method is None else method.vectors
        self.panel_lanes = self.panel // vectors if self.panel % vectors == 0 else self.panel
        usual = default_tiles(self.batch, self.panel_lanes * self.hidden.dtype.bytes)
        self.tiles = usual if method is None else method
        width = -(-self.width // self.panel) * self.panel
        self.gates = ib.allocate(self.hidden.dtype, (self.batch, width), name="gates")
        self.longest = self._longest()

    def _longest(self) -> Expr:
        """The steps until all sequences of the batch have ended."""
        if self.inputs.lengths is None:
            return te.const(self.time)
        most = self.ib.allocate("int32", (1,), "register", "most")
        most[0] = te.const(0, "int32")
        with self.ib.for_range(0, self.batch, "b") as b:
            most[0] = te.maximum(most[0], self.length(b).astype("int32"))
        return self.ib.let("longest", most[0].astype("index"))

    def enter(self, d: int, number: Expr) -> None:
        """Go to a step of a direction."""
        self.d, self.number = te.const(d), number

    @contextmanager
    def sequences(self) -> Iterator[tuple[Expr, Expr, Expr]]:
        """A loop over the batch: the sequence, the time at which this step reads it, its length."""
        with self.ib.for_range(0, self.batch, "b") as b:
            length = self.length(b)
            yield b, self.ib.let("t", self.time_of(length)), length

    @contextmanager
    def active(self) -> Iterator[tuple[Expr, Expr]]:
        """A loop over the sequences that have not ended, and the time in each."""
        ends = self.inputs.lengths is not None
        with self.sequences() as (b, t, length), self.ib.if_scope(self.number < length) if ends else nullcontext():
            yield b, t

    def products(self, first: int, end: int, state: Callable[[Expr, Expr], Expr]) -> None:
        """gates[b, g] = Σ state(b, k) · recurrence[g, k] for all b, and for g from `first` to before `end`.

        Elements in the same panels are set as well. A thread takes the same panels in each step, in odd ones from the
        last to the first: of those that its cache can't hold together it holds the last ones when the next step begins.
        """
        ib, batch, rows = self.ib, self.batch, self.tiles.rows
        low, high = first // self.panel, -(-end // self.panel)
        kind = loop_kind(batch * (end - first) * self.size // 8)
        with ib.for_range(low, high, "panel", kind, alternate=kind == "parallel") as panel:
            with ib.for_range(0, batch // rows, "bo") as tile:
                self._tile(panel, tile * rows, rows, state)
            if batch % rows:
                self._tile(panel, te.const(batch // rows * rows), batch % rows, state)

    def _tile(self, panel: Expr, start: Expr, rows: int, state: Callable[[Expr, Expr], Expr]) -> None:
        """The gates of a panel for some rows of the batch, summed in registers."""
        ib, lanes, recurrence = self.ib, self.panel_lanes, self.inputs.recurrence
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


def read_element(given: dict[int, BufferPointer], view: View, index: Sequence[Any]) -> Expr:
    """An element of an operand, whose memory is found by the identity of its view."""
    return given[id(view)][view.layout.physical_index([te.const(i) if isinstance(i, int) else i for i in index])]
