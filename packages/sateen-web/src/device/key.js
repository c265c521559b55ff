/** Keys that two machines share, and codes made with them (docs/wire.md of sateen). */

import { ArgumentError } from "../errors.js";

const TEXT = /^(?:sateen-key )?([0-9a-f]{64})$/;
const ID_BYTES = 8;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/** A shared secret of 32 bytes. Its `id` names it without telling it. */
export class Key {
  #secret;

  constructor(secret, id) {
    this.#secret = secret;
    this.id = id;
    Object.freeze(this);
  }

  /** The key in a text, as `sateen rpc key` writes it to a file. Throws ArgumentError for any other text. */
  static async of(text) {
    const digits = TEXT.exec(String(text).trim())?.[1];
    if (digits === undefined) {
      throw new ArgumentError("expected a key, as `sateen rpc key` writes it, found other text");
    }
    const secret = Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
    const id = await codeOf(secret, utf8("sateen-rpc key id"));
    return new Key(secret, id.slice(0, ID_BYTES));
  }

  /** The code of a message in parts by this key. */
  code(...parts) {
    return codeOf(this.#secret, ...parts);
  }

  /** A code of frames for one purpose (HKDF with SHA-256, RFC 5869, one block). */
  async derived(salt, purpose) {
    const extracted = await codeOf(salt, this.#secret);
    return Coder.of(await codeOf(extracted, utf8(purpose), Uint8Array.of(1)));
  }
}

/** HMAC-SHA256 (RFC 2104) by one secret. */
export class Coder {
  #key;

  constructor(key) {
    this.#key = key;
  }

  static async of(secret) {
    const { subtle } = globalThis.crypto ?? {};
    if (subtle === undefined) {
      throw new ArgumentError("expected WebCrypto, found none: serve the page over https or from localhost");
    }
    return new Coder(await subtle.importKey("raw", secret, HMAC, false, ["sign"]));
  }

  async code(message) {
    return new Uint8Array(await crypto.subtle.sign(HMAC, this.#key, message));
  }
}

/** The code of a message in parts. */
export async function codeOf(secret, ...parts) {
  return (await Coder.of(secret)).code(joined(...parts));
}

/** Whether two codes are equal, in a time that does not tell where they differ. */
export function areEqual(one, other) {
  return one.length === other.length && one.reduce((apart, byte, i) => apart | (byte ^ other[i]), 0) === 0;
}

export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** All bytes of some arrays in one. */
export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}
