// Calls a function of a WebAssembly module: node.mjs MODULE FUNCTION ARRAYS, a file as tests/fuzz/emulator.py writes it,
// into which the arrays are written back.
import fs from 'node:fs';
const [path, name, arrays] = process.argv.slice(2);
const file = fs.readFileSync(arrays);
const align = place => Math.ceil(place / 64) * 64;

const tensors = [];
let read = 4;
for (let i = 0; i < file.readInt32LE(0); ++i) {
  const [code, bits, rank] = [0, 4, 8].map(offset => file.readInt32LE(read + offset));
  const bytes = Number(file.readBigInt64LE(read + 12));
  const shape = Array.from({length: rank}, (_, j) => file.readBigInt64LE(read + 20 + 8 * j));
  const start = read + 20 + 8 * rank;
  tensors.push({code, bits, shape, bytes, start});
  read = start + bytes;
}

const memory = new WebAssembly.Memory({initial: 64});
const module = new WebAssembly.Module(fs.readFileSync(path));
const {exports} = new WebAssembly.Instance(module, {env: {memory}});
const list = align(exports.__heap_base.value);
let place = align(list + 4 * tensors.length);
for (const tensor of tensors) {
  tensor.header = place;
  tensor.data = align(place + 40 + 8 * tensor.shape.length);
  place = align(tensor.data + tensor.bytes);
}
if (place > memory.buffer.byteLength) memory.grow(Math.ceil((place - memory.buffer.byteLength) / 65536));

const view = new DataView(memory.buffer);
tensors.forEach(({code, bits, shape, bytes, start, header, data}, i) => {
  view.setUint32(list + 4 * i, header, true);
  [data, 1, 0, shape.length].forEach((word, j) => view.setInt32(header + 4 * j, word, true));
  view.setUint8(header + 16, code);
  view.setUint8(header + 17, bits);
  view.setUint16(header + 18, 1, true);
  view.setUint32(header + 20, header + 40, true);
  shape.forEach((extent, j) => view.setBigInt64(header + 40 + 8 * j, extent, true));
  new Uint8Array(memory.buffer, data, bytes).set(file.subarray(start, start + bytes));
});
const status = exports[name](0, list, tensors.length);
tensors.forEach(({data, bytes, start}) => file.set(new Uint8Array(memory.buffer, data, bytes), start));
fs.writeFileSync(arrays, file);
if (status) {
  console.error(`status ${status}`);
  process.exit(4);
}
