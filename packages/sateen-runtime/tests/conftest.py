"""Where the kept artifact can run."""

from __future__ import annotations

import pytest

from sateen.runtime import Target


@pytest.fixture(scope="session")
def runs_kept() -> None:
    """For tests that run the code of running_sum.sateen; skipped where this machine can't."""
    host, needed = Target.host(), Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2")
    if "linux" not in host.triple or host.missing_features(needed):
        pytest.skip("running_sum.sateen is for x86-64-v2 on Linux")
