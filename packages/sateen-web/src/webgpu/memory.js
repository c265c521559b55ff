/** The memory of a network on a device of WebGPU, and what is queued on it. */

export const WORD = 4;
/** WebGPU's flags, which pages have as GPUBufferUsage, GPUShaderStage and GPUMapMode, and workers as well. */
export const USAGE = { MAP_READ: 0x1, COPY_SRC: 0x4, COPY_DST: 0x8, UNIFORM: 0x40, STORAGE: 0x80 };
export const COMPUTE = 0x4;
const READ = 0x1;
const PASS = 64; // the launches after which the device gets them, and begins
const BLOCK = USAGE.STORAGE | USAGE.COPY_SRC | USAGE.COPY_DST;

/**
 * Work on buffers in the order in which it is asked for. Launches and copies are collected until the device has to have
 * them; their errors are those of the next `read` or `finished`.
 */
export class Queue {
  #gpu;
  #pending = [];
  #begun = [];
  #idle = new Map(); // memory that is read through, by its size

  constructor(gpu) {
    this.#gpu = gpu;
  }

  /** Queue a kernel. */
  launch({ pipeline, group, grid }) {
    this.#pending.push((pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...grid);
    });
    if (this.#pending.length >= PASS) this.#flush();
  }

  /** Queue a copy of `size` bytes between places {buffer, offset} of whole words. */
  copy(to, source, size) {
    this.#flush();
    this.#begin("copy", (device) => {
      const commands = device.createCommandEncoder();
      let { buffer, offset } = source;
      if (buffer === to.buffer) { // between parts of one buffer WebGPU copies nothing
        const between = device.createBuffer({ size, usage: USAGE.COPY_SRC | USAGE.COPY_DST });
        commands.copyBufferToBuffer(buffer, offset, between, 0, size);
        [buffer, offset] = [between, 0];
      }
      commands.copyBufferToBuffer(buffer, offset, to.buffer, to.offset, size);
      device.queue.submit([commands.finish()]);
    });
  }

  /** Queue bytes, which may change when this returns, for whole words of a buffer. */
  write(buffer, offset, bytes) {
    this.#flush();
    this.#begin("copy to the device", ({ queue }) => queue.writeBuffer(buffer, offset, wholeWords(bytes)));
  }

  /** The whole words of a buffer from `offset` on, when all work before has ended. */
  async read(buffer, offset, size) {
    this.#flush();
    let staging;
    let mapped;
    this.#begin("copy from the device", (device) => {
      const usage = USAGE.MAP_READ | USAGE.COPY_DST;
      staging = this.#idle.get(size)?.pop() ?? device.createBuffer({ size, usage });
      const commands = device.createCommandEncoder();
      commands.copyBufferToBuffer(buffer, offset, staging, 0, size);
      device.queue.submit([commands.finish()]);
      mapped = staging.mapAsync(READ);
      mapped.catch(() => {}); // which `waited` tells
    });
    await this.#told();
    await this.#gpu.waited(mapped);
    const bytes = new Uint8Array(staging.getMappedRange(0, size)).slice();
    staging.unmap();
    if (!this.#idle.has(size)) this.#idle.set(size, []);
    this.#idle.get(size).push(staging);
    return bytes;
  }

  /** Waits for all work. */
  async finished() {
    this.#flush();
    await this.#told();
    await this.#gpu.told("finish", ({ queue }) => queue.onSubmittedWorkDone());
  }

  #flush() {
    const launches = this.#pending.splice(0);
    if (launches.length === 0) return;
    this.#begin("run the network", (device) => {
      const commands = device.createCommandEncoder();
      const pass = commands.beginComputePass();
      for (const launch of launches) launch(pass);
      pass.end();
      device.queue.submit([commands.finish()]);
    });
  }

  /** Do work on the device, whose errors are told later. */
  #begin(what, work) {
    const begun = this.#gpu.told(what, work);
    begun.catch(() => {}); // which `#told` awaits
    this.#begun.push(begun);
  }

  async #told() {
    await Promise.all(this.#begun.splice(0));
  }
}

/** A buffer of so many bytes for kernels and copies. */
export function bufferOf(device, size) {
  return device.createBuffer({ size, usage: BLOCK });
}

/** Bytes in whole words. */
export function inWords(bytes) {
  return Math.ceil(bytes / WORD) * WORD;
}

/** Bytes with zeros behind them, up to a whole word, as commands of WebGPU copy. */
function wholeWords(bytes) {
  if (bytes.length % WORD === 0) return bytes;
  const words = new Uint8Array(inWords(bytes.length));
  words.set(bytes);
  return words;
}
