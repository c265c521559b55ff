"""A part of a computation that others have written: NumPy, called back from compiled code, and a function of C.

`te.call_packed` hands whole arrays over; `te.call_extern` calls a function of C for a number.
"""

import ctypes
import ctypes.util
import math

import numpy as np

from sateen import runtime
from sateen.tensor_ir import build, lower, te

N = 64


def solve(matrix: runtime.NDArray, right: runtime.NDArray, solution: runtime.NDArray) -> None:
    """The arrays are the compiled code's own memory; an exception here reaches the caller of the compiled function."""
    solution.numpy()[...] = np.linalg.solve(matrix.numpy(), right.numpy())


def main() -> None:
    A, b = te.placeholder((N, N), name="A"), te.placeholder((N,), name="b")
    x = te.extern((N,), [A, b], lambda ins, outs: te.call_packed("example.solve", ins[0], ins[1], outs[0]), name="x")
    gamma = te.compute((N,), lambda i: te.call_extern("float32", "tgammaf", te.abs(x[i]) + 1.0), name="gamma")
    s = te.create_schedule(gamma)
    print(lower(s, [A, b, gamma]), "\n")

    library = ctypes.CDLL(ctypes.util.find_library("m"))
    f = build(s, [A, b, gamma], externals={"example.solve": solve, "tgammaf": library.tgammaf})
    rng = np.random.default_rng(0)
    matrix, right = rng.standard_normal((N, N), dtype=np.float32), rng.standard_normal(N, dtype=np.float32)
    matrix += N * np.eye(N, dtype=np.float32)
    result = runtime.empty((N,))
    f(matrix, right, result)
    expected = [math.gamma(1 + abs(value)) for value in np.linalg.solve(matrix, right)]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)

    try:
        f(np.zeros((N, N), np.float32), right, result)
    except runtime.ExecutionError as error:
        print(error)


if __name__ == "__main__":
    main()
