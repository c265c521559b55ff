"""The child process that measures candidates."""

import os
import subprocess

import pytest

from sateen.graph_ir.tune import MeasuringProcess, measuring
from sateen.runtime import Target
from sateen.runtime.isolation import isolated_program

NEVER_ANSWERS = isolated_program("import sys; sys.stdin.buffer.read()")


@pytest.mark.skipif(os.name != "posix", reason="measuring needs POSIX's timers")
def test_a_measurement_that_is_interrupted_is_not_answered_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    children, start = [], subprocess.Popen

    def silent(_command: list[str], **options: object) -> object:
        children.append(start(NEVER_ANSWERS, **options))  # type: ignore[call-overload]
        return children[-1]

    def interrupted(_stream: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", silent)
    monkeypatch.setattr(measuring, "receive_message", interrupted)
    with MeasuringProcess(Target.of("llvm")) as process:
        for attempt in (1, 2):
            with pytest.raises(KeyboardInterrupt):
                process.measure("problem", "method", None)  # type: ignore[arg-type]
            assert [child.returncode for child in children] == [-9] * attempt
