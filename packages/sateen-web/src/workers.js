/** Messages between a worker and who started it, in browsers and in Node. */

const NODE_THREADS = "node:worker_threads";

/** Calls a listener with what a worker says. */
export function onMessage(worker, listener) {
  if (worker.addEventListener) worker.addEventListener("message", ({ data }) => listener(data));
  else worker.on("message", listener);
}

/** Calls a listener with the words of an error that ended a worker. */
export function onError(worker, listener) {
  const tell = (event) => listener(event.message ?? "its program can't be loaded");
  if (worker.addEventListener) worker.addEventListener("error", tell);
  else worker.on("error", tell);
}

/** Within a worker: `say` sends to who started it, `listen` calls a listener with what that says. */
export async function starter() {
  if (globalThis.WorkerGlobalScope !== undefined) {
    return {
      say: (message, moved = []) => self.postMessage(message, moved),
      listen: (listener) => (self.onmessage = ({ data }) => listener(data)),
    };
  }
  const { parentPort } = await import(NODE_THREADS);
  return {
    say: (message, moved = []) => parentPort.postMessage(message, moved),
    listen: (listener) => parentPort.on("message", listener),
  };
}
