/**
 * float32 to and from the bits of float16 and bfloat16, to nearest, ties to even.
 *
 * Formats: IEEE 754-2019, 3.6; bfloat16 is the upper half of float32.
 */

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);
const QUIET_NAN_OF_HALF = 0x7e00;
const QUIET_NAN_OF_BFLOAT = 0x7fc0;

/** By element type: the bits of a number, and the number of bits. */
export const FLOAT_BITS = new Map([
  ["float16", { encode: halfOf, decode: numberOfHalf }],
  ["bfloat16", { encode: bfloatOf, decode: numberOfBfloat }],
]);

function halfOf(number) {
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(number);
  if (Number.isNaN(number)) return QUIET_NAN_OF_HALF;
  if (magnitude >= 65520) return sign | 0x7c00; // rounds past the largest number
  if (magnitude < 2 ** -14) return sign | toEven(magnitude * 2 ** 24); // subnormal, or rounds to the smallest normal
  float[0] = magnitude;
  const rebased = word[0] - (112 << 23);
  return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
}

function toEven(number) {
  const below = Math.floor(number);
  const rest = number - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}

function numberOfHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
}

function bfloatOf(number) {
  if (Number.isNaN(number)) return QUIET_NAN_OF_BFLOAT;
  float[0] = number;
  return (word[0] + 0x7fff + ((word[0] >>> 16) & 1)) >>> 16;
}

function numberOfBfloat(bits) {
  word[0] = bits << 16;
  return float[0];
}
