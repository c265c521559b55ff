/** A loaded network: arrays by name in, arrays by name out. */

import { contentOf, parameterOf, readArtifact } from "./artifact.js";
import { ELEMENT_TYPES } from "./element_types.js";
import { checkTarget } from "./engine.js";
import { ArgumentError, ArtifactError } from "./errors.js";
import { Library } from "./library.js";
import { Tensor, countOf, isArrayOf, nameOf } from "./tensor.js";
import { timed } from "./timing.js";

const ENTRY = "run";
const LEAST_BLOCK_BYTES = 64;
const UINT8 = ELEMENT_TYPES.get("uint8");

/** A network that is ready to run. `inputs` and `outputs` tell names, element types and shapes. */
export class Model {
  #artifact;
  #library;
  #arrays;
  #call;

  /** Use `load`, which makes models. */
  constructor(artifact, library, arrays) {
    this.#artifact = artifact;
    this.#library = library;
    this.#arrays = arrays;
    this.#call = library.bind(ENTRY, arrays);
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
    return this.#library.threads;
  }

  /** The bytes of the network's memory. */
  get memoryBytes() {
    return this.#library.memoryBytes;
  }

  /** End the threads. The model can't run from then on. */
  close() {
    this.#library.close();
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
   * Times `repeat` samples of `number` runs each, after runs that are not counted: one, and the first time those of a
   * tenth of a second, in which the engine compiles the network once more. If a sample would last less than
   * `minSeconds`, `number` is raised until it does not.
   */
  async time(inputs, options) {
    this.#give(inputs);
    this.#library.warm(ENTRY, this.#call);
    return timed(this.#call, options);
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
      const source = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
      this.#library.bytesOf(this.#arrays[index]).set(source);
    });
  }

  #results() {
    const first = this.inputs.length;
    const tensors = this.outputs.map(({ name, type, shape }, index) => {
      const bytes = this.#library.bytesOf(this.#arrays[first + index]).slice();
      return [name, new Tensor(new type.array(bytes.buffer), shape, type.name)];
    });
    return Object.fromEntries(tensors);
  }
}

/** The network of an artifact in bytes, its module compiled and its parameters in memory; options as of `load`. */
export async function modelOf(bytes, options) {
  const artifact = await readArtifact(bytes);
  checkTarget(artifact.target);
  const library = await Library.of(await contentOf(artifact.library), options);
  try {
    const blocks = [artifact.parameters.bytes.length, artifact.workspaceBytes].map((size) => ({
      type: UINT8,
      shape: [Math.max(size, LEAST_BLOCK_BYTES)],
    }));
    const parameters = [...artifact.inputs, ...artifact.outputs, ...blocks];
    checkEntry(library, parameters);
    const arrays = parameters.map(({ type, shape }) => library.room(type, shape));
    const model = new Model(artifact, library, arrays);
    for await (const { start, leaf } of artifact.parameters.checkedLeaves()) {
      library.bytesOf(arrays.at(-2)).set(leaf, start);
    }
    return model;
  } catch (error) {
    library.close();
    throw error;
  }
}

/** Throws ArtifactError unless the library says of itself what the manifest says. */
function checkEntry(library, expected) {
  const found = (library.functions.get(ENTRY)?.parameters ?? []).map((p) => parameterOf(p, "arguments"));
  const forms = (parameters) => parameters.map(({ type, shape }) => `${type.name}[${shape}]`).join(", ");
  if (forms(found) !== forms(expected)) {
    throw new ArtifactError(
      `expected a library of ${forms(expected)}, as the manifest says, found ${forms(found)}: ` +
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
