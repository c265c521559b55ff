/** Loads an artifact from bytes or from where a URL points. */

import { ArgumentError, ArtifactError } from "./errors.js";
import { modelOf } from "./model.js";
import { nameOf } from "./tensor.js";

const NODE_FILES = "node:fs/promises";
const MOST_THREADS = 256; // the pool of a library has a place for each but the caller

/**
 * The network of an artifact, which is bytes, or a URL as text or value: relative to the page, or `file:` in Node.
 *
 * `threads` caps the threads of a run, from 1 to 256: an artifact for `wasm32-threads` uses them where memory can be
 * shared. `memoryBytes` caps the network's memory, which has at most 4 GiB. Throws ArtifactError for an artifact that
 * can't be fetched, is damaged, or made for another machine, OutOfMemoryError if there is no memory for it, ArgumentError
 * for a source of another kind and for options without meaning.
 */
export async function load(source, { threads = 1, memoryBytes = Infinity, ...others } = {}) {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new ArgumentError(`expected the options threads and memoryBytes, found ${unknown}`);
  if (!Number.isSafeInteger(threads) || threads < 1 || threads > MOST_THREADS) {
    throw new ArgumentError(`expected threads from 1 to ${MOST_THREADS}, found ${shown(threads)}`);
  }
  if (typeof memoryBytes !== "number" || !(memoryBytes > 0)) {
    throw new ArgumentError(`expected memoryBytes above 0, found ${shown(memoryBytes)}`);
  }
  return modelOf(await bytesOf(source), { threads, memoryBytes });
}

/** A number as it is, anything else as what it is. */
function shown(value) {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? `the text ${JSON.stringify(value)}` : nameOf(value);
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new ArgumentError(`expected an artifact's bytes or its URL, found ${nameOf(source)}`);
  }
  const address = String(source);
  if (globalThis.location === undefined && !URL.canParse(address)) {
    throw new ArgumentError(`${address}: expected bytes or a whole URL, such as file:///…, as there is no page here`);
  }
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
