/** A device of WebGPU that is open: its limits, its name, and what its failures mean. */

import { ArgumentError, DeviceError, DeviceLostError, OutOfMemoryError } from "../errors.js";

const FEATURES = new Map([["f16", "shader-f16"], ["subgroups", "subgroups"]]); // by WGSL's extension
const LIMITS = [
  "maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxUniformBufferBindingSize",
  "minStorageBufferOffsetAlignment", "minUniformBufferOffsetAlignment", "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ", "maxComputeWorkgroupsPerDimension",
];
const LAVAPIPE = /llvmpipe|lavapipe/i;
const LAVAPIPE_ITERATIONS = 65535;
const SCOPES = ["validation", "out-of-memory", "internal"];

/** The adapter that a browser gives. Throws DeviceError where there is none. */
export async function adapterOf(gpu) {
  if (gpu === undefined || gpu === null) {
    throw new DeviceError(
      "expected WebGPU, found no navigator.gpu: use a browser that has it, on a page that comes over https or from " +
        "localhost",
    );
  }
  const adapter = await gpu.requestAdapter();
  if (adapter === null) {
    throw new DeviceError("expected a device of WebGPU, found none: the browser gives no adapter for this machine's");
  }
  return adapter;
}

/** A device, and all that is made on it. Its calls throw DeviceLostError once it is lost, ArgumentError once closed. */
export class Gpu {
  #device;
  #isClosed = false;
  #loss;

  /** `mostIterations` are those of all loops of a thread together after which the device ends them. */
  constructor(name, device, mostIterations) {
    this.name = name;
    this.mostIterations = mostIterations;
    this.#device = device;
    device.lost.then(({ reason, message }) => (this.#loss = message || reason || "the browser does not say why"));
  }

  /**
   * The device of a browser's adapter, with all that the adapter offers of its limits, and the features that WGSL's
   * extensions need. Throws DeviceError for a missing device or feature.
   */
  static async open(gpu, extensions) {
    const adapter = await adapterOf(gpu);
    const name = nameOf(adapter);
    const features = extensions.map((extension) => FEATURES.get(extension) ?? extension);
    const missing = features.filter((feature) => !adapter.features.has(feature));
    if (missing.length > 0) {
      throw new DeviceError(`${name}: expected a device with ${missing.join(", ")}, which the network needs, found none`);
    }
    const requiredLimits = Object.fromEntries(LIMITS.map((limit) => [limit, adapter.limits[limit]]));
    try {
      const device = await adapter.requestDevice({ requiredFeatures: features, requiredLimits });
      return new Gpu(name, device, isLavapipe(adapter) ? LAVAPIPE_ITERATIONS : Infinity);
    } catch (error) {
      throw new DeviceError(`${name}: expected to open the device: ${error.message}`, { cause: error });
    }
  }

  get limits() {
    return this.#device.limits;
  }

  /** Work on the device, awaited with all errors that it makes. `what` says what it is, in the infinitive. */
  async told(what, work) {
    this.#requireUsable();
    SCOPES.forEach((scope) => this.#device.pushErrorScope(scope));
    let result;
    let scopes;
    try {
      result = work(this.#device);
    } finally {
      scopes = [...SCOPES].reverse().map((scope) => this.#device.popErrorScope().then((error) => [scope, error]));
    }
    const errors = (await Promise.allSettled(scopes)).map(({ value }) => value ?? []); // of a lost device some reject
    this.#requireUsable();
    for (const [scope, error] of errors) {
      if (error) throw this.#failure(scope, what, error);
    }
    return result;
  }

  /** Waits for a promise of the device that fails only if the device is lost or closed. */
  async waited(promise) {
    try {
      await promise;
    } catch {
      await this.#device.lost;
    }
    this.#requireUsable();
  }

  /** End its use, and that of all its memory. */
  close() {
    this.#isClosed = true;
    this.#device.destroy();
  }

  #requireUsable() {
    if (this.#isClosed) throw new ArgumentError("run: expected an open model, found a closed one");
    if (this.#loss !== undefined) {
      throw new DeviceLostError(`${this.name}: the device is lost: ${this.#loss}; load the model again`);
    }
  }

  #failure(scope, what, { message }) {
    if (scope === "out-of-memory") return new OutOfMemoryError(`${this.name}: expected to ${what}: ${message}`);
    return new DeviceError(`${this.name}: expected to ${what}, but it is refused: ${message}`);
  }
}

/** Whether an adapter is Mesa's driver for processors. */
function isLavapipe({ info }) {
  return [info?.vendor, info?.architecture, info?.device, info?.description].some((text) => LAVAPIPE.test(text));
}

/** What an adapter says of itself. */
function nameOf({ info }) {
  const words = info?.description || [info?.vendor, info?.architecture, info?.device].filter(Boolean).join(" ");
  return words || "a device without a name";
}
