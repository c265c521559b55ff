"""The faults that `nox -s mutations` puts into the project can be put there; one of them is."""

import subprocess
import sys
import tomllib
from pathlib import Path

PROGRAM = Path(__file__).with_name("run.py")
ROOT = Path(__file__).parents[2]
FAULTS = tomllib.loads(PROGRAM.with_name("faults.toml").read_text(encoding="utf-8"))["fault"]


def test_each_fault_changes_one_place() -> None:
    assert len(FAULTS) >= 60
    for fault in FAULTS:
        text = (ROOT / "packages" / fault["file"]).read_text(encoding="utf-8")
        assert text.count(fault["find"]) == 1, f"{fault['file']}: {fault['find']}"
        assert fault["find"] != fault["replace"]


def test_a_fault_fails_a_test_of_its_module() -> None:
    number = 1 + [fault["breaks"] for fault in FAULTS].index("parameters that begin alike are taken for equal")
    command = [sys.executable, str(PROGRAM), "--own", str(number)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "test_parameters_that_begin_alike_are_not_equal" in result.stdout
    assert "1 faults, 1 caught, 0 survived" in result.stdout
