/**
 * Frames of an authenticated connection (docs/wire.md of sateen): lengths, a header, a payload and a code.
 *
 * The code is over the frame's number, too, which both sides count: a frame that is repeated, left out or moved has a
 * wrong one.
 */

import { SessionError, SessionLostError, SessionProtocolError } from "./errors.js";
import { areEqual } from "./key.js";
import { packed, unpacked } from "./messages.js";
import { DeadlineError } from "./stream.js";

const NUMBER_BYTES = 8;
const LENGTHS_BYTES = 12;
const CODE_BYTES = 16;
const MOST_HEADER_BYTES = 1 << 20;
const GRACE_MILLISECONDS = 10000;
const LEAST_RATE = 64 << 10;

/** One end of a connection. Frames are sent in the order of the calls of `send`; one at a time is received. */
export class Channel {
  #sending;
  #receiving;
  #sent = 0;
  #received = 0;
  #last = Promise.resolve();

  constructor(stream, sending, receiving) {
    this.stream = stream;
    this.#sending = sending;
    this.#receiving = receiving;
  }

  /**
   * Send a frame, whose payload is in parts. Throws SessionLostError if the other side is gone or does not read,
   * SessionProtocolError for a header that is too long, of which nothing is sent.
   */
  send(header, payload = []) {
    const done = this.#last.then(() => this.#send(header, payload));
    this.#last = done.catch(() => {}); // who sent it learns it
    return done;
  }

  async #send(header, payload) {
    const text = packed(header);
    if (text.length > MOST_HEADER_BYTES) {
      throw new SessionProtocolError(`expected a header of at most ${MOST_HEADER_BYTES} bytes, found ${text.length}`);
    }
    const size = payload.reduce((sum, part) => sum + part.length, 0);
    const end = NUMBER_BYTES + LENGTHS_BYTES + text.length + size;
    const frame = new Uint8Array(end + CODE_BYTES);
    writeStart(frame, this.#sent++, text.length, size);
    let place = NUMBER_BYTES + LENGTHS_BYTES;
    for (const part of [text, ...payload]) {
      frame.set(part, place);
      place += part.length;
    }
    const code = await this.#sending.code(frame.subarray(0, end));
    frame.set(code.subarray(0, CODE_BYTES), end);
    try {
      await this.stream.write(frame.subarray(NUMBER_BYTES), performance.now() + millisecondsFor(frame.length));
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new SessionLostError("expected the other side to take a message, it does not read");
    }
  }

  /**
   * The next frame, {header, payload}, whose payload has at most `mostBytes`; null if the other side has closed.
   *
   * Throws DeadlineError if none begins before `deadline`, SessionProtocolError for a frame that is too long, which is
   * known before memory is taken for it, damaged or out of order, SessionLostError if it does not end.
   */
  async receive(deadline = Infinity, mostBytes = 0) {
    if (!(await this.stream.goesOn(deadline))) return null;
    try {
      return await this.#rest(mostBytes);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new SessionLostError("expected the rest of a message, which came too slowly");
    }
  }

  async #rest(mostBytes) {
    const begun = performance.now();
    const lengths = await this.stream.read(LENGTHS_BYTES, begun + GRACE_MILLISECONDS);
    const view = new DataView(lengths.buffer);
    const [headerBytes, payloadBytes] = [view.getUint32(0, true), Number(view.getBigUint64(4, true))];
    requireAtMost("header", headerBytes, MOST_HEADER_BYTES);
    requireAtMost("payload", payloadBytes, mostBytes);
    const start = NUMBER_BYTES + LENGTHS_BYTES;
    const frame = memoryFor(start + headerBytes + payloadBytes);
    writeStart(frame, this.#received, headerBytes, payloadBytes);
    const deadline = begun + millisecondsFor(frame.length);
    await this.stream.readInto(frame.subarray(start), deadline);
    const code = await this.stream.read(CODE_BYTES, deadline);
    if (!areEqual((await this.#receiving.code(frame)).subarray(0, CODE_BYTES), code)) {
      throw new SessionProtocolError("expected the next message of the other side, found one changed on its way");
    }
    this.#received++;
    const payload = frame.subarray(start + headerBytes);
    return { header: unpacked(frame.subarray(start, start + headerBytes)), payload };
  }

  close() {
    this.stream.close();
  }
}

function writeStart(frame, number, headerBytes, payloadBytes) {
  const view = new DataView(frame.buffer);
  view.setBigUint64(0, BigInt(number), true);
  view.setUint32(NUMBER_BYTES, headerBytes, true);
  view.setBigUint64(NUMBER_BYTES + 4, BigInt(payloadBytes), true);
}

function requireAtMost(what, found, most) {
  if (found > most) {
    throw new SessionProtocolError(`expected a message with a ${what} of at most ${most} bytes, found ${found}`);
  }
}

function memoryFor(bytes) {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    throw new SessionError(`expected memory for a message of ${bytes} bytes: ${error.message}`);
  }
}

function millisecondsFor(bytes) {
  return GRACE_MILLISECONDS + (1000 * bytes) / LEAST_RATE;
}
