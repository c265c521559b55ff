"""The command with a page as its device."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from sateen.frontends.command.main import main
from sateen.rpc import Key, Proxy, add_key


@pytest.fixture
def convolution(tmp_path: Path) -> Path:
    """The file of a network with one convolution."""
    random = np.random.default_rng(0)
    weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 4, 3, 3], random.normal(size=288).astype(np.float32))
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 8, 8])]
        for name, channels in (("x", 4), ("y", 8))
    )
    graph = helper.make_graph([node], "convolution", inputs, outputs, [weight])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path := tmp_path / "convolution.onnx")
    return path


@pytest.fixture
def there(start_device: Callable[..., Any], proxy: Proxy, key: Key, tmp_path: Path) -> list[str]:
    """The options that name a page that waits."""
    start_device().wait_for(state="waiting")
    add_key(key, tmp_path / "key")
    host, port = proxy.address
    return ["--device", f"proxy://{host}:{port}/page", "--key-file", str(tmp_path / "key")]


def test_the_command_runs_measures_and_tunes_there(
    convolution: Path,
    there: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here, elsewhere, log = (tmp_path / name for name in ("here.npz", "there.npz", "log.jsonl"))
    model, random = str(convolution), ["--random", "1"]
    assert main(["run", model, *random, "--output", str(here)]) == 0
    assert main(["run", model, *random, "--output", str(elsewhere), *there]) == 0
    with np.load(here) as expected, np.load(elsewhere) as found:
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)
    assert main(["tune", model, "-o", str(log), "--trials", "1", *there]) == 0
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert {record["target"] for record in records} == {"llvm -mtriple=wasm32-unknown-unknown -mattr=+atomics,+simd128"}
    capsys.readouterr()
    assert main(["bench", model, "--samples", "2", "--records", str(log), "--json", *there]) == 0
    assert [result["name"] for result in json.loads(capsys.readouterr().out)["results"]] == ["sateen"]
