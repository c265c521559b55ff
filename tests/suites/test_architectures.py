"""The table of architectures says how far sateen and a framework are from each other and from float64."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

PROGRAM = Path(__file__).with_name("architectures.py")


def _case(folder: Path, operator: str, expected: list[float], exact: list[float]) -> None:
    given, made = (helper.make_tensor_value_info(value, TensorProto.FLOAT, [2]) for value in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "net", [given], [made])
    folder.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "net.onnx")
    single, double = np.array([[-1, 2], expected], np.float32), np.array(exact, np.float64)
    np.savez(folder / "io.npz", **{"in/x": single[0], "out/0": single[1], "exact/0": double})
    told = {"model": "net.onnx", "package": "zoo 1.0", "format": "ONNX"}
    (folder / "case.json").write_text(json.dumps(told), encoding="utf-8")


def test_each_architecture_has_a_line(tmp_path):
    _case(tmp_path / "zoo.right", "Relu", [0, 2], [0, 2.0001])
    _case(tmp_path / "zoo.wrong", "Relu", [0, 4], [0, 2])
    _case(tmp_path / "zoo.refused", "Nothing", [0, 2], [0, 2])
    command = [sys.executable, PROGRAM, tmp_path, "--page", tmp_path / "page.md"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "zoo 1.0" in line]
    refused, right, wrong = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert right[:4] + right[5:] == ["right", "zoo 1.0", "ONNX", "1", "0.0e+00", "5.0e-05", "5.0e-05", ""]
    assert wrong[5:] == ["5.0e-01", "0.0e+00", "1.0e+00", "**wrong**"]
    assert refused[:1] + refused[3:8] == ["refused", "", "", "", "", ""]
    assert refused[8].startswith("**wrong** ")
    assert "1 of 3 are right" in text
