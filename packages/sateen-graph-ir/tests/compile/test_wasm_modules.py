"""Networks as modules of WebAssembly that need nothing of their host."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sateen.graph_ir import OPS, build, parse_graph, workloads
from sateen.runtime import ArtifactError

CHOICE = """
graph chosen
  input %c: bool[]
  input %a: int64[4]
  input %b: int64[4]
  %chosen = where(%c, %a, %b)
  output %chosen
"""
PROGRAM = """
import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync("chosen.wasm"), {});
const { inputs: [c, a, b], outputs: [chosen] } = JSON.parse(readFileSync("chosen.json", "utf8"));
const { memory, run, sateen_status_message } = instance.exports;
const numbers = ({ offset }) => new BigInt64Array(memory.buffer, offset, 4);
numbers(a).set([1n, 2n, 3n, 4n]);
numbers(b).set([-1n, -2n, -3n, 1n << 40n]);
const text = (place) => {
  const bytes = new Uint8Array(memory.buffer, place);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
};
const found = [];
for (const which of [1, 0]) {
  new Uint8Array(memory.buffer)[c.offset] = which;
  found.push(text(sateen_status_message(run())), numbers(chosen).join());
}
console.log(JSON.stringify([Object.keys(instance.exports), ...found]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_module_runs_on_what_lies_in_its_memory(tmp_path: Path) -> None:
    artifact = build(parse_graph(CHOICE, OPS), "wasm32")
    artifact.export_module(tmp_path / "chosen.wasm", "chosen")
    told = json.loads((tmp_path / "chosen.json").read_text())
    assert told["inputs"][1] == {**told["inputs"][1], "name": "a", "dtype": "int64", "shape": [4], "bytes": 32}
    (tmp_path / "main.mjs").write_text(PROGRAM)
    ran = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(ran.stdout) == [
        ["run", "sateen_status_message", "memory"],
        *("success", "1,2,3,4", "success", "-1,-2,-3,1099511627776"),
    ]


def test_what_is_no_module_of_a_network_is_refused(tmp_path: Path) -> None:
    artifact = build(workloads.mlp(), "wasm32", parameters="packed")
    whole = "expected a whole module of a network to export, found a damaged one"
    for length in (10, 50, 90, len(artifact.library) // 2, len(artifact.library) - 1):
        with pytest.raises(ArtifactError, match=whole):
            replace(artifact, library=artifact.library[:length]).export_module(tmp_path / "mlp.wasm")
    changed = artifact.library.replace(b"\x03env\x06memory", b"\x03env\x06remedy")
    with pytest.raises(ArtifactError, match="which imports its memory alone, found another import"):
        replace(artifact, library=changed).export_module(tmp_path / "mlp.wasm")
    large = replace(artifact, workspace_bytes=(1 << 32) - (1 << 20))
    with pytest.raises(ArtifactError, match="expected a network that fits into 4 GiB of memory, found one of 429"):
        large.export_module(tmp_path / "mlp.wasm")
    with pytest.raises(
        ArtifactError, match=r"expected a name for the library that leaves 'mlp\.json' to its descripti"
    ):
        artifact.export_module(tmp_path / "mlp.json")
    assert not [*tmp_path.iterdir()]
