/** Makes a page, or a program in Node, a device: clients compile for it, and run and measure there. */

import { SateenError } from "../index.js";

/** What a session may take. */
export interface Limits {
  /** How long a request may take; a client may ask for less; 600 by default. */
  requestSeconds?: number;
  /** How long a session lives on without word from its client; 20 by default. */
  leaseSeconds?: number;
  /** The most bytes of arrays, files and the memories of libraries and networks in all; 4 GiB by default. */
  memoryBytes?: number;
  /** The most bytes of a message: of an upload, of the arrays of a call; 1 GiB by default. */
  messageBytes?: number;
  /** The most bytes of uploads that are kept for later sessions; 1 GiB by default. */
  storeBytes?: number;
}

export interface ServeOptions {
  /** The name under which clients find the device at the proxy. */
  name: string;
  /** The key that clients need, a text as `sateen rpc key` writes it to a file. */
  key: string;
  /** The key of the proxy, if it is another. */
  proxyKey?: string;
  limits?: Limits;
  /** Called whenever the state of the device changes, or something goes wrong. */
  onChange?: (device: Device) => void;
}

/** A device at work; `serve` makes it. */
export class Device {
  private constructor();
  readonly name: string;
  /** `connecting` to the proxy, `waiting` there, `held` by a client, or `closed`. */
  readonly state: "connecting" | "waiting" | "held" | "closed";
  /** Who has the session; undefined while it is free. */
  readonly holder: string | undefined;
  /** What went wrong last, as an error tells it; "" if nothing did since the device waits. */
  readonly said: string;
  /** Ends the session, and all connections. */
  close(): void;
}

/**
 * Makes this page a device: it waits at the proxy of a WebSocket's `url` under a name, until it is closed, and comes
 * back whenever it was cut off. Pages that are hidden have slow timers: a device should be in a worker.
 *
 * Rejects with ArgumentError for what is no address of a WebSocket, no name or no key, and limits that are not
 * positive.
 */
export function serve(url: string, options: ServeOptions): Promise<Device>;

/** A session that can't answer, or one of the subclasses below. */
export class SessionError extends SateenError {}
/** The work of a session took longer than its limit; the session has ended. */
export class SessionTimeoutError extends SessionError {}
/** The code of a session ended by a trap; the session has ended. */
export class SessionCrashedError extends SessionError {}
/** The work of a session needed more memory than its limit; the session has ended. */
export class SessionOutOfMemoryError extends SessionError {}
/** The key is unknown, the device is in use, or the work exceeds what is allowed. */
export class SessionRefusedError extends SessionError {}
/** The other side speaks another version of the protocol. */
export class SessionVersionError extends SessionError {}
/** A message that is damaged, out of order, too large, or makes no sense; the connection has ended. */
export class SessionProtocolError extends SessionError {}
/** The other side is gone, or can't be reached. */
export class SessionLostError extends SessionError {}
