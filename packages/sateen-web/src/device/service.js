/**
 * What a session does: it answers the requests of one client about libraries, networks, arrays and files.
 *
 * Requests and answers are those of `SessionService` of sateen-runtime. Their fields are checked, since a mistake in
 * them must end in an error and not in another answer; the code that they bring is run.
 */

import { engineTarget } from "../engine.js";
import { ArgumentError, ExecutionError, OutOfMemoryError } from "../errors.js";
import { Library } from "../library.js";
import { load } from "../load.js";
import { Tensor } from "../tensor.js";
import { canShareMemory } from "../threads.js";
import { timed, timedInTurns } from "../timing.js";
import { bytesOf, kindOf, rebuilt } from "./arrays.js";
import { SessionCrashedError, SessionOutOfMemoryError, SessionRefusedError } from "./errors.js";
import { INTEGER, LIST, NUMBER, TEXT, requireFields } from "./messages.js";
import { PlacedCalls } from "./placed_calls.js";
import { VERSION } from "./version.js";

const MOST_HELD = 1 << 16;
const MOST_SAMPLES = 100000; // which an answer can hold
const FILE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const TIMED = { number: INTEGER, repeat: INTEGER, min_seconds: NUMBER };
const MISSING = { header: { missing: true } };
const NOTHING = {};
const NO_MEMORY = "expected the work to fit the session's limit of memory, it needed more";

/** Answers {header, payload} to requests. All that it holds takes at most `memoryBytes`. */
export class Service {
  #memoryBytes;
  #next = 0;
  #libraries = new Map();
  #models = new Map();
  #arrays = new Map();
  #files = new Map();

  /** The fields of each request, and what answers it. */
  #requests = {
    info: [{}, () => this.#info()],
    log: [{}, () => NOTHING], // compiled code has nothing to write to
    load: [{ digest: TEXT, threads: INTEGER }, (given, _, content) => this.#load(given, content)],
    unload: [{ module: INTEGER }, ({ module }) => this.#unload(module, this.#libraries)],
    load_model: [{ digest: TEXT, threads: INTEGER }, (given, _, content) => this.#loadModel(given, content)],
    unload_model: [{ model: INTEGER }, ({ model }) => this.#unload(model, this.#models)],
    store: [{ digest: TEXT }, () => NOTHING], // what was sent is kept where all sessions have it
    empty: [{ dtype: TEXT, shape: LIST }, (given) => this.#empty(given)],
    read: [{ array: INTEGER }, ({ array }) => ({ payload: [bytesOf(known(array, this.#arrays))] })],
    copy: [{ array: INTEGER }, ({ array }) => this.#copy(array)],
    time_in_turns: [{ calls: LIST, repeat: INTEGER, min_seconds: NUMBER }, (given) => this.#timeInTurns(given)],
    get: [{ name: TEXT }, ({ name }) => ({ payload: [this.#file(name)] })],
    remove: [{ name: TEXT }, ({ name }) => this.#remove(name)],
    names: [{}, () => ({ header: { names: [...this.#files.keys()].sort() } })],
  };

  /** The requests that come with bytes. */
  #deliveries = {
    call: [{ module: INTEGER, function: TEXT, arrays: LIST }, (given, payload) => this.#call(given, payload)],
    time: [{ module: INTEGER, function: TEXT, arrays: LIST, ...TIMED }, (given, payload) => this.#time(given, payload)],
    run: [{ model: INTEGER, arrays: LIST, kept: LIST }, (given, payload) => this.#run(given, payload)],
    time_model: [{ model: INTEGER, arrays: LIST, ...TIMED }, (given, payload) => this.#timeModel(given, payload)],
    time_steps: [{ model: INTEGER, arrays: LIST, samples: INTEGER }, () => refuseSteps()],
    array: [{ arrays: LIST }, ({ arrays }, payload) => this.#array(one(arrays, payload))],
    write: [{ array: INTEGER, arrays: LIST }, (given, payload) => this.#write(given, payload)],
    put: [{ name: TEXT }, ({ name }, payload) => this.#put(name, payload)],
  };

  constructor(memoryBytes) {
    this.#memoryBytes = memoryBytes;
  }

  /**
   * The answer to a request; `content` is what is kept under its digest, if there is something.
   *
   * Throws the error to answer with. SessionOutOfMemoryError and SessionCrashedError end the session.
   */
  async answer({ op, ...fields }, payload, content) {
    const requests = { ...this.#requests, ...this.#deliveries };
    if (typeof op !== "string" || !Object.hasOwn(requests, op)) {
      throw new ArgumentError(`expected a request of ${Object.keys(requests).join(", ")}; found another`);
    }
    const [schema, answer] = requests[op];
    requireFields(fields, { unused: LIST, ...schema }, op);
    for (const number of fields.unused) this.#arrays.delete(number);
    if (!Object.hasOwn(this.#deliveries, op) && payload.length > 0) {
      throw new ArgumentError(`${op}: expected no bytes besides the request, found ${payload.length}`);
    }
    try {
      const { header = {}, payload: parts = [] } = await answer(fields, payload, content);
      this.#requireRoom(0);
      return { header, payload: parts };
    } catch (error) {
      throw ending(error);
    }
  }

  #info() {
    const hasThreads = canShareMemory();
    return {
      header: {
        target: engineTarget(hasThreads),
        machine: "wasm32",
        processors: hasThreads ? navigator.hardwareConcurrency : 1,
        memory_bytes: this.#memoryBytes,
        versions: { "sateen-web": VERSION, engine: navigator.userAgent },
      },
    };
  }

  async #load({ threads }, content) {
    if (content === undefined) return MISSING;
    const library = await Library.of(content, this.#limits(threads));
    return { header: { module: this.#hold(library, this.#libraries), functions: [...library.functions.values()] } };
  }

  async #loadModel({ threads }, content) {
    if (content === undefined) return MISSING;
    const network = await load(content, { ...this.#limits(threads), device: "wasm" });
    return { header: { model: this.#hold(network, this.#models) } };
  }

  /** The limits of what is loaded; there are no more threads than processors, and as many for 0. */
  #limits(threads) {
    const most = navigator.hardwareConcurrency;
    return { threads: threads === 0 ? most : Math.min(threads, most), memoryBytes: this.#memoryBytes };
  }

  #unload(number, held) {
    known(number, held).close();
    held.delete(number);
    return NOTHING;
  }

  async #call({ module, function: name, arrays }, payload) {
    const library = known(module, this.#libraries);
    const tensors = this.#given(arrays, payload);
    await this.#withCalls((callsOf) => callsOf(library).bind(name, tensors)());
    const { parameters } = library.functions.get(name);
    return { payload: tensors.filter((_, i) => parameters[i].output && Array.isArray(arrays[i])).map(bytesOf) };
  }

  #time({ module, function: name, arrays, ...options }, payload) {
    const library = known(module, this.#libraries);
    const tensors = this.#given(arrays, payload);
    return this.#withCalls(async (callsOf) => {
      const call = callsOf(library).bind(name, tensors);
      library.warm(name, call);
      return told(await timed(call, optionsOf(options)));
    });
  }

  #timeInTurns({ calls, ...options }) {
    return this.#withCalls(async (callsOf) => {
      const bound = calls.map((call) => this.#cycling(call, callsOf));
      const times = await timedInTurns(bound, optionsOf(options, calls.length));
      return { header: { times: times.map(({ samples, number }) => [[...samples], number]) } };
    });
  }

  /** A call that takes the given arguments in turn. */
  #cycling(call, callsOf) {
    const [module, name, given] = Array.isArray(call) ? call : [];
    if (!Array.isArray(given) || given.length === 0 || !given.every(Array.isArray)) {
      throw new ArgumentError("expected a module, a function and lists of arguments, found something else");
    }
    const library = known(module, this.#libraries);
    const bound = given.map((numbers) => callsOf(library).bind(name, numbers.map((n) => known(n, this.#arrays))));
    let turn = 0;
    const next = () => bound[turn++ % bound.length]();
    library.warm(name, next);
    return next;
  }

  /** What some work gives, which gets calls for libraries; what they have written is read when it is done. */
  async #withCalls(work) {
    const calls = new Map();
    const callsOf = (library) => {
      if (!calls.has(library)) calls.set(library, new PlacedCalls(library));
      return calls.get(library);
    };
    try {
      const result = await work(callsOf);
      for (const placed of calls.values()) placed.read();
      return result;
    } finally {
      for (const placed of calls.values()) placed.clear();
    }
  }

  async #run({ model, arrays, kept }, payload) {
    const network = known(model, this.#models);
    const inputs = this.#inputs(network, arrays, payload);
    if (kept.length !== network.outputs.length) {
      throw new ArgumentError(`expected ${network.outputs.length} outputs, found ${kept.length}`);
    }
    const places = kept.map((number) => (number === null ? null : known(number, this.#arrays)));
    const results = Object.values(await network.run(inputs));
    results.forEach((result, i) => places[i] === null || overwrite(places[i], result));
    return { payload: results.filter((_, i) => places[i] === null).map(bytesOf) };
  }

  async #timeModel({ model, arrays, ...options }, payload) {
    const network = known(model, this.#models);
    return told(await network.time(this.#inputs(network, arrays, payload), optionsOf(options)));
  }

  #inputs(network, arrays, payload) {
    if (arrays.length !== network.inputs.length) {
      throw new ArgumentError(`expected ${network.inputs.length} inputs, found ${arrays.length}`);
    }
    const given = this.#given(arrays, payload);
    return Object.fromEntries(network.inputs.map(({ name }, i) => [name, given[i]]));
  }

  #array(tensor) {
    return { header: { array: this.#hold(tensor, this.#arrays) } };
  }

  #empty({ dtype, shape }) {
    const { type, bytes } = kindOf([dtype, shape]);
    this.#requireRoom(bytes);
    return this.#array(new Tensor(new type.array(bytes / type.bytes), shape, dtype));
  }

  #copy(array) {
    const { data, shape, dtype } = known(array, this.#arrays);
    this.#requireRoom(data.byteLength);
    return this.#array(new Tensor(data.slice(), shape, dtype));
  }

  #write({ array, arrays }, payload) {
    overwrite(known(array, this.#arrays), one(arrays, payload));
    return NOTHING;
  }

  #put(name, payload) {
    if (!FILE.test(name)) throw new ArgumentError("expected the plain name of a file, found another");
    this.#requireFew();
    this.#files.set(name, payload);
    return NOTHING;
  }

  #file(name) {
    if (!this.#files.has(name)) throw new ArgumentError(`expected a file of this session, found no "${name}"`);
    return this.#files.get(name);
  }

  #remove(name) {
    this.#file(name);
    this.#files.delete(name);
    return NOTHING;
  }

  /** The arguments of a call: sent ones as [type, shape], others by the number of an array that is here. */
  #given(described, payload) {
    const sent = rebuilt(described.filter(Array.isArray), payload).values();
    return described.map((item) => (Array.isArray(item) ? sent.next().value : known(item, this.#arrays)));
  }

  #hold(value, held) {
    this.#requireFew();
    held.set(this.#next, value);
    return this.#next++;
  }

  #requireFew() {
    if (this.#arrays.size + this.#libraries.size + this.#models.size + this.#files.size >= MOST_HELD) {
      throw new SessionRefusedError(`expected at most ${MOST_HELD} arrays, files, libraries and networks, found more`);
    }
  }

  /** Throws SessionOutOfMemoryError unless there is room for so many bytes more. */
  #requireRoom(bytes) {
    const held = [
      ...Array.from(this.#arrays.values(), ({ data }) => data.byteLength),
      ...Array.from(this.#files.values(), ({ length }) => length),
      ...Array.from([...this.#libraries.values(), ...this.#models.values()], ({ memoryBytes }) => memoryBytes),
    ];
    const needed = held.reduce((sum, more) => sum + more, bytes);
    if (needed > this.#memoryBytes) throw new SessionOutOfMemoryError(NO_MEMORY);
  }
}

function known(number, held) {
  if (!held.has(number)) throw new ArgumentError("expected the number of what this session holds, found another");
  return held.get(number);
}

function one(described, payload) {
  if (described.length !== 1) throw new ArgumentError(`expected one array, found ${described.length}`);
  return rebuilt(described, payload)[0];
}

function overwrite(tensor, value) {
  if (String(tensor) !== String(value)) throw new ArgumentError(`expected ${tensor}, found ${value}`);
  tensor.data.set(value.data);
}

/** The options of timing some calls, as this package names them. */
function optionsOf({ number, repeat, min_seconds: minSeconds }, calls = 1) {
  if (repeat * calls > MOST_SAMPLES) {
    throw new ArgumentError(`expected at most ${MOST_SAMPLES} samples, found ${repeat} of each call`);
  }
  return { number, repeat, minSeconds };
}

function told({ samples, number }) {
  return { header: { samples: [...samples], number } };
}

function refuseSteps() {
  throw new ArgumentError("expected a network whose steps can be timed, found one for WebAssembly, which has no clock");
}

/** The error to tell: a lack of memory ends the session, and so does a trap, which is the cause of its error. */
function ending(error) {
  if (error instanceof OutOfMemoryError || error instanceof RangeError) return new SessionOutOfMemoryError(NO_MEMORY);
  if (error instanceof ExecutionError && error.cause !== undefined) return new SessionCrashedError(error.message);
  return error;
}
