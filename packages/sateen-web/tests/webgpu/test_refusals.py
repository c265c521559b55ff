"""What is refused of artifacts and devices, with words that say what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sateen.runtime import Artifact
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


class Deciding(NetworkLaunch):
    """A step that this version does not know."""

    def to_json(self) -> dict[str, object]:
        return {"repeat": 3, "steps": []}


class Curious(NetworkLaunch):
    """A launch that says more."""

    def to_json(self) -> dict[str, object]:
        return {**NetworkLaunch.to_json(self), "priority": 1}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Deciding, "expected the launch of a kernel, found a step of repeat, steps; renew sateen-web"),
        (Curious, "expected a launch to have kernel, grid, block, places, scalars, step, shared alone; found priority"),
    ],
)
def test_steps_of_other_kinds(kind: type[NetworkLaunch], words: str, mlp_webgpu: Artifact, refusal: Refusal) -> None:
    launches: Sequence[NetworkLaunch] = [kind("k", (1, 1, 1), (1, 1, 1), ())]
    assert refusal(replace(mlp_webgpu, actions=tuple(launches)).to_bytes()) == f"ArtifactError: {words}"


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
