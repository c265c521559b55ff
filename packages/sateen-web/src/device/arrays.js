/** Arrays in messages: element types and shapes in a header, the elements one after the other in the payload. */

import { ELEMENT_TYPES } from "../element_types.js";
import { Tensor, countOf } from "../tensor.js";
import { SessionProtocolError } from "./errors.js";

const MOST_DIMENSIONS = 64;

/** New tensors from their descriptions, [type, shape] each, and the bytes of all. Throws SessionProtocolError. */
export function rebuilt(described, payload) {
  const kinds = described.map(kindOf);
  const expected = kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  if (expected !== payload.length) {
    throw new SessionProtocolError(`expected ${expected} bytes of arrays, found ${payload.length}`);
  }
  let place = 0;
  return kinds.map(({ type, shape, bytes }) => {
    const elements = payload.slice(place, place + bytes);
    place += bytes;
    return new Tensor(new type.array(elements.buffer), shape, type.name);
  });
}

/** The element type, shape and bytes that [type, shape] says. Throws SessionProtocolError for anything else. */
export function kindOf(described) {
  const [name, shape] = Array.isArray(described) ? described : [];
  const type = ELEMENT_TYPES.get(name);
  const isShape = Array.isArray(shape) && shape.length <= MOST_DIMENSIONS && shape.every(isExtent);
  const bytes = isShape && type !== undefined ? countOf(shape) * type.bytes : NaN;
  if (!Number.isSafeInteger(bytes)) {
    throw new SessionProtocolError("expected an element type and a shape that fits memory, found something else");
  }
  return { type, shape, bytes };
}

/** The bytes of a tensor, shared. */
export function bytesOf({ data }) {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function isExtent(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
