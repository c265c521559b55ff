/** A loaded network: arrays by name in, arrays by name out. */

import { contentOf, parameterOf, readArtifact } from "./artifact.js";
import { fieldsOf, listOf, parse } from "./checked_json.js";
import { ELEMENT_TYPES } from "./element_types.js";
import { checkTarget } from "./engine.js";
import { ArgumentError, ArtifactError, ExecutionError } from "./errors.js";
import { MemoryPlan, describe, grow, memoryOf, textAt } from "./memory.js";
import { importedMemory, unshared } from "./memory_import.js";
import { Tensor, countOf, isArrayOf, nameOf } from "./tensor.js";
import { STACK_BYTES, canShareMemory, startThreads, stopThreads } from "./threads.js";
import { TimeResult } from "./timing.js";

const ENTRY = "run";
const LEAST_BLOCK_BYTES = 64;
const ABI_VERSION = 2;
const EXPORTS = [ENTRY, "__heap_base", "sateen_abi_version", "sateen_status_message", "sateen_metadata"];
const UINT8 = ELEMENT_TYPES.get("uint8");

/** A network that is ready to run. `inputs` and `outputs` tell names, element types and shapes. */
export class Model {
  #artifact;
  #exports;
  #memory;
  #arrays;
  #pointers;
  #threads;
  #state = { isOpen: true };

  /** Use `load`, which makes models. */
  constructor(artifact, exports, memory, arrays, pointers, threads) {
    this.#artifact = artifact;
    this.#exports = exports;
    this.#memory = memory;
    this.#arrays = arrays;
    this.#pointers = pointers;
    this.#threads = threads;
    Object.freeze(this);
  }

  get inputs() {
    return this.#artifact.inputs;
  }

  get outputs() {
    return this.#artifact.outputs;
  }

  /** What the elements along the last axis of an output are called, by its name, where the model tells. */
  get labels() {
    return this.#artifact.labels;
  }

  get target() {
    return this.#artifact.target;
  }

  /** The threads of a run, the caller's among them. */
  get threads() {
    return 1 + this.#threads.length;
  }

  /** End the threads. The model can't run from then on. */
  close() {
    stopThreads(this.#threads);
    this.#state.isOpen = false;
  }

  /**
   * The outputs by name, new tensors. An input is an array of its element type in row-major order, or a tensor.
   *
   * Throws ArgumentError for inputs that don't fit, ExecutionError if the network fails.
   */
  async run(inputs) {
    this.#give(inputs);
    this.#call();
    return this.#results();
  }

  /**
   * Times `repeat` samples of `number` runs each, after one run that is not counted. If a sample would last less than
   * `minSeconds`, `number` is raised until it does not.
   */
  async time(inputs, { number = 1, repeat = 10, minSeconds = 0 } = {}) {
    const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
    if (!isCount(number) || !isCount(repeat) || !(minSeconds >= 0 && minSeconds < Infinity)) {
      throw new ArgumentError(
        "expected number and repeat of 1 or more and a finite minSeconds of 0 or more, " +
          `found number=${number}, repeat=${repeat}, minSeconds=${minSeconds}`,
      );
    }
    this.#give(inputs);
    this.#call();
    let count = number;
    for (let seconds = this.#sample(count); seconds < minSeconds; seconds = this.#sample(count)) {
      const growth = seconds > 0 ? (minSeconds / seconds) * 1.2 : 10;
      count = Math.floor(count * Math.min(Math.max(growth, 1.5), 10)) + 1;
    }
    return new TimeResult(
      Array.from({ length: repeat }, () => this.#sample(count) / count),
      count,
    );
  }

  #sample(number) {
    const start = performance.now();
    for (let i = 0; i < number; i++) this.#call();
    return (performance.now() - start) / 1000;
  }

  /** Copy the inputs into memory. */
  #give(inputs) {
    if (typeof inputs !== "object" || inputs === null || ArrayBuffer.isView(inputs) || Array.isArray(inputs)) {
      throw new ArgumentError(
        `run: expected an object of arrays by name, for ${listed(this.inputs)}; found ${nameOf(inputs)}`,
      );
    }
    for (const name of Object.keys(inputs)) {
      if (!this.inputs.some((p) => p.name === name)) {
        throw new ArgumentError(`run: expected inputs ${listed(this.inputs)}; found "${name}"`);
      }
    }
    const given = this.inputs.map((parameter) => elementsOf(parameter, inputs[parameter.name]));
    given.forEach((elements, index) => {
      const { data, bytes } = this.#arrays[index];
      const source = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
      new Uint8Array(this.#memory.buffer, data, bytes).set(source);
    });
  }

  #call() {
    if (!this.#state.isOpen) throw new ArgumentError("run: expected an open model, found a closed one");
    let status;
    try {
      status = this.#exports[ENTRY](0, this.#pointers, this.#arrays.length);
    } catch (error) {
      throw new ExecutionError(`run: the network ended with ${error.name}: ${error.message}`, { cause: error });
    }
    if (status !== 0) {
      const message = textAt(this.#memory, this.#exports.sateen_status_message(status));
      throw new ExecutionError(`run: ${message} (argument ${(status >> 8) & 0xffff})`);
    }
  }

  #results() {
    const first = this.inputs.length;
    const tensors = this.outputs.map(({ name, type, shape }, index) => {
      const { data } = this.#arrays[first + index];
      const elements = new type.array(this.#memory.buffer, data, countOf(shape)).slice();
      return [name, new Tensor(elements, shape, type.name)];
    });
    return Object.fromEntries(tensors);
  }
}

/** The network of an artifact in bytes, its module compiled and its parameters in memory. */
export async function modelOf(bytes, threads) {
  const artifact = await readArtifact(bytes);
  checkTarget(artifact.target);
  const library = await contentOf(artifact.library);
  const compiled = await moduleOf(library);
  const imported = importedMemory(library);
  const isShared = imported.isShared && threads > 1 && canShareMemory();
  const module = imported.isShared && !isShared ? await moduleOf(unshared(library, imported)) : compiled;
  const memory = memoryOf({ ...imported, isShared });
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } });

  const plan = new MemoryPlan(exports.__heap_base.value);
  const blocks = [artifact.parameters.bytes.length, artifact.workspaceBytes].map((bytes) => ({
    type: UINT8,
    shape: [Math.max(bytes, LEAST_BLOCK_BYTES)],
  }));
  for (const { type, shape } of [...artifact.inputs, ...artifact.outputs, ...blocks]) plan.add(type, shape);
  const pointers = plan.addPointers();
  const stacks = Array.from({ length: isShared ? threads - 1 : 0 }, () => plan.addStack(STACK_BYTES));
  checkLibrary(exports, memory, plan.arrays);
  grow(memory, plan.pages);
  const parameters = plan.arrays.at(-2).data;
  for await (const { start, leaf } of artifact.parameters.checkedLeaves()) {
    new Uint8Array(memory.buffer, parameters + start, leaf.length).set(leaf);
  }
  describe(memory, plan.arrays, pointers);
  const workers = await startThreads(module, memory, stacks);
  return new Model(artifact, exports, memory, plan.arrays, pointers, workers);
}

async function moduleOf(library) {
  let module;
  try {
    module = await WebAssembly.compile(library);
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

/** Throws ArtifactError unless the library says of itself what the manifest says. */
function checkLibrary(exports, memory, arrays) {
  if (exports.sateen_abi_version() !== ABI_VERSION) {
    throw new ArtifactError(`expected a library of ABI ${ABI_VERSION}, found ${exports.sateen_abi_version()}`);
  }
  const what = "the metadata of a library";
  const metadata = fieldsOf(parse(new TextEncoder().encode(textAt(memory, exports.sateen_metadata.value)), what), what, [
    "functions",
  ]);
  const functions = listOf(metadata.functions, "the functions of a library", 1 << 20);
  const entry = functions.find(({ name }) => name === ENTRY);
  const found = listOf(entry?.parameters, `the parameters of ${ENTRY}`, 65535).map((p) => parameterOf(p, "arguments"));
  const form = ({ type, shape }) => `${type.name}[${shape}]`;
  if (found.map(form).join() !== arrays.map(form).join()) {
    throw new ArtifactError(
      `expected a library of ${arrays.map(form).join(", ")}, as the manifest says, found ${found.map(form).join(", ")}: ` +
        "it belongs to another artifact; compile the model again",
    );
  }
}

/** The elements of an input that fits its parameter. Throws ArgumentError for another one. */
function elementsOf(parameter, value) {
  if (value === undefined) throw new ArgumentError(`run: expected an input for ${parameter}, found none`);
  const isTensor = !ArrayBuffer.isView(value) && ArrayBuffer.isView(value?.data);
  const elements = isTensor ? value.data : value;
  const dtype = isTensor ? value.dtype : undefined;
  if (!isArrayOf(elements, parameter.type) || (dtype !== undefined && dtype !== parameter.dtype)) {
    const found = dtype === undefined ? nameOf(elements) : `${dtype} in ${nameOf(elements)}`;
    throw new ArgumentError(
      `run: ${parameter.name}: expected ${parameter.dtype} in ${parameter.type.array.name}, found ${found}`,
    );
  }
  const expected = `[${parameter.shape.join(", ")}]`;
  if (isTensor && value.shape !== undefined && `[${[...value.shape].join(", ")}]` !== expected) {
    throw new ArgumentError(`run: ${parameter.name}: expected shape ${expected}, found [${[...value.shape].join(", ")}]`);
  }
  if (elements.length !== countOf(parameter.shape)) {
    throw new ArgumentError(
      `run: ${parameter.name}: expected ${countOf(parameter.shape)} elements, for ${expected}, found ${elements.length}`,
    );
  }
  return elements;
}

function listed(parameters) {
  return parameters.join(", ") || "none";
}
