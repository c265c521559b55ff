/** Values of JSON from untrusted sources, each of the expected type; anything else throws ArtifactError. */

import { ArtifactError } from "./errors.js";

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/** The value of a text in UTF-8. */
export function parse(bytes, what) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ArtifactError(`expected ${what} as JSON: ${error.message}`);
  }
}

/** An object with these keys; without `more` it has no others. */
export function fieldsOf(value, what, keys, { more = true } = {}) {
  const found = objectOf(value, what);
  const missing = keys.filter((key) => !Object.hasOwn(found, key));
  const others = Object.keys(found).filter((key) => !more && !keys.includes(key));
  if (others.length > 0) {
    throw new ArtifactError(`expected ${what} to have ${keys.join(", ")} alone; found ${others.join(", ").slice(0, 200)}`);
  }
  if (missing.length > 0) {
    throw new ArtifactError(`expected ${what} to have ${keys.join(", ")}; found no ${missing.join(", ")}`);
  }
  return found;
}

export function objectOf(value, what) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ArtifactError(`expected ${what} as an object, found ${shown(value)}`);
  }
  return value;
}

export function listOf(value, what, most) {
  if (!Array.isArray(value) || value.length > most) {
    const found = Array.isArray(value) ? `${value.length} of them` : shown(value);
    throw new ArtifactError(`expected ${what} as a list of at most ${most}, found ${found}`);
  }
  return value;
}

export function textOf(value, what, most, least = 1) {
  if (typeof value !== "string" || value.length < least || value.length > most || !PRINTABLE.test(value)) {
    throw new ArtifactError(
      `expected ${what} as printable text of ${least} to ${most} characters, found ${shown(value)}`,
    );
  }
  return value;
}

export function booleanOf(value, what) {
  if (typeof value !== "boolean") throw new ArtifactError(`expected true or false for ${what}, found ${shown(value)}`);
  return value;
}

export function integerOf(value, what, least, most) {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new ArtifactError(`expected ${what} as an integer from ${least} to ${most}, found ${shown(value)}`);
  }
  return value;
}

function shown(value) {
  return (JSON.stringify(value) ?? String(value)).slice(0, 64);
}
