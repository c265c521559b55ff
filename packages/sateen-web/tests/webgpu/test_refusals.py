"""What is refused of artifacts and devices, with words that say what was expected and what was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sateen.runtime import Artifact, Device
from sateen.runtime.actions import DeviceBlocks
from sateen.runtime.launches import BlockPlace, NetworkLaunch

Refusal = Callable[..., str]

LOAD = """
const options = GIVEN;
answer(await errorOf(() => sateen.load(bytesOf(given[0]), { gpu: browser(options), ...options.load })));
"""


@pytest.fixture
def refusal(browser_node: Callable[..., object], tmp_path: Path) -> Refusal:
    """The error of loading some bytes in a browser with these options."""

    def run(content: bytes, options: str = "{}") -> str:
        (tmp_path / "network.sateen").write_bytes(content)
        return str(browser_node(LOAD.replace("GIVEN", options), tmp_path / "network.sateen"))

    return run


def changed(artifact: Artifact, **fields: Any) -> bytes:
    """The artifact with other fields of its first launch."""
    first, *others = artifact.launches
    return replace(artifact, actions=(replace(first, **fields), *others)).to_bytes()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"places": [BlockPlace(0, 64, 3136)]},
            "places within blocks of [3136, 40, 437760, 768] bytes, found 3136 bytes from 64 on in block 0, given",
        ),
        ({"places": [BlockPlace(4, 0, 1)]}, "found 1 bytes from 0 on in block 4, given to"),
        (
            {"places": []},
            "expected kernel k0_mat_mul_0 of relu (mat_mul, add, relu) with 0 buffers in the code, found one of 4",
        ),
        (
            {"kernel": "gone"},
            "expected kernel gone of relu (mat_mul, add, relu) with 4 buffers in the code, found none",
        ),
        ({"step": 3}, "expected launches in the order of their 4 steps, found one of step 1"),
        ({"grid": (1, 1)}, "expected the grid along x, y and z, found 2 numbers"),
        ({"block": (0, 1, 1)}, "expected the threads of a block as an integer from 1 to 2147483647, found 0"),
        ({"scalars": [1 << 50]}, "expected a scalar as an integer from "),
    ],
)
def test_launches_that_do_not_fit_their_network(
    fields: dict[str, Any], words: str, mlp_webgpu: Artifact, refusal: Refusal
) -> None:
    found = refusal(changed(mlp_webgpu, **fields))
    assert found.startswith("ArtifactError: ")
    assert words in found


class Raw(NetworkLaunch):
    """An action as some JSON, its kernel."""

    def to_json(self) -> dict[str, object]:
        value: dict[str, object] = json.loads(self.kernel)
        return value


def acting(artifact: Artifact, actions: Sequence[object]) -> bytes:
    """The artifact with other actions, and two blocks of 64 bytes on the host, which are 4 and 5."""
    whole = artifact.memory[0]
    placed = (whole, DeviceBlocks(Device.of("cpu"), (), 0, 64))
    raw = tuple(Raw(json.dumps(action), (1, 1, 1), (1, 1, 1), ()) for action in actions)
    return replace(artifact, placed=placed, actions=raw).to_bytes()


REPEAT = {"repeat": 3, "number": [5, 0, 8], "body": [], "rows": [], "step": 0}


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"wait": 3, "step": 0}, "expected the launch of a kernel, found a step of step, wait; renew sateen-web"),
        ({**REPEAT, "while": [5, 0, 1]}, "expected an action of one kind, found repeat, while"),
        (
            {**REPEAT, "priority": 1},
            "expected a repetition to have repeat, number, body, rows, step alone; found priority",
        ),
        (
            {"if": [3, 0, 1], "then": [], "else": [], "step": 0},
            "expected 1 bytes of the host at a multiple of them for what decides, found 1 from 0 on in block 3",
        ),
        (
            {**REPEAT, "number": [5, 4, 8]},
            "at a multiple of them for what counts, found 8 from 4 on in block 5",
        ),
        ({**REPEAT, "rows": [[[3, 0, 8], [3, 8, 16]]]}, "expected 3 rows of 8 bytes, found place for 16 bytes"),
        ({**REPEAT, "body": [{**REPEAT, "step": 1}]}, "expected all actions of step 0 to say so, found step 1"),
        ({"copy": [3, 0, 8], "to": [5, 0, 4], "step": 0}, "expected a copy of as many bytes, found 8 to 4"),
        ({"copy": [3, 0, 8], "to": [5, 60, 8], "step": 0}, "found 8 bytes from 60 on in block 5, given to a copy"),
        ({"if": [5, 0, 2], "then": [], "else": [], "step": 0}, "expected 1 bytes of the host at a multiple"),
        ({"call": "sort", "places": [], "step": 0}, "found a call of sort on the host: compile the model for WebAss"),
    ],
)
def test_actions_that_are_wrong(action: object, words: str, mlp_webgpu: Artifact, refusal: Refusal) -> None:
    found = refusal(acting(mlp_webgpu, [action]))
    assert found.startswith("ArtifactError: ")
    assert words in found


def test_actions_within_each_other_have_an_end(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    nested: dict[str, object] = REPEAT
    for _ in range(33):
        nested = {**REPEAT, "body": [nested]}
    assert "expected at most 32 lists of actions within each other, found more" in refusal(acting(mlp_webgpu, [nested]))


@pytest.mark.parametrize(
    ("placed", "words"),
    [
        ([("webgpu(1)", (0, 1), 0)], "expected a network on webgpu(0) and the host, found a part of it on webgpu(1)"),
        ([("webgpu(0)", (0,), 0)], "expected each of 2 inputs and outputs on one device, found those of 0"),
        ([("webgpu(0)", (0, 1), 1 << 20)], "expected parameters of all devices in 437760 bytes, found 1048576"),
        ([("cpu(0)", (0, 1), 0)], "expected a network on one device and the host, found one on 1 devices"),
    ],
)
def test_parts_of_networks_elsewhere(
    placed: list[tuple[str, tuple[int, ...], int]], words: str, mlp_webgpu: Artifact, refusal: Refusal
) -> None:
    memory = tuple(DeviceBlocks(Device.of(name), arrays, size, 64) for name, arrays, size in placed)
    assert words in refusal(replace(mlp_webgpu, placed=memory).to_bytes())


RUN = """
const gpu = browser();
const model = await sateen.load(bytesOf(given[0]), { gpu });
await model.run({ data: new Float32Array(784) });
answer(gpu.said.filter(([name]) => name === "dispatch").map(([, [x]]) => x));
"""


def test_actions_decide_and_repeat(mlp_webgpu: Artifact, browser_node: Callable[..., object], tmp_path: Path) -> None:
    """On a device that gives zeros; launches are told by their blocks."""

    def launch(blocks: int) -> object:
        return {**mlp_webgpu.launches[0].to_json(), "grid": [blocks, 1, 1]}

    copied = {"copy": [3, 4, 1], "to": [5, 8, 1], "step": 0}
    chosen = {"if": [5, 8, 1], "then": [launch(3)], "else": [launch(4), launch(5)], "step": 0}
    row = [[3, 0, 1], [3, 9, 2]]
    repeated = {**REPEAT, "repeat": 2, "body": [launch(1), copied, chosen], "rows": [row]}
    loop = {"while": [5, 8, 1], "most": [5, 16, 8], "number": [5, 24, 8], "body": [launch(6)], "step": 0}
    (tmp_path / "network.sateen").write_bytes(acting(mlp_webgpu, [launch(7), repeated, loop]))
    assert browser_node(RUN, tmp_path / "network.sateen") == [7, 1, 4, 5, 1, 4, 5]


def test_code_that_was_altered(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    content = mlp_webgpu.to_bytes()
    assert refusal(content.replace(b"fn sateen_is_nan", b"fn sateen_is_nun")) == (
        'ArtifactError: section "kernels" does not have its digest in leaf 0 of 4 MiB: '
        "the file was altered or damaged; copy it again"
    )
    assert refusal(replace(mlp_webgpu, kernels=b"\xff").to_bytes()).endswith("as text of WGSL, found other bytes")


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        (
            "maxStorageBuffersPerShaderStage",
            2,
            "expects 3 storage buffers of 134217728 bytes at most, the device has at most 2",
        ),
        (
            "maxStorageBufferBindingSize",
            4096,
            "expects 101 storage buffers of 4096 bytes at most, the device has at most 8",
        ),
        ("maxComputeInvocationsPerWorkgroup", 64, "expects 128 threads of a block, the device has at most 64"),
        ("maxComputeWorkgroupSizeX", 64, "expects 128 threads along x, the device has at most 64"),
        ("maxComputeWorkgroupStorageSize", 1024, "expects 2064 bytes of shared memory, the device has at most 1024"),
        ("maxComputeWorkgroupsPerDimension", 0, "expects 1 blocks along x, the device has at most 0"),
    ],
)
def test_a_limit_names_the_kernel_and_its_nodes(
    limit: str, most: int, words: str, mlp_webgpu: Artifact, refusal: Refusal
) -> None:
    found = refusal(mlp_webgpu.to_bytes(), f"{{ changed: {{ {limit}: {most} }} }}")
    assert found == f"DeviceError: fake: kernel k0_mat_mul_0 of relu (mat_mul, add, relu) {words}"


def test_memory_that_is_not_there(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    content = mlp_webgpu.to_bytes()
    assert refusal(content, "{ changed: { maxBufferSize: 1024 } }") == (
        "DeviceError: fake: the network expects 437760 bytes in one buffer, the device has at most 1024"
    )
    assert refusal(content, "{ load: { memoryBytes: 4096 } }") == (
        "OutOfMemoryError: expected at most 4096 bytes of memory for a network, found one of 441704"
    )
    none = "{ fault: (name) => name === 'buffer' ? { scope: 'out-of-memory', message: 'none left' } : undefined }"
    assert refusal(content, none) == "OutOfMemoryError: fake: expected to take 441704 bytes of memory: none left"


def test_a_device_without_what_the_code_needs(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    content = replace(mlp_webgpu, kernels=b"enable f16;\nenable subgroups;\n\n" + mlp_webgpu.kernels).to_bytes()
    assert refusal(content, '{ info: { vendor: "v", architecture: "a" }, features: ["subgroups"] }') == (
        "DeviceError: v a: expected a device with shader-f16, which the network needs, found none"
    )
    assert refusal(content, '{ features: ["subgroups", "shader-f16"] }') == "no error"


def test_loops_that_lavapipe_would_end(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    code = mlp_webgpu.kernels.replace(b"has at most 1764 iter", b"has at most 65536 iter")
    content = replace(mlp_webgpu, kernels=code).to_bytes()
    assert refusal(content, '{ info: { description: "llvmpipe" } }') == (
        "DeviceError: llvmpipe: kernel k0_mat_mul_0 of relu (mat_mul, add, relu) expects 65536 iterations of loops in "
        "a thread, the device has at most 65535"
    )
    assert refusal(content) == "no error"


def test_code_that_a_device_refuses_names_the_kernel(mlp_webgpu: Artifact, refusal: Refusal) -> None:
    odd = """{ fault: (name, { label }) => name === "module" && label.startsWith("k2")
      ? { scope: "validation", message: "line 3: no such name" } : undefined }"""
    assert refusal(mlp_webgpu.to_bytes(), odd) == (
        "DeviceError: fake: expected to compile kernel k2_mat_mul_0 of add.2 (mat_mul, add), but it is refused: "
        "line 3: no such name"
    )


LOST = """
const inputs = { data: new Float32Array(784) };
const errors = [];
const models = [];
for (const end of [(gpu) => gpu.lose("unplugged"), (_, model) => model.close()]) {
  const gpu = browser();
  const model = await sateen.load(bytesOf(given[0]), { gpu });
  models.push(model);
  await model.run(inputs);
  end(gpu, model);
  errors.push(await errorOf(() => model.run(inputs)), await errorOf(() => model.time(inputs)));
}
const gpu = browser();
const model = await sateen.load(bytesOf(given[0]), { gpu });
gpu.device.createBuffer = () => ({ mapAsync: async () => { gpu.lose("reset"); throw new Error("aborted"); } });
errors.push(await errorOf(() => model.run(inputs)));
answer(errors);
"""


def test_a_device_that_is_gone(browser_node: Callable[..., object], saved: tuple[Path, Path]) -> None:
    lost = "DeviceLostError: fake: the device is lost: unplugged; load the model again"
    closed = "ArgumentError: run: expected an open model, found a closed one"
    reset = "DeviceLostError: fake: the device is lost: reset; load the model again"
    assert browser_node(LOST, saved[0]) == [lost, lost, closed, closed, reset]
