"""Small ONNX models, and a way to run the command on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.command import artifacts, compilers, inspection
from sateen.frontends.command.main import main
from sateen.graph_ir.kernels import KernelPool


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def shared_compilers() -> Iterator[KernelPool]:
    """Compiler processes for all tests: to start its own takes the command longer than what most of them show."""
    with KernelPool(artifacts.WORKERS) as pool:
        yield pool


@pytest.fixture
def sateen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shared_compilers: KernelPool,
) -> Callable[..., Ran]:
    """Runs the command in a folder of its own, with a cache of its own, and tells status and output."""
    for module, pool in ((artifacts, "KernelPool"), (compilers, "CompilerPool"), (inspection, "CompilerPool")):
        monkeypatch.setattr(module, pool, lambda _processes, **_options: nullcontext(shared_compilers))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        status = main([str(a) for a in arguments])
        told = capsys.readouterr()
        return Ran(status, told.out, told.err)

    return run


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    return _dense(tmp_path / "dense.onnx")


@pytest.fixture(scope="session")
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    assert main(["compile", str(_dense(folder / "dense.onnx")), "-o", str(folder / "dense.sateen"), "--no-cache"]) == 0
    return folder / "dense.sateen"


@pytest.fixture
def artifact(_compiled: Path, tmp_path: Path) -> Path:
    """The `dense` network, compiled."""
    return Path(shutil.copy(_compiled, tmp_path / "dense.sateen"))


@pytest.fixture
def open_batch(tmp_path: Path) -> Path:
    """A ReLU of a batch of unknown size."""
    return _save(tmp_path / "open.onnx", [helper.make_node("Relu", ["data"], ["out"])], [("data", ("batch", 3))], "out")


@pytest.fixture
def unsupported(tmp_path: Path) -> Path:
    """Two nodes that can't be compiled."""
    nodes = [
        helper.make_node("Multinomial", ["data"], ["a"], "draw", sample_size=1),
        helper.make_node("Relu", ["data"], ["out"], "relu"),
        helper.make_node("StringNormalizer", ["data"], ["b"], "normalise"),
    ]
    return _save(tmp_path / "unsupported.onnx", nodes, [("data", (2, 3))], "out", "a", "b")


@pytest.fixture
def two_products(tmp_path: Path) -> Path:
    """out[2, 5] = relu(data[2, 3] w) v."""
    nodes = [
        helper.make_node("MatMul", ["data", "w"], ["product"], "first"),
        helper.make_node("Relu", ["product"], ["rectified"], "rectify"),
        helper.make_node("MatMul", ["rectified", "v"], ["out"], "second"),
    ]
    w, v = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    return _save(tmp_path / "two.onnx", nodes, [("data", (2, 3))], "out", w=w, v=v)


@pytest.fixture
def picture_network(tmp_path: Path) -> Path:
    """The sum over each channel of a picture of 2 x 2."""
    nodes = [helper.make_node("GlobalAveragePool", ["data"], ["out"])]
    return _save(tmp_path / "picture.onnx", nodes, [("data", (1, 3, 2, 2))], "out")


def _dense(path: Path) -> Path:
    """out[1, 4] = relu(data[1, 3] w + b), where w sums into column 2."""
    weights = np.zeros((3, 4), np.float32)
    weights[:, 2] = 1.0
    nodes = [
        helper.make_node("MatMul", ["data", "w"], ["product"], "product"),
        helper.make_node("Add", ["product", "b"], ["sum"], "sum"),
        helper.make_node("Relu", ["sum"], ["out"], "relu"),
    ]
    bias = np.array([0.5, 0.25, 0.0, -1.0], np.float32)
    return _save(path, nodes, [("data", (1, 3))], "out", w=weights, b=bias)


def _save(
    path: Path, nodes: list[onnx.NodeProto], inputs: list[tuple[str, tuple[int | str, ...]]], *outputs: str, **data: Any
) -> Path:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.fixture
def convolution(tmp_path):
    """A convolution, twice."""
    weight = np.random.default_rng(0).standard_normal((32, 32, 3, 3), np.float32)
    nodes = [helper.make_node("Conv", [x, "w"], [y], y, pads=[1] * 4) for x, y in (("data", "first"), ("first", "out"))]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (1, 32, 8, 8))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, "w")],
    )
    path = tmp_path / "convolution.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path
