"""Functions for devices that tests of several code generators take."""

from __future__ import annotations

from sateen.tensor_ir import lower, te
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function

X, Y = map(te.thread_axis, ("threadIdx.x", "threadIdx.y"))
BLOCK_X, BLOCK_Y = map(te.thread_axis, ("blockIdx.x", "blockIdx.y"))


def product(m: int, n: int, k: int, tail: str = "guard") -> Function:
    """C = A B: blocks of 16 x 32, 4 x 8 threads of 4 x 4 results each, tiles of A and B in shared memory."""
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis(k, "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c)
    results = s.cache_write(c, "register")
    tiles = [s.cache_read(t, "shared", [results]) for t in (a, b)]
    block_y, rows = s[c].split(c.op.axis[0], 16, tail=tail)
    block_x, columns = s[c].split(c.op.axis[1], 32, tail=tail)
    y, row = s[c].split(rows, 4)
    x, column = s[c].split(columns, 4)
    s[c].reorder(block_y, block_x, y, x, row, column)
    for axis, thread in ((block_y, BLOCK_Y), (block_x, BLOCK_X), (y, Y), (x, X)):
        s[c].bind(axis, thread)
    s[results].compute_at(s[c], x)
    outer, inner = s[results].split(s[results].op.reduce_axis[0], 8)
    s[results].reorder(outer, inner, *results.op.axis)
    for axis in results.op.axis:
        s[results].unroll(axis)
    for tile in tiles:
        s[tile].compute_at(s[results], outer)
        rest, x = s[tile].split(s[tile].fuse(*tile.op.axis), 8)
        s[tile].bind(s[tile].split(rest, 4)[1], Y)
        s[tile].bind(x, X)
    return lower(s, [a, b, c], "gemm")


def softmax() -> Function:
    """A block for each row: its maximum and its sum across the threads, exponentials in shared memory."""
    a = te.placeholder((5, 100), name="A")
    k, r = te.reduce_axis(100, "k"), te.reduce_axis(100, "r")
    top = te.compute((5,), lambda i: te.max(a[i, k], axis=k), name="top")
    e = te.compute((5, 100), lambda i, j: te.exp(a[i, j] - top[i]), name="e")
    total = te.compute((5,), lambda i: te.sum(e[i, r], axis=r), name="total")
    b = te.compute((5, 100), lambda i, j: e[i, j] / total[i], name="B")
    s = te.create_schedule(b)
    row, column = b.op.axis
    s[b].bind(row, BLOCK_X)
    s[b].bind(s[b].split(column, 32)[1], X)
    for t, axis in ((top, k), (total, r), (e, e.op.axis[1])):
        s[t].set_scope("shared")
        s[t].compute_at(s[b], row)
        s[t].bind(s[t].split(axis, 32)[1], X)
    return lower(s, [a, b], "softmax")


_FLOAT64 = {"D: float64[n]", "E: out float64[n]"}
_PARAMETERS = (
    "A: float32[n]", "H: float16[n]", "Z: bfloat16[n]", "D: float64[n]", "I: int32[n]", "U: uint8[n]", "T: bool[n]",
    "F: out float32[n]", "G: out float16[n]", "Y: out bfloat16[n]", "E: out float64[n]",
    "J: out int32[n]", "V: out uint8[n]", "S: out bool[n]",
)  # fmt: skip
_BODY = """
  constant W: int32[3] = "AQAAAAIAAAADAAAA"
  thread blockIdx.x b in [0, n):
    F[b] = select(b > 0, A[max(b - 1, 0)], -inff) + floor(A[b]) * float32(H[b])
    G[b] = H[b] * H[b] + float16(0.1)
    Y[b] = bfloat16(A[b]) + Z[b]
    E[b] = sqrt(fabs(D[b])) + float64(0.1)
    J[b] = int32(A[b] * 1e9f) // (I[b] % int32(7) + int32(1)) + W[b % 3] * int32(U[b])
    V[b] = U[b] * uint8(77) + uint8(A[b] * 100.0f)
    S[b] = T[b] and not A[b] < 0.0f or I[b] == int32(0)"""


def everything(*, float64: bool = True) -> Function:
    """Each type, and operations of each kind: seven inputs of n elements and as many outputs, one less of each without
    float64."""
    parameters = ", ".join(p for p in _PARAMETERS if float64 or p not in _FLOAT64)
    body = "\n".join(line for line in _BODY.splitlines() if float64 or "float64" not in line)
    return parse_function(f"function everything[n]({parameters}){body}")
