/** The errors of this package. A message says what was expected and what was found. */

/** The base of all errors that this package throws for a fault outside itself. */
export class SateenError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** Inputs of the wrong name, element type or shape, or an option without meaning. */
export class ArgumentError extends SateenError {}

/** An artifact that can't be read, is damaged, of another version, or made for another machine. */
export class ArtifactError extends SateenError {}

/** There is no device of WebGPU, or it lacks what a network needs, or refuses its code. */
export class DeviceError extends SateenError {}

/** A device of WebGPU that is gone: its models can't run any more, and are to be loaded again. */
export class DeviceLostError extends DeviceError {}

/** Compiled code that ran and failed. */
export class ExecutionError extends SateenError {}

/** There is no memory for a network. */
export class OutOfMemoryError extends ExecutionError {}
