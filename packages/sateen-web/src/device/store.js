/** What clients have sent, kept for later sessions under its digest. */

import { digestOf } from "../digest.js";
import { ArgumentError } from "../errors.js";

/** Keeps at most `mostBytes`; what was not used for longest makes room. */
export class Store {
  #mostBytes;
  #contents = new Map(); // in the order of their last uses

  constructor(mostBytes) {
    this.#mostBytes = mostBytes;
  }

  /** What is kept under a digest; undefined if nothing is. */
  content(digest) {
    const found = this.#contents.get(digest);
    if (found !== undefined) {
      this.#contents.delete(digest);
      this.#contents.set(digest, found);
    }
    return found;
  }

  /** Keep bytes. Throws ArgumentError unless they have the digest. */
  async keep(digest, bytes) {
    if ((await digestOf(bytes)) !== digest) {
      throw new ArgumentError("expected content of the digest that was told, found other content");
    }
    this.#contents.delete(digest);
    this.#contents.set(digest, bytes);
    let kept = Array.from(this.#contents.values(), ({ length }) => length).reduce((sum, length) => sum + length, 0);
    for (const [oldest, { length }] of this.#contents) {
      if (kept <= this.#mostBytes) break;
      this.#contents.delete(oldest);
      kept -= length;
    }
  }
}
