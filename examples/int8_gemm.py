"""An exact product of uint8 by int8 in int32 by dot products of x86-64 (`vpdpbusd`): a schedule with tensorize."""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS

M, N, K = 16, 128, 64
LANES, ROWS, BLOCKS = 16, 4, 4
DOT = INTRINSICS[f"dot4_u8s8_x{LANES}_broadcast"]

A = te.placeholder((M, K), "uint8", name="A")
B = te.placeholder((N // LANES, K // 4, LANES, 4), "int8", name="B")  # four terms of a column are neighbours
k = te.reduce_axis(K, name="k")


def term(i: te.Expr, j: te.Expr) -> te.Expr:
    return A(i, k).astype("int32") * B(j // LANES, k // 4, j % LANES, k % 4).astype("int32")


C = te.compute((M, N), lambda i, j: te.sum(term(i, j), axis=k), name="C")


def by_dots() -> te.Schedule:
    """Tiles of 4 rows by 4 vectors of sums in registers; a step loads 4 vectors of B and repeats 4 bytes of a row."""
    s = te.create_schedule(C)
    sums = s.cache_write(C, "register")
    i, j = C.op.axis
    rows, columns, row, column = s[C].tile(i, j, ROWS, BLOCKS * LANES)
    block, lane = s[C].split(column, factor=LANES)
    s[C].unroll(row)
    s[C].unroll(block)
    s[C].vectorize(lane)
    s[C].parallel(rows)
    s[sums].compute_at(s[C], columns)

    i, j = sums.op.axis
    step, four = s[sums].split(sums.op.reduce_axis[0], factor=4)
    block, lane = s[sums].split(j, factor=LANES)
    s[sums].reorder(step, i, block, lane, four)
    s[sums].unroll(i)
    s[sums].unroll(block)
    s[sums].tensorize(lane, DOT)
    return s


rng = np.random.default_rng(0)
a = rng.integers(0, 256, (M, K)).astype(np.uint8)
b = rng.integers(-128, 128, (K, N)).astype(np.int8)
packed = np.ascontiguousarray(b.reshape(K // 4, 4, N // LANES, LANES).transpose(2, 0, 3, 1))
expected = a.astype(np.int32) @ b.astype(np.int32)
c = np.zeros((M, N), np.int32)

function = lower(by_dots(), [A, B, C])
host = runtime.Target.host()
if DOT.vector_call(host.enabled_features) is None:
    run(function, [a, packed, c])
    print("this processor has no such instruction; the interpreter has followed its definition")
else:
    module, result = build(by_dots(), [A, B, C], host), runtime.array(c)
    module(runtime.array(a), runtime.array(packed), result)
    c = result.numpy()
    print(f"{module.assembly().count('vpdpbusd')} dot products of {LANES} sums in the code of a tile")
np.testing.assert_array_equal(c, expected)
