"""The judge of suites tells right, wrong and refused cases apart."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

JUDGE = Path(__file__).with_name("judge.py")


@pytest.fixture
def case(tmp_path):
    def make(name: str, operator: str, expected: list[float], kind: str = "f", **more: object) -> None:
        element = TensorProto.FLOAT if kind == "f" else TensorProto.INT32
        given, made = (helper.make_tensor_value_info(value, element, ["n"]) for value in "xy")
        graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "net", [given], [made])
        folder = tmp_path / name
        folder.mkdir()
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "net.onnx")
        np.savez(folder / "io.npz", **{"in/x": np.array([-1, 2], kind), "out/0": np.array(expected, kind)})
        told = {"model": "net.onnx", "options": {"shapes": {"x": [2]}}, **more}
        (folder / "case.json").write_text(json.dumps(told), encoding="utf-8")

    return make


def _judge(folder: Path) -> tuple[int, list[str]]:
    ran = subprocess.run([sys.executable, JUDGE, folder], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout.splitlines()


def test_right_cases_pass(tmp_path, case):
    case("relu", "Relu", [0, 2])
    case("near", "Relu", [0, 2.1], tolerance=0.1)
    assert _judge(tmp_path) == (0, ["2 cases: 2 right, 0 refused, 0 wrong"])


def test_wrong_and_refused_ones_fail(tmp_path, case):
    case("relu", "Relu", [0, 3])
    case("unknown", "Nothing", [0, 2])
    case("unknown_nan", "Relu", [0, np.nan])
    status, lines = _judge(tmp_path)
    assert (status, lines[-1]) == (1, "3 cases: 0 right, 1 refused, 2 wrong")
    assert lines[0] == "wrong: relu: output y is 3.3e-01 off: float32[2] for float32[2]"
    assert lines[1].startswith("refused: unknown: sateen.runtime.errors.FrontendError: model 'net.onnx', 1 node")


def test_integers_may_differ_by_steps(tmp_path, case):
    case("one", "Relu", [0, 3], "i", steps=1)
    case("two", "Relu", [0, 4], "i", steps=1)
    status, lines = _judge(tmp_path)
    assert (status, lines) == (
        1,
        ["wrong: two: output y is inf off: int32[2] for int32[2]", "2 cases: 1 right, 0 refused, 1 wrong"],
    )


def test_no_case_is_no_success(tmp_path):
    assert _judge(tmp_path) == (1, ["0 cases: 0 right, 0 refused, 0 wrong"])
