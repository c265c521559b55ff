/** Runs networks that sateen compiled to WebAssembly or for WebGPU, in browsers and Node. */

export type ElementTypeName =
  | "int8" | "int16" | "int32" | "int64"
  | "uint8" | "uint16" | "uint32" | "uint64"
  | "float16" | "float32" | "float64" | "bfloat16"
  | "bool" | "float8_e4m3fn" | "float8_e5m2";

/**
 * The array that holds elements: of int64 BigInt64Array, of uint64 BigUint64Array, of bool Uint8Array with 0 and 1. The
 * bits of float16 and bfloat16 are in a Uint16Array, those of float8 in a Uint8Array.
 */
export type Elements =
  | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint16Array | Uint32Array | BigUint64Array
  | Float32Array | Float64Array;

/** An array with its shape and the name of its element type. */
export class Tensor {
  /** Throws ArgumentError if the array has another class or length than type and shape say. */
  constructor(data: Elements, shape: Iterable<number>, dtype?: ElementTypeName);
  /**
   * Numbers as a tensor: rounded for float16 and bfloat16, otherwise as the array of the type converts them. Throws
   * ArgumentError for int64, uint64 and float8.
   */
  static of(numbers: Iterable<number>, shape: Iterable<number>, dtype: ElementTypeName): Tensor;
  /** The elements as numbers: those of float16 and bfloat16 decoded, of int64 rounded. Throws for float8. */
  numbers(): number[];
  readonly data: Elements;
  readonly shape: readonly number[];
  readonly dtype: ElementTypeName;
  toString(): string;
}

/** One array that a network takes or gives. */
export interface Parameter {
  readonly name: string;
  readonly dtype: ElementTypeName;
  readonly shape: readonly number[];
  readonly alignment: number;
  readonly bytes: number;
  readonly isOutput: boolean;
}

/** An array of the input's element type in row-major order, or the same with its shape. */
export type Input = Elements | { data: Elements; shape?: Iterable<number>; dtype?: ElementTypeName };

export interface TimeOptions {
  /** Runs per sample; 1 by default. */
  number?: number;
  /** Samples; 10 by default. */
  repeat?: number;
  /** The least seconds of a sample, for which `number` is raised; 0 by default. */
  minSeconds?: number;
}

/** `samples` are seconds per run, in the order measured, each the mean of `number` runs in a row. */
export class TimeResult {
  constructor(samples: number[], number: number);
  readonly samples: readonly number[];
  readonly number: number;
  readonly median: number;
  readonly minimum: number;
  /** The range between the quartiles over the median. */
  readonly spread: number;
  toString(): string;
}

/** What runs networks. */
export type DeviceName = "webgpu" | "wasm";

/** A network that is ready to run; `load` makes it. */
export class Model {
  private constructor();
  readonly inputs: readonly Parameter[];
  readonly outputs: readonly Parameter[];
  /** What the elements along the last axis of an output are called, by its name, where the model tells. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly target: string;
  /** What runs the network. */
  readonly device: DeviceName;
  /** What a device of WebGPU calls itself; of WebAssembly nothing. */
  readonly deviceName: string;
  /** Why a network that has an artifact for WebGPU runs on WebAssembly; otherwise undefined. */
  readonly refusal: DeviceError | undefined;
  /** The threads of a run, the caller's among them. */
  readonly threads: number;
  /** The bytes of the network's memory. */
  readonly memoryBytes: number;
  /**
   * The outputs by name, new tensors. Throws ArgumentError for inputs that don't fit, ExecutionError for a failure,
   * DeviceLostError if the device is gone.
   */
  run(inputs: Record<string, Input>): Promise<Record<string, Tensor>>;
  /** Times samples of runs, after some that are not counted, in which an engine of WebAssembly compiles it once more. */
  time(inputs: Record<string, Input>, options?: TimeOptions): Promise<TimeResult>;
  /** End the threads, or the use of the device. The model can't run from then on. */
  close(): void;
}

export interface LoadOptions {
  /** The most threads of a run, to 256; 1 by default. Artifacts for `wasm32-threads` use them where memory can be shared. */
  threads?: number;
  /** The most bytes of the network's memory, which for WebAssembly has at most 4 GiB. */
  memoryBytes?: number;
  /** The one thing that may run the network. */
  device?: DeviceName;
  /** What has adapters of WebGPU: `navigator.gpu` by default. It has `requestAdapter` of WebGPU's `GPU`. */
  gpu?: { requestAdapter(): Promise<unknown> };
}

/** Where an artifact is: its bytes, or a URL as text or value, relative to the page, or `file:` in Node. */
export type Source = ArrayBuffer | ArrayBufferView | string | URL;

/**
 * The network of an artifact; or of one of each kind: WebGPU's where the browser has a device for it, otherwise
 * WebAssembly's, with the reason in `refusal` of the model.
 *
 * Throws ArtifactError for an artifact that can't be fetched, is damaged, or made for another machine, DeviceError if
 * there is no device of WebGPU for it, OutOfMemoryError if there is no memory for it, ArgumentError for a source of
 * another kind and for options without meaning.
 */
export function load(source: Source | { webgpu: Source; wasm: Source }, options?: LoadOptions): Promise<Model>;

/** The base of all errors that this package throws for a fault outside itself. */
export class SateenError extends Error {}
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
