"""Libraries of functions: their arrays, the memory that their code asks for, and limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sateen.runtime import Target
from sateen.tensor_ir import build, te

ROOT = Path(__file__).parents[1]
MODULES = "".join(
    f"import {{ {name} }} from {json.dumps((ROOT / 'src' / file).as_uri())};"
    for name, file in (("Library", "library.js"), ("ELEMENT_TYPES", "element_types.js"))
)


def doubled(target: str) -> bytes:
    """`doubled`, twice a matrix of any height, by way of an array that needs memory."""
    a = te.placeholder((te.var("n"), 16), name="A")
    more = te.compute((a.shape[0], 16), lambda i, j: a[i, j] + 1, name="M")
    b = te.compute((a.shape[0], 16), lambda i, j: more[i, j] * 2 - 2, name="B")
    return build(te.create_schedule(b.op), [a, b], target=target, name="doubled").library()


PROGRAM = """
const library = await Library.of(bytesOf(given[0]), { memoryBytes: 16 << 20 });
const sums = [];
const sizes = new Set();
for (const rows of [1000, 10, 20000, 20000, 1000]) {
  const [input, output] = [0, 1].map(() => library.room(ELEMENT_TYPES.get("float32"), [rows, 16]));
  const floats = (array) => new Float32Array(library.bytesOf(array).slice().buffer);
  library.bytesOf(input).set(new Uint8Array(Float32Array.from({ length: rows * 16 }, () => 1.5).buffer));
  const call = library.bind("doubled", [input, output]);
  for (let i = 0; i < 20; i++) call();
  sums.push(floats(output).reduce((sum, value) => sum + value) / rows / 16);
  sizes.add(library.memoryBytes);
  library.clear();
}
const excess = await errorOf(() => library.room(ELEMENT_TYPES.get("float32"), [1 << 22]));
const [input, output] = [0, 1].map(() => library.room(ELEMENT_TYPES.get("float32"), [90000, 16]));
const rest = await errorOf(library.bind("doubled", [input, output]));
answer([sums, sizes.size, excess, rest]);
"""


@pytest.mark.parametrize("target", ["wasm32", "wasm32-threads"])
def test_code_gets_memory_again_and_again_up_to_a_limit(
    target: str, node: Callable[..., object], tmp_path: Path
) -> None:
    (tmp_path / "library").write_bytes(doubled(target))
    sums, sizes, excess, rest = node(MODULES + PROGRAM, tmp_path / "library")  # type: ignore[misc]
    assert sums == [3.0] * 5
    assert sizes <= 3  # it grows for the first call, and for larger arrays
    assert excess.startswith("OutOfMemoryError: expected ")
    assert excess.endswith(" MiB of memory for a network: it has at most 16 MiB")
    assert rest == "OutOfMemoryError: doubled: no memory left for its workspace"


WARM = """
const library = await Library.of(bytesOf(given[0]));
let [now, calls] = [0, 0];
performance.now = () => (now += 10);
const call = () => calls++;
library.warm("doubled", call);
const first = calls;
library.warm("doubled", call);
answer([first, calls]);
"""


def test_a_function_is_warm_once(node: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "library").write_bytes(doubled("wasm32"))
    first, all_ = node(MODULES + WARM, tmp_path / "library")  # type: ignore[misc]
    assert first == all_ == 10


DAMAGED = """
const bytes = bytesOf(given[0]);
const text = new TextDecoder("latin1").decode(bytes);
const with_ = (found, value) => {
  const changed = bytes.slice();
  changed.set(new TextEncoder().encode(value), text.indexOf(found));
  return errorOf(() => Library.of(changed));
};
answer([await with_('"name":"doubled"', '"name":"tripled"'), await with_('{"format"', '["format"')]);
"""


def test_metadata_that_do_not_belong_to_the_code_are_refused(node: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "library").write_bytes(doubled("wasm32"))
    other, no_object = node(MODULES + DAMAGED, tmp_path / "library")  # type: ignore[misc]
    assert other == 'ArtifactError: expected a library that exports "tripled"'
    assert no_object.startswith("ArtifactError: expected the metadata of a library as JSON: ")


TARGETS = """
import { engineTarget } from ENGINE;
const found = [engineTarget(true), engineTarget(false)];
WebAssembly.validate = () => false;
answer([...found, engineTarget(false)]);
"""


def test_an_engine_says_what_to_compile_for_it(node: Callable[..., object]) -> None:
    assert node(TARGETS.replace("ENGINE", json.dumps((ROOT / "src" / "engine.js").as_uri()))) == [
        str(Target.of("wasm32-threads")),
        str(Target.of("wasm32")),
        "llvm -mtriple=wasm32-unknown-unknown",
    ]
