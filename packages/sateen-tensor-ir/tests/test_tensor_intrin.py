"""Instructions of users: a computation of te with code of their own, as statements, LLVM text and C text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import build, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.lowering import lower

Body = Callable[[list[Buffer], list[Buffer]], Any]
ROWS, DEPTH = 4, 8


def gemv(code: Body | None, otherwise: str = "refuse", name: str = "gemv") -> TensorIntrinsic:
    """z[i] = Σ x[k]·y[i, k] over 8 terms, where the rows of y may be apart."""
    x, y = te.placeholder((DEPTH,), name="x"), te.placeholder((ROWS, DEPTH), name="y")
    k = te.reduce_axis(DEPTH, "k")
    z = te.compute((ROWS,), lambda i: te.sum(x[k] * y[i, k], axis=k), name="z")
    apart = te.decl_buffer(y.shape, y.dtype, "y", strides=[te.var("step"), 1], offset_factor=1)
    return te.decl_tensor_intrin(z.op, code, name, {y: apart}, otherwise)


def product(instruction: TensorIntrinsic, depth: int = 16) -> tuple[te.Schedule, list[te.Tensor]]:
    """C[i, j] = Σ A[i, k]·B[j, k] by tiles of 4 columns and 8 terms."""
    a, b = te.placeholder((3, depth), name="A"), te.placeholder((12, depth), name="B")
    k = te.reduce_axis(depth, "k")
    c = te.compute((3, 12), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = te.create_schedule(c)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=ROWS)
    ko, ki = s[c].split(k, factor=DEPTH)
    s[c].reorder(i, jo, ko, ji, ki)
    s[c].tensorize(ji, instruction)
    return s, [a, b, c]


def computed(instruction: TensorIntrinsic, depth: int = 16, **options: Any) -> None:
    """Check machine code and the interpreter against NumPy."""
    s, arguments = product(instruction, depth)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (n, depth)).astype(np.float32) for n in (3, 12))
    for execute in (build(s, arguments, **options), lambda *arrays: run(lower(s, arguments), list(arrays))):
        result = np.full((3, 12), np.nan, np.float32)
        execute(a, b, result)
        np.testing.assert_array_equal(result, a @ b.T)


def loops(ins: list[Buffer], outs: list[Buffer]) -> Any:
    """The three parts as loops."""

    def filled() -> te.Stmt:
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(outs[0])
        with ib.for_range(0, ROWS, "i", "vectorized") as i:
            z[i] = te.const(0.0, "float32")
        return ib.get()

    def added() -> te.Stmt:
        ib = te.ir_builder.create()
        x, y, z = (ib.buffer_ptr(b) for b in (*ins, *outs))
        with ib.for_range(0, ROWS, "i", "unrolled") as i, ib.for_range(0, DEPTH, "k") as k:
            z[i] = z[i] + x[k] * y[i, k]
        return ib.get()

    ib = te.ir_builder.create()
    ib.emit(filled())
    ib.emit(added())
    return ib.get(), filled(), added()


@pytest.mark.parametrize("depth", [8, 16], ids=["whole", "in steps"])
@pytest.mark.parametrize("code", [loops, None], ids=["loops", "definition"])
def test_statements_run_on_all_targets(code: Body | None, depth: int) -> None:
    instruction = gemv(code, "refuse" if code else "definition")
    computed(instruction, depth)
    s, arguments = product(instruction, depth)
    assert "for (" in build(s, arguments, "c").source


def test_a_reduction_in_steps_resets_before_its_outer_loops_and_updates_inside() -> None:
    s, arguments = product(gemv(loops))
    assert (
        str(lower(s, arguments).body)
        == """\
for i in [0, 3):
  for jo in [0, 3):
    intrinsic gemv.reset C[i, jo * 4:4]
    for ko in [0, 2):
      intrinsic gemv.update C[i, jo * 4:4] = C[i, jo * 4:4], A[i, ko * 8:8], B[jo * 4:4, ko * 8:8]"""
    )
