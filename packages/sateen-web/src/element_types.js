/**
 * Element types by name: DLPack's code, the bits of an element, and the array that holds the elements here.
 *
 * JavaScript has no numbers of float16, bfloat16 and float8: their bits are integers. A bool is a byte, 0 or 1.
 */

class ElementType {
  constructor(name, code, bits, array) {
    this.name = name;
    this.code = code;
    this.bits = bits;
    this.array = array;
    Object.freeze(this);
  }

  get bytes() {
    return this.bits / 8;
  }
}

const INT = 0;
const UINT = 1;
const FLOAT = 2;

/** The element types by name. */
export const ELEMENT_TYPES = new Map(
  [
    ["int8", INT, 8, Int8Array],
    ["int16", INT, 16, Int16Array],
    ["int32", INT, 32, Int32Array],
    ["int64", INT, 64, BigInt64Array],
    ["uint8", UINT, 8, Uint8Array],
    ["uint16", UINT, 16, Uint16Array],
    ["uint32", UINT, 32, Uint32Array],
    ["uint64", UINT, 64, BigUint64Array],
    ["float16", FLOAT, 16, Uint16Array],
    ["float32", FLOAT, 32, Float32Array],
    ["float64", FLOAT, 64, Float64Array],
    ["bfloat16", 4, 16, Uint16Array],
    ["bool", 6, 8, Uint8Array],
    ["float8_e4m3fn", 10, 8, Uint8Array],
    ["float8_e5m2", 12, 8, Uint8Array],
  ].map((row) => [row[0], new ElementType(...row)]),
);

/** The element type whose elements an array holds, by its class; undefined if it holds none. */
export function typeOfArray(array) {
  return [...ELEMENT_TYPES.values()].find((type) => array?.constructor?.name === type.array.name);
}
