/**
 * The memory of a library: arrays one after the other behind the module's own data, and the ABI's description of each.
 *
 * A `DLTensor` of machines of 32 bits has data, device type and number, rank, element type, shape and strides as words
 * of 4 bytes, then an offset of 8 at a multiple of 8; shapes are int64 (docs/design/abi.md of sateen).
 */

import { OutOfMemoryError } from "./errors.js";

export const PAGE_BYTES = 65536;
const TENSOR_BYTES = 40;
export const POINTER_BYTES = 4;
const EXTENT_BYTES = 8;
const ALIGNMENT = 64;
const PROCESSOR = 1; // kDLCPU

/**
 * The memory of a library behind the module's own data: places are taken one after the other, and given back all at
 * once.
 *
 * The module may take pages for itself, which come behind those that are there; then places go on behind them.
 */
export class Arena {
  #memory;
  #mostPages;
  #parts;

  /** `start` is where the module's own data end; the memory has at most `mostPages`. */
  constructor(memory, start, mostPages) {
    this.#memory = memory;
    this.#mostPages = mostPages;
    this.#parts = [{ start, next: start, end: memory.buffer.byteLength }];
  }

  /** Room for an array of a type and shape. Throws OutOfMemoryError if there is none. */
  add(type, shape) {
    const bytes = shape.reduce((product, extent) => product * extent, type.bytes);
    const [data, extents, tensor] = [bytes, shape.length * EXTENT_BYTES, TENSOR_BYTES].map((size) => this.take(size));
    return { type, shape, bytes, data, extents, tensor };
  }

  /** A place of so many bytes, at a multiple of 64. Throws OutOfMemoryError if there is none. */
  take(bytes) {
    const part = this.#parts.find(({ next, end }) => aligned(next) + bytes <= end) ?? this.#grown(bytes);
    const place = aligned(part.next);
    part.next = place + bytes;
    return place;
  }

  /** What is taken so far is not given back. */
  keep() {
    for (const part of this.#parts) part.start = part.next;
  }

  /** Give all places back. */
  clear() {
    for (const part of this.#parts) part.next = part.start;
  }

  /** A part with room for more bytes: the last one, if new pages come directly behind it. */
  #grown(bytes) {
    const end = this.#memory.buffer.byteLength;
    let last = this.#parts.at(-1);
    if (last.end !== end) this.#parts.push((last = { start: end, next: end, end }));
    const pages = Math.ceil((aligned(last.next) + bytes) / PAGE_BYTES);
    withPages(pages, this.#mostPages, () => this.#memory.grow(pages - end / PAGE_BYTES));
    last.end = pages * PAGE_BYTES;
    return last;
  }
}

function aligned(place) {
  return Math.ceil(place / ALIGNMENT) * ALIGNMENT;
}

/** The memory that a module imports, all zero, of at most `mostPages`. Throws OutOfMemoryError if there is none. */
export function memoryOf({ pages, isShared, mostPages }) {
  const limits = { initial: pages, maximum: mostPages, shared: isShared };
  return withPages(pages, mostPages, () => new WebAssembly.Memory(limits));
}

function withPages(pages, mostPages, take) {
  try {
    if (pages > mostPages) throw new RangeError(`it has at most ${inMegabytes(mostPages)} MiB`);
    return take();
  } catch (error) {
    throw new OutOfMemoryError(`expected ${inMegabytes(pages)} MiB of memory for a network: ${error.message}`);
  }
}

function inMegabytes(pages) {
  return Math.ceil((pages * PAGE_BYTES) / 2 ** 20);
}

/** Write the descriptions of arrays, and the pointers to these in their order. */
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
    word(tensor + 24, 0); // no strides: it is compact
    view.setBigUint64(tensor + 32, 0n); // it begins at its data
    word(pointers + POINTER_BYTES * index, tensor);
  });
}

/** The text, ended by a zero, at a place in memory. */
export function textAt(memory, place) {
  const bytes = new Uint8Array(memory.buffer, place);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}
