"""Dot products of four bytes with four bytes, added to int32; u8s8 are unsigned ones with signed ones.

`vpdpbusd` of x86-64 (Intel SDM, volume 2); `usdot`, `sdot`, `udot` of AArch64 (Arm Architecture Manual, C7.2).
"""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import StatementText, VectorCall, VectorType
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic

_BYTE = {"u8": "uint8", "s8": "int8"}


def _dot(kinds: str, lanes: int, *calls: VectorCall) -> TensorIntrinsic:
    """out[i] = sum[i] + Σ a[4i + k]·b[4i + k] over k in [0, 4), wrapped: no partial sum is saturated."""
    total = te.placeholder((lanes,), "int32", name="sum")
    a, b = (
        te.placeholder((4 * lanes,), _BYTE[kinds[:2]], name="a"),
        te.placeholder((4 * lanes,), _BYTE[kinds[2:]], name="b"),
    )
    k = te.reduce_axis(4, "k")
    products = te.compute(
        (lanes,),
        lambda i: te.sum(a[4 * i + k].astype("int32") * b[4 * i + k].astype("int32"), axis=k),
        name="products",
    )
    out = te.compute((lanes,), lambda i: total[i] + products[i], name="out")
    return TensorIntrinsic(
        f"dot4_{kinds}_x{lanes}",
        (total, a, b),
        (out,),
        llvm=calls,
        c99=_statements(lanes),
        opencl=_statements(lanes),
    )


def _broadcast_dot(kinds: str, lanes: int, *calls: VectorCall) -> TensorIntrinsic:
    """out[i] = sum[i] + Σ a[k]·b[i, k] over k in [0, 4), wrapped: four bytes of a row for all columns of a product."""
    total = te.placeholder((lanes,), "int32", name="sum")
    a, b = te.placeholder((4,), _BYTE[kinds[:2]], name="a"), te.placeholder((lanes, 4), _BYTE[kinds[2:]], name="b")
    k = te.reduce_axis(4, "k")
    products = te.compute(
        (lanes,), lambda i: te.sum(a[k].astype("int32") * b[i, k].astype("int32"), axis=k), name="products"
    )
    out = te.compute((lanes,), lambda i: total[i] + products[i], name="out")
    text = _statements(lanes, "sateen_k")
    return TensorIntrinsic(f"dot4_{kinds}_x{lanes}_broadcast", (total, a, b), (out,), llvm=calls, c99=text, opencl=text)


def _statements(lanes: int, place: str = "4 * sateen_i + sateen_k") -> StatementText:
    """Lane i adds a[place]·b[4i + k]."""
    return StatementText(f"""
$int32 sateen_result[{lanes}];
for ($int32 sateen_i = 0; sateen_i < {lanes}; ++sateen_i) {{
  $int32 sateen_dot = 0;
  for ($int32 sateen_k = 0; sateen_k < 4; ++sateen_k) {{
    sateen_dot += ($int32)$a[{place}] * $b[4 * sateen_i + sateen_k];
  }}
  sateen_result[sateen_i] = ($int32)(($uint32)$sum[sateen_i] + ($uint32)sateen_dot);
}}
for ($int32 sateen_i = 0; sateen_i < {lanes}; ++sateen_i) $out[sateen_i] = sateen_result[sateen_i];""")


def _vpdpbusd(lanes: int, *features: str) -> VectorCall:
    vector = VectorType("i32", lanes)
    return VectorCall(f"x86.avx512.vpdpbusd.{32 * lanes}", (vector,) * 3, vector, features)


_SUMS, _BYTES = VectorType("i32", 4), VectorType("i8", 16)


def _neon(name: str, feature: str) -> VectorCall:
    return VectorCall(f"aarch64.neon.{name}.v4i32.v16i8", (_SUMS, _BYTES, _BYTES), _SUMS, (feature,))


dot4_u8s8_x4 = _dot("u8s8", 4, _vpdpbusd(4, "avxvnni"), _vpdpbusd(4, "avx512vnni", "avx512vl"), _neon("usdot", "i8mm"))
dot4_u8s8_x8 = _dot("u8s8", 8, _vpdpbusd(8, "avxvnni"), _vpdpbusd(8, "avx512vnni", "avx512vl"))
dot4_u8s8_x16 = _dot("u8s8", 16, _vpdpbusd(16, "avx512vnni"))
dot4_s8s8_x4 = _dot("s8s8", 4, _neon("sdot", "dotprod"))
dot4_u8u8_x4 = _dot("u8u8", 4, _neon("udot", "dotprod"))
dot4_u8s8_x4_broadcast = _broadcast_dot("u8s8", 4, *dot4_u8s8_x4.llvm)
dot4_u8s8_x8_broadcast = _broadcast_dot("u8s8", 8, *dot4_u8s8_x8.llvm)
dot4_u8s8_x16_broadcast = _broadcast_dot("u8s8", 16, *dot4_u8s8_x16.llvm)
dot4_s8s8_x4_broadcast = _broadcast_dot("s8s8", 4, *dot4_s8s8_x4.llvm)
dot4_u8u8_x4_broadcast = _broadcast_dot("u8u8", 4, *dot4_u8u8_x4.llvm)
