"""Nothing in the folder that the user is in runs as code, whatever its name, whichever children are started there."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from sateen.runtime import LinkError, LocalSession
from sateen.runtime.isolation import isolated_program
from sateen.tensor_ir import te
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.link import link_with_lld
from sateen.tensor_ir.lowering import lower

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model among modules that leave a mark when they are imported: one of each name that anybody might import."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    names = {*sys.stdlib_module_names, *packages_distributions(), "msgpack", "onnxruntime", "ziglang", "sitecustomize"}
    for name in sorted(names - {"__pycache__"}):
        if name.isidentifier():
            mark = f"open({str(tmp_path / 'marks')!r}, 'a').write({name!r} + '\\n')\n"
            (folder / f"{name}.py").write_text(mark)
            (folder / name).mkdir()
            for module in ("__init__", "__main__"):
                (folder / name / f"{module}.py").write_text(mark)
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((8, 4, 3, 3), np.float32), "weight")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["data", "weight"], ["out"], "conv", pads=[1, 1, 1, 1])],
        "net",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (1, 4, 12, 12))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, (1, 8, 12, 12))],
        [weight],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "net.onnx")
    return folder


@pytest.fixture
def sateen(folder: Path, tmp_path: Path) -> Run:
    """Runs the command as it is installed, in that folder."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("sateen")), *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run


def test_no_verb_of_the_command_runs_what_lies_beside_a_model(sateen: Run, tmp_path: Path) -> None:
    compiled = sateen("compile", "net.onnx", "-o", "net.sateen", "--no-cache")
    assert (compiled.returncode, compiled.stderr) == (0, "")
    probed = sateen("compile", "net.onnx", "-o", "other.sateen", "--target", "llvm -mcpu=nonesuch", "--no-cache")
    assert "LLVM knows no processor 'nonesuch'" in probed.stderr
    measured = sateen("bench", "net.sateen", "--samples", "1")
    assert (measured.returncode, measured.stderr) == (0, "")
    tuned = sateen("tune", "net.onnx", "-o", "log.jsonl", "--trials", "1")
    assert (tuned.returncode, tuned.stderr) == (0, "")
    assert not (tmp_path / "marks").exists()


def test_no_child_runs_what_lies_in_a_folder_that_the_process_entered(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    function = lower(te.create_schedule(B), [A, B], "twice")
    monkeypatch.chdir(folder)
    for entry in ("", ".", str(folder), f"{folder}/"):
        monkeypatch.setattr(sys, "path", [*sys.path, entry])
    with CompilerPool(1) as pool, LocalSession():
        (code,) = pool.compile([function])
    assert code.symbols == ("twice",)
    (tmp_path / "installed" / "ziglang").mkdir(parents=True)
    (tmp_path / "installed" / "ziglang" / "__main__.py").write_text("import sys; sys.exit('installed ' + sys.argv[1])")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "installed")])
    with pytest.raises(LinkError, match=r"installed ld\.lld"):
        link_with_lld(b"", "riscv64-linux-gnu", ["f"])
    assert not (tmp_path / "marks").exists()


def test_a_child_gets_the_module_path_without_the_current_folder_and_no_environment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(sys, "path", ["", "relative", str(folder), str(tmp_path), *sys.path, "bad\0name"])
    command = isolated_program("import sys; print(sys.argv[1:], sys.flags.isolated, *sys.path, sep='\\n')", ["a", "b"])
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[:3] == ["['a', 'b']", "1", str(tmp_path)]
    assert not {"", "relative", str(folder)} & set(told)


def test_one_module_starts_children_of_python() -> None:
    sources = (path for path in Path(__file__).parents[1].glob("packages/*/src/**/*.py"))
    words = ("sys.executable", "import multiprocessing", "from multiprocessing", "ProcessPoolExecutor")
    found = [path.name for path in sources if any(word in path.read_text(encoding="utf-8") for word in words)]
    assert found == ["isolation.py"]
