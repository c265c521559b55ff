/**
 * What a network for a device does, as data: launches of kernels, copies, and what decides and repeats
 * (docs/design/devices.md of sateen). Places {block, offset, size} lie in blocks of memory.
 *
 * A value that decides lies in memory of the host, here of the page: an action copies it there before.
 */

import { fieldsOf, integerOf, listOf, objectOf, textOf } from "./checked_json.js";
import { ArtifactError } from "./errors.js";

const MOST = 2 ** 48;
const MOST_LAUNCHES = 2 ** 20;
const MOST_ARGUMENTS = 4096;
const MOST_BLOCKS = 2 ** 31 - 1;
const MOST_TIMES = 2 ** 31 - 1;
const MOST_NESTED = 32;
const CONDITION_BYTES = 1;
const NUMBER_BYTES = 8;
const MOST_NODES = 2 ** 20;
const MOST_CHARACTERS = 65536;
const LAUNCH = ["kernel", "grid", "block", "places", "scalars", "step", "shared"];

/**
 * The actions of a manifest, in the order of its steps, of which there are `steps`; `blocks` are {size, isHost}.
 *
 * Each has a `kind`: "launch" of a kernel, with its places, scalars, grid, threads of a block and shared bytes, "copy" of
 * `source` to `to`, "if" with `condition`, `then` and `otherwise`, "repeat" with `count`, `number`, `body` and `rows`,
 * "while" with `condition`, `most`, `number` and `body`. Throws ArtifactError for others, and for places outside of
 * blocks.
 */
export function actionsOf(value, blocks, steps) {
  const actions = new Reader(blocks).actions(value, "the launches", 0);
  actions.forEach(({ step }, index) => {
    if (step >= steps || (index > 0 && step < actions[index - 1].step)) {
      throw new ArtifactError(`expected launches in the order of their ${steps} steps, found one of step ${step}`);
    }
  });
  return actions;
}

/** All launches of some actions, those within others too. */
export function launchesIn(actions) {
  return actions.flatMap((action) => (action.kind === "launch" ? [action] : launchesIn(bodyOf(action))));
}

/** The actions within an action. */
function bodyOf({ then = [], otherwise = [], body = [] }) {
  return [...then, ...otherwise, ...body];
}

/** Reads actions, counts them, and compares their places with the blocks that they lie in. */
class Reader {
  #blocks;
  #left = MOST_LAUNCHES;

  #kinds = {
    launch: (value) => this.#launch(value),
    copy: (value) => this.#copy(value),
    if: (value, depth) => this.#choice(value, depth),
    repeat: (value, depth) => this.#repetition(value, depth),
    while: (value, depth) => this.#loop(value, depth),
  };

  constructor(blocks) {
    this.#blocks = blocks;
  }

  actions(value, what, depth) {
    if (depth > MOST_NESTED) {
      throw new ArtifactError(`expected at most ${MOST_NESTED} lists of actions within each other, found more`);
    }
    const listed = listOf(value, what, this.#left);
    this.#left -= listed.length;
    return listed.map((item) => this.#action(item, depth));
  }

  #action(value, depth) {
    const keys = Object.keys(objectOf(value, "an action"));
    if (Object.hasOwn(value, "call")) {
      const called = textOf(value.call, "the name of a function", 512);
      throw new ArtifactError(
        `expected a network that is on its device, found a call of ${called} on the host: ` +
          "compile the model for WebAssembly",
      );
    }
    const kinds = Object.keys(this.#kinds).filter((kind) => keys.includes(kind));
    if (kinds.length === 0 && !keys.includes("kernel")) {
      const found = keys.join(", ").slice(0, 200) || "nothing";
      throw new ArtifactError(`expected the launch of a kernel, found a step of ${found}; renew sateen-web`);
    }
    if (kinds.length > 1) throw new ArtifactError(`expected an action of one kind, found ${kinds.join(", ")}`);
    const [kind = "launch"] = kinds;
    const action = { kind, ...this.#kinds[kind](value, depth) };
    action.step = integerOf(value.step, "the step of an action", 0, MOST_LAUNCHES);
    const other = bodyOf(action).find(({ step }) => step !== action.step);
    if (other !== undefined) {
      throw new ArtifactError(`expected all actions of step ${action.step} to say so, found step ${other.step}`);
    }
    return action;
  }

  #launch(value) {
    const fields = fieldsOf(value, "a launch", LAUNCH, { more: false });
    const kernel = textOf(fields.kernel, "the name of a kernel", 512);
    const listed = listOf(fields.places, "the places", MOST_ARGUMENTS);
    const places = listed.map((place) => this.#place(place, `kernel "${kernel}"`));
    if (places.some(({ block }) => this.#blocks[block].isHost)) {
      throw new ArtifactError(`expected places on the device, found one on the host, given to kernel "${kernel}"`);
    }
    return {
      kernel,
      grid: three(fields.grid, "the grid", 0),
      block: three(fields.block, "the threads of a block", 1),
      places,
      scalars: listOf(fields.scalars, "the scalars", 64).map((n) => integerOf(n, "a scalar", -MOST, MOST)),
      sharedBytes: integerOf(fields.shared, "the shared bytes of a block", 0, MOST),
    };
  }

  #copy(value) {
    const fields = fieldsOf(value, "a copy", ["copy", "to", "step"], { more: false });
    const [source, to] = [fields.copy, fields.to].map((place) => this.#place(place, "a copy"));
    if (source.size !== to.size) {
      throw new ArtifactError(`expected a copy of as many bytes, found ${source.size} to ${to.size}`);
    }
    return { source, to };
  }

  #choice(value, depth) {
    const fields = fieldsOf(value, "a choice", ["if", "then", "else", "step"], { more: false });
    return {
      condition: this.#deciding(fields.if, CONDITION_BYTES),
      then: this.actions(fields.then, "what a choice does", depth + 1),
      otherwise: this.actions(fields.else, "what a choice does otherwise", depth + 1),
    };
  }

  #repetition(value, depth) {
    const fields = fieldsOf(value, "a repetition", ["repeat", "number", "body", "rows", "step"], { more: false });
    const count = integerOf(fields.repeat, "the times of a repetition", 0, MOST_TIMES);
    return {
      count,
      number: this.#counting(fields.number),
      body: this.actions(fields.body, "what is repeated", depth + 1),
      rows: listOf(fields.rows, "the rows of a repetition", MOST_ARGUMENTS).map((row) => this.#row(row, count)),
    };
  }

  #loop(value, depth) {
    const fields = fieldsOf(value, "a loop", ["while", "most", "number", "body", "step"], { more: false });
    return {
      condition: this.#deciding(fields.while, CONDITION_BYTES),
      most: this.#deciding(fields.most, NUMBER_BYTES),
      number: this.#counting(fields.number),
      body: this.actions(fields.body, "what a loop does", depth + 1),
    };
  }

  #row(value, count) {
    const listed = listOf(value, "a row", 2);
    if (listed.length !== 2) throw new ArtifactError("expected a row as its place and that of all rows");
    const [row, rows] = listed.map((place) => this.#place(place, "a row"));
    if (rows.size !== count * row.size) {
      throw new ArtifactError(`expected ${count} rows of ${row.size} bytes, found place for ${rows.size} bytes`);
    }
    return { row, rows };
  }

  /** The place of a condition or a number, which the host reads. */
  #deciding(value, size) {
    const place = this.#place(value, "what decides");
    if (!this.#blocks[place.block].isHost || place.size !== size || place.offset % size !== 0) {
      throw new ArtifactError(
        `expected ${size} bytes of the host at a multiple of them for what decides, found ${place.size} from ` +
          `${place.offset} on in block ${place.block}`,
      );
    }
    return place;
  }

  /** The place of a number that is written, on the host or the device. */
  #counting(value) {
    const place = this.#place(value, "what counts");
    if (place.size !== NUMBER_BYTES || place.offset % NUMBER_BYTES !== 0) {
      throw new ArtifactError(
        `expected ${NUMBER_BYTES} bytes at a multiple of them for what counts, found ${place.size} from ` +
          `${place.offset} on in block ${place.block}`,
      );
    }
    return place;
  }

  #place(value, whose) {
    const listed = listOf(value, "a place", 3);
    if (listed.length !== 3) throw new ArtifactError("expected a place as block, offset and size");
    const [block, offset, size] = [
      integerOf(listed[0], "the number of a block", 0, MOST_ARGUMENTS * 64),
      integerOf(listed[1], "an offset", 0, MOST),
      integerOf(listed[2], "a size", 0, MOST),
    ];
    if (block >= this.#blocks.length || offset + size > this.#blocks[block].size) {
      const sizes = this.#blocks.map((b) => b.size).join(", ");
      throw new ArtifactError(
        `expected places within blocks of [${sizes}] bytes, found ${size} bytes from ${offset} on in block ${block}, ` +
          `given to ${whose}`,
      );
    }
    return { block, offset, size };
  }
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
