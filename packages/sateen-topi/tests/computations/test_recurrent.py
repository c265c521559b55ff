"""Recurrent layers against NumPy in float64."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, build, lower, te
from sateen.topi.computations.recurrent import (
    ACTIVATIONS,
    Activation,
    GateTiles,
    Inputs,
    Settings,
    gru,
    lstm,
    recurrent_candidates,
    rnn,
    weight_layout,
)

FLOAT32 = DType.of("float32")
USUAL = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "rnn": ("Tanh",)}
LAYERS = {"lstm": lstm, "gru": gru, "rnn": rnn}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(kind, a, backwards, clip=None, input_forget=False, linear_before_reset=False):
    """One sequence and direction after the other."""
    x, weight, recurrence = (a[k].astype(np.float64) for k in ("x", "weight", "recurrence"))
    (steps, batch, _), (directions, width, n) = x.shape, recurrence.shape
    bias = a.get("bias", np.zeros((directions, 2 * width)))
    state, peepholes = np.zeros((directions, batch, n)), a.get("peepholes", np.zeros((directions, 3 * n)))
    lengths = a.get("lengths", np.full(batch, steps))
    y, last_h, last_c = np.zeros((steps, directions, batch, n)), state.copy(), state.copy()

    def limited(v):
        return v if clip is None else np.clip(v, -clip, clip)

    for d, b in np.ndindex(directions, batch):
        h, c = a.get("hidden", state)[d, b].astype(np.float64), a.get("cell", state)[d, b].astype(np.float64)
        own, p = bias[d, width:], peepholes[d].reshape(3, n)
        for step in range(lengths[b]):
            t = lengths[b] - 1 - step if backwards[d] else step
            given = (weight[d] @ x[t, b] + bias[d, :width]).reshape(-1, n)
            fed = (recurrence[d] @ h + own).reshape(-1, n)
            if kind == "lstm":
                i = sigmoid(limited(given[0] + fed[0] + p[0] * c))
                f = 1 - i if input_forget else sigmoid(limited(given[2] + fed[2] + p[2] * c))
                c = f * c + i * np.tanh(limited(given[3] + fed[3]))
                h = sigmoid(limited(given[1] + fed[1] + p[1] * c)) * np.tanh(c)
            elif kind == "gru":
                z, r = sigmoid(limited(given[0] + fed[0])), sigmoid(limited(given[1] + fed[1]))
                candidate = r * fed[2] if linear_before_reset else recurrence[d, 2 * n :] @ (r * h) + own[2 * n :]
                h = (1 - z) * np.tanh(limited(given[2] + candidate)) + z * h
            else:
                h = np.tanh(limited(given[0] + fed[0]))
            y[t, d, b] = h
        last_h[d, b], last_c[d, b] = h, c
    return [y, last_h, last_c] if kind == "lstm" else [y, last_h]


def arrays(random, kind, steps, batch, features, n, directions, names):
    width = GATES[kind] * n

    def normal(*shape):
        return (random.standard_normal(shape) * 0.3).astype("float32")

    everything = {
        "x": normal(steps, batch, features), "weight": normal(directions, width, features),
        "recurrence": normal(directions, width, n), "bias": normal(directions, 2 * width),
        "lengths": random.integers(1, steps + 1, batch).astype("int32"), "hidden": normal(directions, batch, n),
        "cell": normal(directions, batch, n), "peepholes": normal(directions, 3 * n),
    }  # fmt: skip
    return {k: v for k, v in everything.items() if k in ("x", "weight", "recurrence", *names)}


def check(run_views, view, error, random, kind, sizes, backwards, names, clip=None, **options):
    """Compares with the reference; returns the text of the loops."""
    a = arrays(random, kind, *sizes, len(backwards), names)
    packed = dict.fromkeys(("weight", "recurrence"), weight_layout(Machine.of("llvm"), FLOAT32))
    views = {k: view(v, k, packed.get(k)) for k, v in a.items()}
    activations = tuple(tuple(map(Activation, USUAL[kind])) for _ in backwards)
    computation = LAYERS[kind](Inputs(**views), Settings(activations, backwards, clip), **options)
    found = run_views(computation, list(views.values()), list(a.values()))
    for y, expected in zip(found, reference(kind, a, backwards, clip, **options), strict=True):
        assert error(y, expected) < 1e-5
    tensors = [v.tensor for v in computation.outputs]
    return str(lower(te.create_schedule(tensors), [*(v.tensor for v in views.values()), *tensors]))


def test_a_scan_of_te_gives_what_the_kernel_gives(random: np.random.Generator) -> None:
    """The other way to write the layer: row 0 of the states is before the first step."""
    steps, batch, features, n = 4, 2, 3, 8
    a = arrays(random, "lstm", steps, batch, features, n, 1, ())
    x, wx, wh = (te.placeholder(a[k].shape, name=k) for k in ("x", "weight", "recurrence"))
    shape = (steps + 1, batch, n)
    h, c = te.placeholder(shape, name="h"), te.placeholder(shape, name="c")
    k, r = te.reduce_axis(features, "k"), te.reduce_axis(n, "r")
    rows = (steps + 1, batch, 4 * n)  # of gates i, o, f, c
    fed = te.compute(rows, lambda t, b, j: te.sum(x[te.maximum(t - 1, 0), b, k] * wx[0, j, k], axis=k), name="fed")
    kept = te.compute(rows, lambda t, b, j: te.sum(h[t - 1, b, r] * wh[0, j, r], axis=r), name="kept")
    gates = te.compute(rows, lambda *i: fed(*i) + kept(*i), name="gates")

    def cell(t: te.Expr, b: te.Expr, j: te.Expr) -> te.Expr:
        opened, forgotten, given = (gates[t, b, j + gate * n] for gate in (0, 2, 3))
        return te.sigmoid(forgotten) * c[t - 1, b, j] + te.sigmoid(opened) * te.tanh(given)

    next_c = te.compute(shape, cell, name="next_c")
    next_h = te.compute(shape, lambda t, b, j: te.sigmoid(gates[t, b, j + n]) * te.tanh(next_c[t, b, j]), name="next_h")
    first = [te.compute((1, batch, n), lambda *_: te.const(0, "float32"), name=name) for name in ("h0", "c0")]
    hidden, cells = te.scan(first, [next_h, next_c], [h, c], name="layer")
    found = [np.empty(shape, "float32") for _ in range(2)]
    build(te.create_schedule([hidden, cells]), [x, wx, wh, hidden, cells])(*a.values(), *found)
    y, last_h, last_c = reference("lstm", a, (False,))
    np.testing.assert_allclose(found[0][1:], y[:, 0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose([found[0][-1:], found[1][-1:]], [last_h, last_c], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "sizes", "backwards", "names", "options"),
    [
        ("lstm", (3, 1, 5, 19), (False,), ("bias",), {}),
        ("lstm", (4, 3, 7, 5), (False, True), ("bias", "hidden", "cell", "lengths", "peepholes"), {"clip": 0.3}),
        ("gru", (3, 2, 4, 9), (True,), ("hidden", "lengths"), {}),
        ("gru", (2, 11, 1, 3), (False,), ("bias", "hidden"), {"linear_before_reset": True}),
        ("rnn", (4, 2, 3, 1), (False, True), ("bias", "lengths"), {}),
    ],
)
def test_devices_give_what_processors_give(as_defined, random, kind, sizes, backwards, names, options):
    a = arrays(random, kind, *sizes, len(backwards), names)
    if "lengths" in a:
        a["lengths"][:2] = 0, sizes[0] + 1
    activations = tuple(tuple(map(Activation, USUAL[kind])) for _ in backwards)
    if len(backwards) > 1:
        activations = (activations[0], (Activation("HardSigmoid", 0.5), *activations[0][1:]))
    layer, others = LAYERS[kind], dict(options)
    settings = Settings(activations, backwards, others.pop("clip", None))

    def computation(*views):
        return layer(Inputs(**dict(zip(a, views, strict=True))), settings, **others)

    as_defined(computation, *a.values(), rtol=1e-5)


BOTH = (False, True)
SHARED = {"lstm": (192, {}), "gru": (224, {"linear_before_reset": True}), "rnn": (384, {})}
"""Hidden sizes of layers whose steps threads share, and options."""


@pytest.mark.parametrize("backwards", [(False,), (True,), BOTH])
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("kind", SHARED)
def test_steps_that_threads_share_read_the_weights_backwards_in_turn(
    run_views, view, error, random, kind, steps, backwards
):
    size, options = SHARED[kind]
    names = ("bias", "hidden", "lengths", *(["cell"] if kind == "lstm" else []))
    text = check(run_views, view, error, random, kind, (steps, 3, 5, size), backwards, names, **options)
    assert text.count(" alternate:") == len(backwards)


@pytest.mark.parametrize(
    "method", [GateTiles(1, 8), GateTiles(2, 3), GateTiles(7, 1), GateTiles(5, 2), GateTiles(4, 6)], ids=str
)
@pytest.mark.parametrize("kind", SHARED)
def test_all_tiles_give_the_same_bits(run_views, view, random, kind, method):
    size, options = SHARED[kind]
    a = arrays(random, kind, 3, 7, 5, size, 2, ("bias", "hidden", *(["cell"] if kind == "lstm" else [])))
    settings = Settings(tuple(tuple(map(Activation, USUAL[kind])) for _ in BOTH), BOTH)

    def found(method: GateTiles | None) -> list[np.ndarray]:
        machine = Machine.of("llvm")
        packed = weight_layout(machine, FLOAT32)
        own = packed if method is None else weight_layout(machine, FLOAT32, method.vectors)
        views = {k: view(v, k, {"weight": packed, "recurrence": own}.get(k)) for k, v in a.items()}
        computation = LAYERS[kind](Inputs(**views), settings, method=method, **options)
        return run_views(computation, list(views.values()), list(a.values()))

    for y, expected in zip(found(method), found(None), strict=True):
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("dtype", [FLOAT32, DType.of("float64")], ids=str)
def test_candidates_fit_registers_and_gates(cpu, batch, dtype):
    machine = Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    found = recurrent_candidates((4, batch, 10), (1, 96, 24), dtype, machine)
    assert [c.cycles for c in found] == sorted(c.cycles for c in found)
    assert len({c.method.vectors for c in found}) > 2
    for c in found:
        assert c.method.rows <= min(batch, machine.tile_positions(c.method.vectors))
        assert c.method.vectors * machine.lanes(dtype) <= 96


def test_as_many_vectors_are_summed_as_hide_the_latency_of_a_multiply_add():
    """One sequence; weights in the second cache."""
    slow, fast = (Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver4", "znver5"))
    cycles = [{c.method.vectors: c.cycles for c in recurrent_candidates((9, 1, 128), (1, 512, 128), FLOAT32, machine)}
              for machine in (slow, fast)]  # fmt: skip
    assert cycles[0][2] < 1.2 * cycles[0][4]
    assert cycles[1][2] > 1.5 * cycles[1][4]


def test_weights_that_the_second_cache_does_not_keep_take_longer():
    machine = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"), cores=1)
    small, large = (
        recurrent_candidates((9, 1, n), (1, 4 * n, n), FLOAT32, machine)[0].cycles / n**2 for n in (128, 1024)
    )
    assert large > 1.5 * small
    directions = recurrent_candidates((9, 1, 128), (2, 512, 128), FLOAT32, machine)[0].cycles
    assert directions == 2 * small * 128**2


def test_devices_have_no_tiles_to_choose():
    assert recurrent_candidates((9, 1, 128), (1, 512, 128), FLOAT32, Machine.of("opencl")) == []


def test_small_steps_are_not_shared(run_views, view, error, random):
    text = check(run_views, view, error, random, "lstm", (3, 1, 5, 19), (False,), ())
    assert "parallel panel" not in text


STATES = ("bias", "hidden", "cell")


@pytest.mark.parametrize(
    ("kind", "sizes", "backwards", "names", "options"),
    [
        ("lstm", (1, 1, 5, 64), (False,), STATES, {}),
        ("lstm", (3, 2, 5, 192), (False,), STATES, {}),  # steps that threads share
        ("lstm", (4, 3, 7, 5), BOTH, (*STATES, "lengths", "peepholes"), {}),
        ("lstm", (2, 7, 5, 40), (False,), STATES, {}),
        ("gru", (3, 7, 4, 24), (False,), ("bias", "hidden"), {}),
        ("lstm", (4, 2, 7, 19), (True,), (), {"clip": 0.3, "input_forget": True}),
        ("gru", (4, 3, 7, 5), BOTH, ("bias", "hidden", "lengths"), {}),
        ("gru", (3, 2, 4, 33), (False,), ("bias", "hidden"), {"linear_before_reset": True}),
        ("gru", (3, 2, 4, 16), (False,), (), {"clip": 0.5}),
        ("rnn", (4, 3, 7, 5), BOTH, ("bias", "hidden", "lengths"), {}),
        ("rnn", (3, 1, 1, 1), (False,), (), {}),
    ],
)
def test_values(run_views, view, error, random, kind, sizes, backwards, names, options):
    names = tuple(n for n in names if kind == "lstm" or n != "cell")
    check(run_views, view, error, random, kind, sizes, backwards, names, **options)


def activated(x, name):
    return {
        "Relu": np.maximum(x, 0), "Tanh": np.tanh(x), "Sigmoid": sigmoid(x), "Affine": x * 0.7 + 0.2,
        "LeakyRelu": np.where(x < 0, 0.7 * x, x), "ThresholdedRelu": np.where(x > 0.7, x, 0),
        "ScaledTanh": 0.7 * np.tanh(0.2 * x), "HardSigmoid": np.clip(0.7 * x + 0.2, 0, 1),
        "Elu": np.where(x < 0, 0.7 * np.expm1(x), x), "Softsign": x / (1 + np.abs(x)), "Softplus": np.log1p(np.exp(x)),
    }[name]  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("size", [1, 1e-4])
def test_activations(run_views, view, error, random, name, size):
    x, weight = (random.standard_normal(shape).astype("float32") for shape in ((1, 1, 4), (1, 20, 4)))
    x *= np.float32(size)
    given = [x, weight, np.zeros((1, 20, 20), "float32")]
    operands = [view(a, f"x{i}") for i, a in enumerate(given)]
    settings = Settings(((Activation(name, 0.7, 0.2),),), (False,))
    y, _ = run_views(rnn(Inputs(*operands), settings), operands, given)
    assert error(y[0, 0], activated(x[0].astype(np.float64) @ weight[0].T, name)) < 1e-6


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("n", [5, 256])
def test_no_step_is_computed_after_the_longest_sequence(run_views, view, kind, n):
    random = np.random.default_rng(3)
    a = arrays(random, kind, 6, 3, 7, n, 2, ("bias", "hidden"))
    a["lengths"] = np.array([2, 0, 3], "int32")
    packed = dict.fromkeys(("weight", "recurrence"), weight_layout(Machine.of("llvm"), FLOAT32))
    views = {k: view(v, k, packed.get(k)) for k, v in a.items()}
    activations = tuple(tuple(map(Activation, USUAL[kind])) for _ in BOTH)
    computation = LAYERS[kind](Inputs(**views), Settings(activations, BOTH, None))
    found = run_views(computation, list(views.values()), list(a.values()))
    for y, expected in zip(found, reference(kind, a, BOTH), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    tensors = [v.tensor for v in computation.outputs]
    text = str(lower(te.create_schedule(tensors), [*(v.tensor for v in views.values()), *tensors]))
    loops = re.findall(r"for (step\w*) in (.*):", text)
    assert [extent for _, extent in loops] == ["[0, longest)"] * 2, loops


def test_lengths_beyond_the_time_end_with_it(run_views, view, error, random):
    a = arrays(random, "rnn", 4, 3, 7, 5, 2, ("bias", "hidden", "lengths"))
    packed = dict.fromkeys(("weight", "recurrence"), weight_layout(Machine.of("llvm"), FLOAT32))
    views = {k: view(v, k, packed.get(k)) for k, v in a.items()}
    computation = rnn(Inputs(**views), Settings(tuple((Activation("Tanh"),) for _ in BOTH), BOTH, None))
    far = a | {"lengths": np.array([-(2**31), 9, 2**31 - 1], "int32")}
    near = a | {"lengths": np.array([0, 4, 4], "int32")}
    found = run_views(computation, list(views.values()), list(far.values()))
    for y, expected in zip(found, reference("rnn", near, BOTH), strict=True):
        assert error(y, expected) < 1e-5
