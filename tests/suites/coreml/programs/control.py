"""Branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from coremltools.converters.mil import Builder

from programs.case import BLOCK, Cases

CASES = Cases("programs.control")
case = CASES.case


def branch(x: Any) -> Any:
    total = Builder.reduce_sum(x=x, keep_dims=False)
    return Builder.cond(
        pred=Builder.greater(x=total, y=np.float32(0)),
        _true_fn=lambda: Builder.mul(x=x, y=np.float32(2)),
        _false_fn=lambda: Builder.sub(x=x, y=np.float32(1)),
    )


_SIGN = np.sign(BLOCK.sum())
case("branch_first", [BLOCK * _SIGN], branch, BLOCK * _SIGN * 2)
case("branch_second", [-BLOCK * _SIGN], branch, -BLOCK * _SIGN - 1)


def nested(x: Any) -> Any:
    return Builder.cond(
        pred=Builder.greater(x=Builder.reduce_sum(x=x, keep_dims=False), y=np.float32(0)),
        _true_fn=lambda: branch(Builder.sub(x=x, y=np.float32(9))),
        _false_fn=lambda: Builder.relu(x=x),
    )


case("branch_nested", [BLOCK * _SIGN], nested, BLOCK * _SIGN - 10)


def loop(x: Any, y: Any) -> Any:
    """x doubles while its sum is below a limit; what is around the loop is read."""
    limit = Builder.reduce_sum(x=y, keep_dims=False)
    return Builder.while_loop(
        _cond=lambda a, n: Builder.less(x=Builder.reduce_sum(x=a, keep_dims=False), y=limit),
        _body=lambda a, n: (Builder.add(x=a, y=a), Builder.add(x=n, y=np.int32(1))),
        loop_vars=(x, np.int32(0)),
    )


_ONES = np.ones((2, 2), np.float32)
for limit, times in ((3, 0), (5, 1), (100, 5)):
    case(f"loop_{times}", [_ONES, np.array([limit], np.float32)], loop, _ONES * 2**times, np.int32(times))
case(
    "loop_counted",
    [BLOCK],
    lambda x: Builder.while_loop(
        _cond=lambda a, n: Builder.less(x=n, y=np.int32(3)),
        _body=lambda a, n: (Builder.tanh(x=a), Builder.add(x=n, y=np.int32(1))),
        loop_vars=(x, np.int32(0)),
    )[0],
    np.tanh(np.tanh(np.tanh(BLOCK))),
)
