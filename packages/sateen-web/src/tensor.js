/** Arrays with a shape: what networks take and give. */

import { ELEMENT_TYPES, typeOfArray } from "./element_types.js";
import { ArgumentError } from "./errors.js";
import { FLOAT_BITS } from "./float_bits.js";

/** An array with its shape and the name of its element type. */
export class Tensor {
  /** Throws ArgumentError if the array has another class or length than type and shape say. */
  constructor(data, shape, dtype = typeOfArray(data)?.name) {
    const type = ELEMENT_TYPES.get(dtype);
    if (type === undefined) {
      throw new ArgumentError(`expected an element type of ${[...ELEMENT_TYPES.keys()].join(", ")}; found ${dtype}`);
    }
    if (!isArrayOf(data, type)) {
      throw new ArgumentError(`expected ${type.array.name} for ${dtype}, found ${nameOf(data)}`);
    }
    const extents = [...shape];
    if (!extents.every((extent) => Number.isSafeInteger(extent) && extent >= 0)) {
      throw new ArgumentError(`expected extents of 0 or more, found [${extents.join(", ")}]`);
    }
    if (data.length !== countOf(extents)) {
      throw new ArgumentError(`expected ${countOf(extents)} elements for [${extents.join(", ")}], found ${data.length}`);
    }
    this.data = data;
    this.shape = Object.freeze(extents);
    this.dtype = dtype;
    Object.freeze(this);
  }

  /** Numbers as a tensor of an element type: rounded for float16 and bfloat16, otherwise as the array converts them. */
  static of(numbers, shape, dtype) {
    const type = ELEMENT_TYPES.get(dtype);
    const encode = FLOAT_BITS.get(dtype)?.encode;
    if (type === undefined || type.array.name.startsWith("Big") || (encode === undefined && dtype.startsWith("float8"))) {
      throw new ArgumentError(`expected an element type that JavaScript's numbers become, found ${dtype}`);
    }
    return new Tensor(encode ? type.array.from(numbers, encode) : type.array.from(numbers), shape, dtype);
  }

  /** The elements as JavaScript's numbers: those of float16 and bfloat16 decoded, of int64 rounded. */
  numbers() {
    if (this.dtype.startsWith("float8")) throw new ArgumentError(`expected numbers to decode, found ${this.dtype}`);
    return Array.from(this.data, FLOAT_BITS.get(this.dtype)?.decode ?? Number);
  }

  toString() {
    return `${this.dtype}[${this.shape.join(", ")}]`;
  }
}

/** Whether an array is of the class that holds elements of a type, be it of another page's or frame's. */
export function isArrayOf(data, type) {
  return ArrayBuffer.isView(data) && data.constructor.name === type.array.name;
}

/** What a value is, in an error. */
export function nameOf(value) {
  if (value === null || value === undefined) return String(value);
  return value.constructor?.name ?? typeof value;
}

/** The number of elements of a shape. */
export function countOf(shape) {
  return shape.reduce((product, extent) => product * extent, 1);
}
