/** The page: a picture from a file, by dragging or from the camera goes to the network; its best labels come back. */

import { extentsOf, labelsOf, ranking, recipeOf, tensorOf } from "./picture.js";

const BEST = 5;
const FRAME_MILLISECONDS = 100;

const element = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const waiting = new Map();
let requests = 0;
let network;
let labels; // that were chosen; otherwise those of the network count
let camera;

worker.onmessage = ({ data: { id, result, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) resolve(result);
  else reject(new Error(error));
};
worker.onerror = (event) => say(`The network's thread failed: ${event.message}`);

function ask(verb, given) {
  return new Promise((resolve, reject) => {
    waiting.set(++requests, { resolve, reject });
    worker.postMessage({ id: requests, verb, given });
  });
}

function say(text) {
  element("message").textContent = text;
}

/** Does some work of the page; what it throws is said there. */
async function trying(work) {
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

async function useNetwork(source, name) {
  say(`Loading ${name} …`);
  const device = parameters.get("device") ?? undefined;
  network = await ask("load", { source, threads: navigator.hardwareConcurrency, device });
  const { height, width } = extentsOf(network.input);
  Object.assign(element("picture"), { width, height });
  element("network-name").textContent = `${name}, ${network.input.dtype}[${network.input.shape.join(", ")}]`;
  element("device").textContent = network.where;
  say("Choose a picture, drop one here, or start the camera.");
}

/** Draw a source of pixels as the network sees it, and show what it says. */
async function recognise(source) {
  if (network === undefined) throw new Error("Choose a network first.");
  const { height, width, channels } = extentsOf(network.input);
  const context = element("picture").getContext("2d", { willReadFrequently: true });
  context.fillStyle = "white"; // under transparent parts
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  const recipe = recipeOf(recipeFields(), channels);
  const tensor = tensorOf(context.getImageData(0, 0, width, height).data, network.input, recipe);
  const plain = { data: tensor.data, shape: tensor.shape, dtype: tensor.dtype };
  const { values, milliseconds } = await ask("run", { tensor: plain });
  show(ranking(values, labels ?? network.labels ?? [], BEST));
  element("time").textContent = `${milliseconds.toFixed(1)} ms`;
  say("");
}

function recipeFields() {
  const texts = Object.fromEntries(["mean", "std", "range"].map((name) => [name, element(name).value]));
  return { ...texts, isBgr: element("bgr").checked };
}

function show(best) {
  const rows = best.map(({ value, label }) => {
    const row = document.createElement("li");
    const [name, number, bar] = ["span", "span", "meter"].map((tag) => document.createElement(tag));
    [name.textContent, number.textContent, bar.value] = [label, value.toFixed(3), value];
    row.append(name, number, bar);
    return row;
  });
  element("best").replaceChildren(...rows);
}

async function recognisePicture(file) {
  stopCamera();
  if (file === undefined) throw new Error("Expected a picture, found none.");
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new Error(`Expected a picture, found ${file.name}.`);
  }
  await recognise(picture);
}

async function startCamera() {
  const video = element("video");
  video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  await video.play();
  element("camera").textContent = "Stop the camera";
  camera = video;
  while (camera !== undefined) {
    await recognise(video);
    await new Promise((later) => setTimeout(later, FRAME_MILLISECONDS));
  }
}

function stopCamera() {
  camera?.srcObject.getTracks().forEach((track) => track.stop());
  camera = undefined;
  element("camera").textContent = "Start the camera";
}

element("file").onchange = ({ target }) => trying(() => recognisePicture(target.files[0]));
element("network").onchange = ({ target }) =>
  trying(async () => useNetwork(await target.files[0].arrayBuffer(), target.files[0].name));
element("labels").onchange = ({ target }) => trying(async () => (labels = labelsOf(await target.files[0].text())));
element("camera").onclick = () => trying(async () => (camera === undefined ? startCamera() : stopCamera()));
document.ondragover = (event) => event.preventDefault();
document.ondrop = (event) => {
  event.preventDefault();
  trying(() => recognisePicture(event.dataTransfer.files[0]));
};

await trying(async () => {
  for (const name of ["mean", "std", "range"]) element(name).value = parameters.get(name) ?? element(name).value;
  element("bgr").checked = parameters.has("bgr");
  if (parameters.has("labels")) {
    const response = await fetch(parameters.get("labels"));
    if (!response.ok) throw new Error(`${parameters.get("labels")}: expected labels, found status ${response.status}`);
    labels = labelsOf(await response.text());
  }
  const [model, webgpu] = ["model", "webgpu"].map((name) => parameters.get(name));
  const address = (relative) => new URL(relative, location.href).href;
  if (model === null) say("Choose a network.");
  else if (webgpu === null) await useNetwork(address(model), model);
  else await useNetwork({ webgpu: address(webgpu), wasm: address(model) }, model);
});
