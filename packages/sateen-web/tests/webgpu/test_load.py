"""Which device a network goes to, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

NO_ADAPTER = "expected a device of WebGPU, found none: the browser gives no adapter for this machine's"
CHOSEN = """
const [webgpu, wasm] = given.map(bytesOf);
const none = { requestAdapter: async () => null };
const data = new Float32Array(784).fill(1);
const found = [];
for (const options of [{ gpu: browser() }, { gpu: none }, {}, { gpu: browser(), device: "wasm" }]) {
  const model = await sateen.load({ webgpu, wasm }, options);
  await model.run({ data });
  found.push([model.device, model.deviceName, model.threads, model.target.split(" ")[0], model.refusal?.message ?? ""]);
  model.close();
}
const small = browser({ changed: { maxStorageBuffersPerShaderStage: 1 } });
found.push((await sateen.load({ webgpu, wasm }, { gpu: small })).refusal.message);
answer(found);
"""


def test_a_network_of_both_kinds_takes_webgpu_where_it_is(
    browser_node: Callable[..., object], saved: tuple[Path, Path]
) -> None:
    no_api = (
        "expected WebGPU, found no navigator.gpu: use a browser that has it, on a page that comes over https or from "
        "localhost"
    )
    few = (
        "fake: kernel k0_mat_mul_0 of relu (mat_mul, add, relu) expects 3 storage buffers of 134217728 bytes at most, "
        "the device has at most 1"
    )
    assert browser_node(CHOSEN, *saved) == [
        ["webgpu", "fake", 1, "webgpu", ""],
        ["wasm", "", 1, "llvm", NO_ADAPTER],
        ["wasm", "", 1, "llvm", no_api],
        ["wasm", "", 1, "llvm", ""],
        few,
    ]


ONLY = """
const [webgpu, wasm] = given.map(bytesOf);
const none = { requestAdapter: async () => null };
const errors = [];
for (const [source, options] of [
  [{ webgpu, wasm }, { gpu: none, device: "webgpu" }], [webgpu, { gpu: none }], [webgpu, { device: "wasm" }],
  [wasm, { gpu: browser(), device: "webgpu" }], [{ webgpu: wasm, wasm: webgpu }, { gpu: browser() }],
]) errors.push(await errorOf(() => sateen.load(source, options)));
answer(errors);
"""


def test_a_device_that_is_asked_for_is_the_only_one(
    browser_node: Callable[..., object], saved: tuple[Path, Path]
) -> None:
    found = browser_node(ONLY, *saved)
    assert isinstance(found, list)
    other = "ArtifactError: expected code for WebAssembly, found some for webgpu; compile the model again with --target"
    assert found[:3] == [f"DeviceError: {NO_ADAPTER}", f"DeviceError: {NO_ADAPTER}", f"{other} wasm32"]
    assert [error.partition(", found some for llvm")[0] for error in found[3:]] == [
        "ArtifactError: expected code for WebGPU"
    ] * 2


ASKED = """
const gpu = browser({ features: ["shader-f16"] });
const model = await sateen.load(bytesOf(given[0]), { gpu });
const outputs = await model.run({ data: new Float32Array(784) });
const of = (kind) => gpu.said.filter(([name]) => name === kind).map(([, value]) => value);
const [{ requiredLimits, requiredFeatures }] = of("device");
answer([
  requiredLimits.maxStorageBufferBindingSize, requiredFeatures, model.memoryBytes,
  of("dispatch"), of("pipeline").length, String(outputs.probabilities),
  of("group").map(({ entries }) => entries.map(({ resource }) => resource.offset ?? -1)),
]);
"""


def test_what_is_asked_of_a_device(browser_node: Callable[..., object], saved: tuple[Path, Path]) -> None:
    assert browser_node(ASKED, saved[0]) == [
        1 << 27,
        [],
        784 * 4 + 40 + 437760 + 768,
        [[1, 1, 1], [1, 1, 1], [2, 1, 1], [1, 1, 1]],
        4,
        "float32[1, 10]",
        [
            [-1, 0, 0, 401408, 0],
            [-1, 0, 401920 // 256 * 256, 434688, 512],
            [-1, 512, 434944, 437504 // 256 * 256, 0],
            [-1, 0, 0],
        ],
    ]


TIME = """
const gpu = browser();
const model = await sateen.load(bytesOf(given[0]), { gpu });
const result = await model.time({ data: new Float32Array(784) }, { number: 3, repeat: 2 });
answer([result.samples.length, result.number, gpu.said.filter(([name]) => name === "dispatch").length]);
"""


def test_runs_are_timed_until_they_are_done(browser_node: Callable[..., object], saved: tuple[Path, Path]) -> None:
    """After a run that is not counted, and a sample that tells how many are enough."""
    assert browser_node(TIME, saved[0]) == [2, 3, 4 * (1 + 3 + 2 * 3)]
