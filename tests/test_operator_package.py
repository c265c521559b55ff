"""A package that needs sateen-topi alone brings operators: built as a wheel, installed, and found by the command."""

import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save

PACKAGE = Path(__file__).parents[1] / "examples" / "operator_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the package's wheel is installed: one of Python alone is installed by unpacking it (PEP 427)."""
    pytest.importorskip("hatchling", reason="the package is built by hatchling")
    folder = tmp_path_factory.mktemp("installed")
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", build], cwd=PACKAGE, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(folder / done.stdout.split()[-1]) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """out = relu(acme.RMSNorm(acme.Swish(data), scale))."""
    nodes = [
        helper.make_node("Swish", ["data"], ["a"], "activation", domain="acme", beta=1.5),
        helper.make_node("RMSNorm", ["a", "scale"], ["n"], "normalization", domain="acme"),
        helper.make_node("Relu", ["n"], ["out"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (4, 50))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, (4, 50))],
        [helper.make_tensor("scale", TensorProto.FLOAT, [50], SCALE)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    save(helper.make_model(graph, opset_imports=opsets), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


RANDOM = np.random.default_rng(0)
DATA = RANDOM.standard_normal((4, 50)).astype(np.float32)
SCALE = RANDOM.standard_normal(50).astype(np.float32)


def python(code: str, *arguments: object, path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, with another folder of packages and a cache of its own."""
    known = os.environ.get("PYTHONPATH", "")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(path), *([known] if known else [])]),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


COMMAND = "import sys; from sateen.frontends.command.main import main; sys.exit(main())"


def test_the_wheel_needs_topi_alone_and_its_import_brings_no_graph_compiler(installed: Path, tmp_path: Path) -> None:
    (metadata,) = installed.glob("*.dist-info/METADATA")
    assert message_from_string(metadata.read_text(encoding="utf-8")).get_all("Requires-Dist") == ["sateen-topi~=0.1.0"]
    code = (
        "import sys, acme_operators;print([n for n in sys.modules if n.startswith(('sateen.graph', 'sateen.front'))])"
    )
    done = python(code, path=installed, folder=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_command_compiles_a_model_with_its_operators(installed: Path, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", DATA)
    for verb in (["check", model], ["compile", model, "-o", "net.sateen"]):
        done = python(COMMAND, *verb, path=installed, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    run = ["run", "net.sateen", "--input", "data.npy", "--output", "out.npz"]
    done = python(COMMAND, *run, path=tmp_path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    a = DATA / (1 + np.exp(-1.5 * DATA))
    expected = np.maximum(a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-6) * SCALE, 0)
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found["out"], expected, rtol=1e-4, atol=1e-5)


def test_the_doctor_lists_its_operators(installed: Path, tmp_path: Path) -> None:
    done = python(COMMAND, "doctor", path=installed, folder=tmp_path)
    assert "acme.Swish, acme.RMSNorm" in done.stdout


def test_a_package_that_is_broken_is_named(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[sateen.operators]\none = no_such_module:Operator\n")
    message = "entry point 'one' of package 'broken' in sateen.operators: No module named 'no_such_module'"
    done = python(COMMAND, "check", model, path=tmp_path, folder=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (1, f"ArgumentError: {message}")
    assert message in python(COMMAND, "doctor", path=tmp_path, folder=tmp_path).stdout


def test_without_the_package_the_operators_are_reported(model: Path, tmp_path: Path) -> None:
    done = python(COMMAND, "check", model, path=tmp_path, folder=tmp_path)
    assert done.returncode == 1
    assert "1 x acme.Swish (opset 1): ONNX has no operator of this name in acme 1" in done.stdout
    assert "or bring the operator" in done.stdout
