/** Calls with the arrays of a session, which are put into the memory of a library before, and read back after. */

import { ELEMENT_TYPES } from "../element_types.js";
import { ArgumentError } from "../errors.js";
import { bytesOf } from "./arrays.js";

/** Calls of functions of one library. An array that several calls take has one place, so they share it. */
export class PlacedCalls {
  #library;
  #places = new Map();
  #filled = new Set();

  constructor(library) {
    this.#library = library;
  }

  /** The call of a function with tensors. Throws ArgumentError for an unknown name, OutOfMemoryError. */
  bind(name, tensors) {
    const { functions } = this.#library;
    if (!functions.has(name)) {
      throw new ArgumentError(`expected a function of ${[...functions.keys()].join(", ")}; found "${name}"`);
    }
    const arrays = tensors.map((tensor) => this.#placeOf(tensor));
    functions.get(name).parameters.forEach(({ output }, index) => output && this.#filled.add(tensors[index]));
    return this.#library.bind(name, arrays);
  }

  /** Read what the calls have written into the tensors. */
  read() {
    for (const tensor of this.#filled) bytesOf(tensor).set(this.#library.bytesOf(this.#places.get(tensor)));
  }

  /** Give the room back. */
  clear() {
    this.#library.clear();
  }

  #placeOf(tensor) {
    const known = this.#places.get(tensor);
    if (known !== undefined) return known;
    const place = this.#library.room(ELEMENT_TYPES.get(tensor.dtype), tensor.shape);
    this.#library.bytesOf(place).set(bytesOf(tensor));
    this.#places.set(tensor, place);
    return place;
  }
}
