/** Runs networks that sateen compiled to WebAssembly or for WebGPU, in browsers and Node. */

export {
  ArgumentError,
  ArtifactError,
  DeviceError,
  DeviceLostError,
  ExecutionError,
  OutOfMemoryError,
  SateenError,
} from "./errors.js";
export { load } from "./load.js";
export { Model } from "./model.js";
export { Tensor } from "./tensor.js";
export { TimeResult } from "./timing.js";
