"""A step of a recurrent layer by blocks of threads: one launch for all directions, sequences and hidden elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.topi.computations.recurrent.operands import Inputs, Settings
from sateen.topi.computations.recurrent.step import GateInput, StepOperands, read_element
from sateen.topi.schedules import blocks, shared_out

BLOCK_WARPS = 8
"""The most warps of a block, each of which sums products of one row of weights at a time."""
BLOCK_SEQUENCES = 8
"""The most sequences of the batch that share a load of a weight."""


class BlockStep(StepOperands):
    """A step of all sequences of the batch in all directions.

    The state before a step is the layer's output at the time before it, so that a launch writes nothing that it reads.
    The last states are written in each step of a sequence.
    """

    def __init__(
        self, inputs: Inputs, settings: Settings, ib: IRBuilder, given: dict[int, BufferPointer], gate_input: GateInput,
        y: BufferPointer, states: Sequence[BufferPointer], gpu: Gpu,
    ) -> None:  # fmt: skip
        super().__init__(inputs, settings, ib, given, gate_input)
        self.y, self.states, self.gpu = y, states, gpu

    def scratch(self, name: str) -> BufferPointer:
        """Memory for an element of each state, which launches of a step share."""
        return self.ib.allocate(self.y.dtype, (self.directions, self.batch, self.size), "global", name)

    def before(self, number: int, b: Expr, j: Expr) -> Expr:
        """An element of a state before this step: number 0 is the hidden state, 1 that of the cell, which only the
        thread that computes the element reads."""
        earlier = self.states[1][self.d, b, j] if number else self.y[self._time_before(b), self.d, b, j]
        return te.select(self.number.equal(0), self._initial(number, b, j), earlier)

    def state(self, b: Expr, k: Expr) -> Expr:
        """An element of the hidden state before this step."""
        return self.before(0, b, k)

    def fed(self, gate: int, b: Expr, j: Expr) -> Expr:
        """The part of the input in a gate."""
        return self.input(self.time_of(self.length(b)), b, j + gate * self.size)

    def finish(self, b: Expr, j: Expr, *states: Expr) -> None:
        """Store the states after this step. Where a sequence has ended, the output is 0, and its states stay."""
        if self.inputs.lengths is None:
            self._store(b, j, states)
            return
        with self.ib.if_scope(self.number < self.length(b)):
            self._store(b, j, states)
        with self.ib.else_scope():
            self.y[self.number, self.d, b, j] = te.const(0, self.y.dtype)
            with self.ib.if_scope(self.number.equal(0)):
                for number, state in enumerate(self.states):
                    state[self.d, b, j] = self._initial(number, b, j)

    @contextmanager
    def products(
        self, gates: range, state: Callable[[Expr, Expr], Expr]
    ) -> Iterator[tuple[Expr, Expr, Callable[[int], Expr]]]:
        """A launch: Σ state(b, k) · recurrence[gate of j, k] for some gates, and what follows for each sequence b and
        hidden element j, of which it yields the sums by gate.

        A warp sums a row of weights for several sequences, its threads along the row.
        """
        ib, gpu, dtype, lanes = self.ib, self.gpu, self.y.dtype, self.gpu.warp
        warps = max(len(gates), min(BLOCK_WARPS, gpu.block_threads // lanes))
        units = min(self.size, warps // len(gates))
        rows, room = units * len(gates), gpu.shared_bytes // dtype.bytes
        together = max(1, min(self.batch, BLOCK_SEQUENCES, room // (rows * lanes)))
        threads = min(rows * lanes, gpu.block_threads)
        parts, tiles = -(-self.size // units), -(-self.batch // together)
        with blocks(ib, self.directions * tiles * parts) as block:
            self.d = ib.let("d", block // (tiles * parts))
            first, unit = ib.let("first", block // parts % tiles * together), ib.let("unit", block % parts * units)
            sums = ib.allocate(dtype, (rows, together, lanes), "shared", "sums")

            def sequence(b: Expr) -> Expr:
                return te.minimum(first + b, self.batch - 1)

            with shared_out(ib, rows * lanes, threads) as e:
                row, lane = ib.let("row", e // lanes), ib.let("lane", e % lanes)
                gate = gates.start + row % len(gates)
                g = ib.let("g", te.minimum(unit + row // len(gates), self.size - 1) + gate * self.size)
                own = ib.allocate(dtype, (together,), "register", "own")
                with ib.for_range(0, together, "b", "unrolled") as b:
                    own[b] = te.const(0, dtype)
                with ib.for_range(0, -(-self.size // lanes), "turn") as turn:
                    k = ib.let("k", turn * lanes + lane)
                    with ib.if_scope(k < self.size):
                        weight = ib.let("weight", read_element(self.given, self.inputs.recurrence, (self.d, g, k)))
                        with ib.for_range(0, together, "b", "unrolled") as b:
                            own[b] = own[b] + state(sequence(b), k) * weight
                with ib.for_range(0, together, "b", "unrolled") as b:
                    sums[row, b, lane] = own[b]
            self._add_lanes(sums, (rows, together, lanes), threads)
            with shared_out(ib, units * together, threads) as e:
                own_b, j = ib.let("b", first + e % together), ib.let("j", unit + e // together)
                with ib.if_scope(te.all(own_b < self.batch, j < self.size)):
                    yield own_b, j, lambda gate: sums[e // together * len(gates) + gates.index(gate), e % together, 0]

    def _add_lanes(self, sums: BufferPointer, shape: tuple[int, int, int], threads: int) -> None:
        """Add the lanes of each sum into the first, half of them in a turn."""
        rows, together, count = shape
        while count > 1:
            half = -(-count // 2)
            added = count - half
            with shared_out(self.ib, rows * together * added, threads) as e:
                row, b, lane = e // added // together, e // added % together, e % added
                sums[row, b, lane] = sums[row, b, lane] + sums[row, b, lane + half]
            count = half

    def _time_before(self, b: Expr) -> Expr:
        """The time of the step before this one; a time that is written already where a sequence has ended."""
        backward = te.minimum(te.maximum(self.length(b) - self.number, 0), self.time - 1)
        return te.select(self.backwards, backward, te.maximum(self.number - 1, 0))

    def _initial(self, number: int, b: Expr, j: Expr) -> Expr:
        initial = (self.inputs.hidden, self.inputs.cell)[number]
        return te.const(0, self.y.dtype) if initial is None else read_element(self.given, initial, (self.d, b, j))

    def _store(self, b: Expr, j: Expr, states: Sequence[Expr]) -> None:
        self.y[self.time_of(self.length(b)), self.d, b, j] = states[0]
        for state, value in zip(self.states, states, strict=True):
            state[self.d, b, j] = value
