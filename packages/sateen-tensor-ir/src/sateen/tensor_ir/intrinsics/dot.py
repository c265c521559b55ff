"""Dot products within each lane: four bytes by four bytes or two int16 by two, added to int32, and two bfloat16 by two,
added to float32.

`vpdpbusd` and its kin, `vpdpwssd` and `vdpbf16ps` of x86-64 (Intel SDM, volume 2); `sdot`, `udot`, `usdot` and `bfdot`
of AArch64 (Arm Architecture Reference Manual, C7.2). Names say the factors, u8s8 are unsigned bytes by signed ones, and
the lanes.

Sums of integers wrap and are exact. `vdpbf16ps` computes fma(a0, b0, fma(a1, b1, sum)), to nearest, whatever the mode;
`bfdot` rounds both products, their sum and the result to odd, or as `vdpbf16ps` does where the processor is told to
(FEAT_EBF16). Both take subnormal numbers for zeros. So a sum differs from the exact one by less than 2^-21 of the sum
of magnitudes.
"""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import VectorCall, VectorType
from sateen.tensor_ir.intrinsics.factors import FACTORS, sums_of_products
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic


def _dot(kinds: str, lanes: int, *calls: VectorCall) -> TensorIntrinsic:
    """out[i] = sum[i] + Σ a[ni + k]·b[ni + k] over k in [0, n)."""
    factors = FACTORS[kinds]
    n = factors.count
    total = te.placeholder((lanes,), factors.sum, name="sum")
    a, b = te.placeholder((n * lanes,), factors.a, name="a"), te.placeholder((n * lanes,), factors.b, name="b")
    k = te.reduce_axis(n, "k")
    products = te.compute(
        (lanes,), lambda i: te.sum(factors.product(a[n * i + k], b[n * i + k]), axis=k), name="products"
    )
    out = te.compute((lanes,), lambda i: total[i] + products[i], name="out")
    place = f"{n} * sateen_i + sateen_k"
    text = sums_of_products(factors, lanes, n, place, place)
    return TensorIntrinsic(f"dot{n}_{kinds}_x{lanes}", (total, a, b), (out,), llvm=calls, c99=text, opencl=text)


def _broadcast_dot(kinds: str, lanes: int, *calls: VectorCall) -> TensorIntrinsic:
    """out[i] = sum[i] + Σ a[k]·b[i, k] over k in [0, n): a few terms of a row for all columns of a product."""
    factors = FACTORS[kinds]
    n = factors.count
    total = te.placeholder((lanes,), factors.sum, name="sum")
    a, b = te.placeholder((n,), factors.a, name="a"), te.placeholder((lanes, n), factors.b, name="b")
    k = te.reduce_axis(n, "k")
    products = te.compute((lanes,), lambda i: te.sum(factors.product(a[k], b[i, k]), axis=k), name="products")
    out = te.compute((lanes,), lambda i: total[i] + products[i], name="out")
    text = sums_of_products(factors, lanes, n, "sateen_k", f"{n} * sateen_i + sateen_k")
    name = f"dot{n}_{kinds}_x{lanes}_broadcast"
    return TensorIntrinsic(name, (total, a, b), (out,), llvm=calls, c99=text, opencl=text)


def _integers(name: str, lanes: int, *features: str) -> VectorCall:
    """An instruction of x86-64 on short integers, whose vectors LLVM has as int32."""
    vector = VectorType("i32", lanes)
    return VectorCall(f"x86.{name}.{32 * lanes}", (vector,) * 3, vector, features)


def _vpdpbusd(lanes: int, *features: str) -> VectorCall:
    return _integers("avx512.vpdpbusd", lanes, *features)


def _vpdpwssd(lanes: int, *features: str) -> VectorCall:
    return _integers("avx512.vpdpwssd", lanes, *features)


def _vdpbf16ps(lanes: int, *features: str) -> VectorCall:
    sums, factors = VectorType("float", lanes), VectorType("bfloat", 2 * lanes)
    return VectorCall(f"x86.avx512bf16.dpbf16ps.{32 * lanes}", (sums, factors, factors), sums, features)


_SUMS, _BYTES = VectorType("i32", 4), VectorType("i8", 16)
_FLOATS, _SHORT_FLOATS = VectorType("float", 4), VectorType("bfloat", 8)


def _neon(name: str, feature: str) -> VectorCall:
    return VectorCall(f"aarch64.neon.{name}.v4i32.v16i8", (_SUMS, _BYTES, _BYTES), _SUMS, (feature,))


_BFDOT = VectorCall("aarch64.neon.bfdot.v4f32.v8bf16", (_FLOATS, _SHORT_FLOATS, _SHORT_FLOATS), _FLOATS, ("bf16",))

_CALLS = {
    ("u8s8", 4): (_vpdpbusd(4, "avxvnni"), _vpdpbusd(4, "avx512vnni", "avx512vl"), _neon("usdot", "i8mm")),
    ("u8s8", 8): (_vpdpbusd(8, "avxvnni"), _vpdpbusd(8, "avx512vnni", "avx512vl")),
    ("u8s8", 16): (_vpdpbusd(16, "avx512vnni"),),
    ("s8s8", 4): (_neon("sdot", "dotprod"), _integers("avx2.vpdpbssd", 4, "avxvnniint8")),
    ("s8s8", 8): (_integers("avx2.vpdpbssd", 8, "avxvnniint8"),),
    ("u8u8", 4): (_neon("udot", "dotprod"), _integers("avx2.vpdpbuud", 4, "avxvnniint8")),
    ("u8u8", 8): (_integers("avx2.vpdpbuud", 8, "avxvnniint8"),),
    ("s16s16", 4): (_vpdpwssd(4, "avxvnni"), _vpdpwssd(4, "avx512vnni", "avx512vl")),
    ("s16s16", 8): (_vpdpwssd(8, "avxvnni"), _vpdpwssd(8, "avx512vnni", "avx512vl")),
    ("s16s16", 16): (_vpdpwssd(16, "avx512vnni"),),
    ("bf16", 4): (_vdpbf16ps(4, "avx512bf16", "avx512vl"), _BFDOT),
    ("bf16", 8): (_vdpbf16ps(8, "avx512bf16", "avx512vl"),),
    ("bf16", 16): (_vdpbf16ps(16, "avx512bf16"),),
}

DOTS = (
    *(_dot(kinds, lanes, *calls) for (kinds, lanes), calls in _CALLS.items()),
    *(_broadcast_dot(kinds, lanes, *calls) for (kinds, lanes), calls in _CALLS.items()),
)
"""Both forms: with as many elements of the one factor as of the other, and with those of one lane for all lanes."""
