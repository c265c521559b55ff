/** Loads an artifact from bytes or from where a URL points. */

import { ArgumentError, ArtifactError, DeviceError } from "./errors.js";
import { modelOf } from "./model.js";
import { nameOf } from "./tensor.js";
import { adapterOf } from "./webgpu/gpu.js";

const NODE_FILES = "node:fs/promises";
const MOST_THREADS = 256; // the pool of a library has a place for each but the caller

const DEVICES = ["webgpu", "wasm"];
const OPTIONS = ["threads", "memoryBytes", "device", "gpu"];

/**
 * The network of an artifact, which is bytes, or a URL as text or value: relative to the page, or `file:` in Node; or of
 * `{ webgpu, wasm }`, an artifact of each kind: WebGPU's where the browser has a device for it, otherwise WebAssembly's,
 * with the reason in `refusal` of the model.
 *
 * `threads` caps the threads of a run, from 1 to 256: an artifact for `wasm32-threads` uses them where memory can be
 * shared. `memoryBytes` caps the network's memory, which for WebAssembly has at most 4 GiB. `device` is "webgpu" or "wasm"
 * for that one alone, and `gpu` what has adapters, the browser's otherwise. Throws ArtifactError for an artifact that can't
 * be fetched, is damaged, or made for another machine, DeviceError if there is no device of WebGPU for it,
 * OutOfMemoryError if there is no memory for it, ArgumentError for a source of another kind and for options without
 * meaning.
 */
export async function load(source, options = {}) {
  const checked = checkedOptions(options);
  if (!isPair(source)) return modelOf(await bytesOf(source), checked);
  const { webgpu, wasm } = source;
  if (checked.device === "wasm") return modelOf(await bytesOf(wasm), checked);
  try {
    await adapterOf(checked.gpu); // before something is fetched for it
    return await modelOf(await bytesOf(webgpu), { ...checked, device: "webgpu" });
  } catch (error) {
    if (checked.device === "webgpu" || !(error instanceof DeviceError)) throw error;
    return modelOf(await bytesOf(wasm), { ...checked, device: "wasm", refusal: error });
  }
}

function checkedOptions({ threads = 1, memoryBytes = Infinity, device, gpu = globalThis.navigator?.gpu, ...others }) {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new ArgumentError(`expected the options ${OPTIONS.slice(0, -1).join(", ")} and ${OPTIONS.at(-1)}, found ${unknown}`);
  }
  if (!Number.isSafeInteger(threads) || threads < 1 || threads > MOST_THREADS) {
    throw new ArgumentError(`expected threads from 1 to ${MOST_THREADS}, found ${shown(threads)}`);
  }
  if (typeof memoryBytes !== "number" || !(memoryBytes > 0)) {
    throw new ArgumentError(`expected memoryBytes above 0, found ${shown(memoryBytes)}`);
  }
  if (device !== undefined && !DEVICES.includes(device)) {
    throw new ArgumentError(`expected "webgpu" or "wasm" for device, found ${shown(device)}`);
  }
  return { threads, memoryBytes, device, gpu };
}

/** Whether a source is an artifact of each kind. Throws ArgumentError for an object that is nearly so. */
function isPair(source) {
  if (Object.getPrototypeOf(source ?? 0) !== Object.prototype) return false;
  const keys = Object.keys(source).sort().join(", ");
  if (keys !== "wasm, webgpu") throw new ArgumentError(`expected artifacts as { webgpu, wasm }, found { ${keys} }`);
  return true;
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
