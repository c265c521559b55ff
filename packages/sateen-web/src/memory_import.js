/** The memory that a module imports, as its import section says (WebAssembly core specification, 5.5.5). */

import { ArtifactError } from "./errors.js";

const HEADER_BYTES = 8;
const IMPORT_SECTION = 2;
const FUNCTION = 0;
const MEMORY = 2;

/** The least pages of the memory that a module of ours imports. Throws ArtifactError for another module. */
export function importedPages(module) {
  const reader = new Reader(module, HEADER_BYTES);
  while (!reader.atEnd) {
    const section = reader.byte();
    const size = reader.number();
    if (section === IMPORT_SECTION) return pagesOf(reader);
    reader.place += size;
  }
  throw new ArtifactError("expected a library that imports its memory, found no imports");
}

function pagesOf(reader) {
  for (let count = reader.number(); count > 0; count--) {
    const name = `${reader.text()}.${reader.text()}`;
    const kind = reader.byte();
    if (kind === MEMORY && name === "env.memory") {
      reader.byte(); // limits: whether there is a maximum, and whether it is shared
      return reader.number();
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
