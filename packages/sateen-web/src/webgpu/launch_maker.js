/** Launches of a network, made ready once: pipelines, and their arguments in the network's memory. */

import { ArtifactError, DeviceError } from "../errors.js";
import { COMPUTE, USAGE, WORD, inWords } from "./memory.js";
import { bindingsOf, spanOf } from "./wgsl_text.js";

const UNIFORM_WORDS = 4; // a struct of a binding ends at 16 bytes
const INT32 = 2 ** 31;

/** Makes launches ready: of `kernels` by name, on `blocks` that are buffers, for `steps` that errors name. */
export class LaunchMaker {
  #gpu;
  #kernels;
  #blocks;
  #steps;
  #pipelines = new Map();

  constructor(gpu, kernels, blocks, steps) {
    this.#gpu = gpu;
    this.#kernels = kernels;
    this.#blocks = blocks;
    this.#steps = steps;
  }

  /** The pipeline of a launch with its arguments and its grid. */
  async prepared(launch) {
    const title = `kernel ${launch.kernel} of ${this.#steps[launch.step]}`;
    const kernel = this.#kernels.get(launch.kernel);
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
    if (!this.#pipelines.has(key)) this.#pipelines.set(key, this.#pipeline(title, kernel, shared));
    const { pipeline, layout } = await this.#pipelines.get(key);
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

/** The numbers of a launch as a struct in a binding. */
function numbersOf(name, title, values) {
  const wide = values.find((value) => value < -INT32 || value >= INT32);
  if (wide !== undefined) throw new DeviceError(`${name}: ${title} expects numbers of 32 bits, found ${wide}`);
  const numbers = new Int32Array(Math.ceil(values.length / UNIFORM_WORDS) * UNIFORM_WORDS);
  numbers.set(values);
  return numbers;
}
