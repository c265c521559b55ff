"""Integers of 64 bits, which WGSL lacks: functions on their low and high words, `vec2<u32>`.

Networks have them as places (`gather`, `arg_max`) and in what is computed of these; `sin` reduces large angles by them.
"""

from __future__ import annotations

from functools import cache

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.wgsl.routines import IS_NAN, is_signed
from sateen.tensor_ir.functions.spelling import Routine

_ADD = Routine("sateen_add64", """
fn sateen_add64(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  let low = x.x + y.x;
  return vec2<u32>(low, x.y + y.y + select(0u, 1u, (low < x.x)));
}""")  # fmt: skip

_SUBTRACT = Routine("sateen_subtract64", """
fn sateen_subtract64(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(x.x - y.x, x.y - y.y - select(0u, 1u, (x.x < y.x)));
}""")  # fmt: skip

_MULTIPLY = Routine("sateen_multiply64", """
/* The low words by their halves of 16 bits (Knuth, TAOCP 2, 4.3.1, algorithm M). */
fn sateen_multiply64(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  let a = x.x & 0xffffu; let b = x.x >> 16u; let c = y.x & 0xffffu; let d = y.x >> 16u;
  let middle = b * c + ((a * c) >> 16u);
  let other = a * d + (middle & 0xffffu);
  let high = b * d + (middle >> 16u) + (other >> 16u);
  return vec2<u32>(x.x * y.x, high + x.x * y.y + x.y * y.x);
}""")  # fmt: skip

ARITHMETIC = {"+": _ADD, "-": _SUBTRACT, "*": _MULTIPLY}
"""Sums, differences and products, which wrap, by their operators."""

_IS_LESS = {
    True: Routine("sateen_is_less_int64", """
fn sateen_is_less_int64(x: vec2<u32>, y: vec2<u32>) -> bool {
  return select((bitcast<i32>(x.y) < bitcast<i32>(y.y)), (x.x < y.x), x.y == y.y);
}"""),
    False: Routine("sateen_is_less_uint64", """
fn sateen_is_less_uint64(x: vec2<u32>, y: vec2<u32>) -> bool {
  return select((x.y < y.y), (x.x < y.x), x.y == y.y);
}"""),
}  # fmt: skip


def is_less(dtype: DType) -> Routine:
    """Whether x < y."""
    return _IS_LESS[is_signed(dtype)]


@cache
def extremum(word: str, dtype: DType) -> Routine:
    """`min` or `max`."""
    operands = "x, y" if word == "min" else "y, x"
    name, less = f"sateen_{word}_{dtype}", is_less(dtype)
    return Routine(name, f"""
fn {name}(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {{
  return select(y, x, {less.name}({operands}));
}}""", (less,))  # fmt: skip


_WIDEN = {
    True: Routine("sateen_int64_from_int32", """
fn sateen_int64_from_int32(x: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u));
}"""),
    False: Routine("sateen_int64_from_uint32", """
fn sateen_int64_from_uint32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}"""),
}  # fmt: skip


def widen(source: DType) -> Routine:
    """An integer of at most 32 bits as one of 64, by its sign."""
    return _WIDEN[is_signed(source)]


NEGATE = Routine("sateen_negate64", """
fn sateen_negate64(x: vec2<u32>) -> vec2<u32> {
  return sateen_subtract64(vec2<u32>(0u, 0u), x);
}""", (_SUBTRACT,))  # fmt: skip

_TO_FLOAT = {
    False: Routine("sateen_float32_from_uint64", """
/* To nearest, ties to even: 32 bits are kept, and whether anything below them is set; 2^32 is exact. */
fn sateen_float32_from_uint64(x: vec2<u32>) -> f32 {
  if (x.y == 0u) { return f32(x.x); }
  let zeros = countLeadingZeros(x.y);
  let top = select((x.y << zeros) | (x.x >> ((32u - zeros) & 31u)), x.y, zeros == 0u);
  let rest = x.x << zeros;
  let below = top & 0xffu;
  let is_up = (below > 128u) || (below == 128u && (rest != 0u || (top & 0x100u) != 0u));
  let kept = (top >> 8u) + select(0u, 1u, is_up);
  return f32(kept) * bitcast<f32>((127u + 40u - zeros) << 23u);
}"""),
}  # fmt: skip
_TO_FLOAT[True] = Routine("sateen_float32_from_int64", """
fn sateen_float32_from_int64(x: vec2<u32>) -> f32 {
  if (bitcast<i32>(x.y) < 0i) { return -sateen_float32_from_uint64(sateen_negate64(x)); }
  return sateen_float32_from_uint64(x);
}""", (NEGATE, _TO_FLOAT[False]))  # fmt: skip


def to_float32(source: DType) -> Routine:
    """The nearest float32."""
    return _TO_FLOAT[is_signed(source)]


_SHIFT_LEFT = Routine("sateen_shift_left64", """
fn sateen_shift_left64(x: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return x; }
  if (n >= 32u) { return vec2<u32>(0u, x.x << (n - 32u)); }
  return vec2<u32>(x.x << n, (x.y << n) | (x.x >> (32u - n)));
}""")  # fmt: skip

_SHIFT_RIGHT = {
    True: Routine("sateen_shift_right_int64", """
fn sateen_shift_right_int64(x: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return x; }
  let high = bitcast<i32>(x.y);
  if (n >= 32u) { return vec2<u32>(bitcast<u32>(high >> (n - 32u)), bitcast<u32>(high >> 31u)); }
  return vec2<u32>((x.x >> n) | (x.y << (32u - n)), bitcast<u32>(high >> n));
}"""),
    False: Routine("sateen_shift_right_uint64", """
fn sateen_shift_right_uint64(x: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return x; }
  if (n >= 32u) { return vec2<u32>(x.y >> (n - 32u), 0u); }
  return vec2<u32>((x.x >> n) | (x.y << (32u - n)), x.y >> n);
}"""),
}  # fmt: skip


def shift(symbol: str, dtype: DType) -> Routine:
    """`<<` or `>>` by an amount of uint32."""
    return _SHIFT_LEFT if symbol == "<<" else _SHIFT_RIGHT[is_signed(dtype)]


_DIVIDE = Routine("sateen_divide64", """
/* The quotient, then the remainder, of numbers without sign, a bit after the other; 0 where y is 0. */
fn sateen_divide64(x: vec2<u32>, y: vec2<u32>) -> vec4<u32> {
  var quotient = vec2<u32>(0u, 0u);
  var rest = vec2<u32>(0u, 0u);
  if (all(y == quotient)) { return vec4<u32>(quotient, rest); }
  if (x.y == 0u && y.y == 0u) { return vec4<u32>(x.x / y.x, 0u, x.x % y.x, 0u); }
  for (var i = 0u; i < 64u; i++) {
    let carry = rest.y >> 31u;
    let next = select(x.y >> ((63u - i) & 31u), x.x >> ((63u - i) & 31u), i >= 32u) & 1u;
    rest = vec2<u32>((rest.x << 1u) | next, (rest.y << 1u) | (rest.x >> 31u));
    quotient = vec2<u32>(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (carry == 1u || !sateen_is_less_uint64(rest, y)) {
      rest = sateen_subtract64(rest, y);
      quotient.x = quotient.x | 1u;
    }
  }
  return vec4<u32>(quotient, rest);
}""", (_IS_LESS[False], _SUBTRACT))  # fmt: skip

_DIVIDE_BY_MAGNITUDES = Routine("sateen_floor_divide_and_rest64", """
fn sateen_floor_divide_and_rest64(x: vec2<u32>, y: vec2<u32>) -> vec4<u32> {
  let is_x_less = bitcast<i32>(x.y) < 0i;
  let is_y_less = bitcast<i32>(y.y) < 0i;
  let found = sateen_divide64(select(x, sateen_negate64(x), is_x_less), select(y, sateen_negate64(y), is_y_less));
  var quotient = found.xy;
  var rest = select(found.zw, sateen_negate64(found.zw), is_x_less);
  if (is_x_less != is_y_less) {
    quotient = sateen_negate64(quotient);
    if (any(rest != vec2<u32>(0u, 0u))) {
      quotient = sateen_subtract64(quotient, vec2<u32>(1u, 0u));
      rest = sateen_add64(rest, y);
    }
  }
  return vec4<u32>(quotient, rest);
}""", (_DIVIDE, NEGATE, _ADD))  # fmt: skip


@cache
def floor_division(dtype: DType, part: str) -> Routine:
    """x // y by the `part` xy, x % y by zw; both 0 where y is 0."""
    both = _DIVIDE_BY_MAGNITUDES if is_signed(dtype) else _DIVIDE
    name = f"sateen_floor_{'divide' if part == 'xy' else 'modulo'}_{dtype}"
    return Routine(name, f"""
fn {name}(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {{
  return {both.name}(x, y).{part};
}}""", (both,))  # fmt: skip


_WORDS = Routine("sateen_words_of", """
fn sateen_words_of(x: f32) -> vec2<u32> {
  let high = u32(x * 2.3283064365386963e-10f);
  return vec2<u32>(u32(x - f32(high) * 4294967296.0f), high);
}""")  # fmt: skip

_FROM_FLOAT = {
    True: Routine("sateen_int64_from_float32", """
fn sateen_int64_from_float32(x: f32) -> vec2<u32> {
  if (sateen_is_nan(x)) { return vec2<u32>(0u, 0u); }
  if (x <= -9223372036854775808.0f) { return vec2<u32>(0u, 0x80000000u); }
  if (x >= 9223372036854775808.0f) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
  if (x < 0.0f) { return sateen_negate64(sateen_words_of(-x)); }
  return sateen_words_of(x);
}""", (IS_NAN, NEGATE, _WORDS)),
    False: Routine("sateen_uint64_from_float32", """
fn sateen_uint64_from_float32(x: f32) -> vec2<u32> {
  if (sateen_is_nan(x) || (x <= 0.0f)) { return vec2<u32>(0u, 0u); }
  if (x >= 18446744073709551616.0f) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return sateen_words_of(x);
}""", (IS_NAN, _WORDS)),
}  # fmt: skip


def from_float32(target: DType) -> Routine:
    """A float32 truncated, limited to the range, 0 for NaN."""
    return _FROM_FLOAT[is_signed(target)]


def literal(value: int) -> str:
    """A literal of 64 bits."""
    return f"vec2<u32>({value & 0xFFFFFFFF:#x}u, {value >> 32 & 0xFFFFFFFF:#x}u)"
