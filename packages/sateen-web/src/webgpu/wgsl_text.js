/**
 * The text of kernels in WGSL: its parts, and bindings that are merged, or in windows (docs/design/kernels.md of sateen).
 *
 * WebGPU refuses a kernel that reads a buffer and writes it through two bindings, in other parts too, and one that binds
 * overlapping parts to be written. So all bindings of a buffer that is written are made to be written, and places that
 * overlap share one; the numbers of a launch tell where each begins. What is larger than a binding may be is bound in
 * windows.
 */

import { throughWindows } from "./wgsl_windows.js";

const PART = /^\/\/ kernel (\w+)$/m;
const BINDING = /^@group\(0\) @binding\((\d+)\) var<storage, (read|read_write)> (\w+): (.+;)\n/gm;
const ITERATIONS = /^\/\/ a thread has at most (\d+) iterations of loops,/m;
const ENABLED = /^enable (\w+);$/gm;

/**
 * One kernel with what it shares with others: a text that stands alone. `bindings` are its buffers in their order,
 * `iterations` the most of all loops of a thread together, where the text tells.
 */
export class KernelText {
  constructor(name, text, bindings, iterations) {
    this.name = name;
    this.text = text;
    this.bindings = bindings;
    this.iterations = iterations;
  }

  /**
   * The bindings, of at most `window` bytes each, for buffers in places, {memory, begin, end} each: {numbers, isWritten,
   * positions}. They have several numbers where the bytes of one are in windows behind each other.
   *
   * Places that overlap in a memory that the kernel writes share one; if there are more than `most`, so do all of one
   * memory.
   */
  partition(places, most, window) {
    const written = new Set(places.filter((_, i) => this.bindings[i].isWritten).map(({ memory }) => memory));
    const shared = this.#shared(groups(overlaps(places, written)), places, written, window);
    if (bindingsOf(shared) <= most) return shared;
    return this.#shared(groups(places.map(({ memory }) => memory)), places, written, window);
  }

  #shared(grouped, places, written, window) {
    let free = 1 + Math.max(0, ...this.bindings.map(({ number }) => number));
    return grouped.map((positions) => {
      const { begin, end } = spanOf(positions.map((i) => places[i]));
      const numbers = [this.bindings[positions[0]].number];
      while (numbers.length * window < end - begin) numbers.push(free++);
      return { numbers, isWritten: written.has(places[positions[0]].memory), positions };
    });
  }

  /** The text with these bindings, of `window` bytes where there are several windows. */
  merged(shared, window) {
    const names = new Map();
    const declared = new Map();
    for (const { isWritten, positions } of shared) {
      const [first, ...others] = positions.map((i) => this.bindings[i]);
      const access = isWritten ? "read_write" : "read";
      declared.set(first.name, `@group(0) @binding(${first.number}) var<storage, ${access}> ${first.name}: `);
      for (const { name } of others) names.set(name, first.name);
    }
    const text = this.text
      .replace(BINDING, (_, __, ___, name, type) => (declared.has(name) ? `${declared.get(name)}${type}\n` : ""))
      .replace(/\w+/g, (word) => names.get(word) ?? word);
    return shared
      .filter(({ numbers }) => numbers.length > 1)
      .reduce(
        (made, { numbers, positions }) => throughWindows(made, this.bindings[positions[0]].name, numbers.slice(1), window),
        text,
      );
  }
}

/** The number of bindings that some have with all their windows. */
export function bindingsOf(shared) {
  return shared.reduce((sum, { numbers }) => sum + numbers.length, 0);
}

/** Where places of one memory begin and end. */
export function spanOf(places) {
  return {
    begin: Math.min(...places.map(({ begin }) => begin)),
    end: Math.max(...places.map(({ end }) => end)),
  };
}

/** The kernels of a text, by name. */
export function kernelsOf(text) {
  const [head, ...parts] = text.split(PART);
  const kernels = new Map();
  for (let i = 0; i < parts.length; i += 2) {
    const [name, part] = [parts[i], parts[i + 1]];
    const bindings = Array.from(part.matchAll(BINDING), ([, number, access, buffer]) => ({
      number: Number(number),
      isWritten: access === "read_write",
      name: buffer,
    }));
    const iterations = Number(ITERATIONS.exec(part)?.[1] ?? 0);
    kernels.set(name, new KernelText(name, `${head}// kernel ${name}${part}`, bindings, iterations));
  }
  return kernels;
}

/** The extensions of WGSL that a text enables. */
export function extensionsOf(text) {
  return Array.from(text.matchAll(ENABLED), ([, name]) => name);
}

/**
 * For each place its memory and the first position of those that it overlaps, directly or by others, as a key; in a
 * memory that is only read that is its own.
 */
function overlaps(places, written) {
  const first = places.map((_, i) => i);
  const reached = new Map();
  for (const i of [...first].sort((a, b) => places[a].begin - places[b].begin)) {
    const { memory, begin, end } = places[i];
    if (!written.has(memory)) continue;
    const [until, other] = reached.get(memory) ?? [0, 0];
    if (begin < until) first[i] = other;
    reached.set(memory, [Math.max(until, end), first[i]]);
  }
  return places.map(({ memory }, i) => `${memory}:${first[i]}`);
}

/** The positions of equal keys, in the order of their first ones. */
function groups(keys) {
  const found = new Map();
  keys.forEach((key, position) => found.set(key, [...(found.get(key) ?? []), position]));
  return [...found.values()];
}
