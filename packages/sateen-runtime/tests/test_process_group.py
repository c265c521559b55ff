"""A child and all that it starts."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from sateen.runtime.process_group import ProcessGroup

pytestmark = pytest.mark.skipif(os.name != "posix", reason="groups of processes are of POSIX")


def group_of(program: str, folder: Path) -> ProcessGroup:
    with (folder / "log").open("wb") as log:
        return ProcessGroup([sys.executable, "-c", program], log)


@pytest.mark.parametrize(
    ("program", "code"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL), ("", 0)],
)
def test_how_the_leader_ended_is_told_before_and_after_its_number_is_given_up(
    tmp_path: Path, program: str, code: int
) -> None:
    group = group_of(program, tmp_path)
    assert [group.wait(60), group.wait(60)] == [code, code]
    if sys.platform == "linux":
        assert Path(f"/proc/{group.number}/stat").read_text().split()[2] == "Z"  # nobody else can have its number
    assert [group.end(), group.end(), group.wait(0)] == [code, code, code]


def test_a_child_that_lives_on_is_waited_for_and_killed(tmp_path: Path) -> None:
    group = group_of("input()", tmp_path)
    assert group.wait(0.01) is None
    assert group.end() == -signal.SIGKILL


def test_a_child_reads_what_it_is_given(tmp_path: Path) -> None:
    group = group_of("print(input())", tmp_path)
    group.write(b"abc\n")
    assert group.wait(60) == 0
    group.end()
    assert (tmp_path / "log").read_text() == "abc\n"
