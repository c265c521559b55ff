/** The page of a device: where it waits, under which name and key, and what happens. */

const PORT = 9193;

const element = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
let worker;

function show({ state, holder = "", said = "" }) {
  element("state").textContent = holder === "" ? state : `${state} by ${holder}`;
  element("said").textContent = said;
  element("start").textContent = worker === undefined ? "Start" : "Stop";
}

function start() {
  worker = new Worker(new URL("./device_worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => (data.error === undefined ? show(data) : stop(data.error));
  worker.onerror = (event) => stop(`The device's thread failed: ${event.message}`);
  const [url, name, key] = ["url", "name", "key"].map((id) => element(id).value);
  worker.postMessage({ url, name, key });
  show({ state: "connecting" });
}

/** Ends the device, and all that runs in it. */
function stop(said = "") {
  worker?.terminate();
  worker = undefined;
  show({ state: "closed", said });
}

element("form").onsubmit = (event) => {
  event.preventDefault();
  if (worker === undefined) start();
  else stop();
};
element("url").value = parameters.get("url") ?? `ws://${location.hostname}:${PORT}`; // from where the proxy takes pages
element("name").value = parameters.get("name") ?? element("name").value;
element("threads").textContent = crossOriginIsolated
  ? "This page may share memory: networks run on several threads."
  : "This page may not share memory: networks run on one thread, and times have steps of 0.1 ms.";
