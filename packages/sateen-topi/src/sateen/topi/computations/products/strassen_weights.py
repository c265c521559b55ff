"""The sums of blocks of a weight for Strassen's method as native code: what an artifact does when it is first loaded.

It computes what `strassen.strassen_weight` does, in float64 as well, and rounds once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import require, require_rank, require_views
from sateen.topi.computations.products.strassen import RIGHT, STRASSEN_PRODUCTS
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

BLOCKS = 4


def sum_weight_blocks(weight: View, layout: Layout) -> Computation:
    """A right operand [k, n] of float32 as the sums of its blocks [7, k/2, n/2] in a layout.

    On processors panels of columns are fast (`strassen_weight_layout`).
    """
    name = "strassen_weight"
    require_views(name, weight=weight)
    require_rank(name, "weight [k, n]", weight, 2)
    require(str(weight.dtype) == "float32", name, "float32", weight.dtype)
    require(all(extent % 2 == 0 for extent in weight.shape), name, "even extents", weight.shape)
    return _Sums(weight, layout).computation()


@dataclass
class _Sums:
    weight: View
    layout: Layout

    def computation(self) -> Computation:
        depth, columns = (extent // 2 for extent in self.weight.shape)
        factors, block = te.constant(np.array(RIGHT, np.float64), "factors"), te.reduce_axis(BLOCKS, "block")

        def total(q: Expr, i: Expr, j: Expr) -> Expr:
            factor = factors(q, block)
            element = self.weight(block // 2 * depth + i, block % 2 * columns + j)
            return te.sum(factor * te.cast("float64", element), axis=block, where=factor.not_equal(0.0))

        shape = (STRASSEN_PRODUCTS, depth, columns)
        self.sums: te.Tensor = te.compute(shape, total, name="sums")
        view = compute(shape, lambda *q: te.cast(self.weight.dtype, self.sums(*q)), "block_sums", self.layout)
        self.result: te.Tensor = view.tensor
        return Computation((view,), on_cpu(self.schedule))

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """A vector of columns of all sums at a time, in registers."""
        host = host_of(s, self.result, output, machine)
        lanes, panel = machine.lanes(), self.layout.block_of(2)
        stage = s[host]
        if panel % lanes or lanes == 1 or self.weight.shape[1] // 2 % panel:
            schedule_injective(s, host, machine)
            return
        outer, q, i, vector = stage.axes
        vector, lane = stage.split(vector, lanes)
        stage.reorder(outer, i, vector, q, lane)
        register_tile(stage, q, lane)
        share_among_threads(stage, [outer, i], elements(self.result), machine)
        part = s[self.sums]
        part.set_scope("register")
        part.compute_at(stage, vector)
        q, i, j = part.axes
        loops = [q, i, *part.op.reduce_axis, j]
        part.reorder(*loops)
        register_tile(part, *loops)
