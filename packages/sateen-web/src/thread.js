/** The program of a thread: it gets {module, memory, stack}, says that it is ready, and works until it is ended. */

const NODE_THREADS = "node:worker_threads";

function work({ module, memory, stack }, say) {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = stack;
  say("ready");
  exports.sateen_pool_join();
}

if (globalThis.WorkerGlobalScope === undefined) {
  const { parentPort } = await import(NODE_THREADS);
  parentPort.once("message", (given) => work(given, (word) => parentPort.postMessage(word)));
} else {
  self.onmessage = ({ data }) => work(data, (word) => self.postMessage(word));
}
