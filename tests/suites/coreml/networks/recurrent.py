"""Recurrent layers, by their formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from arrays import Array, sigmoid

from networks.case import (
    TABLE,
    TABLE_BIAS,
    Builder,
    Cases,
)

CASES = Cases("networks.recurrent")
case = CASES.case
reals, whole = CASES.source.reals, CASES.source.whole

_STEPS = reals(5, 1, 4)


def recurrent(name: str, expected: Sequence[Array], build: Callable[[Builder], None]) -> None:
    case(
        name,
        [_STEPS],
        build,
        *expected,
        old=True,
        features={"x": (4,)},
        settings={"options": {"shapes": {"x": [5, 1, 4]}}},
    )


_WX, _WH, _WB1 = reals(3, 4), reals(3, 3), reals(3)
_OUT, _Y1 = [], np.zeros(3)
for x in _STEPS[:, 0]:
    _Y1 = np.tanh(_WX @ x + _WH @ _Y1 + _WB1)
    _OUT.append(_Y1)
recurrent(
    "rnn",
    [np.stack(_OUT)[:, :, None, None]],
    lambda b: b.add_simple_rnn("l", _WH, _WX, _WB1, 3, 4, "TANH", ["x"], ["out"], output_all=True),
)
recurrent("rnn_last", [_OUT[-1]], lambda b: b.add_simple_rnn("l", _WH, _WX, _WB1, 3, 4, "TANH", ["x"], ["out"]))
_GX, _GH, _GB = [reals(3, 4) for _ in "zro"], [reals(3, 3) for _ in "zro"], [reals(3) for _ in "zro"]
_OUT, _Y1 = [], np.zeros(3)
for x in _STEPS[:, 0]:
    z, r = (sigmoid(_GX[i] @ x + _GH[i] @ _Y1 + _GB[i]) for i in (0, 1))
    o = np.tanh(_GX[2] @ x + _GH[2] @ (_Y1 * r) + _GB[2])
    _Y1 = (1 - z) * o + z * _Y1
    _OUT.append(_Y1)
recurrent(
    "gru",
    [np.stack(_OUT)[:, :, None, None]],
    lambda b: b.add_gru("l", _GH, _GX, _GB, 3, 4, ["x"], ["out"], inner_activation="SIGMOID", output_all=True),
)


def lstm_steps(
    w: Sequence[Array],
    r: Sequence[Array],
    b: Sequence[Array],
    p: Sequence[Array] | None,
    steps: Array,
    coupled: bool = False,
    h: Array | float = 0.0,
    c: Array | float = 0.0,
) -> list[Array]:
    """States h after each step; weights in the builder's order i f o z."""
    h, c = np.zeros(3) + h, np.zeros(3) + c
    peep = p or [np.zeros(3)] * 3
    outputs = []
    for x in steps:
        i = sigmoid(w[0] @ x + r[0] @ h + b[0] + peep[0] * c)
        f = sigmoid(w[1] @ x + r[1] @ h + b[1] + peep[1] * c)
        z = np.tanh(w[3] @ x + r[3] @ h + b[3])
        c = c * (1 - i if coupled else f) + i * z
        o = sigmoid(w[2] @ x + r[2] @ h + b[2] + peep[2] * c)
        h = np.tanh(c) * o
        outputs.append(h)
    return outputs


def gates(*shape: int) -> list[Array]:
    return [reals(*shape) for _ in "ifoz"]


_LX, _LH, _LB, _LP = gates(3, 4), gates(3, 3), gates(3), [reals(3) for _ in "ifo"]
_FORGET = [_LB[0], _LB[1] + 1, *_LB[2:]]
recurrent(
    "lstm",
    [np.stack(lstm_steps(_LX, _LH, _LB, None, _STEPS[:, 0]))[:, :, None, None]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"], output_all=True),
)
recurrent(
    "lstm_last",
    [lstm_steps(_LX, _LH, _LB, None, _STEPS[:, 0])[-1]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"]),
)
recurrent(
    "lstm_forget_bias",
    [lstm_steps(_LX, _LH, _FORGET, None, _STEPS[:, 0])[-1]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"], forget_bias=True),
)
recurrent(
    "lstm_peepholes",
    [lstm_steps(_LX, _LH, _LB, _LP, _STEPS[:, 0])[-1]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"], peep=_LP),
)
recurrent(
    "lstm_coupled",
    [lstm_steps(_LX, _LH, _LB, None, _STEPS[:, 0], coupled=True)[-1]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"], coupled_input_forget_gate=True),
)
recurrent(
    "lstm_reversed",
    [lstm_steps(_LX, _LH, _LB, None, _STEPS[::-1, 0])[-1]],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x"], ["out"], reverse_input=True),
)
_MX, _MH, _MB = gates(3, 4), gates(3, 3), gates(3)
_FORTH, _BACK = lstm_steps(_LX, _LH, _LB, None, _STEPS[:, 0]), lstm_steps(_MX, _MH, _MB, None, _STEPS[::-1, 0])
recurrent(
    "lstm_bidirectional",
    [np.concatenate([np.stack(_FORTH), np.stack(_BACK[::-1])], 1)[:, :, None, None]],
    lambda b: b.add_bidirlstm("l", _LH, _LX, _LB, _MH, _MX, _MB, 3, 4, ["x"], ["out"], output_all=True),
)
recurrent(
    "lstm_bidirectional_last",
    [np.concatenate([_FORTH[-1], _BACK[-1]])],
    lambda b: b.add_bidirlstm("l", _LH, _LX, _LB, _MH, _MX, _MB, 3, 4, ["x"], ["out"]),
)
_H0, _C0 = reals(3), reals(3)
case(
    "lstm_states",
    [_STEPS[:1], _H0, _C0],
    lambda b: b.add_unilstm("l", _LH, _LX, _LB, 3, 4, ["x", "y", "z"], ["out"]),
    lstm_steps(_LX, _LH, _LB, None, _STEPS[:1, 0], h=_H0, c=_C0)[0],
    old=True,
    features={"x": (4,)},
    settings={"options": {"shapes": {"x": [1, 1, 4]}}},
)
_WORDS = whole(5, 1, 1, most=7)
case(
    "embedding",
    [_WORDS],
    lambda b: b.add_embedding("l", TABLE, TABLE_BIAS, 7, 5, True, "x", "out"),
    (TABLE.T[_WORDS[:, 0, 0].astype(int)] + TABLE_BIAS)[:, :, None, None],
    old=True,
    features={"x": (1,)},
    settings={"options": {"shapes": {"x": [5, 1, 1]}}},
)
