import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sateen.runtime import (
    ArgumentError,
    ArtifactError,
    ExecutionError,
    LocalSession,
    NDArray,
    Session,
    SessionCrashedError,
    SessionError,
    SessionOutOfMemoryError,
    SessionTimeoutError,
    array,
    empty,
    framing,
)
from sateen.runtime.sessions import local

pytestmark = pytest.mark.skipif(os.name != "posix", reason="local sessions need setrlimit of POSIX")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with LocalSession() as opened:
        yield opened


def test_a_function_runs_in_the_child_and_fills_its_output(session: Session, library: bytes) -> None:
    add = session.load(library)["add"]
    a, c = array(np.arange(8, dtype=np.float32).reshape(2, 4)), np.zeros((2, 4), np.float32)
    add(a, a.numpy(), c)
    np.testing.assert_array_equal(c, 2 * a.numpy())


def test_strided_arrays_cross_as_compact_ones(session: Session, library: bytes) -> None:
    a = np.arange(8, dtype=np.float32).reshape(4, 2).T
    c = np.zeros((4, 2), np.float32).T
    session.load(library)["add"](a, a, c)
    np.testing.assert_array_equal(c, 2 * a)


def test_a_function_is_timed_where_it_runs(session: Session, library: bytes) -> None:
    result = session.load(library)["host"].time(empty(2, "int64"), number=3, repeat=4)
    assert (len(result.samples), result.number) == (4, 3)
    assert all(0 < sample < 1 for sample in result.samples)


def test_threads_are_capped_in_the_child(session: Session, library: bytes) -> None:
    found = empty(2, "int64")
    session.load(library, threads=3)["host"](found)
    assert found.numpy()[0] == 3


def test_signatures_come_back(session: Session, library: bytes) -> None:
    module = session.load(library)
    assert str(module["add"].signature) == "add(A: float32[n, 4], B: float32[n, 4], C: float32[n, 4] out)"
    module.unload()


def test_errors_of_the_child_are_raised_here_and_the_session_goes_on(session: Session, library: bytes) -> None:
    module = session.load(library)
    with pytest.raises(ArgumentError, match=r"add: argument 1 \(B\): expected float32, found float64"):
        module["add"](empty((2, 4)), empty((2, 4), "float64"), empty((2, 4)))
    with pytest.raises(ExecutionError, match="fail: the device refused a kernel"):
        module["fail"](array([12]))
    with pytest.raises(ArtifactError, match="library: expected an ELF shared library, found 4 bytes"):
        session.load(b"abcd")
    with pytest.raises(ArgumentError, match="expected number and repeat of 1 or more"):
        module["crash"].time(repeat=0)
    module["host"](empty(2, "int64"))


def test_wrong_arguments_never_leave(session: Session, library: bytes) -> None:
    module = session.load(library)
    with pytest.raises(ArgumentError, match=r"add: expected 3 arguments \(A, B, C\), found 0"):
        module["add"]()
    fixed = np.zeros((2, 4), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"add: argument 2 \(C\): expected memory to write the output to"):
        module["add"](empty((2, 4)), empty((2, 4)), fixed)
    with pytest.raises(ArgumentError, match=r"expected a function of this module, one of add, .*; found 'sub'"):
        module["sub"]


def test_a_crash_ends_the_session_and_not_this_process(library: bytes) -> None:
    with LocalSession() as session:
        module = session.load(library)
        with pytest.raises(SessionCrashedError, match="crash: the session's process died of SIGSEGV"):
            module["crash"]()
        with pytest.raises(SessionError, match=r"expected an open session, found one that has ended: crash: .*SIGSEGV"):
            module["host"](empty(2, "int64"))


def test_a_kill_from_outside_is_a_crash(library: bytes) -> None:
    with LocalSession() as session:
        module = session.load(library)
        os.kill(session._child.number, signal.SIGKILL)
        with pytest.raises(SessionCrashedError, match="host: the session's process died of SIGKILL"):
            module["host"](empty(2, "int64"))


def test_endless_work_is_ended_at_the_limit(library: bytes) -> None:
    with LocalSession() as session:
        module = session.load(library)
        session._seconds = 0.5
        with pytest.raises(SessionTimeoutError, match=r"spin: expected it to end within 0\.5 s, it did not"):
            module["spin"]()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [("exhaust", ()), ("add", (empty((1 << 23, 4)), empty((4, 4)), empty((4, 4))))],
    ids=["of the code", "of its arguments"],
)
def test_work_past_the_limit_of_memory_is_ended(library: bytes, function: str, arguments: tuple[NDArray, ...]) -> None:
    with LocalSession(memory_bytes=100_000_000) as session:
        module = session.load(library)
        with pytest.raises(SessionOutOfMemoryError, match="expected the work to fit the session's limit of memory"):
            module[function](*arguments)
        with pytest.raises(SessionError, match="expected an open session, found one that has ended"):
            module["crash"]()


def test_a_closed_session_says_so(library: bytes) -> None:
    with LocalSession() as session:
        module = session.load(library)
    with pytest.raises(SessionError, match="host: expected an open session, found one that has ended: it was closed"):
        module["host"](empty(2, "int64"))


@pytest.mark.parametrize(
    "limits", [{"seconds": 0.0}, {"seconds": float("nan")}, {"seconds": 1e7}, {"memory_bytes": -1}]
)
def test_limits_must_be_positive(limits: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match=r"expected positive limits of a session, .*found seconds="):
        LocalSession(**limits)  # type: ignore[arg-type]


def test_a_session_ends_when_a_request_is_interrupted(library: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with LocalSession() as session:
        add = session.load(library)["add"]
        a, c = np.ones((2, 4), np.float32), np.zeros((2, 4), np.float32)
        with monkeypatch.context() as patch:
            patch.setattr(framing, "receive", interrupted)
            with pytest.raises(KeyboardInterrupt):
                add(a, a, c)
        assert session._child.wait(0) == -signal.SIGKILL
        with pytest.raises(SessionError, match="an open session, found one that has ended: add was interrupted"):
            add(a, a, c)


def test_an_interrupt_from_the_terminal_does_not_reach_the_child(session: LocalSession) -> None:
    assert os.getpgid(session._child.number) != os.getpgid(0)


def test_what_the_child_has_started_ends_with_it() -> None:
    with LocalSession() as session:
        program = f"import os; os.setpgid(0, {session._child.number}); os.write(1, b'joined'); input()"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", program], **pipes) as joined:
            assert joined.stdout is not None
            assert joined.stdout.read(6) == b"joined"
            session.close()
            assert joined.wait(60) == -signal.SIGKILL


def test_a_folder_that_can_t_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(SessionError, match="a folder for a session: No space left on device; TMPDIR names another"):
        LocalSession()


def test_extents_beyond_those_of_messages_are_refused(session: Session) -> None:
    with pytest.raises(ArgumentError, match=r"expected extents of 0 to 2\^62 - 1, found shape"):
        session.empty((1 << 70,))


FORKING = """
import os
from sateen.runtime import LocalSession, SessionError
session = LocalSession()
child = os.fork()
if not child:
    try:
        session.info()
    except SessionError as error:
        print(error, flush=True)
    raise SystemExit(0)
print(os.waitpid(child, 0)[1], session.info()["processors"] >= 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_neither_uses_nor_ends_the_session_of_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, check=True)
    refusal, state = done.stdout.splitlines()
    assert refusal == "info: expected a session of this process, found one of the process that it comes from"
    assert state == "0 True"


def test_a_session_that_nobody_holds_ends() -> None:
    session = LocalSession()
    child = session._child
    gc.disable()
    try:
        del session
        assert child.wait(0) == -signal.SIGKILL
    finally:
        gc.enable()


def test_a_session_that_does_not_begin_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(local, "START_SECONDS", 0.0)
    with pytest.raises(SessionTimeoutError, match="expected a session within 0 s, none began"):
        LocalSession()
    assert not [*tmp_path.iterdir()]


def test_the_folder_of_a_process_that_was_killed_is_removed_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = "from sateen.runtime import LocalSession; s = LocalSession(); print(s._folder, flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, text=True, **pipes) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        owner.kill()
    assert folder.exists()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with LocalSession() as session:
        assert [*tmp_path.iterdir()] == [session._folder]
