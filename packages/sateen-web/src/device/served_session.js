/** One session of this device: the worker that answers its client, and its end. */

import { SateenError } from "../errors.js";
import { onError, onMessage } from "../workers.js";
import {
  SessionCrashedError,
  SessionOutOfMemoryError,
  SessionRefusedError,
  SessionTimeoutError,
} from "./errors.js";
import { MOST_UNREAD_BYTES } from "./stream.js";

const NODE_THREADS = "node:worker_threads";
const START_SECONDS = 60;
const LOADS = ["load", "load_model"];

/** A session that a client holds, from its claim to its end. A request takes at most `seconds`. */
export class ServedSession {
  #limits;
  #store;
  #seconds;
  #worker;
  #channel;
  #said = () => {};
  #tellEnd;
  #isOver = false;

  constructor(holder, seconds, limits, store) {
    this.holder = holder;
    this.#seconds = Math.min(seconds, limits.requestSeconds);
    this.#limits = limits;
    this.#store = store;
    /** Resolves to the error that ended the session by itself. */
    this.failed = new Promise((resolve) => (this.#tellEnd = resolve));
  }

  /**
   * Answers the requests of a client until it closes, or the session is over. Throws SessionRefusedError if it has a
   * client already.
   */
  async serve(channel) {
    if (this.#channel !== undefined || this.#isOver) {
      throw new SessionRefusedError("expected a session that waits for its connection, found none");
    }
    this.#channel = channel;
    channel.stream.mostUnread = MOST_UNREAD_BYTES + this.#limits.messageBytes;
    try {
      await this.#start();
      await channel.send({});
      for (;;) {
        const request = await channel.receive(Infinity, this.#limits.messageBytes);
        if (request === null) return;
        const { header, payload } = await this.#answer(request);
        if (header.error === SessionCrashedError.name) throw new SessionCrashedError(header.message);
        await channel.send(header, payload);
        if (header.error === SessionOutOfMemoryError.name) throw new SessionOutOfMemoryError(header.message);
      }
    } catch (error) {
      this.#tellEnd(error);
      throw error;
    } finally {
      this.end();
    }
  }

  /** Ends the worker, whatever it does, and the connection of the client. */
  end() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#worker?.terminate();
    this.#said({ header: {}, payload: [] });
    this.#channel?.close();
  }

  async #start() {
    const worker = await newWorker();
    this.#worker = worker;
    if (this.#isOver) worker.terminate();
    onMessage(worker, (message) => this.#said(message));
    onError(worker, (words) => this.#said(failure(new SessionCrashedError(words))));
    const { header } = await this.#asked({ memoryBytes: this.#limits.memoryBytes }, START_SECONDS);
    if (Object.hasOwn(header, "error")) throw new SessionCrashedError(`the session does not start: ${header.message}`);
  }

  /** The answer to a request. What is sent to be kept, and what a load names, goes through the store. */
  async #answer({ header, payload }) {
    if (header.op !== "store") {
      const content = LOADS.includes(header.op) ? this.#store.content(header.digest) : undefined;
      return this.#asked({ header, payload, content });
    }
    try {
      await this.#store.keep(header.digest, payload);
    } catch (error) {
      if (!(error instanceof SateenError)) throw error;
      return failure(error);
    }
    return this.#asked({ header, payload: new Uint8Array(0) });
  }

  /** What the worker says to a message. Throws SessionTimeoutError if that takes too long. */
  #asked(message, seconds = this.#seconds) {
    return new Promise((resolve, reject) => {
      const words = `expected each request to end within ${seconds} s, one did not`;
      const timer = setTimeout(() => reject(new SessionTimeoutError(words)), 1000 * seconds);
      this.#said = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      this.#worker.postMessage(message, message.payload === undefined ? [] : [message.payload.buffer]);
    });
  }
}

/** The answer that tells an error. */
function failure({ name, message }) {
  return { header: { error: name, message }, payload: [] };
}

async function newWorker() {
  // Bundlers find the program of a worker by these words.
  if (globalThis.Worker !== undefined) return new Worker(new URL("./session.js", import.meta.url), { type: "module" });
  const { Worker: NodeWorker } = await import(NODE_THREADS);
  return new NodeWorker(new URL("./session.js", import.meta.url));
}
