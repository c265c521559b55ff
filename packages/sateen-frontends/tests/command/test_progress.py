from __future__ import annotations

import io

from rich.console import Console

from sateen.frontends.command.progress import step, steps


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


def test_a_terminal_is_told_what_is_being_done_of_how_much():
    stream = io.StringIO()
    with steps(3, Console(file=stream, force_terminal=True)) as show:
        show("convolution [1]", 2)
    assert "convolution [1]" in stream.getvalue()
    assert "2/3" in stream.getvalue()


def test_a_pipe_is_told_nothing_of_steps():
    stream = io.StringIO()
    with steps(3, Console(file=stream)) as show:
        show("convolution", 2)
    assert stream.getvalue() == ""
