/** What a network for a device does, as data: kernels to launch in order, on places in its blocks of memory. */

import { fieldsOf, integerOf, listOf, objectOf, textOf } from "./checked_json.js";
import { ArtifactError } from "./errors.js";

const MOST = 2 ** 48;
const MOST_LAUNCHES = 2 ** 20;
const MOST_ARGUMENTS = 4096;
const MOST_BLOCKS = 2 ** 31 - 1;
const MOST_NODES = 2 ** 20;
const MOST_CHARACTERS = 65536;
const FIELDS = ["kernel", "grid", "block", "places", "scalars", "step", "shared"];

/**
 * The launches of a manifest: each a kernel on places {block, offset, size} and scalars, with its grid, its threads of a
 * block, its shared bytes, and the number of its step. Blocks are numbered: inputs, outputs, parameters, workspace.
 *
 * There are `steps` steps, and blocks have these sizes. Throws ArtifactError for launches that don't fit them.
 */
export function launchesOf(value, sizes, steps) {
  const launches = listOf(value, "the launches", MOST_LAUNCHES).map(launchOf);
  launches.forEach(({ kernel, step, places }, index) => {
    if (step >= steps || (index > 0 && step < launches[index - 1].step)) {
      throw new ArtifactError(`expected launches in the order of their ${steps} steps, found one of step ${step}`);
    }
    for (const { block, offset, size } of places) {
      if (block >= sizes.length || offset + size > sizes[block]) {
        throw new ArtifactError(
          `expected places within blocks of [${sizes.join(", ")}] bytes, found ${size} bytes from ${offset} on in ` +
            `block ${block}, given to kernel "${kernel}"`,
        );
      }
    }
  });
  return launches;
}

function launchOf(value) {
  if (!Object.hasOwn(objectOf(value, "a launch"), "kernel")) {
    const found = Object.keys(value).join(", ").slice(0, 200);
    throw new ArtifactError(`expected the launch of a kernel, found a step of ${found || "nothing"}; renew sateen-web`);
  }
  const fields = fieldsOf(value, "a launch", FIELDS, { more: false });
  const places = listOf(fields.places, "the places", MOST_ARGUMENTS).map((place) => {
    const listed = listOf(place, "a place", 3);
    if (listed.length !== 3) throw new ArtifactError("expected a place as block, offset and size");
    return {
      block: integerOf(listed[0], "the number of a block", 0, MOST_ARGUMENTS * 16),
      offset: integerOf(listed[1], "an offset", 0, MOST),
      size: integerOf(listed[2], "a size", 0, MOST),
    };
  });
  return {
    kernel: textOf(fields.kernel, "the name of a kernel", 512),
    grid: three(fields.grid, "the grid", 0),
    block: three(fields.block, "the threads of a block", 1),
    places,
    scalars: listOf(fields.scalars, "the scalars", 64).map((n) => integerOf(n, "a scalar", -MOST, MOST)),
    step: integerOf(fields.step, "the step of a launch", 0, MOST_LAUNCHES),
    sharedBytes: integerOf(fields.shared, "the shared bytes of a block", 0, MOST),
  };
}

function three(value, what, least) {
  const listed = listOf(value, what, 3);
  if (listed.length !== 3) throw new ArtifactError(`expected ${what} along x, y and z, found ${listed.length} numbers`);
  return listed.map((n) => integerOf(n, what, least, MOST_BLOCKS));
}

/** What errors call the steps of a manifest: the nodes of the model that each computes, and their operators. */
export function stepsOf(value) {
  return listOf(value, "the steps", MOST_LAUNCHES).map((item) => {
    const fields = fieldsOf(item, "a step", ["kernel", "nodes", "operators"]);
    const kernel = textOf(fields.kernel, "the kernel of a step", MOST_CHARACTERS);
    const [nodes, operators] = ["nodes", "operators"].map((name) => {
      const what = `the ${name} of step "${kernel.slice(0, 64)}"`;
      return listOf(fields[name], what, MOST_NODES).map((text) => {
        if (typeof text !== "string") throw new ArtifactError(`expected ${what} as texts, found ${typeof text}`);
        return text;
      });
    });
    return `${nodes.join(" + ")} (${operators.join(", ")})`;
  });
}
