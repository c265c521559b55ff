"""`sateen check` says of a model what compiling it does: a sample of ONNX's own node tests."""

import warnings
from pathlib import Path

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from sateen.frontends import from_onnx
from sateen.frontends.command.main import main
from sateen.graph_ir.compile import build
from sateen.runtime.errors import SateenError

EVERY = 90
"""Of some 1,900 cases."""


def models() -> dict[str, onnx.ModelProto]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases compute logarithms of negative numbers and the like
        cases = sorted(load_model_tests(kind="node"), key=lambda case: case.name)
    return {case.name: case.model for case in cases[::EVERY] if case.model is not None}


def compiles(model: onnx.ModelProto) -> bool:
    try:
        build(from_onnx(model)[0])
    except SateenError:
        return False
    return True


@pytest.mark.timeout(300)
def test_check_says_of_a_model_what_compiling_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, tuple[bool, bool]] = {}
    for name, model in models().items():
        onnx.save(model, tmp_path / "case.onnx")
        found[name] = (main(["check", str(tmp_path / "case.onnx")]) == 0, compiles(model))
    capsys.readouterr()
    verdicts = {checked for checked, _ in found.values()}
    assert verdicts == {True, False}
    assert not {name for name, (checked, compiled) in found.items() if checked != compiled}
