/**
 * The memory of a network: arrays one after the other behind the module's own data, and the ABI's description of each.
 *
 * A `DLTensor` of machines of 32 bits has data, device type and number, rank, element type, shape and strides as words
 * of 4 bytes, then an offset of 8; shapes are int64 (docs/design/abi.md of sateen).
 */

import { OutOfMemoryError } from "./errors.js";

const PAGE_BYTES = 65536;
const MOST_PAGES = 65536;
const TENSOR_BYTES = 32;
const POINTER_BYTES = 4;
const EXTENT_BYTES = 8;
const ALIGNMENT = 64;
const PROCESSOR = 1; // kDLCPU

/** Places of arrays, and of what describes them, before there is a memory. */
export class MemoryPlan {
  #end;

  constructor(start) {
    this.#end = start;
    this.arrays = [];
  }

  /** Room for an array of a type and shape. */
  add(type, shape) {
    const bytes = shape.reduce((product, extent) => product * extent, type.bytes);
    const array = { type, shape, bytes, data: this.#take(bytes), extents: this.#take(shape.length * EXTENT_BYTES) };
    array.tensor = this.#take(TENSOR_BYTES);
    this.arrays.push(array);
    return array;
  }

  /** Room for the stack of a thread; its upper end, where it begins. */
  addStack(bytes) {
    return this.#take(bytes) + bytes;
  }

  /** Room for the pointers to all arrays, in their order. */
  addPointers() {
    return this.#take(this.arrays.length * POINTER_BYTES);
  }

  get pages() {
    return Math.ceil(this.#end / PAGE_BYTES);
  }

  #take(bytes) {
    const place = Math.ceil(this.#end / ALIGNMENT) * ALIGNMENT;
    this.#end = place + bytes;
    return place;
  }
}

/** The memory that a module imports, all zero. Throws OutOfMemoryError if there is none. */
export function memoryOf({ pages, isShared, hasMaximum }) {
  const limits = hasMaximum ? { initial: pages, maximum: MOST_PAGES } : { initial: pages };
  return withPages(pages, () => new WebAssembly.Memory({ ...limits, shared: isShared }));
}

/** Make memory larger, so that it has some pages in all. Throws OutOfMemoryError if there are none. */
export function grow(memory, pages) {
  const more = pages - memory.buffer.byteLength / PAGE_BYTES;
  if (more > 0) withPages(pages, () => memory.grow(more));
}

function withPages(pages, take) {
  try {
    if (pages > MOST_PAGES) throw new RangeError("a memory of WebAssembly has at most 4 GiB");
    return take();
  } catch (error) {
    const megabytes = Math.ceil((pages * PAGE_BYTES) / 2 ** 20);
    throw new OutOfMemoryError(`expected ${megabytes} MiB of memory for the network: ${error.message}`);
  }
}

/** Write the descriptions of arrays, and the pointers to these. */
export function describe(memory, arrays, pointers) {
  const view = new DataView(memory.buffer);
  const word = (place, value) => view.setUint32(place, value, true);
  arrays.forEach(({ type, shape, data, extents, tensor }, index) => {
    shape.forEach((extent, i) => view.setBigInt64(extents + EXTENT_BYTES * i, BigInt(extent), true));
    [data, PROCESSOR, 0, shape.length].forEach((value, i) => word(tensor + 4 * i, value));
    view.setUint8(tensor + 16, type.code);
    view.setUint8(tensor + 17, type.bits);
    view.setUint16(tensor + 18, 1, true); // lanes
    word(tensor + 20, extents);
    word(pointers + POINTER_BYTES * index, tensor);
  });
}

/** The text, ended by a zero, at a place in memory. */
export function textAt(memory, place) {
  const bytes = new Uint8Array(memory.buffer, place);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}
