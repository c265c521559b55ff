/** Who gets a session of this device: one client at a time, for as long as it is heard. */

import { hexadecimal } from "../digest.js";
import { SateenError } from "../errors.js";
import { accept } from "./handshake.js";
import { SessionLostError, SessionRefusedError } from "./errors.js";
import { NUMBER, TEXT, requireFields } from "./messages.js";
import { ServedSession } from "./served_session.js";
import { DeadlineError } from "./stream.js";

const FIRST_SECONDS = 10;
const TOKEN_BYTES = 16;
const LONGEST_NAME = 100;

/** The sessions of who knows a key. `onChange` is called when a client comes or goes. */
export class Sessions {
  #key;
  #limits;
  #store;
  #onChange;
  #held;

  constructor(key, limits, store, onChange) {
    this.#key = key;
    this.#limits = limits;
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Who has the session; undefined while it is free. */
  get holder() {
    return this.#held?.session.holder;
  }

  /** Answers a client on a stream for as long as it lasts. Throws the errors of a handshake, and what ended it. */
  async admit(stream) {
    try {
      const channel = await accept(stream, this.#key);
      const message = await channel.receive(within(FIRST_SECONDS));
      if (message !== null) await this.#told(channel, () => this.#take(channel, message.header));
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new SessionLostError("expected word of a client, none came");
    } finally {
      stream.close();
    }
  }

  /** Ends the session. */
  close() {
    this.#held?.session.end();
  }

  async #take(channel, header) {
    if (header.op === "claim") {
      requireFields(header, { op: TEXT, holder: TEXT, seconds: NUMBER, token: TEXT }, "claim");
      await this.#hold(channel, header);
    } else if (header.op === "attach") {
      requireFields(header, { op: TEXT, session: TEXT }, "attach");
      if (header.session !== this.#held?.token) {
        throw new SessionRefusedError("expected the token of a session that waits, found another");
      }
      await this.#held.session.serve(channel);
    } else {
      throw new SessionRefusedError("expected a request to claim or to attach, found another");
    }
  }

  /** Holds the session for as long as its client beats. */
  async #hold(channel, { holder, seconds, token }) {
    if (!(seconds > 0)) throw new SessionRefusedError("expected a positive limit of seconds for each request");
    if (token !== "") throw new SessionRefusedError("expected a client without a token, since no tracker knows a page");
    if (this.#held !== undefined) throw new SessionRefusedError(`the device is in use, held by ${this.holder}`);
    const session = new ServedSession(printable(holder), seconds, this.#limits, this.#store);
    this.#held = { session, token: hexadecimal(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES))) };
    this.#onChange();
    try {
      await channel.send({ session: this.#held.token, lease: this.#limits.leaseSeconds });
      await this.#beat(channel, session);
    } finally {
      this.#held = undefined;
      session.end();
      this.#onChange();
    }
  }

  /** Returns when the client has closed. */
  async #beat(channel, session) {
    let isWatched = false;
    for (;;) {
      const message = await channel.receive(within(this.#limits.leaseSeconds));
      if (message === null) return;
      if (message.header.op === "beat") {
        await channel.send({ op: "beat" }); // by which the client knows that this device lives
      } else if (message.header.op === "watch" && !isWatched) {
        isWatched = true;
        session.failed.then((error) => this.#tell(channel, error)).catch(() => {}); // the client may be gone
      } else {
        throw new SessionRefusedError("expected a beat, or to watch the session once, found something else");
      }
    }
  }

  async #told(channel, work) {
    try {
      await work();
    } catch (error) {
      if (error instanceof SateenError) await this.#tell(channel, error).catch(() => {}); // who may be gone
      throw error;
    }
  }

  #tell(channel, error) {
    return channel.send({ error: error.name, message: error.message });
  }
}

function within(seconds) {
  return performance.now() + 1000 * seconds;
}

/** A name that can be shown. */
function printable(name) {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?").slice(0, LONGEST_NAME);
}
