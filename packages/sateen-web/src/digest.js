/** What is known by its digest. */

import { ArtifactError } from "./errors.js";

/** The SHA-256 of some bytes, in hexadecimal digits. Throws ArtifactError where there is no WebCrypto. */
export async function digestOf(bytes) {
  if (globalThis.crypto?.subtle === undefined) {
    throw new ArtifactError(
      "expected WebCrypto, which checks digests, found none: serve the page over https or from localhost",
    );
  }
  return hexadecimal(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

export function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
