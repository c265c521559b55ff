/** Loads an artifact from bytes or from where a URL points. */

import { ArgumentError, ArtifactError } from "./errors.js";
import { modelOf } from "./model.js";
import { nameOf } from "./tensor.js";

const NODE_FILES = "node:fs/promises";

/**
 * The network of an artifact, which is bytes, or a URL as text or value: relative to the page, or `file:` in Node.
 *
 * `threads` caps the threads of a run: an artifact for `wasm32-threads` uses them where memory can be shared.
 * `memoryBytes` caps the network's memory, which has at most 4 GiB. Throws ArtifactError for an artifact that can't be
 * fetched, is damaged, or made for another machine, OutOfMemoryError if there is no memory for it, ArgumentError for a
 * source of another kind.
 */
export async function load(source, { threads = 1, memoryBytes = Infinity } = {}) {
  if (!Number.isSafeInteger(threads) || threads < 1) {
    throw new ArgumentError(`expected threads of 1 or more, found ${threads}`);
  }
  if (!(memoryBytes > 0)) throw new ArgumentError(`expected memoryBytes above 0, found ${memoryBytes}`);
  return modelOf(await bytesOf(source), { threads, memoryBytes });
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new ArgumentError(`expected an artifact's bytes or its URL, found ${nameOf(source)}`);
  }
  const address = String(source);
  try {
    if (address.startsWith("file:") && globalThis.process?.versions?.node !== undefined) {
      const { readFile } = await import(NODE_FILES);
      return new Uint8Array(await readFile(new URL(address)));
    }
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`.trim());
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new ArtifactError(`${address}: expected an artifact to read: ${error.message}`, { cause: error });
  }
}
