/** The threads of a network: workers, each with an instance of its module over the same memory and a stack of its own. */

import { ExecutionError } from "./errors.js";
import { onError, onMessage } from "./workers.js";

export const STACK_BYTES = 1 << 20;

const NODE_THREADS = "node:worker_threads";

/** Whether threads can share memory here: in Node, and on pages that are isolated from other origins. */
export function canShareMemory() {
  return typeof SharedArrayBuffer !== "undefined" && globalThis.crossOriginIsolated !== false;
}

/** Start a thread for each stack, which awaits work; resolves when all do. Throws ExecutionError if one fails. */
export async function startThreads(module, memory, stacks) {
  const workers = [];
  try {
    await Promise.all(
      stacks.map(async (stack) => {
        const worker = await newWorker();
        workers.push(worker);
        await started(worker, { module, memory, stack });
      }),
    );
  } catch (error) {
    stopThreads(workers);
    throw new ExecutionError(`expected ${stacks.length} threads, found that one fails: ${error.message}`);
  }
  return workers;
}

/** End threads, whatever they do. */
export function stopThreads(workers) {
  for (const worker of workers) worker.terminate();
}

async function newWorker() {
  // Bundlers find the program of a worker by these words.
  if (globalThis.Worker !== undefined) return new Worker(new URL("./thread.js", import.meta.url), { type: "module" });
  const { Worker: NodeWorker } = await import(NODE_THREADS);
  return new NodeWorker(new URL("./thread.js", import.meta.url));
}

/** Resolves when a worker has said that it is ready. */
function started(worker, given) {
  return new Promise((resolve, reject) => {
    onMessage(worker, () => {
      worker.unref?.(); // Node ends without waiting for it
      resolve();
    });
    onError(worker, (words) => reject(new Error(words)));
    worker.postMessage(given);
  });
}
