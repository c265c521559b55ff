/** A network on a device of WebGPU: its blocks of memory, and a run as one action after the other. */

import { launchesIn } from "../actions.js";
import { contentOf } from "../artifact.js";
import { ArtifactError, DeviceError, OutOfMemoryError } from "../errors.js";
import { timed } from "../timing.js";
import { Gpu } from "./gpu.js";
import { LaunchMaker } from "./launch_maker.js";
import { Queue, WORD, bufferOf, inWords } from "./memory.js";
import { extensionsOf, kernelsOf } from "./wgsl_text.js";

/** The network of an artifact, with memory of its own for everything. Blocks of the host are bytes of this page. */
export class LaunchedNetwork {
  #artifact;
  #gpu;
  #queue;
  #blocks;
  #launches = new Map();
  #turn = Promise.resolve();

  /** Use `LaunchedNetwork.of`, which makes networks. */
  constructor(artifact, gpu, queue, blocks, memoryBytes) {
    this.#artifact = artifact;
    this.#gpu = gpu;
    this.#queue = queue;
    this.#blocks = blocks;
    this.memoryBytes = memoryBytes;
    this.device = "webgpu";
    this.deviceName = gpu.name;
    this.threads = 1;
  }

  /**
   * The network of a checked artifact on the device of `gpu`, with at most `memoryBytes` of memory.
   *
   * Throws DeviceError for a device that is missing, lacks something, or refuses the code, OutOfMemoryError.
   */
  static async of(artifact, { gpu: browser, memoryBytes }) {
    const text = textOf(await contentOf(artifact.kernels));
    const gpu = await Gpu.open(browser, extensionsOf(text));
    try {
      const sizes = artifact.blocks.map(({ size }) => Math.max(inWords(size), WORD));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      requireMemory(gpu, sizes, bytes, memoryBytes);
      const queue = new Queue(gpu);
      const blocks = await gpu.told(`take ${bytes} bytes of memory`, (device) =>
        artifact.blocks.map(({ isHost }, i) => (isHost ? new Uint8Array(sizes[i]) : bufferOf(device, sizes[i]))),
      );
      const network = new LaunchedNetwork(artifact, gpu, queue, blocks, bytes);
      await network.#fill();
      await network.#prepare(kernelsOf(text));
      return network;
    } catch (error) {
      gpu.close();
      throw error;
    }
  }

  /** The bytes of the outputs for the elements of the inputs, which may change when this returns its promise. */
  run(given) {
    const copies = given.map(bytesOf);
    return this.#inTurn(async () => {
      await this.#give(copies);
      await this.#perform(this.#artifact.actions);
      const first = copies.length;
      return Promise.all(this.#artifact.outputs.map(({ bytes }, i) => this.#bytes(first + i, 0, bytes)));
    });
  }

  /** Times runs on inputs that are copied once; options and result as of `timed`. */
  time(given, options) {
    const copies = given.map(bytesOf);
    return this.#inTurn(async () => {
      await this.#give(copies);
      return timed(() => this.#perform(this.#artifact.actions), options, () => this.#queue.finished());
    });
  }

  close() {
    this.#gpu.close();
  }

  /** What some work gives when all that was asked for before has ended, as all of it uses the same memory. */
  #inTurn(work) {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Give each device its part of the parameters, in the order of the devices. */
  async #fill() {
    const { parameters, memory, inputs, outputs } = this.#artifact;
    const first = inputs.length + outputs.length;
    if (memory.length === 1) {
      for await (const { start, leaf } of parameters.checkedLeaves()) this.#queue.write(this.#blocks[first], start, leaf);
    } else {
      const content = await contentOf(parameters);
      let start = 0;
      for (const [i, { parameters: size }] of memory.entries()) {
        await this.#store(first + 2 * i, 0, content.subarray(start, (start += size)));
      }
    }
    await this.#queue.finished();
  }

  async #give(copies) {
    for (const [i, bytes] of copies.entries()) await this.#store(i, 0, bytes);
  }

  /** Make all launches ready. */
  async #prepare(kernels) {
    const maker = new LaunchMaker(this.#gpu, kernels, this.#blocks, this.#artifact.steps);
    const launches = launchesIn(this.#artifact.actions).filter(({ grid }) => !grid.includes(0));
    const prepared = await Promise.all(launches.map((launch) => maker.prepared(launch)));
    launches.forEach((launch, i) => this.#launches.set(launch, prepared[i]));
  }

  async #perform(actions) {
    for (const action of actions) {
      if (action.kind !== "launch") await this.#decide(action);
      else if (this.#launches.has(action)) this.#queue.launch(this.#launches.get(action));
    }
  }

  async #decide(action) {
    if (action.kind === "copy") await this.#copy(action.to, action.source);
    else if (action.kind === "if") await this.#perform(this.#holds(action.condition) ? action.then : action.otherwise);
    else if (action.kind === "repeat") await this.#repeat(action);
    else await this.#loop(action);
  }

  async #repeat({ count, number, body, rows }) {
    for (let i = 0; i < count; i++) {
      await this.#count(number, BigInt(i));
      await this.#perform(body);
      for (const { row, rows: all } of rows) {
        await this.#copy({ ...row, block: all.block, offset: all.offset + i * row.size }, row);
      }
    }
  }

  async #loop({ condition, most, number, body }) {
    const [times] = new BigInt64Array(this.#blocks[most.block].buffer, most.offset, 1);
    for (let i = 0n; this.#holds(condition) && i < times; i++) {
      await this.#count(number, i);
      await this.#perform(body);
    }
  }

  #holds({ block, offset }) {
    return this.#blocks[block][offset] !== 0;
  }

  /** Write the number of an iteration, 64 bits, where the body reads it. */
  async #count({ block, offset }, number) {
    await this.#store(block, offset, new Uint8Array(BigInt64Array.of(number).buffer));
  }

  /** Copy bytes from a place to another: within the device if both are whole words, otherwise through this page. */
  async #copy(to, source) {
    const isOnDevice = ![to, source].some(({ block }) => this.#artifact.blocks[block].isHost);
    if (isOnDevice && [to.offset, source.offset, to.size].every((number) => number % WORD === 0)) {
      const [target, origin] = [to, source].map(({ block, offset }) => ({ buffer: this.#blocks[block], offset }));
      if (to.size > 0) this.#queue.copy(target, origin, to.size);
    } else {
      await this.#store(to.block, to.offset, await this.#bytes(source.block, source.offset, source.size));
    }
  }

  /** Put bytes into a block; those around them stay. */
  async #store(block, offset, bytes) {
    const to = this.#blocks[block];
    if (this.#artifact.blocks[block].isHost) {
      to.set(bytes, offset);
    } else if (offset % WORD === 0 && (bytes.length % WORD === 0 || inWords(offset + bytes.length) === to.size)) {
      if (bytes.length > 0) this.#queue.write(to, offset, bytes);
    } else {
      const [begin, end] = wordsAround(offset, bytes.length);
      const words = await this.#queue.read(to, begin, end - begin);
      words.set(bytes, offset - begin);
      this.#queue.write(to, begin, words);
    }
  }

  /** A copy of bytes of a block. */
  async #bytes(block, offset, size) {
    const from = this.#blocks[block];
    if (size === 0) return new Uint8Array(0);
    if (this.#artifact.blocks[block].isHost) return from.slice(offset, offset + size);
    const [begin, end] = wordsAround(offset, size);
    return (await this.#queue.read(from, begin, end - begin)).slice(offset - begin, offset - begin + size);
  }
}

/** A copy of the bytes of an array. */
function bytesOf({ buffer, byteOffset, byteLength }) {
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}

/** The bytes of all words that some bytes have a part of. */
function wordsAround(offset, size) {
  return [Math.floor(offset / WORD) * WORD, inWords(offset + size)];
}

function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ArtifactError("expected kernels as text of WGSL, found other bytes");
  }
}

function requireMemory(gpu, sizes, bytes, most) {
  const largest = Math.max(...sizes);
  if (largest > gpu.limits.maxBufferSize) {
    throw new DeviceError(
      `${gpu.name}: the network expects ${largest} bytes in one buffer, the device has at most ${gpu.limits.maxBufferSize}`,
    );
  }
  if (bytes > most) {
    throw new OutOfMemoryError(`expected at most ${most} bytes of memory for a network, found one of ${bytes}`);
  }
}
