"""Determinants by elimination."""

from __future__ import annotations

from math import prod

from sateen.tensor_ir import te
from sateen.tensor_ir.te import ir_builder
from sateen.topi.computations.arguments import require, require_floats, require_rank, require_views
from sateen.topi.schedules import Computation, accumulator_type, loop_kind, unflattened
from sateen.topi.types import Layout, View


def determinant(data: View) -> Computation:
    """The determinant of each matrix of data [..., n, n]: Gaussian elimination with partial pivoting. Row-major."""
    require_views("determinant", data=data)
    require_floats("determinant", data=data)
    require_rank("determinant", "data [..., n, n]", data, 2, or_more=True)
    require(data.shape[-1] == data.shape[-2], "determinant", "square matrices", list(data.shape))
    *batch, n, _ = data.shape
    kind = accumulator_type(data.dtype)

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        parallel = loop_kind(prod(batch) * n**3)
        with ib.for_range(0, prod(batch), "matrix", parallel) as matrix:
            place = unflattened(matrix, batch)
            a = ib.allocate(kind, (n, n), name="a")
            state = ib.allocate(kind, (1,), "register", "product")
            pivot = ib.allocate("int64", (1,), "register", "pivot")
            with ib.for_range(0, n, "i") as i, ib.for_range(0, n, "j") as j:
                a[i, j] = source[(*place, i, j)].astype(kind)
            state[0] = te.const(1, kind)
            with ib.for_range(0, n, "k") as k:
                pivot[0] = k
                with ib.for_range(k + 1, n, "i") as i, ib.if_scope(te.abs(a[i, k]) > te.abs(a[pivot[0], k])):
                    pivot[0] = i
                with ib.if_scope(pivot[0] > k):
                    state[0] = te.const(0, kind) - state[0]
                    with ib.for_range(0, n, "j") as j:
                        held = ib.let("held", a[k, j])
                        a[k, j] = a[pivot[0], j]
                        a[pivot[0], j] = held
                state[0] = state[0] * a[k, k]
                with ib.if_scope(te.abs(a[k, k]) > 0.0), ib.for_range(k + 1, n, "i") as i:
                    factor = ib.let("factor", a[i, k] / a[k, k])
                    with ib.for_range(k, n, "j") as j:
                        a[i, j] = a[i, j] - factor * a[k, j]
            result[place] = state[0].astype(data.dtype)
        return ib.get()

    tensor = te.extern(tuple(batch), [data.tensor], body, name="determinant", dtype=data.dtype)
    return Computation((View(tensor, tuple(batch), Layout.row_major(len(batch))),))
