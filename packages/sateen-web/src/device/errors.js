/** What can go wrong with a session, in the names that clients know. */

import { SateenError } from "../errors.js";

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
