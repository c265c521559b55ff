/**
 * Numbers to and from the bits of float16 and bfloat16, to nearest, ties to even.
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
  const sign = signOf(number);
  const magnitude = Math.abs(number);
  if (Number.isNaN(number)) return QUIET_NAN_OF_HALF;
  if (magnitude >= 65520) return sign | 0x7c00; // rounds past the largest number
  if (magnitude < 2 ** -14) return sign | toEven(magnitude * 2 ** 24); // subnormal, or rounds to the smallest normal
  const rebased = oddBitsOf(magnitude) - (112 << 23);
  return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
}

function signOf(number) {
  return number < 0 || Object.is(number, -0) ? 0x8000 : 0;
}

/**
 * The bits of the float32 below a magnitude, the last one set unless they are the same. What is rounded from it to a
 * shorter format is rounded once, as from the magnitude itself (Boldo and Melquiond, "Emulation of FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", 2008).
 */
function oddBitsOf(magnitude) {
  float[0] = magnitude;
  if (float[0] === magnitude) return word[0];
  return (float[0] > magnitude ? word[0] - 1 : word[0]) | 1;
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
  const bits = oddBitsOf(Math.abs(number));
  return signOf(number) | ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
}

function numberOfBfloat(bits) {
  word[0] = bits << 16;
  return float[0];
}
