"""The transform of a weight for Winograd's method as native code: what an artifact does when it is first loaded.

It computes what `winograd_transforms.winograd_weight` does, in float64 as well, and rounds once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import require, require_rank, require_shape, require_views
from sateen.topi.computations.convolution.winograd_transforms import KERNEL, Transform
from sateen.topi.schedules import (
    Computation,
    elements,
    host_of,
    on_cpu,
    register_tile,
    schedule_injective,
    share_among_threads,
)
from sateen.topi.types import Layout, View, compute

FLOAT64 = "float64"


def transform_weight(weight: View, f: Transform, layout: Layout) -> Computation:
    """A weight [O, C, 3, 3] as [O, C, k, k] in a layout: G w Gᵀ without rows and columns that repeat.

    On processors panels of output channels are fast (`winograd_weight_layout`).
    """
    name = "winograd_weight"
    require_views(name, weight=weight)
    require_rank(name, "weight [O, C, 3, 3]", weight, 4)
    require(str(weight.dtype) == "float32", name, "float32", weight.dtype)
    require_shape(name, "weight", weight, (*weight.shape[:2], KERNEL, KERNEL))
    return _Transform(weight, f, layout).computation()


@dataclass
class _Transform:
    """The stages: taps in float64, a row of G w, and its product with Gᵀ."""

    weight: View
    f: Transform
    layout: Layout

    def computation(self) -> Computation:
        g, k = np.array(list(dict.fromkeys(self.f.weight)), np.float64), self.f.weights
        entries = te.constant(g, "G")
        outputs, channels = self.weight.shape[:2]
        self.taps: te.Tensor = te.compute(
            (channels, KERNEL, KERNEL, outputs),
            lambda c, a, b, o: te.cast(FLOAT64, self.weight(o, c, a, b)), name="taps",
        )  # fmt: skip
        down, across = te.reduce_axis(KERNEL, "down"), te.reduce_axis(KERNEL, "across")
        self.rows: te.Tensor = te.compute(
            (channels, k, KERNEL, outputs),
            lambda c, i, b, o: te.sum(entries(i, down) * self.taps(c, down, b, o), axis=down), name="rows",
        )  # fmt: skip

        def sums(c: Expr, i: Expr, j: Expr, o: Expr) -> Expr:
            entry = entries(j, across)
            return te.sum(entry * self.rows(c, i, across, o), axis=across, where=entry.not_equal(0.0))

        self.sums: te.Tensor = te.compute((channels, k, k, outputs), sums, name="sums")

        view = compute(
            (outputs, channels, k, k), lambda o, c, i, j: te.cast(self.weight.dtype, self.sums(c, i, j, o)),
            "transformed", self.layout,
        )  # fmt: skip
        self.result: te.Tensor = view.tensor
        return Computation((view,), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """A panel of outputs and a channel at a time, in registers: rows in a loop, so that the code is short."""
        host = host_of(s, self.result, output, machine)
        lanes, panel = machine.lanes(), self.layout.block_of(0)
        stage = s[host]
        if panel % lanes or lanes == 1 or self.weight.shape[0] % panel:
            schedule_injective(s, host, machine)
            return
        outer, i, j, c, vector = stage.axes
        vector, lane = stage.split(vector, lanes)
        stage.reorder(outer, c, vector, i, j, lane)
        register_tile(stage, j, lane)
        share_among_threads(stage, [outer, c], elements(self.result), machine)
        for tensor, place in ((self.taps, vector), (self.rows, i), (self.sums, i)):
            part = s[tensor]
            part.set_scope("register")
            part.compute_at(stage, place)
            *outer_loops, o = part.axes
            loops = [*outer_loops, *part.op.reduce_axis, o]
            part.reorder(*loops)
            register_tile(part, *loops)
