"""Products of tiles, added to 16 rows by 16 columns of sums: AMX of x86-64 (Intel SDM, volume 1, chapter 18, volume 2).

`tdpbusd` and its kin multiply 16 rows of 64 bytes by 16 columns, and add up exactly. `tdpbf16ps` multiplies 16 rows of
32 bfloat16; it adds up the even and the odd products of a sum, each fused and to nearest, then both, then the sum that
was there, and takes subnormal numbers for zeros. So a sum differs from the exact one by less than 2^-19 of the sum of
magnitudes.

The rows of an operand may lie apart: its stride along them is a variable, `row_a` for a.
"""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import TILE_ROW_BYTES, TILE_ROWS, TileCall
from sateen.tensor_ir.intrinsics.factors import FACTORS, sums_of_products
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer

_COLUMNS = TILE_ROW_BYTES // 4


def _tile(kinds: str, name: str, feature: str) -> TensorIntrinsic:
    """out[i, j] = sum[i, j] + Σ a[i, nk + r]·b[k, j, r] over k in [0, 16) and r in [0, n), n elements in 4 bytes."""
    factors = FACTORS[kinds]
    n = factors.count
    depth = TILE_ROWS * n
    total = te.placeholder((TILE_ROWS, _COLUMNS), factors.sum, name="sum")
    a = te.placeholder((TILE_ROWS, depth), factors.a, name="a")
    b = te.placeholder((TILE_ROWS, _COLUMNS, n), factors.b, name="b")
    k, r = te.reduce_axis(TILE_ROWS, "k"), te.reduce_axis(n, "r")
    products = te.compute(
        (TILE_ROWS, _COLUMNS),
        lambda i, j: te.sum(factors.product(a[i, n * k + r], b[k, j, r]), axis=[k, r]),
        name="products",
    )
    out = te.compute((TILE_ROWS, _COLUMNS), lambda i, j: total[i, j] + products[i, j], name="out")
    row, column = f"sateen_i / {_COLUMNS}", f"sateen_i % {_COLUMNS}"
    text = sums_of_products(
        factors,
        TILE_ROWS * _COLUMNS,
        depth,
        f"({row}) * $row_a + sateen_k",
        f"sateen_k / {n} * $row_b + {column} * {n} + sateen_k % {n}",
        f"({row}) * $row_sum + {column}",
        f"({row}) * $row_out + {column}",
    )
    return TensorIntrinsic(
        f"tile_{TILE_ROWS}x{_COLUMNS}x{depth}_{kinds}",
        (total, a, b),
        (out,),
        llvm=(TileCall(name, ("amx-tile", feature)),),
        c99=text,
        opencl=text,
        buffers=tuple(map(_apart, (out, total, a, b))),
    )


def _apart(operand: te.Tensor) -> Buffer:
    """Rows that may lie apart, each without gaps."""
    *_, inner = operand.shape
    within: tuple[te.Expr, ...] = (te.const(1),) if operand.ndim == 2 else (inner, te.const(1))
    strides = (te.var(f"row_{operand.name}"), *within)
    return Buffer(operand.name, operand.shape, operand.dtype, strides=strides, alignment=operand.dtype.bytes)


TILES = (
    _tile("u8s8", "tdpbusd", "amx-int8"),
    _tile("s8u8", "tdpbsud", "amx-int8"),
    _tile("s8s8", "tdpbssd", "amx-int8"),
    _tile("u8u8", "tdpbuud", "amx-int8"),
    _tile("bf16", "tdpbf16ps", "amx-bf16"),
)
