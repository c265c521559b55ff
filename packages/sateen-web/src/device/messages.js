/**
 * Headers of frames: maps in msgpack, of plain values, whose keys and kinds each operation states.
 *
 * The format is that of msgpack's specification, without extensions, and without a name twice in a map.
 */

import { SessionProtocolError } from "./errors.js";
import { utf8 } from "./key.js";

const MOST_DEPTH = 8;
const LONGEST_FOUND = 200;

/** The kinds of fields, for `requireFields`. */
export const TEXT = { name: "a text", has: (value) => typeof value === "string" };
export const NUMBER = { name: "a number", has: (value) => typeof value === "number" };
export const INTEGER = { name: "an integer", has: (value) => Number.isSafeInteger(value) };
export const LIST = { name: "a list", has: (value) => Array.isArray(value) };

/** Throws SessionProtocolError unless a header has exactly the fields of a schema, each of its kind. */
export function requireFields(header, schema, what) {
  const [expected, found] = [schema, header].map((fields) => Object.keys(fields).sort().join(", "));
  if (expected !== found) {
    throw new SessionProtocolError(`${what}: expected the fields ${expected}; found ${found.slice(0, LONGEST_FOUND)}`);
  }
  for (const [name, kind] of Object.entries(schema)) {
    if (!kind.has(header[name])) throw new SessionProtocolError(`${what}: expected ${kind.name} as ${name}`);
  }
}

/** A header as msgpack. */
export function packed(header) {
  const writer = new Writer();
  writer.value(header);
  return writer.bytes;
}

/** The header that msgpack stands for. Throws SessionProtocolError for anything but a map with names as keys. */
export function unpacked(bytes) {
  const reader = new Reader(bytes);
  const header = reader.value(0);
  reader.requireEnd();
  if (typeof header !== "object" || header === null || Array.isArray(header) || ArrayBuffer.isView(header)) {
    throw new SessionProtocolError("expected a map with names as the header, found something else");
  }
  return header;
}

class Writer {
  #view = new DataView(new ArrayBuffer(256));
  #end = 0;

  get bytes() {
    return new Uint8Array(this.#view.buffer, 0, this.#end);
  }

  value(value) {
    if (value === null) this.#byte(0xc0);
    else if (typeof value === "boolean") this.#byte(value ? 0xc3 : 0xc2);
    else if (typeof value === "string") this.#text(value);
    else if (Number.isSafeInteger(value)) this.#integer(value);
    else if (typeof value === "number") this.#number(0xcb, 8, (view, place) => view.setFloat64(place, value));
    else if (Array.isArray(value)) {
      this.#length(value.length, 0x90, 16, [0xdc, 0xdd]);
      for (const item of value) this.value(item);
    } else {
      const fields = Object.entries(value);
      this.#length(fields.length, 0x80, 16, [0xde, 0xdf]);
      for (const [name, item] of fields) {
        this.#text(name);
        this.value(item);
      }
    }
  }

  #integer(value) {
    if (value >= 0 && value < 0x80) this.#byte(value);
    else if (value < 0 && value >= -0x20) this.#byte(0x100 + value);
    else if (value >= 0) this.#number(0xcf, 8, (view, place) => view.setBigUint64(place, BigInt(value)));
    else this.#number(0xd3, 8, (view, place) => view.setBigInt64(place, BigInt(value)));
  }

  #text(text) {
    const bytes = utf8(text);
    this.#length(bytes.length, 0xa0, 32, [0xda, 0xdb]);
    this.#room(bytes.length);
    new Uint8Array(this.#view.buffer).set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** A length: in the first byte where it is below `few`, otherwise behind one of two others in 2 bytes or 4. */
  #length(length, first, few, [of2Bytes, of4Bytes]) {
    if (length < few) this.#byte(first + length);
    else if (length < 0x10000) this.#number(of2Bytes, 2, (view, place) => view.setUint16(place, length));
    else this.#number(of4Bytes, 4, (view, place) => view.setUint32(place, length));
  }

  #number(first, size, write) {
    this.#byte(first);
    this.#room(size);
    write(this.#view, this.#end);
    this.#end += size;
  }

  #byte(byte) {
    this.#room(1);
    this.#view.setUint8(this.#end++, byte);
  }

  #room(size) {
    if (this.#end + size <= this.#view.byteLength) return;
    const larger = new Uint8Array(2 * (this.#end + size));
    larger.set(this.bytes);
    this.#view = new DataView(larger.buffer);
  }
}

class Reader {
  #view;
  #place = 0;

  constructor(bytes) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  requireEnd() {
    const rest = this.#view.byteLength - this.#place;
    if (rest > 0) throw new SessionProtocolError(`expected the end of the header, found ${rest} bytes more`);
  }

  /** The next value, within so many lists and maps. */
  value(depth) {
    const first = this.#number(1, "getUint8");
    if (first < 0x80) return first;
    if (first < 0x90) return this.#map(first & 0xf, depth);
    if (first < 0xa0) return this.#list(first & 0xf, depth);
    if (first < 0xc0) return this.#text(first & 0x1f);
    if (first >= 0xe0) return first - 0x100;
    switch (first) {
      case 0xc0:
        return null;
      case 0xc2:
      case 0xc3:
        return first === 0xc3;
      case 0xc4:
        return this.#bytes(this.#number(1, "getUint8"));
      case 0xc5:
        return this.#bytes(this.#number(2, "getUint16"));
      case 0xc6:
        return this.#bytes(this.#number(4, "getUint32"));
      case 0xca:
        return this.#number(4, "getFloat32");
      case 0xcb:
        return this.#number(8, "getFloat64");
      case 0xcc:
        return this.#number(1, "getUint8");
      case 0xcd:
        return this.#number(2, "getUint16");
      case 0xce:
        return this.#number(4, "getUint32");
      case 0xcf:
        return safe(this.#number(8, "getBigUint64"));
      case 0xd0:
        return this.#number(1, "getInt8");
      case 0xd1:
        return this.#number(2, "getInt16");
      case 0xd2:
        return this.#number(4, "getInt32");
      case 0xd3:
        return safe(this.#number(8, "getBigInt64"));
      case 0xd9:
        return this.#text(this.#number(1, "getUint8"));
      case 0xda:
        return this.#text(this.#number(2, "getUint16"));
      case 0xdb:
        return this.#text(this.#number(4, "getUint32"));
      case 0xdc:
        return this.#list(this.#number(2, "getUint16"), depth);
      case 0xdd:
        return this.#list(this.#number(4, "getUint32"), depth);
      case 0xde:
        return this.#map(this.#number(2, "getUint16"), depth);
      case 0xdf:
        return this.#map(this.#number(4, "getUint32"), depth);
      default:
        throw new SessionProtocolError(`expected a header of msgpack, found byte ${first} as the kind of a value`);
    }
  }

  #list(length, depth) {
    const values = [];
    for (let i = 0; i < length; i++) values.push(this.value(this.#deeper(depth)));
    return values;
  }

  #map(length, depth) {
    const fields = new Map();
    for (let i = 0; i < length; i++) {
      const name = this.value(this.#deeper(depth));
      if (typeof name !== "string" || fields.has(name)) {
        throw new SessionProtocolError("expected a map with a name for each value, found another key, or a name twice");
      }
      fields.set(name, this.value(this.#deeper(depth)));
    }
    return Object.fromEntries(fields);
  }

  #deeper(depth) {
    if (depth >= MOST_DEPTH) {
      throw new SessionProtocolError(`expected lists and maps at most ${MOST_DEPTH} deep in each other, found more`);
    }
    return depth + 1;
  }

  #text(length) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.#taken(length));
    } catch (error) {
      if (error instanceof SessionProtocolError) throw error;
      throw new SessionProtocolError("expected text in UTF-8, found other bytes");
    }
  }

  #bytes(length) {
    return this.#taken(length).slice(); // of their own, since those of the frame may go to a worker
  }

  #taken(length) {
    this.#require(length);
    this.#place += length;
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#place - length, length);
  }

  #number(size, get) {
    this.#require(size);
    this.#place += size;
    return this.#view[get](this.#place - size);
  }

  #require(size) {
    if (size > this.#view.byteLength - this.#place) {
      throw new SessionProtocolError("expected a header of msgpack, found the beginning of one");
    }
  }
}

/** A whole number as JavaScript's number where that is exact. */
function safe(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
