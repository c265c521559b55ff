/** A device that waits at a proxy of sateen-rpc, by WebSocket, and gives sessions to who knows its key. */

import { ArgumentError, SateenError } from "../errors.js";
import { SessionLostError, SessionProtocolError, SessionRefusedError } from "./errors.js";
import { greet } from "./handshake.js";
import { Key } from "./key.js";
import { NUMBER, TEXT, requireFields } from "./messages.js";
import { Sessions } from "./sessions.js";
import { Store } from "./store.js";
import { DeadlineError, Stream } from "./stream.js";

const ADDRESS = /^wss?:\/\/[^#]+$/;
const CONNECT_SECONDS = 10;
const FIRST_PAUSE = 0.1;
const LONGEST_PAUSE = 30;
const LONGEST_BEAT = 60;
const MISSED_BEATS = 4;
const MOST_CALLS = 64;
const LONGEST_WORDS = 300;

/** What a device allows a session, unless it is told otherwise; seconds and bytes. */
const LIMITS = {
  requestSeconds: 600,
  leaseSeconds: 20,
  memoryBytes: 4 * 2 ** 30,
  messageBytes: 2 ** 30,
  storeBytes: 2 ** 30,
};

/**
 * Makes this page a device: it waits at the proxy of a WebSocket's `url` under a name, until it is closed, and comes
 * back whenever it was cut off.
 *
 * `key` is a text as `sateen rpc key` writes it, which clients need; `proxyKey` that of the proxy, if it is another.
 * `limits` are what a session may take. `onChange` gets the device whenever its state changes. Rejects with
 * ArgumentError for what is no address of a WebSocket, no name or no key, and limits that are not positive.
 */
export async function serve(url, { name, key, proxyKey = key, limits = {}, onChange = () => {} }) {
  for (const [limit, value] of Object.entries(limits)) {
    if (!Object.hasOwn(LIMITS, limit) || !(value > 0 && value < Infinity)) {
      throw new ArgumentError(`expected positive limits of ${Object.keys(LIMITS).join(", ")}; found ${limit}=${value}`);
    }
  }
  if (!ADDRESS.test(url)) throw new ArgumentError(`expected ws://HOST:PORT or wss://HOST:PORT, found ${url}`);
  if (typeof name !== "string" || name === "") throw new ArgumentError("expected the name of a device, found none");
  const keys = { own: await Key.of(key), proxy: await Key.of(proxyKey) };
  return new Device(url, name, keys, { ...LIMITS, ...limits }, onChange);
}

/** A device at work. */
export class Device {
  #url;
  #proxyKey;
  #sessions;
  #onChange;
  #isWaiting = false;
  #isClosed = false;
  #said = "";
  #streams = new Set();
  #wake = () => {};

  /** Use `serve`, which makes devices. */
  constructor(url, name, keys, limits, onChange) {
    this.name = name;
    this.#url = url;
    this.#proxyKey = keys.proxy;
    this.#onChange = () => onChange(this);
    this.#sessions = new Sessions(keys.own, limits, new Store(limits.storeBytes), this.#onChange);
    this.#keep();
  }

  /** `connecting` to the proxy, `waiting` there, `held` by a client, or `closed`. */
  get state() {
    if (this.#isClosed) return "closed";
    if (this.holder !== undefined) return "held";
    return this.#isWaiting ? "waiting" : "connecting";
  }

  /** Who has the session; undefined while it is free. */
  get holder() {
    return this.#sessions.holder;
  }

  /** What went wrong last, as an error tells it; "" if nothing did. */
  get said() {
    return this.#said;
  }

  /** Ends the session, and all connections. */
  close() {
    this.#isClosed = true;
    this.#isWaiting = false;
    this.#sessions.close();
    for (const stream of this.#streams) stream.close();
    this.#wake();
    this.#onChange();
  }

  /** Waits at the proxy, and comes back after a pause that grows while it is not to be had. */
  async #keep() {
    let pause = FIRST_PAUSE;
    while (!this.#isClosed) {
      await this.#reporting(() => this.#stay());
      pause = this.#isWaiting ? FIRST_PAUSE : Math.min(2 * pause, LONGEST_PAUSE);
      this.#isWaiting = false;
      if (!this.#isClosed) {
        this.#onChange();
        await this.#rest(pause * (0.5 + Math.random())); // so that devices don't come at once
      }
    }
  }

  #rest(seconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Waits at the proxy until the connection ends. */
  #stay() {
    return this.#atProxy(async (channel) => {
      const answer = await asked(channel, { op: "wait", device: this.name });
      requireFields(answer, { beat: NUMBER }, "wait");
      const { beat } = answer;
      if (!(beat > 0 && beat <= LONGEST_BEAT)) {
        throw new SessionProtocolError(`expected seconds between beats, found ${beat}`);
      }
      this.#isWaiting = true;
      this.#said = "";
      this.#onChange();
      const beating = setInterval(() => channel.send({ op: "beat" }).catch(() => channel.close()), 1000 * beat);
      let calls = 0;
      try {
        for (;;) {
          const message = await channel.receive(performance.now() + MISSED_BEATS * 1000 * beat);
          if (message === null) throw new SessionLostError("the proxy closed the connection");
          if (message.header.op === "heard") continue;
          requireFields(message.header, { op: TEXT, token: TEXT }, "come");
          if (calls >= MOST_CALLS) throw new SessionProtocolError(`expected at most ${MOST_CALLS} clients, found more`);
          calls++;
          this.#reporting(() => this.#come(message.header.token)).finally(() => calls--);
        }
      } finally {
        clearInterval(beating);
      }
    });
  }

  /** Lets a client in that the proxy has, by a connection of its own. */
  #come(token) {
    return this.#atProxy(async (channel) => {
      await asked(channel, { op: "come", token });
      await this.#sessions.admit(channel.stream);
    });
  }

  /** Does some work with a new channel to the proxy, which ends with it. */
  async #atProxy(work) {
    const stream = await Stream.dialled(this.#url, CONNECT_SECONDS);
    this.#streams.add(stream);
    try {
      if (!this.#isClosed) await work(await greet(stream, this.#proxyKey));
    } finally {
      this.#streams.delete(stream);
      stream.close();
    }
  }

  /** Does some work, and keeps what goes wrong to show it. */
  async #reporting(work) {
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      const found = error instanceof DeadlineError ? new SessionLostError("the proxy is silent") : error;
      if (!(found instanceof SateenError)) throw found;
      this.#said = `${found.name}: ${found.message}`;
      this.#onChange();
    }
  }
}

/** The answer of a proxy. Throws SessionLostError if none comes, and the error that it tells. */
async function asked(channel, request) {
  await channel.send(request);
  const message = await channel.receive(performance.now() + 1000 * CONNECT_SECONDS);
  if (message === null) throw new SessionLostError("the proxy closed the connection");
  if (!Object.hasOwn(message.header, "error")) return message.header;
  requireFields(message.header, { error: TEXT, message: TEXT }, "an answer");
  throw new SessionRefusedError(`the proxy refused: ${message.header.message.slice(0, LONGEST_WORDS)}`);
}
