"""Recurrences: running mean and variance of many signals, two states; and a recurrent cell, whose steps have stages.

Time is the first dimension. The steps follow one another; what a step computes is scheduled like any other stage.
docs/te.md has a whole LSTM.
"""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, lower, te

SIGNALS, KEEP = 4096, 0.9
HIDDEN = 64
LANES = Machine.of("llvm").lanes("float32")


def running_moments() -> tuple[te.Schedule, list[te.Tensor]]:
    """mean[t] and variance[t] of x[0] to x[t], in which older values count less and less."""
    steps = te.var("steps")
    shape = (steps, SIGNALS)
    x = te.placeholder(shape, name="x")
    mean, variance = te.placeholder(shape, name="mean"), te.placeholder(shape, name="variance")
    first = te.compute((1, SIGNALS), lambda t, i: x[t, i], name="first")
    nothing = te.compute((1, SIGNALS), lambda t, i: te.const(0, "float32"), name="nothing")
    step = te.compute(shape, lambda t, i: (x[t, i] - mean[t - 1, i]) * (1 - KEEP), name="step")
    next_mean = te.compute(shape, lambda t, i: mean[t - 1, i] + step[t, i], name="next_mean")
    next_variance = te.compute(
        shape, lambda t, i: (variance[t - 1, i] + step[t, i] * (x[t, i] - mean[t - 1, i])) * KEEP, name="next_variance"
    )
    updates = [next_mean, next_variance]
    means, variances = te.scan([first, nothing], updates, [mean, variance], inputs=[x], name="moments")

    s = te.create_schedule([means, variances])
    s[step].compute_inline()
    for update in updates:
        s[update].vectorize(s[update].split(update.op.axis[1], factor=LANES)[1])
    return s, [x, means, variances]


def recurrent_cell() -> tuple[te.Schedule, list[te.Tensor]]:
    """h[t] = tanh(x[t] + U·h[t - 1]): the product is a stage, computed in the step for a vector at a time."""
    steps = te.var("steps")
    x, U = te.placeholder((steps, HIDDEN), name="x"), te.placeholder((HIDDEN, HIDDEN), name="U")
    h = te.placeholder((steps, HIDDEN), name="h")
    first = te.compute((1, HIDDEN), lambda t, i: te.tanh(x[t, i]), name="first")
    k = te.reduce_axis(HIDDEN, name="k")
    kept = te.compute((steps, HIDDEN), lambda t, i: te.sum(U[k, i] * h[t - 1, k], axis=k), name="kept")
    update = te.compute((steps, HIDDEN), lambda t, i: te.tanh(x[t, i] + kept[t, i]), name="update")
    H = te.scan(first, update, h, inputs=[x], name="H")

    s = te.create_schedule(H)
    block, lane = s[update].split(update.op.axis[1], factor=LANES)
    s[update].vectorize(lane)
    s[kept].compute_at(s[update], block)
    s[kept].set_scope("register")
    _, lane = kept.op.axis
    s[kept].reorder(k, lane)
    s[kept].vectorize(lane)
    return s, [x, U, H]


def main() -> None:
    show_moments()
    show_recurrent_cell()


def show_recurrent_cell() -> None:
    s, arguments = recurrent_cell()
    print(lower(s, arguments), "\n")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, HIDDEN), dtype=np.float32)
    weight = rng.standard_normal((HIDDEN, HIDDEN), dtype=np.float32) / HIDDEN**0.5
    states = np.empty_like(x)
    cell = build(s, arguments, target="llvm", name="cell")
    cell(x, weight, states)
    state = np.tanh(x[0].astype("float64"))
    for t in range(1, len(x)):
        state = np.tanh(x[t] + state @ weight)
        np.testing.assert_allclose(states[t], state, rtol=0, atol=1e-3)
    print(f"{len(x)} steps of {HIDDEN} hidden values: {runtime.time_evaluator(cell['cell'].bind(x, weight, states))}")


def show_moments() -> None:
    s, arguments = running_moments()
    print(lower(s, arguments), "\n")
    moments = build(s, arguments, target="llvm", name="moments")

    x = np.random.default_rng(0).standard_normal((500, SIGNALS), dtype=np.float32)
    means, variances = runtime.empty(x.shape), runtime.empty(x.shape)
    moments(x, means, variances)
    mean, variance = x[0].astype("float64"), np.zeros(SIGNALS)
    for t in range(1, len(x)):
        step = (x[t] - mean) * (1 - KEEP)
        variance = (variance + step * (x[t] - mean)) * KEEP
        mean = mean + step
        np.testing.assert_allclose(means.numpy()[t], mean, rtol=0, atol=1e-5)
        np.testing.assert_allclose(variances.numpy()[t], variance, rtol=0, atol=1e-5)
    run = moments["moments"].bind(x, means, variances)
    print(f"{len(x)} steps of {SIGNALS} signals: {runtime.time_evaluator(run)}\n")


if __name__ == "__main__":
    main()
