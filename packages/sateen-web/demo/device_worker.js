/** The device, in a thread beside the page's: gets {url, name, key}, and says its state whenever that changes. */

import { serve } from "../src/device/index.js";

const onChange = ({ state, holder, said }) => self.postMessage({ state, holder, said });

self.onmessage = async ({ data: { url, ...options } }) => {
  try {
    await serve(url, { ...options, onChange });
  } catch (error) {
    self.postMessage({ error: error.message });
  }
};
