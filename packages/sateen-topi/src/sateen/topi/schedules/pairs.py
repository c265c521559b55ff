"""Sums of products of bfloat16, two terms at a time, in float32."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir import IterVar

PAIR = 2
"""The neighbouring terms that an instruction multiplies and adds to one sum."""


def multiply_pairs(stage: te.Stage, unrolled: Sequence[IterVar], lane: IterVar, lanes: int) -> None:
    """Let an instruction compute the innermost loops, over the `lanes` of a vector of sums and a pair of terms, in a
    register tile along the other axes."""
    for axis in unrolled:
        stage.unroll(axis)
    stage.tensorize(lane, INTRINSICS[f"dot2_bf16_x{lanes}_broadcast"])
