"""Threads in Node: the same results, bit for bit, on any number of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir import Graph, build, workloads
from sateen.runtime import Artifact, load

RUN = """
const [artifact, input, output] = given;
const data = floatsOf(input);
const told = [];
const found = new Set();
for (const threads of [1, 2, 3]) {
  const model = await sateen.load(bytesOf(artifact), { threads });
  const name = model.inputs[0].name;
  for (let repeat = 0; repeat < 3; repeat++) {
    const [{ data: result }] = Object.values(await model.run({ [name]: data }));
    found.add(result.join());
    writeFileSync(output, result);
  }
  told.push(model.threads);
  model.close();
  told.push(await errorOf(() => model.run({ [name]: data })));
}
answer([found.size, told]);
"""
CLOSED = "ArgumentError: run: expected an open model, found a closed one"

NETWORKS: dict[str, Callable[[], Graph]] = {
    "resnet": lambda: workloads.resnet(image=64),
    "lstm": workloads.lstm,
    "transformer": workloads.transformer,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_number_of_threads_gives_the_same(name: str, node: Callable[..., object], tmp_path: Path) -> None:
    graph = NETWORKS[name]()
    here = build(graph)
    (source,) = here.inputs
    data = np.random.default_rng(1).normal(size=source.shape).astype(np.float32)
    data.tofile(tmp_path / "input")
    build(graph, "wasm32-threads").save(tmp_path / "network.sateen")
    told = node(RUN, tmp_path / "network.sateen", tmp_path / "input", tmp_path / "output")
    assert told == [1, [1, CLOSED, 2, CLOSED, 3, CLOSED]]
    expected = load(here).run({source.name: data})[0].numpy()
    found = np.fromfile(tmp_path / "output", np.float32).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


COUNT = """
const model = await sateen.load(bytesOf(given[0]), { threads: 4 });
const { probabilities } = await model.run({ data: new Float32Array(784).fill(1) });
answer([model.threads, probabilities.data.length]);
"""


@pytest.fixture(scope="module")
def threaded() -> Artifact:
    return build(workloads.mlp(), "wasm32-threads")


def test_an_artifact_without_threads_runs_on_one(mlp: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    mlp.save(tmp_path / "mlp.sateen")
    assert node(COUNT, tmp_path / "mlp.sateen") == [1, 10]


@pytest.mark.parametrize(
    "lacking", ["globalThis.crossOriginIsolated = false;", "globalThis.SharedArrayBuffer = undefined;", ""]
)
def test_a_page_that_may_not_share_memory_runs_it_on_one_thread(
    lacking: str, threaded: Artifact, node: Callable[..., object], tmp_path: Path
) -> None:
    threaded.save(tmp_path / "mlp.sateen")
    assert node(lacking + COUNT, tmp_path / "mlp.sateen") == [1 if lacking else 4, 10]


def test_threads_that_do_not_start_are_told(threaded: Artifact, node: Callable[..., object], tmp_path: Path) -> None:
    threaded.save(tmp_path / "mlp.sateen")
    program = """
globalThis.Worker = class {
  addEventListener(event, listener) {
    if (event === "error") setTimeout(() => listener({ message: "none left" }));
  }
  postMessage() {}
  terminate() {}
};
answer(await errorOf(() => sateen.load(bytesOf(given[0]), { threads: 3 })));
"""
    assert node(program, tmp_path / "mlp.sateen") == (
        "ExecutionError: expected 2 threads, found that one fails: none left"
    )
