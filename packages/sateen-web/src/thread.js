/** The program of a thread: it gets {module, memory, stack}, says that it is ready, and works until it is ended. */

import { starter } from "./workers.js";

const { say, listen } = await starter();
listen(({ module, memory, stack }) => {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = stack;
  say("ready");
  exports.sateen_pool_join();
});
