"""The pool of WebAssembly in Node: its threads are workers with instances of their own over the same memory."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.host import host_text, pool_symbols
from sateen.tensor_ir.link import link
from sateen.tensor_ir.targets import features_of

TARGET = Target.parse("wasm32-threads")
FEATURES = features_of(TARGET)

CALLS = """
declare ptr @sateen_default_host()
; Adds one to the first number, and waits until it is the second one, or gives up. The status is the place where the
; chunk begins, or -1.
define internal i32 @meet(ptr %closure, i64 %begin, i64 %end) {
  %before = atomicrmw add ptr %closure, i32 1 seq_cst
  %at = getelementptr i32, ptr %closure, i32 1
  %wanted = load i32, ptr %at
  br label %look
look:
  %looks = phi i32 [ 0, %0 ], [ %more, %again ]
  %found = load atomic i32, ptr %closure seq_cst, align 4
  %enough = icmp sge i32 %found, %wanted
  br i1 %enough, label %done, label %again
again:
  %more = add i32 %looks, 1
  %is.over = icmp sgt i32 %more, 1000000
  br i1 %is.over, label %alone, label %look
alone:
  ret i32 -1
done:
  %status = trunc i64 %begin to i32
  ret i32 %status
}
; Marks the elements of a chunk, each by one more.
define internal i32 @mark(ptr %closure, i64 %begin, i64 %end) {
entry:
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %following, %next ]
  %index = trunc i64 %i to i32
  %at = getelementptr i8, ptr %closure, i32 %index
  %old = load i8, ptr %at
  %new = add i8 %old, 1
  store i8 %new, ptr %at
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %end
  br i1 %more, label %next, label %done
done:
  ret i32 0
}
define i32 @all_meet(ptr %closure, i32 %extent) {
  %status = call i32 @in_parallel(ptr @meet, ptr %closure, i32 %extent)
  ret i32 %status
}
define i32 @all_mark(ptr %closure, i32 %extent) {
  %status = call i32 @in_parallel(ptr @mark, ptr %closure, i32 %extent)
  ret i32 %status
}
define internal i32 @in_parallel(ptr %task, ptr %closure, i32 %extent) {
  %host = call ptr @sateen_default_host()
  %at = getelementptr i8, ptr %host, i32 12
  %function = load ptr, ptr %at
  %wide = sext i32 %extent to i64
  %status = call i32 %function(ptr %host, ptr %task, ptr %closure, i64 %wide)
  ret i32 %status
}
define ptr @take(i32 %bytes, i32 %alignment) {
  %host = call ptr @sateen_default_host()
  %at = getelementptr i8, ptr %host, i32 16
  %function = load ptr, ptr %at
  %size = zext i32 %bytes to i64
  %multiple = zext i32 %alignment to i64
  %memory = call ptr %function(ptr %host, i64 %size, i64 %multiple)
  ret ptr %memory
}
define void @give_back(ptr %memory) {
  %host = call ptr @sateen_default_host()
  %at = getelementptr i8, ptr %host, i32 20
  %function = load ptr, ptr %at
  call void %function(ptr %host, ptr %memory)
  ret void
}
"""
EXPORTS = ("all_meet", "all_mark", "take", "give_back")

PROGRAM = """
import { Worker } from "node:worker_threads";
import { readFileSync } from "node:fs";
const [path, threads, text] = process.argv.slice(2);
const STACK = 65536;
const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
const module = new WebAssembly.Module(readFileSync(path));
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
const base = exports.__heap_base.value;
const closure = base + Number(threads) * STACK;
const program = `
  const { workerData: { module, memory, stack }, parentPort } = require("node:worker_threads");
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = stack;
  parentPort.postMessage("ready");
  exports.sateen_pool_join();
`;
const workers = Array.from({ length: Number(threads) - 1 }, (_, i) =>
  new Worker(program, { eval: true, workerData: { module, memory, stack: base + (i + 1) * STACK } }));
await Promise.all(workers.map((worker) => new Promise((ready) => worker.once("message", ready))));
const numbers = new Int32Array(memory.buffer, closure, 2);
const bytes = (count) => new Uint8Array(memory.buffer, closure, count);
// Whether so many threads meet: a worker says that it is ready just before it has its slot, and may be slow.
const meet = (wanted) => {
  for (let tries = 0; tries < 10000; tries++) {
    numbers.set([0, wanted]);
    if (exports.all_meet(closure, wanted) === (wanted > 1 ? 1 : 0)) return true;
  }
  return false;
};
const rest = new Int32Array(new SharedArrayBuffer(4));
const pause = () => Atomics.wait(rest, 0, 0, 20); // longer than threads spin before they sleep
const answers = await new Function("exports", "meet", "bytes", "pause", "closure", text)(
  exports, meet, bytes, pause, closure);
console.log(JSON.stringify(answers));
for (const worker of workers) await worker.terminate();
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pool") / "module.wasm"
    objects = [compile_for(text, TARGET) for text in (host_text(TARGET.triple, FEATURES), CALLS)]
    path.write_bytes(link(objects, TARGET.triple, [*EXPORTS, *pool_symbols(TARGET.triple, FEATURES)]))
    return path


def run(module: Path, threads: int, text: str) -> object:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    program = module.with_name("program.mjs")
    program.write_text(PROGRAM)
    command = ["node", str(program), str(module), str(threads), text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("threads", [2, 3])
def test_chunks_run_at_one_time_on_all_threads(module: Path, threads: int) -> None:
    """Each chunk waits for all others; more meetings follow when the threads sleep, and when they don't."""
    text = """
const met = [];
for (let i = 0; i < 5; i++) {
  if (i === 2) pause();
  met.push(meet(THREADS));
}
return met;
"""
    assert run(module, threads, text.replace("THREADS", str(threads))) == [True] * 5


def test_every_element_is_in_one_chunk(module: Path) -> None:
    text = """
const wrong = [];
for (let extent = 0; extent < 40; extent++) {
  for (let repeat = 0; repeat < 50; repeat++) {
    bytes(64).fill(0);
    exports.all_mark(closure, extent);
    if (!bytes(64).every((marks, i) => marks === (i < extent ? 1 : 0))) wrong.push(extent);
  }
}
return wrong;
"""
    assert run(module, 3, text) == []


def test_one_thread_runs_all(module: Path) -> None:
    assert run(module, 1, "return [meet(1), exports.all_mark(closure, -5), bytes(4)[0]];") == [True, 0, 1]


def test_memory_is_aligned_taken_again_and_bounded(module: Path) -> None:
    text = """
const [a, b, c] = [exports.take(100, 64), exports.take(100, 8), exports.take(200000, 64)];
exports.give_back(a);
const again = exports.take(65000, 64);
const larger = exports.take(65500, 64);
exports.give_back(0);
return [[a, b, c, again, larger].every((place) => place % 64 === 0), a === again, new Set([a, b, c, larger]).size,
  exports.take(100, 128), exports.take(0xffffffff, 64)];
"""
    assert run(module, 1, text) == [True, True, 4, 0, 0]
