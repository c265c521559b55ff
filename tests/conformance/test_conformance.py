"""A sample of what `nox -s conformance` does, and what that says where the list of passing cases is not right."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("run.py")


def conformance(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(PROGRAM), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


@pytest.mark.timeout(300)
def test_cases_of_the_list_pass() -> None:
    code, said = conformance("--sample", "48")
    assert code == 0, said
    assert "0 wrong" in said


def test_a_listed_case_that_does_not_pass_and_a_passing_one_that_is_not_listed_are_told(tmp_path: Path) -> None:
    listed = tmp_path / "passing.txt"
    listed.write_text("test_string_concat\ntest_reshape_reordered_all_dims\n")
    names = ["test_string_concat", "test_relu", "test_reshape_reordered_all_dims", "test_slice"]
    code, said = conformance("--passing", str(listed), *names)
    assert code == 1
    assert "test_string_concat is in the list of passing cases, but refused" in said
    assert "test_relu passed: add it to the list\n" in said
    assert "test_slice passed: add it to the list, as bound\n" in said
    assert "test_reshape_reordered_all_dims passed as given by the list, but now only with inputs bound" in said


def test_a_case_that_onnx_does_not_have_is_refused() -> None:
    code, said = conformance("test_nothing")
    assert code == 2
    assert "ONNX has no cases test_nothing" in said
