"""A product of float16 matrices by the tensor cores of a GPU, from te: its PTX, and what the interpreter makes of it.

The schedule computes blocks of 64 x 64. The threads of a block bring tiles of both factors into shared memory, then its
two warps multiply them, each 32 rows, and keep the sums in registers.
"""

import re

import numpy as np

from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS

SIZE, BLOCK, ROWS, TILE, WARPS, LANES = 128, 64, 32, 16, 2, 32

A = te.placeholder((SIZE, SIZE), "float16", name="A")
B = te.placeholder((SIZE, SIZE), "float16", name="B")
k = te.reduce_axis(SIZE, name="k")
C = te.compute((SIZE, SIZE), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), k), name="C")

s = te.create_schedule(C)
sums = s.cache_write(C, "warp")
tiles = [s.cache_read(factor, "shared", [sums]) for factor in (A, B)]

i, j = C.op.axis
block_i, block_j, i, j = s[C].tile(i, j, BLOCK, BLOCK)
warp, i = s[C].split(i, ROWS)
tile_i, tile_j, i, j = s[C].tile(i, j, TILE, TILE)
s[C].bind(block_i, te.thread_axis("blockIdx.y"))
s[C].bind(block_j, te.thread_axis("blockIdx.x"))
s[C].bind(warp, te.thread_axis("threadIdx.y"))
s[C].unroll(tile_i)
s[C].unroll(tile_j)
s[C].tensorize(i, INTRINSICS["wmma_store_16x16_float32"])

s[sums].compute_at(s[C], warp)
i, j = sums.op.axis
tile_i, tile_j, i, j = s[sums].tile(i, j, TILE, TILE)
step, term = s[sums].split(sums.op.reduce_axis[0], TILE)
s[sums].reorder(step, tile_i, tile_j, i, j, term)
s[sums].unroll(tile_i)
s[sums].unroll(tile_j)
s[sums].tensorize(i, INTRINSICS["wmma_16x16x16_f16"])

for stage in tiles:
    s[stage].compute_at(s[sums], step)
    rest, lane = s[stage].split(s[stage].fuse(*stage.op.axis), LANES)
    _, own = s[stage].split(rest, WARPS)
    s[stage].bind(own, te.thread_axis("threadIdx.y"))
    s[stage].bind(lane, te.thread_axis("threadIdx.x"))

aligned = {C: te.decl_buffer((SIZE, SIZE), "float32", name="C", alignment=32)}
ptx = build(s, [A, B, C], target="cuda -mcpu=sm_80", buffers=aligned).source
print(", ".join(f"{ptx.count(step)} {step}" for step in ("wmma.load.a", "wmma.load.b", "wmma.mma", "wmma.store.d")))
print(re.findall(r"wmma.mma.*", ptx)[0])

rng = np.random.default_rng(0)
a, b = (rng.integers(-2, 3, (SIZE, SIZE)).astype(np.float16) for _ in "ab")
c = np.zeros((SIZE, SIZE), np.float32)
run(lower(s, [A, B, C], buffers=aligned), [a, b, c])
print("equal" if np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)) else "different")
