// ARTIFACT MODEL.onnx ONNXRUNTIME SAMPLES: a network by sateen-web and by onnxruntime-web, on one thread, in turns.
// Prints the seconds of each sample, and the largest difference of the outputs beside their largest element, as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { load } from "../packages/sateen-web/src/index.js";

const [artifact, onnx, runtime, samples] = process.argv.slice(2);
const WARMING = 3;

const ort = await import(pathToFileURL(runtime));
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";
const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(onnx)), { executionProviders: ["wasm"] });
const model = await load(new Uint8Array(readFileSync(artifact)));

const [{ name, shape }] = model.inputs;
const count = shape.reduce((product, extent) => product * extent, 1);
const data = Float32Array.from({ length: count }, (_, i) => Math.sin(i * 12.9898)); // neither constant nor random
const ours = async () => Object.values(await model.run({ [name]: data }))[0].data;
const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", data, shape) };
const theirs = async () => (await session.run(feeds))[session.outputNames[0]].data;

const secondsOf = async (run) => {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
};
const [found, expected] = [await ours(), await theirs()];
const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const difference = expected.reduce((most, value, i) => Math.max(most, Math.abs(value - found[i])), 0) / largest;
const times = [];
for (let i = -WARMING; i < Number(samples); i++) {
  const pair = [0, 0];
  for (const turn of i % 2 === 0 ? [0, 1] : [1, 0]) pair[turn] = await secondsOf([ours, theirs][turn]);
  if (i >= 0) times.push(pair);
}
console.log(JSON.stringify({ difference, times }));
