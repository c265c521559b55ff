/** The network, in a thread beside the page's: answers {id, verb, given} by {id, result} or {id, error}. */

import { load } from "../src/index.js";

let model;

const VERBS = {
  async load({ source, threads, device }) {
    const next = await load(source, { threads, device });
    model?.close(); // its threads end; if the next one can't be loaded it goes on
    model = next;
    const [input] = model.inputs;
    const [output] = model.outputs;
    return {
      input: { name: input.name, shape: input.shape, dtype: input.dtype },
      labels: model.labels[output.name],
      where: placeOf(model),
    };
  },

  /** The numbers of the first output, and the milliseconds of the run. */
  async run({ tensor }) {
    const start = performance.now();
    const [output] = Object.values(await model.run({ [model.inputs[0].name]: tensor }));
    return { values: output.numbers(), milliseconds: performance.now() - start };
  },
};

/** What runs a network, in words. */
function placeOf({ device, deviceName, threads, refusal }) {
  if (device === "webgpu") return `WebGPU: ${deviceName}`;
  return `WebAssembly, threads: ${threads}${refusal === undefined ? "" : `, since ${refusal.message}`}`;
}

self.onmessage = async ({ data: { id, verb, given } }) => {
  try {
    self.postMessage({ id, result: await VERBS[verb](given) });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
