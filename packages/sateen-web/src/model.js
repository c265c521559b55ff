/** A loaded network: arrays by name in, arrays by name out. */

import { readArtifact } from "./artifact.js";
import { checkTarget, deviceOf } from "./engine.js";
import { ArgumentError } from "./errors.js";
import { Tensor, countOf, isArrayOf, nameOf } from "./tensor.js";
import { WasmNetwork } from "./wasm_network.js";
import { LaunchedNetwork } from "./webgpu/launched_network.js";

const NETWORKS = { wasm: WasmNetwork, webgpu: LaunchedNetwork };

/** A network that is ready to run. `inputs` and `outputs` tell names, element types and shapes. */
export class Model {
  #artifact;
  #network;

  /** Use `load`, which makes models. `refusal` is why it does not run on the device that was preferred. */
  constructor(artifact, network, refusal) {
    this.#artifact = artifact;
    this.#network = network;
    this.refusal = refusal;
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

  /** What runs the network: "wasm" or "webgpu". */
  get device() {
    return this.#network.device;
  }

  /** What a device of WebGPU calls itself. */
  get deviceName() {
    return this.#network.deviceName;
  }

  /** The threads of a run, the caller's among them. */
  get threads() {
    return this.#network.threads;
  }

  /** The bytes of the network's memory. */
  get memoryBytes() {
    return this.#network.memoryBytes;
  }

  /** End the threads, or the use of the device. The model can't run from then on. */
  close() {
    this.#network.close();
  }

  /**
   * The outputs by name, new tensors. An input is an array of its element type in row-major order, or a tensor.
   *
   * Throws ArgumentError for inputs that don't fit, ExecutionError if the network fails, DeviceLostError.
   */
  async run(inputs) {
    const results = await this.#network.run(this.#given(inputs));
    const tensors = this.outputs.map(({ name, type, shape }, i) => {
      return [name, new Tensor(new type.array(results[i].buffer), shape, type.name)];
    });
    return Object.fromEntries(tensors);
  }

  /**
   * Times `repeat` samples of `number` runs each, after runs that are not counted: one, and of WebAssembly the first time
   * those of a tenth of a second, in which the engine compiles the network once more. If a sample would last less than
   * `minSeconds`, `number` is raised until it does not.
   */
  async time(inputs, options) {
    return this.#network.time(this.#given(inputs), options);
  }

  /** The elements of the inputs in their order. */
  #given(inputs) {
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
    return this.inputs.map((parameter) => elementsOf(parameter, inputs[parameter.name]));
  }
}

/** The network of an artifact in bytes, ready to run; options as of `load`, and why another device was passed over. */
export async function modelOf(bytes, { device, refusal, ...options }) {
  const artifact = await readArtifact(bytes);
  const found = deviceOf(artifact.target, device);
  if (found === "wasm") checkTarget(artifact.target);
  return new Model(artifact, await NETWORKS[found].of(artifact, options), refusal);
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
