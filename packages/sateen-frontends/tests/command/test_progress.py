from __future__ import annotations

import io

from rich.console import Console

from sateen.frontends.command.progress import step, steps, work


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


def test_the_rest_is_told_by_what_was_done_so_far():
    stream, now = io.StringIO(), [0.0]
    with work(Console(file=stream, force_terminal=True, width=100), lambda: now[0]) as show:
        for done in range(1, 4):
            now[0] = 60.0 * done
            show(f"candidate {done} [1]", done / 10)
    assert "candidate 3 [1]" in stream.getvalue()
    assert "0:07:00" in stream.getvalue()
    assert " 30%" in stream.getvalue()


def test_a_pipe_is_told_nothing_of_parts():
    stream = io.StringIO()
    with work(Console(file=stream)) as show:
        show("convolution", 0.5)
    assert stream.getvalue() == ""
