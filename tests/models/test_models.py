"""The program of `nox -s models`, on its smallest network."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sateen.runtime import DeviceError, open_device

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


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime, the judge, is not installed")
@pytest.mark.parametrize("kind", ["opencl", "webgpu"])
def test_a_light_model_is_right_on_a_device(kind: str) -> None:
    try:
        open_device(kind)
    except DeviceError as error:
        pytest.skip(str(error))
    result = verify("--target", kind)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(
        r"^\| light_squeezenet \| 84 \| [\d.]+ \| \d+ \| \d\d \| [\d.]+ \| \d+ \| 0.0e", result.stdout, re.MULTILINE
    )
    assert "1 of 1 results of 1 networks are right." in result.stdout


def test_a_network_that_takes_too_long_is_ended_and_counts_as_wrong() -> None:
    result = verify("--limit", "0.01")
    assert result.returncode == 1
    assert "**wrong**: not done within 0.01 s" in result.stdout


ELSEWHERE = Path(__file__).with_name("elsewhere.py")
SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="expected the networks of ../shared")
def test_a_network_gives_what_its_definition_says_here_and_on_emulated_machines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- networks -->\nold\n<!-- networks -->\nafter\n")
    environment = {**os.environ, "PYTHONPATH": str(ELSEWHERE.parents[1] / "fuzz")}
    command = [sys.executable, str(ELSEWHERE), "--only", "silero", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    first, _, head, _, row, *rest = page.read_text().splitlines()
    assert (first, rest) == ("before", ["<!-- networks -->", "after"])
    assert head.startswith("| network | this machine | aarch64 | armv7 | riscv64 |")
    assert re.fullmatch(r"\| silero_vad \| \d\.\de-\d\d( \| (not run|\d\.\de-\d\d)){4} \|", row)
