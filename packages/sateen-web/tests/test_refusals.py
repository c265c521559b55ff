"""What is refused, with words that say what was expected and what was found."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sateen.graph_ir import build, workloads
from sateen.runtime import Artifact
from sateen.runtime.artifact import packed

HEADER = struct.Struct("<8sIIQQ32s")

LOAD = """
answer(await errorOf(() => sateen.load(bytesOf(given[0]))));
"""


@pytest.fixture
def refusal(node: Callable[..., object], tmp_path: Path) -> Callable[[bytes], object]:
    """The error of loading some bytes."""

    def run(content: bytes, program: str = LOAD) -> object:
        path = tmp_path / "network.sateen"
        path.write_bytes(content)
        return node(program, path)

    return run


def with_manifest(content: bytes, change: Callable[[dict[str, object]], object]) -> bytes:
    """The file with another manifest, which has its digest."""
    magic, version, first, start, size, _ = HEADER.unpack(content[: HEADER.size])
    manifest = json.loads(content[start : start + size])
    change(manifest)
    text = json.dumps(manifest, separators=(",", ":")).encode()
    assert start + len(text) <= first
    head = HEADER.pack(magic, version, first, start, len(text), hashlib.sha256(text).digest())
    return (head + text).ljust(first, b"\0") + content[first:]


def test_what_is_no_artifact(refusal: Callable[[bytes], object]) -> None:
    expected = "ArtifactError: expected an artifact that sateen compiled, found another kind of file"
    assert refusal(b"") == refusal(bytes(100)) == expected


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (2, "found format 2: sateen-web is older; renew sateen-web"),
        (0, "found format 0: the artifact is older; compile"),
    ],
)
def test_another_format(version: int, words: str, mlp: Artifact, refusal: Callable[[bytes], object]) -> None:
    content = mlp.to_bytes()
    assert words in str(refusal(content[:8] + version.to_bytes(4, "little") + content[12:]))


def test_a_file_that_is_cut_short(mlp: Artifact, refusal: Callable[[bytes], object]) -> None:
    content = mlp.to_bytes()
    for kept, expected in ((20, "at least 64"), (100, "at least 4096"), (len(content) // 2, f"{len(content)}")):
        told = f"the artifact ends after {kept} of {expected} bytes: it is cut short or damaged; copy it again"
        assert told in str(refusal(content[:kept]))


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (100, "the manifest does not have its digest"),
        (4096 + 200, 'section "library" does not have its digest in leaf 0 of 4 MiB'),
        (-100, 'section "parameters" does not have its digest in leaf 0 of 4 MiB'),
    ],
)
def test_damage(place: int, what: str, mlp: Artifact, refusal: Callable[[bytes], object]) -> None:
    content = bytearray(mlp.to_bytes())
    place %= len(content.rstrip(b"\0"))
    content[place] ^= 1
    assert refusal(bytes(content)) == (f"ArtifactError: {what}: the file was altered or damaged; copy it again")


def test_damage_behind_the_first_leaf(refusal: Callable[[bytes], object]) -> None:
    content = bytearray(build(workloads.squeezenet(image=64), "wasm32").to_bytes())
    content[len(content.rstrip(b"\0")) - 1] ^= 1
    assert 'section "parameters" does not have its digest in leaf 1 of 4 MiB' in str(refusal(bytes(content)))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("inputs", 1, "expected the inputs as a list of at most 65535, found 1"),
        ("target", "a\nb", "expected the target as printable text of 1 to 65536 characters"),
        ("variants", [], "expected one variant of the network, found 0; renew sateen-web"),
        ("sections", {}, 'expected a section "library", found none'),
        ("outputs", [{}], "expected a parameter to have name, dtype, shape, strides, alignment, device, output"),
    ],
)
def test_manifests_whose_values_are_wrong(
    key: str, value: object, words: str, mlp: Artifact, refusal: Callable[[bytes], object]
) -> None:
    content = with_manifest(mlp.to_bytes(), lambda manifest: manifest.update({key: value}))
    assert words in str(refusal(content))


def test_a_section_that_must_be_known_and_is_not(mlp: Artifact, refusal: Callable[[bytes], object]) -> None:
    def add(manifest: dict[str, dict[str, object]]) -> None:
        manifest["sections"]["more"] = {"offset": 0, "size": 0, "required": True, "leaves": []}

    words = 'section "more" is required, but this sateen-web does not know it; renew sateen-web'
    assert words in str(refusal(with_manifest(mlp.to_bytes(), add)))


def test_an_artifact_for_another_machine(refusal: Callable[[bytes], object]) -> None:
    content = build(workloads.mlp(), "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64").to_bytes()
    assert refusal(content) == (
        "ArtifactError: expected code for WebAssembly or WebGPU, found some for llvm -mtriple=x86_64-linux-gnu "
        "-mcpu=x86-64; compile the model again with --target wasm32 or webgpu"
    )


def test_an_engine_without_vectors(mlp: Artifact, refusal: Callable[[bytes, str], object]) -> None:
    assert refusal(mlp.to_bytes(), "WebAssembly.validate = () => false;" + LOAD) == (
        "ArtifactError: expected an engine of WebAssembly with simd128, which the network needs, found one without; "
        "use a newer browser, or compile the model again with --target "
        '"llvm -mtriple=wasm32-unknown-unknown -mattr=-simd128"'
    )


def test_a_page_without_webcrypto(mlp: Artifact, refusal: Callable[[bytes, str], object]) -> None:
    gone = "Object.defineProperty(globalThis, 'crypto', { value: {} });"
    assert "serve the page over https or from localhost" in str(refusal(mlp.to_bytes(), gone + LOAD))


def test_a_library_of_another_network(mlp: Artifact, refusal: Callable[[bytes], object]) -> None:
    other = build(workloads.lstm(), "wasm32")
    assert "it belongs to another artifact; compile the model again" in str(
        refusal(replace(mlp, library=other.library).to_bytes())
    )


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (b"\0asm\1\0\0\0", "expected a library that imports env.memory alone, found nothing"),
        (b"not a module", "expected a library that this engine compiles: "),
    ],
)
def test_a_library_that_is_no_module_of_ours(
    library: bytes, words: str, mlp: Artifact, refusal: Callable[[bytes], object]
) -> None:
    assert words in str(refusal(replace(mlp, library=library).to_bytes()))


def test_a_network_that_no_memory_can_hold(mlp: Artifact, refusal: Callable[[bytes, str], object]) -> None:
    full = "WebAssembly.Memory.prototype.grow = () => { throw new RangeError('none left'); };"
    assert refusal(mlp.to_bytes(), full + LOAD) == (
        "OutOfMemoryError: expected 2 MiB of memory for a network: none left"
    )


INPUTS = """
const model = await sateen.load(bytesOf(given[0]));
const data = new Float32Array(784);
const tensor = (shape, dtype) => ({ data, shape, dtype });
const tried = [
  undefined, [data], {}, { data, more: data }, { data: new Float64Array(784) }, { data: new Float32Array(783) },
  { data: [...data] }, { data: tensor([784, 1]) }, { data: tensor([1, 784], "float16") }, { data: null },
];
const errors = [];
for (const inputs of tried) errors.push(await errorOf(() => model.run(inputs)));
answer(errors);
"""


def test_inputs_that_do_not_fit(mlp: Artifact, refusal: Callable[[bytes, str], object]) -> None:
    assert refusal(mlp.to_bytes(), INPUTS) == [
        f"ArgumentError: run: {words}"
        for words in (
            "expected an object of arrays by name, for data: float32[1, 784]; found undefined",
            "expected an object of arrays by name, for data: float32[1, 784]; found Array",
            "expected an input for data: float32[1, 784], found none",
            'expected inputs data: float32[1, 784]; found "more"',
            "data: expected float32 in Float32Array, found Float64Array",
            "data: expected 784 elements, for [1, 784], found 783",
            "data: expected float32 in Float32Array, found Array",
            "data: expected shape [1, 784], found [784, 1]",
            "data: expected float32 in Float32Array, found float16 in Float32Array",
            "data: expected float32 in Float32Array, found null",
        )
    ]


OPTIONS = """
const errors = [];
const attempt = async (work) => errors.push(await errorOf(work));
await attempt(() => sateen.load(7));
await attempt(() => sateen.load("file:///nowhere/network.sateen"));
for (const threads of [0, 1.5, 257, "2"]) await attempt(() => sateen.load(bytesOf(given[0]), { threads }));
await attempt(() => sateen.load(bytesOf(given[0]), { thread: 2 }));
await attempt(() => sateen.load(bytesOf(given[0]), { memoryBytes: "1G" }));
await attempt(() => sateen.load(bytesOf(given[0]), { device: "cpu" }));
await attempt(() => sateen.load({ wasm: bytesOf(given[0]) }));
await attempt(() => sateen.load("network.sateen"));
const model = await sateen.load(bytesOf(given[0]));
await attempt(() => model.time({ data: new Float32Array(784) }, { repeat: 0 }));
await attempt(() => new sateen.Tensor(new Float32Array(2), [3]));
await attempt(() => new sateen.Tensor([1], [1]));
await attempt(() => new sateen.Tensor(new Int8Array(1), [1], "float32"));
answer(errors);
"""


def test_sources_and_options_without_meaning(mlp: Artifact, refusal: Callable[[bytes, str], object]) -> None:
    errors = refusal(mlp.to_bytes(), OPTIONS)
    assert isinstance(errors, list)
    assert errors[0] == "ArgumentError: expected an artifact's bytes or its URL, found Number"
    assert errors[1].startswith("ArtifactError: file:///nowhere/network.sateen: expected an artifact to read: ENOENT")
    assert errors[2:] == [
        "ArgumentError: expected threads from 1 to 256, found 0",
        "ArgumentError: expected threads from 1 to 256, found 1.5",
        "ArgumentError: expected threads from 1 to 256, found 257",
        'ArgumentError: expected threads from 1 to 256, found the text "2"',
        "ArgumentError: expected the options threads, memoryBytes, device and gpu, found thread",
        'ArgumentError: expected memoryBytes above 0, found the text "1G"',
        'ArgumentError: expected "webgpu" or "wasm" for device, found the text "cpu"',
        "ArgumentError: expected artifacts as { webgpu, wasm }, found { wasm }",
        ("ArgumentError: network.sateen: expected bytes or a whole URL, such as file:///…, as there is no page here"),
        (
            "ArgumentError: expected number and repeat of 1 or more and a finite minSeconds of 0 or more, "
            "found number=1, repeat=0, minSeconds=0"
        ),
        "ArgumentError: expected 3 elements for [3], found 2",
        (
            "ArgumentError: expected an element type of int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
            "float16, float32, float64, bfloat16, bool, float8_e4m3fn, float8_e5m2; found undefined"
        ),
        "ArgumentError: expected Float32Array for float32, found Int8Array",
    ]


@pytest.mark.parametrize(
    ("packing", "words"),
    [
        ({"packed": 0, "workspace": 0, "kept": 0}, "the size of packed parameters"),
        ({"packed": 64, "workspace": 0, "kept": 1 << 40}, "the bytes of parameters that runs read"),
        ({"packed": 64, "workspace": 0}, "expected the packing of parameters to have packed, workspace, kept"),
        ({"packed": 64, "workspace": 0, "kept": 0}, "it belongs to another artifact"),
    ],
)
def test_a_packing_that_does_not_fit(
    packing: dict[str, int], words: str, mlp: Artifact, refusal: Callable[[bytes], object]
) -> None:
    sections = {"library": mlp.library, "packing": json.dumps(packing).encode(), "parameters": mlp.parameters}
    assert words in str(refusal(packed(mlp.fields(), sections)))
