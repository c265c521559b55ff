/**
 * The program of a session's worker: it gets the limit of memory first, then {header, payload, content} for each
 * request, and says {header, payload} for each, empty ones first; the header of one that failed has its error.
 */

import { SateenError } from "../errors.js";
import { starter } from "../workers.js";
import { SessionCrashedError } from "./errors.js";
import { Service } from "./service.js";

const { say, listen } = await starter();
let service;

listen(async (given) => {
  if (service === undefined) {
    service = new Service(given.memoryBytes);
    say({ header: {}, payload: [] });
    return;
  }
  try {
    say(await service.answer(given.header, given.payload, given.content));
  } catch (error) {
    const told = error instanceof SateenError ? error : new SessionCrashedError(`a fault of sateen-web: ${error}`);
    say({ header: { error: told.name, message: told.message }, payload: [] });
  }
});
