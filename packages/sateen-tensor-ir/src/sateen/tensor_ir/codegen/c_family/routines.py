"""Small functions that generated C calls where C's own operators differ from docs/semantics.md.

Bits are read through a union, which C99 defines (6.5.2.3, TC3); a language without that has words of its own.
"""

from __future__ import annotations

from functools import cache

from sateen.runtime.dtype import DType
from sateen.tensor_ir.functions.spelling import Routine
from sateen.tensor_ir.ir.types import int_range


def integer_literal(value: int, dtype: DType) -> str:
    """A C literal of at least the rank of `dtype`; the smallest signed values are differences, having none."""
    low, high = int_range(dtype)
    if low < 0 and value == low and dtype.bits >= 32:
        return f"(-{high} - 1)"
    return f"{value}u" if low == 0 and dtype.bits >= 32 else str(value)


@cache
def floor_divide(dtype: DType) -> Routine:
    """x // y rounded towards minus infinity, wrapped; 0 where y is 0."""
    name = f"sateen_floor_divide_{dtype}"
    if int_range(dtype)[0] == 0:
        return Routine(
            name,
            f"""
${dtype} {name}(${dtype} x, ${dtype} y) {{
  return y == 0 ? 0 : (${dtype})(x / y);
}}""",
        )
    return Routine(
        name,
        f"""
${dtype} {name}(${dtype} x, ${dtype} y) {{
  if (y == 0) return 0;
  if (y == -1) return (${dtype})(0 - ($uint64)x);
  return (${dtype})(x / y - (x % y != 0 && (x < 0) != (y < 0)));
}}""",
    )


@cache
def floor_modulo(dtype: DType) -> Routine:
    """The remainder of floor_divide, with the sign of y; 0 where y is 0."""
    name = f"sateen_floor_modulo_{dtype}"
    if int_range(dtype)[0] == 0:
        return Routine(
            name,
            f"""
${dtype} {name}(${dtype} x, ${dtype} y) {{
  return y == 0 ? 0 : (${dtype})(x % y);
}}""",
        )
    return Routine(
        name,
        f"""
${dtype} {name}(${dtype} x, ${dtype} y) {{
  if (y == 0 || y == -1) return 0;
  return (${dtype})(x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0));
}}""",
    )


@cache
def extremum(word: str, dtype: DType) -> Routine:
    """`min` or `max`; NaN if either operand is."""
    name = f"sateen_{word}_{dtype}"
    sign = "<" if word == "min" else ">"
    nan = " || x != x" if dtype.is_float else ""
    return Routine(
        name,
        f"""
${dtype} {name}(${dtype} x, ${dtype} y) {{
  return x {sign} y{nan} ? x : y;
}}""",
    )


@cache
def saturate(source: DType, target: DType) -> Routine:
    """A floating-point number as an integer: truncated, limited to the range, 0 for NaN."""
    name = f"sateen_{target}_from_{source}"
    low, high = int_range(target)
    suffix = ".0" if source.bits == 64 else ".0f"
    return Routine(
        name,
        f"""
${target} {name}(${source} x) {{
  if (x != x) return 0;
  if (x <= {low}{suffix}) return {integer_literal(low, target)};
  if (x >= {high + 1}{suffix}) return {integer_literal(high, target)};
  return (${target})x;
}}""",
    )


@cache
def reinterpret(source: DType, target: DType) -> Routine:
    """The bits of one type as another of the same width."""
    name = f"sateen_bits_{source}_as_{target}"
    return Routine(
        name,
        f"""
${target} {name}(${source} x) {{
  union {{ ${source} given; ${target} wanted; }} bits;
  bits.given = x;
  return bits.wanted;
}}""",
    )


FLOAT32, FLOAT64, UINT32 = map(DType.of, ("float32", "float64", "uint32"))
FLOAT16, BFLOAT16 = DType.of("float16"), DType.of("bfloat16")

_BITS = reinterpret(FLOAT32, UINT32)
_VALUE = reinterpret(UINT32, FLOAT32)

_PACK = {
    FLOAT16: Routine("sateen_pack_float16", """
$uint16 sateen_pack_float16($float32 x) {
  /* Below 2^-14 the sum with 0.5 rounds to multiples of 2^-24, the smallest binary16; elsewhere ties go to even. */
  $uint32 bits = sateen_bits_float32_as_uint32(x);
  $uint32 sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return ($uint16)(sign | 0x7e00u);
  if (bits >= 0x477ff000u) return ($uint16)(sign | 0x7c00u);
  if (bits < 0x38800000u) {
    return ($uint16)(sign | (sateen_bits_float32_as_uint32(sateen_bits_uint32_as_float32(bits) + 0.5f) - 0x3f000000u));
  }
  return ($uint16)(sign | (bits + 0xfffu + (bits >> 13 & 1u) - 0x38000000u) >> 13);
}""", (_BITS, _VALUE)),
    BFLOAT16: Routine("sateen_pack_bfloat16", """
$uint16 sateen_pack_bfloat16($float32 x) {
  $uint32 bits = sateen_bits_float32_as_uint32(x);
  if (x != x) return ($uint16)(bits >> 16 | 0x40u);
  return ($uint16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}""", (_BITS,)),
}  # fmt: skip

_UNPACK = {
    FLOAT16: Routine("sateen_unpack_float16", """
$float32 sateen_unpack_float16($uint16 x) {
  $uint32 sign = ($uint32)(x & 0x8000u) << 16, rest = x & 0x7fffu;
  if (rest < 0x400u) {
    return sateen_bits_uint32_as_float32(sign | sateen_bits_float32_as_uint32(($float32)rest * 5.9604644775390625e-8f));
  }
  return sateen_bits_uint32_as_float32(sign | ((rest << 13) + (rest < 0x7c00u ? 0x38000000u : 0x70000000u)));
}""", (_BITS, _VALUE)),
    BFLOAT16: Routine("sateen_unpack_bfloat16", """
$float32 sateen_unpack_bfloat16($uint16 x) {
  return sateen_bits_uint32_as_float32(($uint32)x << 16);
}""", (_VALUE,)),
}  # fmt: skip


def pack(dtype: DType) -> Routine:
    """float32 to the bits of a 16-bit float, to nearest, ties to even."""
    return _PACK[dtype]


def unpack(dtype: DType) -> Routine:
    """The bits of a 16-bit float to float32, exactly."""
    return _UNPACK[dtype]


@cache
def round_to(dtype: DType) -> Routine:
    """A float32 rounded to the nearest value of a 16-bit float."""
    name = f"sateen_round_to_{dtype}"
    return Routine(name, f"""
$float32 {name}($float32 x) {{
  return {unpack(dtype).name}({pack(dtype).name}(x));
}}""", (pack(dtype), unpack(dtype)))  # fmt: skip
