/** A network on a device of WebGPU: its blocks of memory, its pipelines, and a run as one launch after the other. */

import { contentOf } from "../artifact.js";
import { ArtifactError, DeviceError, OutOfMemoryError } from "../errors.js";
import { timed } from "../timing.js";
import { Gpu } from "./gpu.js";
import { bindingsOf, extensionsOf, kernelsOf, spanOf } from "./wgsl_text.js";

const WORD = 4;
const UNIFORM_WORDS = 4; // a struct of a binding ends at 16 bytes
const MAP_ALIGNMENT = 8;
const PASS = 64; // the launches after which the device gets them, and begins
const INT32 = 2 ** 31;
/** WebGPU's flags, which pages have as GPUBufferUsage, GPUShaderStage and GPUMapMode, and workers as well. */
const USAGE = { MAP_READ: 0x1, COPY_SRC: 0x4, COPY_DST: 0x8, UNIFORM: 0x40, STORAGE: 0x80 };
const COMPUTE = 0x4;
const READ = 0x1;

/** The network of an artifact, with memory of its own for everything. */
export class LaunchedNetwork {
  #artifact;
  #gpu;
  #blocks;
  #launches = [];
  #idle = []; // memory that outputs are read through

  /** Use `LaunchedNetwork.of`, which makes networks. */
  constructor(artifact, gpu, blocks, memoryBytes) {
    this.#artifact = artifact;
    this.#gpu = gpu;
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
      const sizes = artifact.blockSizes.map((size) => Math.max(inWords(size), WORD));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      requireMemory(gpu, sizes, bytes, memoryBytes);
      const usage = USAGE.STORAGE | USAGE.COPY_SRC | USAGE.COPY_DST;
      const blocks = await gpu.told(`take ${bytes} bytes of memory`, (device) =>
        sizes.map((size) => device.createBuffer({ size, usage })),
      );
      const network = new LaunchedNetwork(artifact, gpu, blocks, bytes);
      for await (const { start, leaf } of artifact.parameters.checkedLeaves()) {
        await gpu.told("copy parameters", ({ queue }) => queue.writeBuffer(blocks.at(-2), start, wholeWords(leaf)));
      }
      await network.#prepare(kernelsOf(text));
      return network;
    } catch (error) {
      gpu.close();
      throw error;
    }
  }

  /** The bytes of the outputs for the elements of the inputs, which may change when this returns its promise. */
  async run(given) {
    const { size, offsets } = this.#outputPlaces();
    let staging;
    let mapped;
    await this.#gpu.told("run the network", (device) => {
      this.#give(device, given);
      this.#launch(device);
      staging = this.#idle.pop() ?? device.createBuffer({ size, usage: USAGE.MAP_READ | USAGE.COPY_DST });
      const commands = device.createCommandEncoder();
      this.#outputs().forEach(({ block }, i) => {
        commands.copyBufferToBuffer(block, 0, staging, offsets[i], block.size);
      });
      device.queue.submit([commands.finish()]);
      mapped = staging.mapAsync(READ);
      mapped.catch(() => {}); // which `waited` tells
    });
    await this.#gpu.waited(mapped);
    const results = this.#outputs().map(({ block, bytes }, i) =>
      new Uint8Array(staging.getMappedRange(offsets[i], block.size)).slice(0, bytes),
    );
    staging.unmap();
    this.#idle.push(staging);
    return results;
  }

  /** Times runs on inputs that are copied once; options and result as of `timed`. */
  async time(given, options) {
    await this.#gpu.told("copy inputs", (device) => this.#give(device, given));
    const begun = [];
    return timed(
      () => begun.push(this.#gpu.told("run the network", (device) => this.#launch(device))),
      options,
      async () => {
        await Promise.all(begun.splice(0));
        await this.#gpu.told("finish", ({ queue }) => queue.onSubmittedWorkDone());
      },
    );
  }

  close() {
    this.#gpu.close();
  }

  #give({ queue }, given) {
    given.forEach((elements, i) => {
      const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
      queue.writeBuffer(this.#blocks[i], 0, wholeWords(bytes));
    });
  }

  /** Queue all kernels. */
  #launch(device) {
    for (let start = 0; start < this.#launches.length; start += PASS) {
      const commands = device.createCommandEncoder();
      const pass = commands.beginComputePass();
      for (const { pipeline, group, grid } of this.#launches.slice(start, start + PASS)) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(...grid);
      }
      pass.end();
      device.queue.submit([commands.finish()]);
    }
  }

  #outputs() {
    const first = this.#artifact.inputs.length;
    return this.#artifact.outputs.map(({ bytes }, i) => ({ block: this.#blocks[first + i], bytes }));
  }

  /** Where outputs lie in the memory that they are read through, and its size. */
  #outputPlaces() {
    let size = 0;
    const offsets = this.#outputs().map(({ block }) => {
      const offset = size;
      size += Math.ceil(block.size / MAP_ALIGNMENT) * MAP_ALIGNMENT;
      return offset;
    });
    return { size: Math.max(size, MAP_ALIGNMENT), offsets };
  }

  /** Make the pipelines and the arguments of all launches. */
  async #prepare(kernels) {
    const pipelines = new Map();
    this.#launches = await Promise.all(
      this.#artifact.launches
        .filter(({ grid }) => !grid.includes(0))
        .map((launch) => this.#prepared(launch, kernels, pipelines)),
    );
  }

  async #prepared(launch, kernels, pipelines) {
    const title = `kernel ${launch.kernel} of ${this.#artifact.steps[launch.step]}`;
    const kernel = kernels.get(launch.kernel);
    if (kernel === undefined || kernel.bindings.length !== launch.places.length) {
      const found = kernel === undefined ? "none" : `one of ${kernel.bindings.length}`;
      throw new ArtifactError(`expected ${title} with ${launch.places.length} buffers in the code, found ${found}`);
    }
    this.#requireFit(title, launch);
    this.#requireAtMost(title, kernel.iterations, this.#gpu.mostIterations, "iterations of loops in a thread");
    const places = this.#places(title, launch.places);
    const shared = kernel.partition(places, this.#gpu.limits.maxStorageBuffersPerShaderStage, this.#window);
    const { entries, begins } = this.#bound(title, launch.places, places, shared);
    const numbers = numbersOf(this.#gpu.name, title, [0, ...begins, ...launch.scalars]);
    const key = `${kernel.name} ${JSON.stringify(shared)}`;
    if (!pipelines.has(key)) pipelines.set(key, this.#pipeline(title, kernel, shared));
    const { pipeline, layout } = await pipelines.get(key);
    const group = await this.#gpu.told(`prepare ${title}`, (device) => {
      const buffer = device.createBuffer({ size: numbers.byteLength, usage: USAGE.UNIFORM | USAGE.COPY_DST });
      device.queue.writeBuffer(buffer, 0, numbers);
      return device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }, ...entries] });
    });
    return { pipeline, group, grid: launch.grid };
  }

  /** The bytes that a binding of each place has: words, from an offset that the device takes. */
  #places(title, listed) {
    const alignment = this.#gpu.limits.minStorageBufferOffsetAlignment;
    return listed.map(({ block, offset, size }) => {
      if (offset % WORD !== 0) {
        throw new ArtifactError(`${title} expects places at multiples of ${WORD} bytes, found ${offset}`);
      }
      const begin = Math.floor(offset / alignment) * alignment;
      return { memory: block, begin, end: Math.max(inWords(offset + size), WORD) };
    });
  }

  /** The entries of bindings, and the first word of each place in its binding. */
  #bound(title, listed, places, shared) {
    const most = this.#gpu.limits.maxStorageBuffersPerShaderStage;
    this.#requireAtMost(title, bindingsOf(shared), most, `storage buffers of ${this.#window} bytes at most`);
    const begins = places.map(() => 0);
    const entries = shared.flatMap(({ numbers, positions }) => {
      const { begin, end } = spanOf(positions.map((i) => places[i]));
      for (const i of positions) begins[i] = (listed[i].offset - begin) / WORD;
      const buffer = this.#blocks[listed[positions[0]].block];
      return numbers.map((binding, i) => {
        const offset = begin + i * this.#window;
        return { binding, resource: { buffer, offset, size: Math.min(this.#window, end - offset) } };
      });
    });
    return { entries, begins };
  }

  /** The most bytes of a binding behind which another one begins. */
  get #window() {
    const { minStorageBufferOffsetAlignment: alignment, maxStorageBufferBindingSize: most } = this.#gpu.limits;
    return Math.floor(most / alignment) * alignment;
  }

  /** The layout and the pipeline of a kernel with these bindings. */
  async #pipeline(title, kernel, shared) {
    const { module, layout } = await this.#gpu.told(`compile ${title}`, (device) => ({
      module: device.createShaderModule({ label: kernel.name, code: kernel.merged(shared, this.#window) }),
      layout: device.createBindGroupLayout({
        entries: [
          { binding: 0, visibility: COMPUTE, buffer: { type: "uniform" } },
          ...shared.flatMap(({ numbers, isWritten }) =>
            numbers.map((binding) => ({
              binding,
              visibility: COMPUTE,
              buffer: { type: isWritten ? "storage" : "read-only-storage" },
            })),
          ),
        ],
      }),
    }));
    let made;
    await this.#gpu.told(`compile ${title}`, (device) => {
      made = device.createComputePipelineAsync({
        label: kernel.name,
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: kernel.name },
      });
      made.catch(() => {}); // which is told below
    });
    try {
      return { layout, pipeline: await made };
    } catch (error) {
      throw new DeviceError(`${this.#gpu.name}: expected to compile ${title}, but it is refused: ${error.message}`);
    }
  }

  /** Throws DeviceError for a launch that exceeds what a block or a grid may have. */
  #requireFit(title, { grid, block, sharedBytes }) {
    const limits = this.#gpu.limits;
    const threads = block.reduce((product, extent) => product * extent, 1);
    this.#requireAtMost(title, threads, limits.maxComputeInvocationsPerWorkgroup, "threads of a block");
    this.#requireAtMost(title, sharedBytes, limits.maxComputeWorkgroupStorageSize, "bytes of shared memory");
    ["X", "Y", "Z"].forEach((axis, i) => {
      const along = `along ${axis.toLowerCase()}`;
      this.#requireAtMost(title, block[i], limits[`maxComputeWorkgroupSize${axis}`], `threads ${along}`);
      this.#requireAtMost(title, grid[i], limits.maxComputeWorkgroupsPerDimension, `blocks ${along}`);
    });
  }

  #requireAtMost(title, found, most, what) {
    if (found > most) {
      throw new DeviceError(`${this.#gpu.name}: ${title} expects ${found} ${what}, the device has at most ${most}`);
    }
  }
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

/** The numbers of a launch as a struct in a binding. */
function numbersOf(name, title, values) {
  const wide = values.find((value) => value < -INT32 || value >= INT32);
  if (wide !== undefined) throw new DeviceError(`${name}: ${title} expects numbers of 32 bits, found ${wide}`);
  const numbers = new Int32Array(Math.ceil(values.length / UNIFORM_WORDS) * UNIFORM_WORDS);
  numbers.set(values);
  return numbers;
}

/** Bytes in whole words. */
function inWords(bytes) {
  return Math.ceil(bytes / WORD) * WORD;
}

/** Bytes with zeros behind them, up to a whole word, as commands of WebGPU copy. */
function wholeWords(bytes) {
  if (bytes.length % WORD === 0) return bytes;
  const words = new Uint8Array(inWords(bytes.length));
  words.set(bytes);
  return words;
}
