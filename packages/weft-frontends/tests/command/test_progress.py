from __future__ import annotations

import io

from rich.console import Console

from weft.frontends.command.progress import step


def test_a_terminal_is_told_what_is_being_done():
    stream = io.StringIO()
    with step("compiling net [1]", Console(file=stream, force_terminal=True)):
        pass
    assert "compiling net [1]" in stream.getvalue()


def test_a_pipe_is_told_nothing():
    stream = io.StringIO()
    with step("compiling net", Console(file=stream)):
        pass
    assert stream.getvalue() == ""
