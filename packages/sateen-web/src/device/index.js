/** Makes a page, or a program in Node, a device: clients compile for it, and run and measure there. */

export { Device, serve } from "./device.js";
export {
  SessionCrashedError,
  SessionError,
  SessionLostError,
  SessionOutOfMemoryError,
  SessionProtocolError,
  SessionRefusedError,
  SessionTimeoutError,
  SessionVersionError,
} from "./errors.js";
