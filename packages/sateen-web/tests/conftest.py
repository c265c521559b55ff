"""What the tests share: programs in Node, networks compiled for WebAssembly, and a proxy at which pages wait."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sateen.graph_ir import build, workloads
from sateen.rpc import Key, Proxy
from sateen.runtime import Artifact

ROOT = Path(__file__).parents[1]
RunInNode = Callable[..., object]
"""Runs a module in Node with arguments, `sateen` imported, and gives the value of its last `answer`."""

PROLOGUE = """
import { readFileSync, writeFileSync } from "node:fs";
import * as sateen from SOURCE;
const given = process.argv.slice(2);
const answer = (value) => console.log(JSON.stringify(value));
const bytesOf = (path) => new Uint8Array(readFileSync(path));
const floatsOf = (path) => new Float32Array(new Uint8Array(readFileSync(path)).buffer);
const errorOf = async (work) => {
  try {
    await work();
    return "no error";
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
"""


@pytest.fixture
def node(tmp_path: Path) -> RunInNode:
    """The runner of programs; skipped where Node is missing."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")

    def run(text: str, *arguments: object) -> object:
        path = tmp_path / "program.mjs"
        source = json.dumps((ROOT / "src" / "index.js").as_uri())
        path.write_text(PROLOGUE.replace("SOURCE", source) + text, encoding="utf-8")
        command = [program, str(path), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def mlp() -> Artifact:
    """A small network for WebAssembly: data of float32[1, 784] to probabilities of float32[1, 10]."""
    return build(workloads.mlp(), "wasm32")


@pytest.fixture
def key() -> Key:
    return Key.new()


@pytest.fixture
def proxy(key: Key) -> Iterator[Proxy]:
    """A proxy that takes WebSockets at `proxy.web`."""
    unwrapped = pytest.importorskip("sateen.rpc.websocket", reason="the package websockets is not installed").unwrapped
    with Proxy("127.0.0.1", 0, [key]) as made:
        made.web = made.add_door(("127.0.0.1", 0), unwrapped)  # type: ignore[attr-defined]
        threading.Thread(target=made.serve, daemon=True).start()
        yield made
