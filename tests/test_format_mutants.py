"""A few of the mutants of fuzz/format_mutants.py: each is refused, or read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

MUTANTS = Path(__file__).parent / "fuzz" / "format_mutants.py"
MODELS = Path(__file__).parents[2] / "shared" / "models"


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"{MODELS} is absent")
def test_damaged_models_are_refused_or_read() -> None:
    done = subprocess.run(
        [sys.executable, str(MUTANTS), "--count", "6"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert len(re.findall(r"^\w+: 6 mutants: ", done.stdout, re.MULTILINE)) >= 8, done.stdout
