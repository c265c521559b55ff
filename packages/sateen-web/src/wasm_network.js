/** A network as a library of WebAssembly: its arrays, parameters and workspace in the library's memory. */

import { contentOf, parameterOf } from "./artifact.js";
import { ELEMENT_TYPES } from "./element_types.js";
import { ArtifactError } from "./errors.js";
import { Library } from "./library.js";
import { timed } from "./timing.js";

const ENTRY = "run";
const PACK = "pack";
const LEAST_BLOCK_BYTES = 64;
const UINT8 = ELEMENT_TYPES.get("uint8");

/** The network of an artifact, its module compiled and its parameters in memory. */
export class WasmNetwork {
  #artifact;
  #library;
  #arrays;
  #call;

  /** Use `WasmNetwork.of`, which makes networks. */
  constructor(artifact, library, arrays) {
    this.#artifact = artifact;
    this.#library = library;
    this.#arrays = arrays;
    this.#call = library.bind(ENTRY, arrays);
    this.device = "wasm";
    this.deviceName = "";
  }

  /** The network of a checked artifact; options as of `load`. */
  static async of(artifact, options) {
    const library = await Library.of(await contentOf(artifact.library), options);
    try {
      const [stored, workspace] = artifact.blocks.slice(-2).map(({ size }) => block(size));
      const packed = artifact.packing === undefined ? [] : [block(artifact.packing.packed)];
      const parameters = [...artifact.inputs, ...artifact.outputs, stored, ...packed, workspace];
      checkFunction(library, ENTRY, parameters);
      const arrays = parameters.map(({ type, shape }) => library.room(type, shape));
      const network = new WasmNetwork(artifact, library, arrays);
      const place = arrays.at(-2 - packed.length);
      for await (const { start, leaf } of artifact.parameters.checkedLeaves()) {
        library.bytesOf(place).set(leaf, start);
      }
      if (artifact.packing !== undefined) {
        const scratch = block(artifact.packing.workspace);
        checkFunction(library, PACK, [stored, ...packed, scratch]);
        library.bind(PACK, [place, arrays.at(-2), library.room(scratch.type, scratch.shape)])();
      }
      return network;
    } catch (error) {
      library.close();
      throw error;
    }
  }

  get threads() {
    return this.#library.threads;
  }

  get memoryBytes() {
    return this.#library.memoryBytes;
  }

  /** The bytes of the outputs for the elements of the inputs. Throws ExecutionError if the network fails. */
  run(given) {
    this.#give(given);
    this.#call();
    const first = this.#artifact.inputs.length;
    return this.#artifact.outputs.map((_, i) => this.#library.bytesOf(this.#arrays[first + i]).slice());
  }

  /** Times runs on inputs that are copied once; options and result as of `timed`. */
  time(given, options) {
    this.#give(given);
    this.#library.warm(ENTRY, this.#call);
    return timed(this.#call, options);
  }

  close() {
    this.#library.close();
  }

  #give(given) {
    given.forEach((elements, i) => {
      const source = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
      this.#library.bytesOf(this.#arrays[i]).set(source);
    });
  }
}

/** Bytes that a function takes. */
function block(size) {
  return { type: UINT8, shape: [Math.max(size, LEAST_BLOCK_BYTES)] };
}

/** Throws ArtifactError unless the library says of a function what the manifest says. */
function checkFunction(library, name, expected) {
  const found = (library.functions.get(name)?.parameters ?? []).map((p) => parameterOf(p, "arguments"));
  const forms = (parameters) => parameters.map(({ type, shape }) => `${type.name}[${shape}]`).join(", ");
  if (forms(found) !== forms(expected)) {
    throw new ArtifactError(
      `expected a library of ${forms(expected)}, as the manifest says, found ${forms(found)}: ` +
        "it belongs to another artifact; compile the model again",
    );
  }
}
