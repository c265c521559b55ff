"""Products of two rows by two columns, added to the four sums of one register.

`smmla`, `ummla`, `usmmla` and `bfmmla` of AArch64 (Arm Architecture Reference Manual, C7.2). `bfmmla` adds up two
products at a time, rounded as those of `bfdot`.
"""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import VectorCall, VectorType
from sateen.tensor_ir.intrinsics.factors import FACTORS, sums_of_products
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic


def _matrix(kinds: str, depth: int, *calls: VectorCall) -> TensorIntrinsic:
    """out[i, j] = sum[i, j] + Σ a[i, k]·b[j, k] over k in [0, depth)."""
    factors = FACTORS[kinds]
    total = te.placeholder((2, 2), factors.sum, name="sum")
    a, b = te.placeholder((2, depth), factors.a, name="a"), te.placeholder((2, depth), factors.b, name="b")
    k = te.reduce_axis(depth, "k")
    products = te.compute((2, 2), lambda i, j: te.sum(factors.product(a[i, k], b[j, k]), axis=k), name="products")
    out = te.compute((2, 2), lambda i, j: total[i, j] + products[i, j], name="out")
    text = sums_of_products(
        factors, 4, depth, f"{depth} * (sateen_i / 2) + sateen_k", f"{depth} * (sateen_i % 2) + sateen_k"
    )
    name = f"matrix_2x2x{depth}_{kinds}"
    return TensorIntrinsic(name, (total, a, b), (out,), llvm=calls, c99=text, opencl=text)


_SUMS, _BYTES = VectorType("i32", 4), VectorType("i8", 16)
_FLOATS, _SHORT_FLOATS = VectorType("float", 4), VectorType("bfloat", 8)


def _mmla(name: str) -> VectorCall:
    return VectorCall(f"aarch64.neon.{name}.v4i32.v16i8", (_SUMS, _BYTES, _BYTES), _SUMS, ("i8mm",))


_BFMMLA = VectorCall("aarch64.neon.bfmmla", (_FLOATS, _SHORT_FLOATS, _SHORT_FLOATS), _FLOATS, ("bf16",))

MATRICES = (
    _matrix("s8s8", 8, _mmla("smmla")),
    _matrix("u8u8", 8, _mmla("ummla")),
    _matrix("u8s8", 8, _mmla("usmmla")),
    _matrix("bf16", 4, _BFMMLA),
)
