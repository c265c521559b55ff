"""Element types, and versions of systems."""

from __future__ import annotations

from typing import Any

import coremltools as ct
import numpy as np
from arrays import t
from coremltools.converters.mil import Builder
from torch.nn import functional

from programs.case import BLOCK, LARGE, Cases

CASES = Cases("programs.systems")
case = CASES.case
_W, _WB = CASES.source.reals(6, 4), CASES.source.reals(6)
_K, _B = CASES.source.reals(6, 4, 3, 3), CASES.source.reals(6)

_HALVES = [_W.astype(np.float16), _WB.astype(np.float16)]
_ROUNDED = [array.astype(np.float32) for array in (BLOCK.astype(np.float16), *_HALVES)]
case(
    "float16",
    [BLOCK],
    lambda x: Builder.linear(x=Builder.cast(x=x, dtype="fp16"), weight=_HALVES[0], bias=_HALVES[1]),
    (_ROUNDED[0] @ _ROUNDED[1].T + _ROUNDED[2]).astype(np.float16),
    settings={"tolerance": 2e-3},
)
for system in (ct.target.iOS15, ct.target.iOS16, ct.target.iOS18):
    case(
        f"network_{system.name}",
        [LARGE],
        lambda x: Builder.reduce_mean(
            x=Builder.relu(x=Builder.conv(x=x, weight=_K, bias=_B, pad_type="same")), axes=[2, 3], keep_dims=False
        ),
        functional.relu(functional.conv2d(t(LARGE), t(_K), t(_B), padding=1)).mean((2, 3)).numpy(),
        target=system,
    )

_STATE, _NEW = (CASES.source.reals(2, 3).astype(np.float16) for _ in range(2))


def counted(x: Any, y: Any) -> Any:
    """A state is read, written, and read again."""
    before = Builder.read_state(input=y)
    after = Builder.coreml_update_state(state=y, value=Builder.add(x=before, y=x))
    return Builder.add(x=Builder.mul(x=after, y=np.float16(2)), y=before)


case(
    "state",
    [_NEW, _STATE],
    counted,
    (_STATE + _NEW) * np.float16(2) + _STATE,
    _STATE + _NEW,
    target=ct.target.iOS18,
    states=["y"],
    settings={"tolerance": 2e-3},
)


def cached(x: Any, y: Any) -> Any:
    """A row of a cache is exchanged."""
    whole = Builder.slice_update(x=Builder.read_state(input=y), update=x, begin=[1, 0], end=[2, 3])
    return Builder.reduce_sum(x=Builder.coreml_update_state(state=y, value=whole), axes=[0], keep_dims=False)


_CACHE = _STATE.copy()
_CACHE[1] = _NEW[1]
case("cache", [_NEW[1:], _STATE], cached, _CACHE.sum(0), _CACHE, target=ct.target.iOS18, states=["y"],
     settings={"tolerance": 2e-3})  # fmt: skip
