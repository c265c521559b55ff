"""A few of the mutants of fuzz/artifact_mutants.py: each is refused, or loaded."""

import re
import subprocess
import sys
from pathlib import Path

MUTANTS = Path(__file__).parent / "fuzz" / "artifact_mutants.py"


def test_damaged_artifacts_of_devices_are_refused_or_loaded() -> None:
    done = subprocess.run(
        [sys.executable, str(MUTANTS), "--count", "400"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert re.search(r"^400 mutants: \d+ loaded, (\d+ not loaded, )?\d+ refused$", done.stdout, re.MULTILINE)
