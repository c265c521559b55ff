"""Determinants by elimination."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr, ir_builder
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.topi.computations.arguments import require, require_floats, require_rank, require_views
from sateen.topi.schedules import (
    Computation,
    accumulator_type,
    blocks,
    loop_kind,
    one_thread,
    shared_out,
    threads_for,
    unflattened,
    written,
)
from sateen.topi.types import View


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

    def body_of_blocks(ins: list[te.Buffer], outs: list[te.Buffer], gpu: Gpu) -> te.Stmt:
        """A block for each matrix, in shared memory if it has room: a thread finds the pivot, all eliminate."""
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        matrices, threads = prod(batch), threads_for(n * n, gpu)
        is_shared = n * n * kind.bytes <= gpu.shared_bytes // 2
        room = None if is_shared else ib.allocate(kind, (matrices, n, n), "global", "a")
        with blocks(ib, matrices) as matrix:
            a = (
                _Matrix(ib.allocate(kind, (1, n, n), "shared", "a"), te.const(0))
                if room is None
                else _Matrix(room, matrix)
            )
            state = ib.allocate(kind, (1,), "shared", "product")
            pivot = ib.allocate("int32", (1,), "shared", "pivot")
            place = unflattened(matrix, batch)
            with shared_out(ib, n * n, threads) as e:
                a[e // n, e % n] = source[(*place, e // n, e % n)].astype(kind)
            with one_thread(ib):
                state[0] = te.const(1, kind)
            with ib.for_range(0, n, "k") as k:
                with one_thread(ib):
                    pivot[0] = k.astype("int32")
                    row = pivot[0].astype("index")
                    with ib.for_range(k + 1, n, "i") as i, ib.if_scope(te.abs(a[i, k]) > te.abs(a[row, k])):
                        pivot[0] = i.astype("int32")
                    state[0] = te.select(row > k, te.const(0, kind) - state[0], state[0]) * a[row, k]
                with shared_out(ib, n, threads) as j:
                    other = ib.let("other", pivot[0].astype("index"))
                    held = ib.let("held", a[k, j])
                    a[k, j] = a[other, j]
                    a[other, j] = held
                with shared_out(ib, n * n, threads) as e:
                    y, x = e // n, e % n
                    with ib.if_scope(te.all(y > k, x > k, te.abs(a[k, k]) > 0.0)):
                        a[y, x] = a[y, x] - a[y, k] / a[k, k] * a[k, x]
            with one_thread(ib):
                result[place] = state[0].astype(data.dtype)
        return ib.get()

    return written("determinant", [(batch, data.dtype)], [data], body, body_of_blocks if prod(data.shape) else None)


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix of several in memory."""

    memory: BufferPointer
    number: Expr

    def __getitem__(self, place: tuple[Expr, Expr]) -> Expr:
        return self.memory[(self.number, *place)]

    def __setitem__(self, place: tuple[Expr, Expr], value: Expr) -> None:
        self.memory[(self.number, *place)] = value
