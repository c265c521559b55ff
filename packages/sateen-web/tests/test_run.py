"""Networks in Node: what they give is what they give here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.frontends import from_onnx
from sateen.graph_ir import OPS, Graph, build, parse_graph, workloads
from sateen.graph_ir.workloads.network import Network
from sateen.runtime import load

MODELS = Path(__file__).parents[4] / "shared" / "models" / "onnx"
STATE = {"input": (1, 512), "state": (2, 1, 128)}

RUN = """
const [artifact, ...paths] = given;
const model = await sateen.load(bytesOf(artifact));
const arrays = {
  float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array,
  int8: Int8Array, bool: Uint8Array, float16: Uint16Array,
};
const inputs = model.inputs.map(({ name, dtype }, i) => [name, new arrays[dtype](bytesOf(paths[i]).buffer)]);
const outputs = await model.run(Object.fromEntries(inputs));
Object.values(outputs).forEach(({ data }, i) => writeFileSync(`${artifact}.${i}`, data));
answer(Object.entries(outputs).map(([name, { dtype, shape }]) => [name, dtype, shape]));
"""


@pytest.fixture
def compare(node: Callable[..., object], tmp_path: Path) -> Callable[..., None]:
    """Compiles a graph for this machine and for WebAssembly, runs both on one input, and compares."""

    def run(graph: Graph, params: Mapping[str, Any], tolerance: float = 1e-4) -> None:
        random, here = np.random.default_rng(1), build(graph, params=params)
        inputs = {p.name: _values(random, p.shape, p.dtype.numpy) for p in here.inputs}
        expected = load(here).run(inputs).numpy()
        build(graph, "wasm32", params=params).save(tmp_path / "network.sateen")
        paths = [tmp_path / f"input{i}" for i in range(len(inputs))]
        for path, array in zip(paths, inputs.values(), strict=True):
            path.write_bytes(array.tobytes())
        told = node(RUN, tmp_path / "network.sateen", *paths)
        assert told == [[name, str(array.dtype), list(array.shape)] for name, array in expected.items()]
        for number, array in enumerate(expected.values()):
            raw = (tmp_path / f"network.sateen.{number}").read_bytes()
            found = np.frombuffer(raw, array.dtype).reshape(array.shape).astype(np.float64)
            most = tolerance * float(np.abs(array.astype(np.float64)).max(initial=0))
            np.testing.assert_allclose(found, array.astype(np.float64), rtol=tolerance, atol=most)

    return run


def _values(random: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind == "f":
        return random.normal(size=shape).astype(dtype)
    return random.integers(0, 2 if dtype.kind == "b" else 100, size=shape).astype(dtype)


WORKLOADS: dict[str, Callable[[], Graph]] = {
    "mobilenet": lambda: workloads.mobilenet(image=96),
    "resnet": lambda: workloads.resnet(image=64),
    "lstm": workloads.lstm,
    "transformer": workloads.transformer,
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_network_gives_in_node_what_it_gives_here(name: str, compare: Callable[..., None]) -> None:
    compare(WORKLOADS[name](), {})


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("mnist-8", {}, 1e-4),
        ("squeezenet_fp16", {}, 4e-3),  # of float16, whose last bit is 1e-3
        ("silero_vad", {"shapes": STATE, "constants": {"sr": np.array(16000, np.int64)}}, 1e-4),
        ("silero_vad_op18_ifless", {"shapes": STATE, "constants": {"sr": np.array(16000, np.int64)}}, 1e-4),
    ],
)
def test_a_model_of_others_gives_in_node_what_it_gives_here(
    name: str, options: Mapping[str, Any], tolerance: float, compare: Callable[..., None]
) -> None:
    path = MODELS / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    compare(*from_onnx(path, **options), tolerance)


def test_a_branch_that_an_input_decides_is_taken_in_node(compare: Callable[..., None]) -> None:
    path = MODELS / "silero_vad.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    compare(*from_onnx(path, shapes={"input": (1, 256), "state": (2, 1, 128)}))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_every_element_type_is_read_and_written(dtype: str, compare: Callable[..., None]) -> None:
    text = f"""
graph sums
  input %a: {dtype}[3, 5]
  input %b: {dtype}[3, 5]
  %sum = add(%a, %b)
  output %sum
"""
    compare(parse_graph(text, OPS), {}, 0)


def test_scalars_and_bools_are_arrays_of_one_element_and_of_bytes(compare: Callable[..., None]) -> None:
    text = """
graph chosen
  input %c: bool[]
  input %a: int64[4]
  input %b: int64[4]
  %chosen = where(%c, %a, %b)
  output %chosen
"""
    compare(parse_graph(text, OPS), {}, 0)


def test_parameters_that_are_packed_when_they_are_loaded(compare: Callable[..., None]) -> None:
    network = Network("winograd")
    x = network.conv_relu(network.input("data", "float32", (1, 16, 64, 64)), 64, 3, pad=1)
    graph = network.end(network.conv_relu(x, 16, 3, pad=1))
    assert build(graph, "wasm32").packing is not None
    compare(graph, {})
