/** How two machines show each other that they know the same key (docs/wire.md of sateen). */

import { Channel } from "./channel.js";
import { SessionLostError, SessionRefusedError, SessionVersionError } from "./errors.js";
import { areEqual, codeOf, joined, utf8 } from "./key.js";
import { DeadlineError } from "./stream.js";

const MAGIC = utf8("sateen-rpc");
const VERSION = 1;
const MILLISECONDS = 5000;
const NONCE_BYTES = 32;
const PROOF_BYTES = 32;
const START_BYTES = MAGIC.length + 2 + NONCE_BYTES;
const ID_BYTES = 8;

/**
 * The side that has dialled: a channel to who knows `key`. Throws SessionRefusedError for who does not, or is
 * something else, SessionVersionError for another version, SessionLostError if the connection ends.
 */
export function greet(stream, key) {
  return within(async (deadline) => {
    const hello = joined(newStart(), key.id);
    await stream.write(hello, deadline);
    const start = await stream.read(START_BYTES, deadline);
    requireVersion(start);
    const proof = await stream.read(PROOF_BYTES, deadline);
    let said = joined(hello, start);
    if (!areEqual(await key.code(utf8("server"), said), proof)) {
      throw new SessionRefusedError("the other side does not know this key");
    }
    said = joined(said, proof);
    await stream.write(await key.code(utf8("client"), said), deadline);
    return channelOf(stream, key, said, "from the client", "from the server");
  });
}

/** The side that is dialled: a channel to who knows `key`. Throws as `greet`. */
export function accept(stream, key) {
  return within(async (deadline) => {
    const start = await stream.read(START_BYTES, deadline);
    const ours = newStart();
    try {
      requireVersion(start);
    } catch (error) {
      if (error instanceof SessionVersionError) await stream.write(ours, deadline); // so the client learns it, too
      throw error;
    }
    const id = await stream.read(ID_BYTES, deadline);
    const isNamed = areEqual(id, key.id);
    let said = joined(start, id, ours);
    const secret = crypto.getRandomValues(new Uint8Array(PROOF_BYTES)); // an unknown key gets an answer, too
    const prove = (who) => (isNamed ? key.code(utf8(who), said) : codeOf(secret, utf8(who), said));
    const proof = await prove("server");
    await stream.write(joined(ours, proof), deadline);
    said = joined(said, proof);
    const isKnown = areEqual(await prove("client"), await stream.read(PROOF_BYTES, deadline));
    if (!isNamed || !isKnown) {
      throw new SessionRefusedError("expected a client with the key of this device, found one without");
    }
    return channelOf(stream, key, said, "from the server", "from the client");
  });
}

function newStart() {
  return joined(MAGIC, Uint8Array.of(VERSION, 0), crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
}

function requireVersion(start) {
  if (!areEqual(start.subarray(0, MAGIC.length), MAGIC)) {
    throw new SessionRefusedError("expected sateen-rpc at the other end, found something else");
  }
  const version = new DataView(start.buffer).getUint16(MAGIC.length, true);
  if (version !== VERSION) {
    const older = version < VERSION ? "the other side is older: renew sateen-rpc there" : "renew sateen-web here";
    throw new SessionVersionError(`expected protocol ${VERSION}, found ${version}; ${older}`);
  }
}

async function channelOf(stream, key, said, ours, theirs) {
  const salt = await codeOf(utf8("sateen-rpc connection"), said);
  return new Channel(stream, await key.derived(salt, ours), await key.derived(salt, theirs));
}

/** What some work gives, which has the time of a handshake. */
async function within(work) {
  try {
    return await work(performance.now() + MILLISECONDS);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw new SessionLostError(`expected a handshake within ${MILLISECONDS / 1000} s, it did not come`);
  }
}
