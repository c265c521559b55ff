"""The cells of recurrent layers: LSTM, GRU and the simple RNN, as ONNX defines them."""

from __future__ import annotations

from sateen.topi.computations.recurrent.layer import Layer
from sateen.topi.computations.recurrent.operands import Inputs, Settings, require_layer
from sateen.topi.computations.recurrent.step import Step
from sateen.topi.schedules import Computation, loops


def lstm(inputs: Inputs, settings: Settings, input_forget: bool = False) -> Computation:
    """Y [time, direction, batch, hidden], the last hidden and cell states [direction, batch, hidden]; gates i o f c."""
    require_layer("lstm", inputs, settings, 4, 3)
    return Layer(inputs, settings, 4, 2, lambda step: _lstm_step(step, input_forget)).computation()


def gru(inputs: Inputs, settings: Settings, linear_before_reset: bool = False) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]; gates z r h."""
    require_layer("gru", inputs, settings, 3, 2)
    layer = Layer(inputs, settings, 3, 1, lambda step: _gru_step(step, linear_before_reset))
    layer.separate_gate = 2 if linear_before_reset else None
    return layer.computation()


def rnn(inputs: Inputs, settings: Settings) -> Computation:
    """Y [time, direction, batch, hidden] and the last hidden state [direction, batch, hidden]."""
    require_layer("rnn", inputs, settings, 1, 1)
    return Layer(inputs, settings, 1, 1, _rnn_step).computation()


def _lstm_step(step: Step, input_forget: bool) -> None:
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


def _gru_step(step: Step, linear_before_reset: bool) -> None:
    ib, n, d = step.ib, step.size, step.d
    f, g = step.activations
    step.products(0, 3 * n if linear_before_reset else 2 * n, lambda b, k: step.hidden[d, b, k])
    update, reset = (ib.allocate(step.hidden.dtype, (step.batch, n), name=name) for name in ("update", "reset"))
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


def _rnn_step(step: Step) -> None:
    n, d = step.size, step.d
    (f,) = step.activations
    step.products(0, n, lambda b, k: step.hidden[d, b, k])
    with step.active() as (b, t), loops(step.ib, (n,), step.lanes) as (j,):
        step.hidden[d, b, j] = f(step.limited(step.gates[b, j] + step.input(t, b, j)))
