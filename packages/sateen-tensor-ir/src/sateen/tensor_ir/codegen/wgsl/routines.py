"""Small functions that kernels in WGSL call where its own operators differ from docs/semantics.md.

WGSL lets implementations assume that there are no NaNs and infinities (15.7.2), and refuses texts whose constants are
such. So NaN is found by its bits, and both are made of bits in a variable, which is no constant.
"""

from __future__ import annotations

from functools import cache

from sateen.runtime.dtype import DType
from sateen.tensor_ir.functions.spelling import Routine
from sateen.tensor_ir.ir.types import int_range

TYPES = {
    **{f"int{bits}": "i32" for bits in (8, 16, 32)},
    **{f"uint{bits}": "u32" for bits in (8, 16, 32)},
    "float32": "f32", "bool": "bool", "int64": "vec2<u32>", "uint64": "vec2<u32>",
}  # fmt: skip
"""The types in which values are computed. Integers of 64 bits are their low and their high word."""

IS_NAN = Routine("sateen_is_nan", """
fn sateen_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}""")  # fmt: skip

NAN = Routine("sateen_nan", """
var<private> sateen_bits_of_nan: u32 = 0x7fc00000u;
fn sateen_nan() -> f32 {
  return bitcast<f32>(sateen_bits_of_nan);
}""")  # fmt: skip

INFINITY = Routine("sateen_infinity", """
var<private> sateen_bits_of_infinity: u32 = 0x7f800000u;
fn sateen_infinity() -> f32 {
  return bitcast<f32>(sateen_bits_of_infinity);
}""")  # fmt: skip


def is_signed(dtype: DType) -> bool:
    """Whether a type of integers has negative ones."""
    return int_range(dtype)[0] < 0


def literal_of(value: int, dtype: DType) -> str:
    """A literal of an integer of at most 32 bits."""
    if not is_signed(dtype):
        return f"{value}u"
    return "(-2147483647i - 1i)" if value == -(1 << 31) else f"{value}i"


@cache
def floor_divide(dtype: DType) -> Routine:
    """x // y rounded towards minus infinity, wrapped; 0 where y is 0. At most 32 bits, an index among them."""
    name, type_ = f"sateen_floor_divide_{dtype}", TYPES[str(dtype)]
    if not is_signed(dtype):
        return Routine(name, f"""
fn {name}(x: {type_}, y: {type_}) -> {type_} {{
  if (y == 0u) {{ return 0u; }}
  return x / y;
}}""")  # fmt: skip
    return Routine(name, f"""
fn {name}(x: i32, y: i32) -> i32 {{
  if (y == 0i) {{ return 0i; }}
  if (y == -1i) {{ return {narrowed("0i - x", dtype)}; }}
  return x / y - select(0i, 1i, x % y != 0i && ((x < 0i) != (y < 0i)));
}}""")  # fmt: skip


@cache
def floor_modulo(dtype: DType) -> Routine:
    """The remainder of floor_divide, with the sign of y; 0 where y is 0."""
    name, type_ = f"sateen_floor_modulo_{dtype}", TYPES[str(dtype)]
    if not is_signed(dtype):
        return Routine(name, f"""
fn {name}(x: {type_}, y: {type_}) -> {type_} {{
  if (y == 0u) {{ return 0u; }}
  return x % y;
}}""")  # fmt: skip
    return Routine(name, f"""
fn {name}(x: i32, y: i32) -> i32 {{
  if (y == 0i || y == -1i) {{ return 0i; }}
  return x % y + select(0i, y, x % y != 0i && ((x < 0i) != (y < 0i)));
}}""")  # fmt: skip


@cache
def extremum(word: str) -> Routine:
    """`min` or `max` of float32; NaN if either operand is."""
    sign = "<" if word == "min" else ">"
    return Routine(f"sateen_{word}_float32", f"""
fn sateen_{word}_float32(x: f32, y: f32) -> f32 {{
  return select(y, x, (x {sign} y) || sateen_is_nan(x));
}}""", (IS_NAN,))  # fmt: skip


@cache
def saturate(target: DType) -> Routine:
    """A float32 as an integer of at most 32 bits: truncated, limited to the range, 0 for NaN."""
    name, type_ = f"sateen_{target}_from_float32", TYPES[str(target)]
    low, high = int_range(target)
    return Routine(name, f"""
fn {name}(x: f32) -> {type_} {{
  if (sateen_is_nan(x)) {{ return {literal_of(0, target)}; }}
  if (x <= {low}.0f) {{ return {literal_of(low, target)}; }}
  if (x >= {high + 1}.0f) {{ return {literal_of(high, target)}; }}
  return {type_}(x);
}}""", (IS_NAN,))  # fmt: skip


def narrowed(text: str, dtype: DType) -> str:
    """A value of 32 bits as that of a type of at most 32 bits, wrapped."""
    if dtype.bits == 32 or dtype.is_bool:
        return text
    if not is_signed(dtype):
        return f"(({text}) & {(1 << dtype.bits) - 1:#x}u)"
    return f"extractBits({text}, 0u, {dtype.bits}u)"


_PACK = {
    "float16": Routine("sateen_pack_float16", """
/* IEEE 754 binary16, ties to even. Below 2^-14 the sum with 0.5 rounds to multiples of 2^-24, the smallest binary16. */
fn sateen_pack_float16(x: f32) -> u32 {
  let sign = (bitcast<u32>(x) >> 16u) & 0x8000u;
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  if (bits > 0x7f800000u) { return sign | 0x7e00u; }
  if (bits >= 0x477ff000u) { return sign | 0x7c00u; }
  if (bits < 0x38800000u) { return sign | (bitcast<u32>(bitcast<f32>(bits) + 0.5f) - 0x3f000000u); }
  return sign | ((bits + 0xfffu + ((bits >> 13u) & 1u) - 0x38000000u) >> 13u);
}"""),
    "bfloat16": Routine("sateen_pack_bfloat16", """
fn sateen_pack_bfloat16(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  if (sateen_is_nan(x)) { return (bits >> 16u) | 0x40u; }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}""", (IS_NAN,)),
}  # fmt: skip

_UNPACK = {
    "float16": Routine("sateen_unpack_float16", """
fn sateen_unpack_float16(x: u32) -> f32 {
  let sign = (x & 0x8000u) << 16u;
  let rest = x & 0x7fffu;
  if (rest < 0x400u) { return bitcast<f32>(sign | bitcast<u32>(f32(rest) * 5.9604644775390625e-8f)); }
  return bitcast<f32>(sign | ((rest << 13u) + select(0x70000000u, 0x38000000u, rest < 0x7c00u)));
}"""),
    "bfloat16": Routine("sateen_unpack_bfloat16", """
fn sateen_unpack_bfloat16(x: u32) -> f32 {
  return bitcast<f32>(x << 16u);
}"""),
}  # fmt: skip


def pack(dtype: DType) -> Routine:
    """float32 to the bits of a 16-bit float, to nearest, ties to even."""
    return _PACK[str(dtype)]


def unpack(dtype: DType) -> Routine:
    """The bits of a 16-bit float to float32, exactly."""
    return _UNPACK[str(dtype)]


@cache
def round_to(dtype: DType) -> Routine:
    """A float32 rounded to the nearest value of a 16-bit float."""
    return Routine(f"sateen_round_to_{dtype}", f"""
fn sateen_round_to_{dtype}(x: f32) -> f32 {{
  return {unpack(dtype).name}({pack(dtype).name}(x));
}}""", (pack(dtype), unpack(dtype)))  # fmt: skip
