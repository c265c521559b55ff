/** What this engine runs: whether it is the code of an artifact, and what to compile for it. */

import { ArtifactError } from "./errors.js";

/** Modules that only an engine with a feature accepts, by LLVM's name of the feature: each a function with one use. */
const PROBES = new Map([
  ["simd128", [0x41, 0, 0xfd, 15, 0xfd, 98]], // i8x16.popcnt(i8x16.splat(0))
  ["relaxed-simd", [0x41, 0, 0xfd, 15, 0x41, 0, 0xfd, 15, 0xfd, 0x80, 2]], // i8x16.relaxed_swizzle(splat, splat)
]);
const VECTOR = 0x7b;

const DEVICES = {
  wasm: { title: "WebAssembly", target: "wasm32" },
  webgpu: { title: "WebGPU", target: "webgpu" },
};

/** What runs code for a target: "wasm" or "webgpu". Throws ArtifactError if neither does, or not the `expected` one. */
export function deviceOf(target, expected) {
  const found = target.split(" ")[0] === "webgpu" ? "webgpu" : "wasm";
  const isKnown = found === "webgpu" || optionOf(target, "mtriple").startsWith("wasm32-");
  if (isKnown && (expected === undefined || expected === found)) return found;
  const listed = Object.entries(DEVICES).filter(([device]) => expected === undefined || expected === device);
  const [titles, targets] = ["title", "target"].map((key) => listed.map(([, named]) => named[key]));
  throw new ArtifactError(
    `expected code for ${titles.join(" or ")}, found some for ${target}; compile the model again with --target ` +
      targets.join(" or "),
  );
}

/** Throws ArtifactError unless this engine has what code of WebAssembly for a target needs. */
export function checkTarget(target) {
  for (const feature of optionOf(target, "mattr").split(",")) {
    if (feature.startsWith("+") && !hasFeature(feature.slice(1))) {
      throw new ArtifactError(
        `expected an engine of WebAssembly with ${feature.slice(1)}, which the network needs, found one without; ` +
          `use a newer browser, or compile the model again with --target "${without(target, feature)}"`,
      );
    }
  }
}

/** The value of an option in the text of a target. */
function optionOf(target, name) {
  return target.split(" ").find((word) => word.startsWith(`-${name}=`))?.slice(name.length + 2) ?? "";
}

/** The target that suits this engine: with its vectors, and with threads where they are to be had. */
export function engineTarget(hasThreads) {
  const features = [...(hasThreads ? ["+atomics"] : []), ...(hasFeature("simd128") ? ["+simd128"] : [])];
  return `llvm -mtriple=wasm32-unknown-unknown${features.length > 0 ? ` -mattr=${features.join()}` : ""}`;
}

function hasFeature(name) {
  const body = PROBES.get(name);
  if (body === undefined) return true; // code of an engine without it does not compile, which says so
  const code = [0, ...body, 0x0b];
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const sections = [1, 5, 1, 0x60, 0, 1, VECTOR, 3, 2, 1, 0, 10, code.length + 2, 1, code.length];
  return WebAssembly.validate(new Uint8Array([...header, ...sections, ...code]));
}

function without(target, feature) {
  return target.replace(feature, `-${feature.slice(1)}`);
}
