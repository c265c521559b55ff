"""A few of the mutants of fuzz/onnx_mutants.py: each is refused, or compiled and right.

Those that mean what their model means are compiled and give the same.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
MUTANTS = Path(__file__).parent / "fuzz" / "onnx_mutants.py"


def test_damaged_models_are_refused_or_right() -> None:
    done = subprocess.run(
        [sys.executable, str(MUTANTS), "--count", "80"], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert re.search(r"^ +8 neutral run$", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^80 mutants, 0 at fault, \d+ s$", done.stdout, re.MULTILINE), done.stdout
