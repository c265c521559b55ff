/**
 * A host for libraries whose own has no memory to give: the table of docs/design/abi.md of sateen, in their memory.
 *
 * A library calls what its host has by places in its table of functions, which takes functions of WebAssembly alone.
 */

import { OutOfMemoryError } from "./errors.js";

const HOST_BYTES = 36;
const ALLOC = 16; // places of pointers in the table of a host
const FREE = 20;
const MOST_ALIGNMENT = 64n;

/** A module that imports functions of the types of `alloc` and `free` and exports them: then they are WebAssembly's. */
const FUNCTIONS = Uint8Array.of(
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 13, 2, 0x60, 3, 0x7f, 0x7e, 0x7e, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 0], // (i32, i64, i64) -> i32, (i32, i32)
  ...[2, 13, 2, 1, 0x68, 1, 0x61, 0, 0, 1, 0x68, 1, 0x66, 0, 1], // h.a, h.f
  ...[7, 9, 2, 1, 0x61, 0, 0, 1, 0x66, 0, 1], // a, f
);

/** Memory for functions while they run: blocks of an arena, each of which is taken again for the same size. */
export class Blocks {
  #arena;
  #sizes = new Map();
  #free = new Map();

  constructor(arena) {
    this.#arena = arena;
  }

  /** Forgets all blocks, when their arena has been cleared. */
  clear() {
    this.#sizes.clear();
    this.#free.clear();
  }

  /** A host like that of a library, but with this memory; its address. */
  async hostOf(exports, memory) {
    const alloc = (_, bytes, alignment) => this.#take(Number(bytes), alignment);
    const free = (_, place) => this.#give(place);
    const { instance } = await WebAssembly.instantiate(FUNCTIONS, { h: { a: alloc, f: free } });
    const table = exports.__indirect_function_table;
    const first = table.grow(2);
    table.set(first, instance.exports.a);
    table.set(first + 1, instance.exports.f);
    const host = this.#arena.take(HOST_BYTES);
    const like = new Uint8Array(memory.buffer, exports.sateen_default_host(), HOST_BYTES);
    new Uint8Array(memory.buffer, host, HOST_BYTES).set(like);
    const view = new DataView(memory.buffer, host);
    view.setUint32(ALLOC, first, true);
    view.setUint32(FREE, first + 1, true);
    return host;
  }

  /** A block, or 0 if there is none. */
  #take(bytes, alignment) {
    if (alignment > MOST_ALIGNMENT) return 0;
    const known = this.#free.get(bytes)?.pop();
    if (known !== undefined) return known;
    try {
      const place = this.#arena.take(bytes);
      this.#sizes.set(place, bytes);
      return place;
    } catch (error) {
      if (error instanceof OutOfMemoryError) return 0;
      throw error;
    }
  }

  #give(place) {
    const bytes = this.#sizes.get(place);
    if (bytes === undefined) return; // no block, as 0 is none
    if (!this.#free.has(bytes)) this.#free.set(bytes, []);
    this.#free.get(bytes).push(place);
  }
}
