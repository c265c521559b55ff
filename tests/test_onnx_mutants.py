"""A few of the mutants of fuzz/onnx_mutants.py: each is read or refused, those that change nothing are read."""

import re
import subprocess
import sys
from pathlib import Path

MUTANTS = Path(__file__).parent / "fuzz" / "onnx_mutants.py"


def test_damaged_models_are_read_or_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(MUTANTS), "--count", "500"], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"neutral 50, read \d+, refused \d+", done.stdout.strip()), done.stdout
