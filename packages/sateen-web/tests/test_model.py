"""What a loaded model tells of itself, where it may come from, and how it is timed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sateen.runtime import Artifact

ROOT = Path(__file__).parents[1]

DESCRIBE = """
const model = await sateen.load(bytesOf(given[0]));
const { probabilities } = await model.run({ data: new Float32Array(784) });
answer([model.inputs.map(String), model.outputs.map(String), model.target, model.labels, String(probabilities)]);
"""


def test_it_tells_its_inputs_outputs_and_labels(mlp: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    digits = tuple("0123456789")
    replace(mlp, labels={"probabilities": digits}).save(tmp_path / "mlp.sateen")
    assert node(DESCRIBE, tmp_path / "mlp.sateen") == [
        ["data: float32[1, 784]"],
        ["probabilities: float32[1, 10]"],
        mlp.target,
        {"probabilities": list(digits)},
        "float32[1, 10]",
    ]


SOURCES = """
const [path] = given;
const bytes = bytesOf(path);
const shifted = new Uint8Array(bytes.length + 3);
shifted.set(bytes, 3);
const { pathToFileURL } = await import("node:url");
const { createServer } = await import("node:http");
const server = createServer((request, response) => {
  response.statusCode = request.url === "/net.sateen" ? 200 : 404;
  response.end(response.statusCode === 200 ? bytes : "");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const site = `http://127.0.0.1:${server.address().port}`;
const sources = [
  bytes, bytes.buffer, shifted.subarray(3), pathToFileURL(path), String(pathToFileURL(path)), `${site}/net.sateen`,
];
const sums = [];
for (const source of sources) {
  const model = await sateen.load(source, { threads: 2 });
  const { probabilities } = await model.run({ data: new Float32Array(784).fill(1) });
  sums.push(probabilities.data.join());
}
const error = await errorOf(() => sateen.load(`${site}/gone`));
await new Promise((closed) => server.close(closed));
answer([new Set(sums).size, error.replace(site, "")]);
"""


def test_it_comes_from_bytes_files_and_servers(mlp: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    mlp.save(tmp_path / "mlp.sateen")
    different, error = node(SOURCES, tmp_path / "mlp.sateen")  # type: ignore[misc]
    assert different == 1
    assert error == "ArtifactError: /gone: expected an artifact to read: the server answered 404 Not Found"


TIME = """
const model = await sateen.load(bytesOf(given[0]));
let now = 0;
let runs = 0;
performance.now = () => (now += 10);
const data = new Float32Array(784);
const fixed = await model.time({ data }, { number: 5, repeat: 4 });
const raised = await model.time({ data }, { minSeconds: 0.02 });
answer([fixed.samples, fixed.number, fixed.median, fixed.minimum, fixed.spread, String(fixed), raised.number]);
"""


def test_times_are_seconds_of_a_run(mlp: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    """With a clock that goes on by 10 ms whenever it is read, 11 times before it counts."""
    mlp.save(tmp_path / "mlp.sateen")
    program = TIME.replace("(now += 10)", "(runs++ < 25 ? (now += 10) : (now += 20))")
    samples, number, median, minimum, spread, text, raised = node(program, tmp_path / "mlp.sateen")  # type: ignore[misc]
    assert (samples, number, median, minimum, spread) == ([0.002] * 4, 5, 0.002, 0.002, 0)
    assert text == "2000.000 us (median of 4, minimum 2000.000, spread 0.0%)"
    assert raised > 1


def test_two_models_are_apart(mlp: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    mlp.save(tmp_path / "mlp.sateen")
    program = """
const [one, other] = [await sateen.load(bytesOf(given[0])), await sateen.load(bytesOf(given[0]))];
const ones = { data: new Float32Array(784).fill(1) };
const first = (await one.run(ones)).probabilities;
await other.run({ data: new Float32Array(784).fill(-1) });
await one.run({ data: new Float32Array(784).fill(-1) });
answer([first.data.join() === (await one.run(ones)).probabilities.data.join(), Object.isFrozen(first)]);
"""
    assert node(program, tmp_path / "mlp.sateen") == [True, True]


@pytest.mark.parametrize("folder", ["", "device/"])
def test_the_types_declare_what_the_module_exports(folder: str) -> None:
    """TypeScript is not needed here: names of classes and functions are compared as text."""
    exported = "".join(re.findall(r"export \{(.*?)\}", _text(f"{folder}index.js"), re.DOTALL))
    declared = set(re.findall(r"^export (?:class|function) ([A-Za-z]+)", _text(f"{folder}index.d.ts"), re.MULTILINE))
    assert set(re.findall(r"[A-Za-z]+(?=[,\s}])", exported)) == declared


def test_the_package_names_files_that_are_there() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    modules = [file for entry in (".", "./device") for file in package["exports"][entry].values()]
    named = [package["types"], *modules, *package["files"]]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert "dependencies" not in package
    assert f"## {package['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'VERSION = "{package["version"]}"' in _text("device/version.js")


def _text(name: str) -> str:
    return (ROOT / "src" / name).read_text(encoding="utf-8")
