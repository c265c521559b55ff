/** Compiled functions: the module of a library, its memory, its threads, and calls. */

import { fieldsOf, listOf, parse, textOf } from "./checked_json.js";
import { ArgumentError, ArtifactError, ExecutionError, OutOfMemoryError } from "./errors.js";
import { Blocks } from "./host.js";
import { Arena, PAGE_BYTES, POINTER_BYTES, describe, memoryOf, textAt } from "./memory.js";
import { importedMemory, unshared } from "./memory_import.js";
import { STACK_BYTES, canShareMemory, startThreads, stopThreads } from "./threads.js";

const ABI_VERSION = 2;
const EXPORTS = ["__heap_base", "sateen_abi_version", "sateen_status_message", "sateen_metadata"];
const MOST_PAGES = 65536; // 4 GiB
const DEFAULT_HOST = 0;
const MOST_FUNCTIONS = 1 << 20;
const WARM_MILLISECONDS = 100;
const OUT_OF_MEMORY = 9;
const OF_ARGUMENTS = [2, 3, 4, 5, 6, 7, 8, 11];

/** A library that is ready for calls. `functions` has what its metadata say of each, by name. */
export class Library {
  #exports;
  #memory;
  #arena;
  #blocks;
  #host;
  #workers;
  #warm = new Set();
  #isOpen = true;

  /** Use `Library.of`, which makes libraries. */
  constructor({ exports, functions }, memory, arena, { blocks, host, workers }) {
    this.#exports = exports;
    this.#memory = memory;
    this.#arena = arena;
    this.#blocks = blocks;
    this.#host = host;
    this.#workers = workers;
    this.functions = functions;
  }

  /**
   * The library of a module in bytes, with at most so many threads and bytes of memory.
   *
   * Throws ArtifactError for what is no library of ours, OutOfMemoryError if there is no memory for it.
   */
  static async of(bytes, { threads = 1, memoryBytes = Infinity } = {}) {
    const compiled = await moduleOf(bytes);
    const imported = importedMemory(bytes);
    const isShared = imported.isShared && threads > 1 && canShareMemory();
    const module = imported.isShared && !isShared ? await moduleOf(unshared(bytes, imported)) : compiled;
    const mostPages = Math.min(Math.floor(memoryBytes / PAGE_BYTES), MOST_PAGES);
    const memory = memoryOf({ pages: imported.pages, isShared, mostPages });
    const instance = await instanceOf(module, memory);
    const { exports } = instance;
    const arena = new Arena(memory, exports.__heap_base.value, mostPages);
    const blocks = new Blocks(arena);
    // The host of a library with threads has memory of its own, and one whose table is hidden takes no functions.
    const isPoor = !imported.isShared && exports.__indirect_function_table !== undefined;
    const host = isPoor ? await blocks.hostOf(exports, memory) : DEFAULT_HOST;
    const stacks = Array.from({ length: isShared ? threads - 1 : 0 }, () => arena.take(STACK_BYTES) + STACK_BYTES);
    arena.keep();
    const workers = await startThreads(module, memory, stacks);
    return new Library(instance, memory, arena, { blocks, host, workers });
  }

  /** The threads of a call, the caller's among them. */
  get threads() {
    return 1 + this.#workers.length;
  }

  get memoryBytes() {
    return this.#memory.buffer.byteLength;
  }

  /** Room in memory for an array of a type and shape, which `bytesOf` shows. Throws OutOfMemoryError. */
  room(type, shape) {
    return this.#arena.add(type, shape);
  }

  /** The bytes of an array, for as long as memory does not grow. */
  bytesOf({ data, bytes }) {
    return new Uint8Array(this.#memory.buffer, data, bytes);
  }

  /** Gives all room back. */
  clear() {
    this.#arena.clear();
    this.#blocks.clear();
  }

  /**
   * A call of a function with arrays of this library.
   *
   * It throws ArgumentError for arrays that the function refuses, OutOfMemoryError if it finds no memory for its
   * workspace, ExecutionError if it fails; with a trap, which leaves a library undefined, as its cause.
   */
  bind(name, arrays) {
    const pointers = this.#arena.take(arrays.length * POINTER_BYTES);
    describe(this.#memory, arrays, pointers);
    return () => {
      if (!this.#isOpen) throw new ArgumentError(`${name}: expected an open model, found a closed one`);
      let status;
      try {
        status = this.#exports[name](this.#host, pointers, arrays.length);
      } catch (error) {
        throw new ExecutionError(`${name}: the code ended with ${error.name}: ${error.message}`, { cause: error });
      }
      if (status !== 0) throw this.#failure(name, arrays, status);
    };
  }

  /**
   * Makes calls of a function before it is timed for the first time: engines compile what runs often once more, so that
   * the first calls are several times slower.
   */
  warm(name, call) {
    if (this.#warm.has(name)) return;
    this.#warm.add(name);
    const end = performance.now() + WARM_MILLISECONDS;
    do call();
    while (performance.now() < end);
  }

  /** Ends the threads. There are no calls from then on. */
  close() {
    stopThreads(this.#workers);
    this.#isOpen = false;
  }

  #failure(name, arrays, status) {
    const message = textAt(this.#memory, this.#exports.sateen_status_message(status));
    const [code, index] = [status & 0xff, (status >> 8) & 0xffff];
    if (code === OUT_OF_MEMORY) return new OutOfMemoryError(`${name}: no memory left for its workspace`);
    if (!OF_ARGUMENTS.includes(code) || index >= arrays.length) return new ExecutionError(`${name}: ${message}`);
    const { type, shape } = arrays[index];
    const parameter = this.functions.get(name).parameters[index];
    const place = `argument ${index} (${parameter?.name})`;
    return new ArgumentError(`${name}: ${place}: ${message}; found ${type.name}[${shape.join(", ")}]`);
  }
}

async function moduleOf(bytes) {
  let module;
  try {
    module = await WebAssembly.compile(bytes);
  } catch (error) {
    throw new ArtifactError(`expected a library that this engine compiles: ${error.message}`);
  }
  const imports = WebAssembly.Module.imports(module).map(({ module: from, name }) => `${from}.${name}`);
  if (imports.join() !== "env.memory") {
    throw new ArtifactError(`expected a library that imports env.memory alone, found ${imports.join(", ") || "nothing"}`);
  }
  const exported = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  const missing = EXPORTS.filter((name) => !exported.has(name));
  if (missing.length > 0) {
    throw new ArtifactError(`expected a library that exports ${EXPORTS.join(", ")}, found none of ${missing.join(", ")}`);
  }
  return module;
}

/** The exports of a module over its memory, and its functions. Throws ArtifactError for one that does not start. */
async function instanceOf(module, memory) {
  try {
    const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
    const version = exports.sateen_abi_version();
    if (version !== ABI_VERSION) throw new ArtifactError(`expected a library of ABI ${ABI_VERSION}, found ${version}`);
    return { exports, functions: functionsOf(textAt(memory, exports.sateen_metadata.value), exports) };
  } catch (error) {
    if (error instanceof ArtifactError) throw error;
    throw new ArtifactError(`expected a library that this engine starts: ${error.message}`);
  }
}

/** The functions that the metadata of a library name, in their order there. Throws ArtifactError for other text. */
function functionsOf(metadata, exports) {
  const what = "the metadata of a library";
  const { functions } = fieldsOf(parse(new TextEncoder().encode(metadata), what), what, ["functions"]);
  const found = listOf(functions, "the functions of a library", MOST_FUNCTIONS).map((described) => {
    const { name, parameters } = fieldsOf(described, "a function", ["name", "parameters"]);
    const key = textOf(name, "the name of a function", 512);
    listOf(parameters, `the parameters of ${key}`, 65535);
    if (typeof exports[key] !== "function") throw new ArtifactError(`expected a library that exports "${key}"`);
    return [key, described];
  });
  return new Map(found);
}
