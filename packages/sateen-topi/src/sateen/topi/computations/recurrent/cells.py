"""The cells of recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them.

A cell is a function of expressions: the sums of gates and the state before a step give the state after it. Processors
apply it to vectors of the hidden dimension after the products of a whole step; on devices the block that has summed the
gates of some hidden elements goes on with these.
"""

from __future__ import annotations

from collections.abc import Callable

from sateen.tensor_ir.te import Expr
from sateen.topi.computations.recurrent.block_step import BlockStep
from sateen.topi.computations.recurrent.layer import Layer
from sateen.topi.computations.recurrent.methods import GateTiles
from sateen.topi.computations.recurrent.operands import Inputs, Settings, require_layer
from sateen.topi.computations.recurrent.step import Step, StepOperands
from sateen.topi.schedules import Computation, loops

Gates = Callable[[int], Expr]
"""The argument of a gate, by its number, as far as it is a sum of products and biases."""


def lstm(
    inputs: Inputs, settings: Settings, input_forget: bool = False, method: GateTiles | None = None
) -> Computation:
    """Y [time, direction, batch, hidden], the last hidden and cell states [direction, batch, hidden]; gates i o f c."""
    require_layer("lstm", inputs, settings, 4, 3)
    layer = Layer(
        inputs, settings, 4, 2,
        lambda step: _lstm_step(step, input_forget), lambda step: _lstm_by_blocks(step, input_forget), method,
    )  # fmt: skip
    return layer.computation()


def gru(
    inputs: Inputs, settings: Settings, linear_before_reset: bool = False, method: GateTiles | None = None
) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]; gates z r h."""
    require_layer("gru", inputs, settings, 3, 2)
    layer = Layer(
        inputs, settings, 3, 1,
        lambda step: _gru_step(step, linear_before_reset), lambda step: _gru_by_blocks(step, linear_before_reset),
        method,
    )  # fmt: skip
    layer.separate_gate = 2 if linear_before_reset else None
    return layer.computation()


def rnn(inputs: Inputs, settings: Settings, method: GateTiles | None = None) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]."""
    require_layer("rnn", inputs, settings, 1, 1)
    return Layer(inputs, settings, 1, 1, _rnn_step, _rnn_by_blocks, method).computation()


def _lstm_cell(step: StepOperands, gates: Gates, j: Expr, cell: Expr, input_forget: bool) -> tuple[Expr, Expr]:
    """The hidden state and the cell state after a step."""
    f, g, h = map(step.activation, range(3))
    opened = step.ib.let("input_gate", f(step.limited(gates(0) + step.peephole(0, j, cell))))
    kept = 1.0 - opened if input_forget else f(step.limited(gates(2) + step.peephole(2, j, cell)))
    following = step.ib.let("next_cell", kept * cell + opened * g(step.limited(gates(3))))
    return f(step.limited(gates(1) + step.peephole(1, j, following))) * h(following), following


def _gru_gates(step: StepOperands, gates: Gates) -> tuple[Expr, Expr]:
    """The update gate and the reset gate."""
    f = step.activation(0)
    return f(step.limited(gates(0))), f(step.limited(gates(1)))


def _gru_state(step: StepOperands, update: Expr, candidate: Expr, state: Expr) -> Expr:
    return (1.0 - update) * step.activation(1)(step.limited(candidate)) + update * state


def _lstm_step(step: Step, input_forget: bool) -> None:
    ib, n, d = step.ib, step.size, step.d
    step.products(0, 4 * n, lambda b, k: step.hidden[d, b, k])
    with step.active() as (b, t), loops(ib, (n,), step.lanes) as (j,):
        fed = [step.gates[b, j + gate * n] + step.input(t, b, j + gate * n) for gate in range(4)]
        cell = ib.let("cell", step.cell[d, b, j])
        hidden, following = _lstm_cell(step, fed.__getitem__, j, cell, input_forget)
        step.cell[d, b, j] = following
        step.hidden[d, b, j] = hidden


def _gru_step(step: Step, linear_before_reset: bool) -> None:
    ib, n, d = step.ib, step.size, step.d
    step.products(0, 3 * n if linear_before_reset else 2 * n, lambda b, k: step.hidden[d, b, k])
    update, reset = (ib.allocate(step.hidden.dtype, (step.batch, n), name=name) for name in ("update", "reset"))
    with step.sequences() as (b, t, _), loops(ib, (n,), step.lanes) as (j,):
        fed = [step.gates[b, j + gate * n] + step.input(t, b, j + gate * n) for gate in range(2)]
        updated, opened = _gru_gates(step, fed.__getitem__)
        update[b, j] = updated
        given = (
            step.gates[b, j + 2 * n] + step.recurrent_bias(j + 2 * n) if linear_before_reset else step.hidden[d, b, j]
        )
        reset[b, j] = opened * given
    if not linear_before_reset:
        step.products(2 * n, 3 * n, lambda b, k: reset[b, k])
    with step.active() as (b, t), loops(ib, (n,), step.lanes) as (j,):
        opened = ib.let("opened", update[b, j])
        given = reset[b, j] if linear_before_reset else step.gates[b, j + 2 * n]
        step.hidden[d, b, j] = _gru_state(step, opened, step.input(t, b, j + 2 * n) + given, step.hidden[d, b, j])


def _rnn_step(step: Step) -> None:
    n, d = step.size, step.d
    step.products(0, n, lambda b, k: step.hidden[d, b, k])
    with step.active() as (b, t), loops(step.ib, (n,), step.lanes) as (j,):
        fed = step.gates[b, j] + step.input(t, b, j)
        step.hidden[d, b, j] = step.activation(0)(step.limited(fed))


def _lstm_by_blocks(step: BlockStep, input_forget: bool) -> None:
    with step.products(range(4), step.state) as (b, j, sums):
        cell = step.ib.let("cell", step.before(1, b, j))
        hidden, following = _lstm_cell(step, lambda gate: sums(gate) + step.fed(gate, b, j), j, cell, input_forget)
        step.finish(b, j, hidden, following)


def _gru_by_blocks(step: BlockStep, linear_before_reset: bool) -> None:
    def gates(sums: Gates, b: Expr, j: Expr) -> tuple[Expr, Expr]:
        return _gru_gates(step, lambda gate: sums(gate) + step.fed(gate, b, j))

    if linear_before_reset:
        with step.products(range(3), step.state) as (b, j, sums):
            update, opened = gates(sums, b, j)
            given = opened * (sums(2) + step.recurrent_bias(j + 2 * step.size))
            step.finish(b, j, _gru_state(step, update, step.fed(2, b, j) + given, step.state(b, j)))
        return
    updates, resets = step.scratch("update"), step.scratch("reset")
    with step.products(range(2), step.state) as (b, j, sums):
        update, opened = gates(sums, b, j)
        updates[step.d, b, j] = update
        resets[step.d, b, j] = opened * step.state(b, j)
    with step.products(range(2, 3), lambda b, k: resets[step.d, b, k]) as (b, j, sums):
        state = _gru_state(step, updates[step.d, b, j], step.fed(2, b, j) + sums(2), step.state(b, j))
        step.finish(b, j, state)


def _rnn_by_blocks(step: BlockStep) -> None:
    with step.products(range(1), step.state) as (b, j, sums):
        step.finish(b, j, step.activation(0)(step.limited(sums(0) + step.fed(0, b, j))))
