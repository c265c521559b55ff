"""Recurrent operations, judged by PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from arrays import Array, t
from coremltools.converters.mil import Builder

from programs.case import Cases

CASES = Cases("programs.recurrent")
case = CASES.case
reals = CASES.source.reals

_STEPS, _H0, _C0 = reals(5, 2, 4), reals(2, 3), reals(2, 3)
_TORCH = torch.nn.LSTM(4, 3)
_GATES = [0, 1, 3, 2]  # PyTorch's i f g o as i f o g


def ordered(weights: torch.Tensor, gates: Sequence[int]) -> Array:
    return np.concatenate([weights.detach().numpy().reshape(len(gates), 3, -1)[gate] for gate in gates]).squeeze()


with torch.no_grad():
    _LIH, _LHH = ordered(_TORCH.weight_ih_l0, _GATES), ordered(_TORCH.weight_hh_l0, _GATES)
    _LB = ordered(_TORCH.bias_ih_l0 + _TORCH.bias_hh_l0, _GATES)
    _OUT, (_HN, _CN) = _TORCH(t(_STEPS), (t(_H0)[None], t(_C0)[None]))
case(
    "lstm",
    [_STEPS, _H0, _C0],
    lambda x, y, z: Builder.lstm(
        x=x, initial_h=y, initial_c=z, weight_ih=_LIH, weight_hh=_LHH, bias=_LB, output_sequence=True
    ),
    _OUT.numpy(),
    _HN[0].numpy(),
    _CN[0].numpy(),
)
case(
    "lstm_last",
    [_STEPS, _H0, _C0],
    lambda x, y, z: Builder.lstm(x=x, initial_h=y, initial_c=z, weight_ih=_LIH, weight_hh=_LHH, bias=_LB),
    _OUT.numpy()[-1:],
    _HN[0].numpy(),
    _CN[0].numpy(),
)
_BOTH = torch.nn.LSTM(4, 3, bidirectional=True)
_H2, _C2 = reals(2, 6), reals(2, 6)
with torch.no_grad():
    _FORTH = [ordered(w, _GATES) for w in (_BOTH.weight_ih_l0, _BOTH.weight_hh_l0, _BOTH.bias_ih_l0 + _BOTH.bias_hh_l0)]
    _BACK = [
        ordered(w, _GATES)
        for w in (
            _BOTH.weight_ih_l0_reverse,
            _BOTH.weight_hh_l0_reverse,
            _BOTH.bias_ih_l0_reverse + _BOTH.bias_hh_l0_reverse,
        )
    ]
    _OUT2, (_HN2, _CN2) = _BOTH(t(_STEPS), tuple(t(s.reshape(2, 2, 3).transpose(1, 0, 2)) for s in (_H2, _C2)))
case(
    "lstm_bidirectional",
    [_STEPS, _H2, _C2],
    lambda x, y, z: Builder.lstm(
        x=x,
        initial_h=y,
        initial_c=z,
        weight_ih=_FORTH[0],
        weight_hh=_FORTH[1],
        bias=_FORTH[2],
        weight_ih_back=_BACK[0],
        weight_hh_back=_BACK[1],
        bias_back=_BACK[2],
        direction="bidirectional",
        output_sequence=True,
    ),
    _OUT2.numpy(),
    _HN2.numpy().transpose(1, 0, 2).reshape(2, 6),
    _CN2.numpy().transpose(1, 0, 2).reshape(2, 6),
)
_RNN = torch.nn.RNN(4, 3)
with torch.no_grad():
    _ROUT, _RH = _RNN(t(_STEPS), t(_H0)[None])
    _RW = [_RNN.weight_ih_l0.numpy(), _RNN.weight_hh_l0.numpy(), (_RNN.bias_ih_l0 + _RNN.bias_hh_l0).numpy()]
case(
    "rnn",
    [_STEPS, _H0],
    lambda x, y: Builder.rnn(x=x, initial_h=y, weight_ih=_RW[0], weight_hh=_RW[1], bias=_RW[2], output_sequence=True),
    _ROUT.numpy(),
    _RH[0].numpy(),
)
_GX, _GH, _GB = reals(9, 4), reals(9, 3), reals(9)
_GOUT, _STATE = [], _H0
for step in _STEPS:
    _rg, _zg = (
        1 / (1 + np.exp(-(step @ _GX[i : i + 3].T + _STATE @ _GH[i : i + 3].T + _GB[i : i + 3]))) for i in (0, 6)
    )
    _og = np.tanh(step @ _GX[3:6].T + (_STATE * _rg) @ _GH[3:6].T + _GB[3:6])
    _STATE = (1 - _zg) * _og + _zg * _STATE
    _GOUT.append(_STATE)
case(
    "gru",
    [_STEPS, _H0],
    lambda x, y: Builder.gru(x=x, initial_h=y, weight_ih=_GX, weight_hh=_GH, bias=_GB, output_sequence=True),
    np.stack(_GOUT).astype(np.float32),
    _STATE.astype(np.float32),
)
