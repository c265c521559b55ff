"""The program of `nox -s models`, on its smallest network."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("verify_models.py")


def verify(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), "--only", "light_squeezenet", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime, the judge, is not installed")
def test_a_light_model_is_compiled_and_right() -> None:
    result = verify()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "| light_squeezenet | 84 |" in result.stdout
    assert "1 of 1 results of 1 networks are right." in result.stdout


def test_a_network_that_takes_too_long_is_ended_and_counts_as_wrong() -> None:
    result = verify("--limit", "0.01")
    assert result.returncode == 1
    assert "**wrong**: not done within 0.01 s" in result.stdout
