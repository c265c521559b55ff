"""An instruction of your own: a product of matrices by a small kernel that multiplies 16 rows with a vector.

The kernel is declared with what it computes, so that the compiler puts it only where the loops compute just that. Its
code is a function of C where there is a C compiler, and loops elsewhere.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sateen import runtime
from sateen.runtime import ScheduleError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.intrinsics import TensorIntrinsic

M, N, L = 32, 48, 64
ROWS, TERMS = 16, 16

A, B = te.placeholder((M, L), name="A"), te.placeholder((N, L), name="B")
k = te.reduce_axis(L, "k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")

KERNEL = """
void add_rows(float *z, const float *x, const float *y, long long step) {
  for (int i = 0; i < %d; ++i)
    for (int k = 0; k < %d; ++k)
      z[i] += x[k] * y[i * step + k];
}
""" % (ROWS, TERMS)  # noqa: UP031 - C has braces of its own


def zero(z: te.Buffer) -> te.Stmt:
    """z[i] = 0"""
    ib = te.ir_builder.create()
    out = ib.buffer_ptr(z)
    with ib.for_range(0, ROWS, "i", "vectorized") as i:
        out[i] = te.const(0.0)
    return ib.get()


def add(x: te.Buffer, y: te.Buffer, z: te.Buffer) -> te.Stmt:
    """z[i] += Σ x[k]·y[i, k]"""
    ib = te.ir_builder.create()
    row, rows, out = map(ib.buffer_ptr, (x, y, z))
    with ib.for_range(0, TERMS, "k") as k, ib.for_range(0, ROWS, "i") as i:
        out[i] = out[i] + row[k] * rows[i, k]
    return ib.get()


def by_loops(ins: list[te.Buffer], outs: list[te.Buffer]) -> object:
    """Statements of loop IR, for every target."""
    (x, y), (z,) = ins, outs
    return None, zero(z), add(x, y, z)


def by_function(ins: list[te.Buffer], outs: list[te.Buffer]) -> object:
    """A function of C, which gets addresses, and how far the rows are apart."""
    (x, y), (z,) = ins, outs
    assert y.strides is not None
    pointers = z.access_ptr("rw"), x.access_ptr("r"), y.access_ptr("r")
    return None, zero(z), te.call_extern("int32", "add_rows", *pointers, y.strides[0])


def gemv(code: Callable[[list[te.Buffer], list[te.Buffer]], object]) -> TensorIntrinsic:
    """z[i] = Σ x[k]·y[i, k] over 16 terms for 16 rows, which may be parts of longer rows.

    The code comes in three parts: all at once (None: there is none), the start of a sum, and more of a sum.
    """
    x, y = te.placeholder((TERMS,), name="x"), te.placeholder((ROWS, TERMS), name="y")
    k = te.reduce_axis(TERMS, "k")
    z = te.compute((ROWS,), lambda i: te.sum(x[k] * y[i, k], axis=k), name="z")
    apart = te.decl_buffer(y.shape, name="y", strides=[te.var("step"), 1], offset_factor=1)
    return te.decl_tensor_intrin(z.op, code, name="gemv", binds={y: apart})


def scheduled(instruction: TensorIntrinsic, rows: int = ROWS) -> te.Schedule:
    """The product by tiles of `rows` columns and 16 terms, each of which the instruction computes."""
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=rows)
    ko, ki = s[C].split(k, factor=TERMS)
    s[C].reorder(i, jo, ko, ji, ki)
    s[C].tensorize(ji, instruction)
    return s


def compiled(folder: Path) -> ctypes.CDLL | None:
    """The kernel, if there is a C compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    (folder / "kernel.c").write_text(KERNEL)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "kernel.c", "-o", "kernel.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernel.so"))


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((M, L), dtype=np.float32), rng.standard_normal((N, L), dtype=np.float32)

    def check(module: Callable[..., object], what: str) -> None:
        result = runtime.empty((M, N))
        module(a, b, result)
        np.testing.assert_allclose(result.numpy(), a @ b.T, rtol=1e-4, atol=1e-4)
        print(f"{what} gives the product")

    s = scheduled(gemv(by_loops))
    print(lower(s, [A, B, C]))
    check(build(s, [A, B, C]), "the kernel as loops")

    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        if library is None:
            print("there is no C compiler here for the kernel in C")
        else:
            s = scheduled(gemv(by_function))
            check(build(s, [A, B, C], externals={"add_rows": library.add_rows}), "the kernel in C")

    try:
        lower(scheduled(gemv(by_loops), rows=8), [A, B, C])
    except ScheduleError as error:
        print(error)


if __name__ == "__main__":
    main()
