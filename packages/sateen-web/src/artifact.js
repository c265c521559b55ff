/**
 * Reads an artifact (docs/artifact.md of sateen): header, manifest, library and parameters.
 *
 * Nothing is used before it is checked: each value of the manifest by its type and range, each part by its digest.
 */

import { booleanOf, fieldsOf, integerOf, listOf, objectOf, parse, textOf } from "./checked_json.js";
import { digestOf, hexadecimal } from "./digest.js";
import { ELEMENT_TYPES } from "./element_types.js";
import { ArtifactError } from "./errors.js";
import { actionsOf, stepsOf } from "./actions.js";
import { countOf } from "./tensor.js";

const MAGIC = [0x89, 0x53, 0x41, 0x54, 0x4e, 0x0d, 0x0a, 0x1a];
const FORMAT = 1;
const HEADER_BYTES = 64;
const DIGEST_BYTES = 32;
const PAGE = 4096;
const LEAF_BYTES = 4 << 20;
const SECTIONS = ["library", "parameters"];
const DEVICE_SECTION = "kernels"; // which artifacts for devices have
const PACKING_SECTION = "packing"; // of artifacts whose library packs the parameters
const KNOWN = [...SECTIONS, DEVICE_SECTION, PACKING_SECTION];
const MOST_PACKING_BYTES = 4096;
const LEAST_BLOCK_BYTES = 64;
const ENTRY = "run";
const MOST_BYTES = 2 ** 48;
const MOST_MANIFEST_BYTES = 64 << 20;
const MOST_PARAMETERS = 65535;
const MOST_DIMENSIONS = 64;
const MOST_DEVICES = 64;
const MOST_LABELS = 1 << 20;

/** A part of an artifact: a view of its bytes, and the digests of its leaves of 4 MiB. */
class Section {
  constructor(name, bytes, leaves) {
    this.name = name;
    this.bytes = bytes;
    this.leaves = leaves;
  }

  /** Copies of the leaves with their places, each checked: what is used is what was checked. */
  async *checkedLeaves() {
    for (const [index, expected] of this.leaves.entries()) {
      const start = index * LEAF_BYTES;
      const leaf = this.bytes.slice(start, start + LEAF_BYTES);
      if ((await digestOf(leaf)) !== expected) {
        throw new ArtifactError(
          `section "${this.name}" does not have its digest in leaf ${index} of 4 MiB: ` +
            "the file was altered or damaged; copy it again",
        );
      }
      yield { start, leaf };
    }
  }
}

/** One array that a network takes or gives. */
class Parameter {
  constructor(name, type, shape, alignment, isOutput) {
    this.name = name;
    this.type = type;
    this.shape = Object.freeze(shape);
    this.alignment = alignment;
    this.isOutput = isOutput;
    Object.freeze(this);
  }

  get dtype() {
    return this.type.name;
  }

  get bytes() {
    return countOf(this.shape) * this.type.bytes;
  }

  toString() {
    return `${this.name}: ${this.dtype}[${this.shape.join(", ")}]`;
  }
}

/**
 * The artifact in bytes, its manifest checked; `library`, `parameters` and, for a device, `kernels` are sections,
 * checked when they are read. `memory` is what each device has, {isHost, arrays, parameters, workspace}, and `blocks` are
 * the parts of memory of a run, {size, isHost}: inputs, outputs, then parameters and workspace of each device. `packing`
 * are the bytes of packed parameters and of the workspace that packing them takes, {packed, workspace}, or nothing.
 *
 * Throws ArtifactError for bytes that are cut short, altered, of another version or no artifact.
 */
export async function readArtifact(bytes) {
  const { first, manifest } = await manifestOf(bytes);
  const keys = ["producer", "target", "inputs", "outputs", "variants", "sections"];
  const fields = fieldsOf(parse(manifest, "the manifest"), "the manifest", keys);
  const sections = sectionsOf(fields.sections, first, bytes);
  const inputs = parametersOf(fields.inputs, "inputs");
  const outputs = parametersOf(fields.outputs, "outputs");
  const parameterBytes = sections.get("parameters").bytes.length;
  const memory = memoryOf(fields, inputs.length + outputs.length, parameterBytes);
  const blocks = blocksOf(memory, [...inputs, ...outputs]);
  const steps = stepsOf(fields.steps ?? []);
  return {
    producer: textOf(fields.producer, "the producer", 512),
    target: textOf(fields.target, "the target", 65536),
    inputs,
    outputs,
    memory,
    blocks,
    labels: labelsOf(fields.labels ?? {}, outputs),
    library: sections.get("library"),
    parameters: sections.get("parameters"),
    kernels: sections.get(DEVICE_SECTION),
    packing: await packingOf(sections, parameterBytes),
    steps,
    actions: actionsOf(fields.launches ?? [], blocks, steps.length),
  };
}

/** The checked bytes of a section, in one piece. */
export async function contentOf(section) {
  const content = new Uint8Array(section.bytes.length);
  for await (const { start, leaf } of section.checkedLeaves()) content.set(leaf, start);
  return content;
}

async function manifestOf(bytes) {
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) {
    throw new ArtifactError("expected an artifact that sateen compiled, found another kind of file");
  }
  if (bytes.length < HEADER_BYTES) throw endsEarly(bytes.length, `at least ${HEADER_BYTES}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const version = view.getUint32(8, true);
  if (version !== FORMAT) {
    const [older, advice] =
      version > FORMAT ? ["sateen-web", "renew sateen-web"] : ["the artifact", "compile the model again"];
    throw new ArtifactError(`expected format ${FORMAT}, found format ${version}: ${older} is older; ${advice}`);
  }
  const first = view.getUint32(12, true);
  const start = Number(view.getBigUint64(16, true));
  const size = Number(view.getBigUint64(24, true));
  if (size > MOST_MANIFEST_BYTES || start < HEADER_BYTES || start + size > first) {
    throw new ArtifactError(
      `expected a manifest between the header and the sections at byte ${first}, found ${size} bytes at ${start}: ` +
        "the file is damaged; copy it again",
    );
  }
  if (bytes.length < first) throw endsEarly(bytes.length, `at least ${first}`);
  const manifest = bytes.slice(start, start + size);
  if ((await digestOf(manifest)) !== hexadecimal(bytes.subarray(HEADER_BYTES - DIGEST_BYTES, HEADER_BYTES))) {
    throw new ArtifactError("the manifest does not have its digest: the file was altered or damaged; copy it again");
  }
  return { first, manifest };
}

function endsEarly(found, expected) {
  return new ArtifactError(
    `the artifact ends after ${found} of ${expected} bytes: it is cut short or damaged; copy it again`,
  );
}

function sectionsOf(value, first, bytes) {
  const found = new Map();
  let whole = first;
  for (const [name, place] of Object.entries(objectOf(value, "the sections"))) {
    const what = `section "${name}"`;
    const fields = fieldsOf(place, what, ["offset", "size", "required", "leaves"]);
    const start = first + integerOf(fields.offset, `the offset of ${what}`, 0, MOST_BYTES);
    const size = integerOf(fields.size, `the size of ${what}`, 0, MOST_BYTES);
    const count = Math.ceil(size / LEAF_BYTES);
    const leaves = listOf(fields.leaves, `the digests of ${what}`, count);
    if (booleanOf(fields.required, `whether ${what} is required`) && !KNOWN.includes(name)) {
      throw new ArtifactError(`${what} is required, but this sateen-web does not know it; renew sateen-web`);
    }
    if (start % PAGE !== 0) {
      throw new ArtifactError(`expected ${what} at a multiple of ${PAGE} bytes, found it at ${start}`);
    }
    if (leaves.length !== count) {
      throw new ArtifactError(`expected ${count} digests of ${what}, found ${leaves.length}`);
    }
    const digests = leaves.map((leaf) => textOf(leaf, `a digest of ${what}`, 2 * DIGEST_BYTES, 2 * DIGEST_BYTES));
    whole = Math.max(whole, start + size);
    found.set(name, new Section(name, bytes.subarray(start, start + size), digests));
  }
  if (whole > bytes.length) throw endsEarly(bytes.length, `${whole}`);
  for (const name of SECTIONS) {
    if (!found.has(name)) {
      throw new ArtifactError(`expected a section "${name}", found ${[...found.keys()].join(", ") || "none"}`);
    }
  }
  return found;
}

async function packingOf(sections, parameterBytes) {
  const section = sections.get(PACKING_SECTION);
  if (section === undefined) return undefined;
  if (sections.has(DEVICE_SECTION) || section.bytes.length > MOST_PACKING_BYTES) {
    const found = sections.has(DEVICE_SECTION) ? "one for kernels of devices" : `${section.bytes.length} bytes`;
    throw new ArtifactError(`expected a packing for a library, of at most ${MOST_PACKING_BYTES} bytes, found ${found}`);
  }
  const what = "the packing of parameters";
  const fields = fieldsOf(parse(await contentOf(section), what), what, ["packed", "workspace", "kept"], { more: false });
  integerOf(fields.kept, "the bytes of parameters that runs read", 0, parameterBytes);
  return {
    packed: integerOf(fields.packed, "the size of packed parameters", 1, MOST_BYTES),
    workspace: integerOf(fields.workspace, "the workspace of the packing", 0, MOST_BYTES),
  };
}

function parametersOf(value, what) {
  const parameters = listOf(value, `the ${what}`, MOST_PARAMETERS).map((item) => parameterOf(item, what));
  if (new Set(parameters.map((p) => p.name)).size !== parameters.length) {
    throw new ArtifactError(`expected each of the ${what} to have a name of its own`);
  }
  return Object.freeze(parameters);
}

/** A parameter as the manifest and the metadata of a library write it. */
export function parameterOf(value, what) {
  const fields = fieldsOf(value, "a parameter", ["name", "dtype", "shape", "strides", "alignment", "device", "output"]);
  const name = textOf(fields.name, "the name of a parameter", 512);
  const type = ELEMENT_TYPES.get(fields.dtype);
  if (type === undefined) {
    throw new ArtifactError(`parameter "${name}": expected a known element type, found ${fields.dtype}`);
  }
  if (fields.device !== "cpu" || fields.strides !== null) {
    throw new ArtifactError(`expected ${what} in memory of the processor, compact; "${name}" is not`);
  }
  const shape = listOf(fields.shape, `the shape of "${name}"`, MOST_DIMENSIONS).map((extent) =>
    integerOf(extent, `an extent of "${name}"`, 0, MOST_BYTES),
  );
  const alignment = integerOf(fields.alignment, `the alignment of "${name}"`, 1, 1 << 20);
  return new Parameter(name, type, shape, alignment, booleanOf(fields.output, `whether "${name}" is an output`));
}

/** What each device has: the positions of inputs and outputs, the bytes of parameters and workspace. */
function memoryOf(fields, count, parameterBytes) {
  const workspace = workspaceOf(fields.variants);
  const all = Array.from({ length: count }, (_, i) => i);
  const placed = listOf(fields.placed ?? [], "the devices of the network", MOST_DEVICES).map(placedOf);
  if (placed.length === 0) return [{ isHost: false, arrays: all, parameters: parameterBytes, workspace }];
  if (placed.filter(({ isHost }) => isHost).length > 1 || placed.filter(({ isHost }) => !isHost).length !== 1) {
    throw new ArtifactError(`expected a network on one device and the host, found one on ${placed.length} devices`);
  }
  const found = placed.flatMap(({ arrays }) => arrays).sort((a, b) => a - b);
  if (found.join() !== all.join()) {
    throw new ArtifactError(`expected each of ${count} inputs and outputs on one device, found those of ${found}`);
  }
  const total = placed.reduce((sum, { parameters }) => sum + parameters, 0);
  if (total > parameterBytes) {
    throw new ArtifactError(`expected parameters of all devices in ${parameterBytes} bytes, found ${total}`);
  }
  return placed;
}

function placedOf(value) {
  const keys = ["device", "arrays", "parameters", "workspace"];
  const fields = fieldsOf(value, "the memory of a device", keys, { more: false });
  const device = textOf(fields.device, "the name of a device", 64);
  if (!["cpu(0)", "webgpu(0)"].includes(device)) {
    throw new ArtifactError(`expected a network on webgpu(0) and the host, found a part of it on ${device}`);
  }
  const arrays = listOf(fields.arrays, `the inputs and outputs on ${device}`, 2 * MOST_PARAMETERS);
  return {
    isHost: device === "cpu(0)",
    arrays: arrays.map((n) => integerOf(n, `an input or output on ${device}`, 0, 2 * MOST_PARAMETERS)),
    parameters: integerOf(fields.parameters, `the bytes of parameters on ${device}`, 0, MOST_BYTES),
    workspace: integerOf(fields.workspace, `the bytes of the workspace on ${device}`, 0, MOST_BYTES),
  };
}

function blocksOf(memory, arrays) {
  const owned = arrays.map(({ bytes: size }, i) => ({ size, isHost: memory.find((m) => m.arrays.includes(i)).isHost }));
  const own = memory.flatMap(({ isHost, parameters, workspace }) =>
    [parameters, workspace].map((size) => ({ size: Math.max(size, LEAST_BLOCK_BYTES), isHost })),
  );
  return [...owned, ...own];
}

function workspaceOf(value) {
  const variants = listOf(value, "the variants", 65535);
  if (variants.length !== 1) {
    throw new ArtifactError(`expected one variant of the network, found ${variants.length}; renew sateen-web`);
  }
  const variant = fieldsOf(variants[0], "a variant", ["dims", "entry", "workspace"]);
  if (Object.keys(objectOf(variant.dims, "the dims of a variant")).length > 0 || variant.entry !== ENTRY) {
    throw new ArtifactError(`expected a variant of fixed dimensions whose entry is "${ENTRY}"; renew sateen-web`);
  }
  const workspace = fieldsOf(variant.workspace, "the workspace", ["cpu"]);
  return integerOf(workspace.cpu, "the size of the workspace", 0, MOST_BYTES);
}

function labelsOf(value, outputs) {
  const labels = {};
  for (const [name, listed] of Object.entries(objectOf(value, "the labels"))) {
    const output = outputs.find((p) => p.name === name);
    const found = listOf(listed, `the labels of "${name}"`, MOST_LABELS);
    if (output === undefined || (output.dtype !== "int64" && found.length !== output.shape.at(-1))) {
      throw new ArtifactError(`expected ${output?.shape.at(-1) ?? "no"} labels of "${name}", found ${found.length}`);
    }
    labels[name] = Object.freeze(found.map((label) => textOf(label, `a label of "${name}"`, 512, 0)));
  }
  return Object.freeze(labels);
}
