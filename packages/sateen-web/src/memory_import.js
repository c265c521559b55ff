/** The memory that a module imports, as its import section says (WebAssembly core specification, 5.5.5). */

import { ArtifactError } from "./errors.js";

const HEADER_BYTES = 8;
const IMPORT_SECTION = 2;
const FUNCTION = 0;
const MEMORY = 2;

const SHARED = 0b10;

/**
 * The memory that a valid module of ours imports: its least pages, and whether it has to be shared.
 *
 * Throws ArtifactError for another module.
 */
export function importedMemory(module) {
  const { place, flags, pages } = limitsOf(module);
  return { pages, isShared: (flags & SHARED) !== 0, flagsPlace: place };
}

/** The module for memory that is not shared: atomic instructions are valid on either (threads proposal). */
export function unshared(module, { flagsPlace }) {
  const changed = module.slice();
  changed[flagsPlace] &= ~SHARED;
  return changed;
}

function limitsOf(module) {
  const reader = new Reader(module, HEADER_BYTES);
  while (!reader.atEnd) {
    const section = reader.byte();
    const size = reader.number();
    if (section === IMPORT_SECTION) return limitsIn(reader);
    reader.place += size;
  }
  throw new ArtifactError("expected a library that imports its memory, found no imports");
}

function limitsIn(reader) {
  for (let count = reader.number(); count > 0; count--) {
    const name = `${reader.text()}.${reader.text()}`;
    const kind = reader.byte();
    if (kind === MEMORY && name === "env.memory") {
      return { place: reader.place, flags: reader.byte(), pages: reader.number() };
    }
    if (kind !== FUNCTION) break;
    reader.number();
  }
  throw new ArtifactError("expected a library that imports env.memory, found another import");
}

class Reader {
  constructor(bytes, place) {
    this.bytes = bytes;
    this.place = place;
  }

  get atEnd() {
    return this.place >= this.bytes.length;
  }

  byte() {
    return this.bytes[this.place++];
  }

  /** An unsigned number in LEB128. */
  number() {
    let value = 0;
    for (let weight = 1, more = true; more; weight *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * weight;
      more = byte >= 0x80;
    }
    return value;
  }

  text() {
    const size = this.number();
    this.place += size;
    return new TextDecoder().decode(this.bytes.subarray(this.place - size, this.place));
  }
}
