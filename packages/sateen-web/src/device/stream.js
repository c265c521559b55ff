/** A stream of bytes in the messages of a WebSocket (RFC 6455), wherever they begin and end. */

import { SessionError, SessionLostError, SessionProtocolError } from "./errors.js";

const MESSAGE_BYTES = 1 << 20;
const MOST_UNSENT_BYTES = 16 << 20;
const LOOK_MILLISECONDS = 5;

/** The most bytes that wait to be read, unless a message may be longer. */
export const MOST_UNREAD_BYTES = 2 << 20;

/** A deadline that has passed: a time of `performance.now()`. */
export class DeadlineError extends Error {}

/** One end of a connection. */
export class Stream {
  #socket;
  #chunks = [];
  #unread = 0;
  #end;
  #wake = () => {};

  constructor(socket) {
    this.#socket = socket;
    /** A WebSocket takes what arrives, read or not; more than this ends it. */
    this.mostUnread = MOST_UNREAD_BYTES;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#take(data);
    socket.onclose = () => this.#finish(new SessionLostError("the other side closed the connection"));
  }

  /** A new connection. Throws SessionLostError if nobody takes WebSockets there within some seconds. */
  static async dialled(url, seconds) {
    if (globalThis.WebSocket === undefined) {
      throw new SessionError("expected WebSocket, found none: use a browser, or Node 22 or later");
    }
    return new Promise((resolve, reject) => {
      const socket = opened(url);
      const stream = new Stream(socket);
      const fail = () => {
        clearTimeout(timer);
        stream.close();
        const from = globalThis.location === undefined ? "" : ` from ${location.origin}`; // which a proxy may refuse
        reject(new SessionLostError(`${url}: expected a proxy of sateen-rpc that takes WebSockets${from}, found none`));
      };
      const timer = setTimeout(fail, 1000 * seconds);
      socket.onerror = fail;
      socket.onopen = () => {
        clearTimeout(timer);
        socket.onerror = null;
        resolve(stream);
      };
    });
  }

  /** Whether the stream goes on: true once there is a byte, false when the other side has closed. */
  async goesOn(deadline) {
    while (this.#unread === 0) {
      if (this.#end instanceof SessionLostError) return false;
      await this.#more(deadline);
    }
    return true;
  }

  /** So many bytes. Throws DeadlineError, and SessionLostError if the stream ends before. */
  async read(count, deadline) {
    const bytes = new Uint8Array(count);
    await this.readInto(bytes, deadline);
    return bytes;
  }

  /** Fill an array, as `read`. */
  async readInto(bytes, deadline) {
    for (let filled = 0; filled < bytes.length; ) {
      if (performance.now() > deadline) throw new DeadlineError();
      if (this.#unread === 0) {
        await this.#more(deadline);
        continue;
      }
      const [chunk] = this.#chunks;
      const part = chunk.subarray(0, bytes.length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#unread -= part.length;
      if (part.length === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(part.length);
    }
  }

  /** Send bytes. Throws DeadlineError if the other side does not take them, SessionLostError if it is gone. */
  async write(bytes, deadline) {
    for (let start = 0; start < bytes.length; start += MESSAGE_BYTES) {
      while (this.#end === undefined && this.#socket.bufferedAmount > MOST_UNSENT_BYTES) {
        if (performance.now() > deadline) throw new DeadlineError();
        await new Promise((later) => setTimeout(later, LOOK_MILLISECONDS));
      }
      if (this.#end !== undefined) throw this.#end;
      this.#socket.send(bytes.subarray(start, start + MESSAGE_BYTES));
    }
  }

  close() {
    this.#finish(new SessionLostError("the connection was closed"));
  }

  #take(data) {
    if (this.#end !== undefined) return;
    if (typeof data === "string") {
      this.#finish(new SessionProtocolError("expected messages of bytes, found one of text"));
      return;
    }
    this.#unread += data.byteLength;
    if (this.#unread > this.mostUnread) {
      this.#finish(new SessionProtocolError(`expected at most ${this.mostUnread} bytes at once, found more`));
      return;
    }
    if (data.byteLength > 0) this.#chunks.push(new Uint8Array(data));
    this.#wake();
  }

  /** Of what has arrived the rest can be read, unless it was too much. */
  #finish(error) {
    if (this.#end !== undefined) return;
    this.#end = error;
    if (error instanceof SessionProtocolError) [this.#chunks, this.#unread] = [[], 0];
    this.#socket.close();
    this.#wake();
  }

  /** Resolves when something has happened. */
  async #more(deadline) {
    if (this.#end !== undefined) throw this.#end;
    let timer;
    await new Promise((resolve, reject) => {
      this.#wake = resolve;
      if (deadline < Infinity) timer = setTimeout(() => reject(new DeadlineError()), deadline - performance.now());
    });
    clearTimeout(timer);
  }
}

function opened(url) {
  try {
    return new WebSocket(url);
  } catch (error) {
    throw new SessionLostError(`${url}: expected an address that this page may connect to: ${error.message}`);
  }
}
