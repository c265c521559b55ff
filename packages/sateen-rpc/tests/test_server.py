"""A server and its sessions: what they give, and how each end of theirs is told."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sateen.rpc import (
    Channel,
    Key,
    RemoteSession,
    Server,
    SessionLimits,
    greet,
    listener,
    remote_session,
    served_session,
)
from sateen.rpc.store import trim
from sateen.runtime import (
    ArgumentError,
    SessionCrashedError,
    SessionError,
    SessionLostError,
    SessionOutOfMemoryError,
    SessionRefusedError,
    SessionTimeoutError,
)
from sateen.runtime.scratch import remove_abandoned

LIMITS = SessionLimits(disk_bytes=1 << 20)
ONES = np.ones((2, 4), np.float32)


@pytest.fixture
def server(tmp_path, key):
    with Server("127.0.0.1", 0, [key], tmp_path / "store", LIMITS) as opened:
        thread = threading.Thread(target=opened.serve)
        thread.start()
        yield opened
        opened.close()
        thread.join()


@pytest.fixture
def connect(server, key):
    return lambda **options: RemoteSession(*server.address, key, **options)


def test_a_session_runs_functions_and_holds_arrays(connect, server, library, eventually):
    with connect() as session:
        module = session.load(library)
        a, c, out = session.array(ONES), session.empty((2, 4)), np.zeros((2, 4), np.float32)
        module["add"](a, a, c)
        module["add"](c, ONES, out)
        np.testing.assert_array_equal(out, 3 * ONES)
        assert len(module["host"].time(session.empty(2, "int64"), repeat=3).samples) == 3
        with pytest.raises(ArgumentError, match=r"add: argument 1 \(B\): expected float32, found float64"):
            module["add"](a, np.ones((2, 4)), c)
        session.files.put("a", b"abc")
        assert session.files.get("a") == b"abc"
        assert "sateen-rpc" in session.info()["versions"]
        assert len(server.holders()) == 1
        assert repr(session).startswith("RemoteSession(127.0.0.1:")
    eventually(lambda: not server.holders())


def test_one_after_the_other_and_never_two(connect, server, eventually):
    in_use = r"the device is in use, held by .*@.* \(key [0-9a-f]{16}\) for \d+ s"
    with connect(), pytest.raises(SessionRefusedError, match=in_use):
        connect()
    eventually(lambda: not server.holders())
    with connect() as session:
        session.info()


def test_a_crash_ends_the_session_and_the_server_is_free(connect, server, library, eventually):
    with connect() as session:
        module = session.load(library)
        with pytest.raises(SessionCrashedError, match="crash: the session's process died of SIGSEGV"):
            module["crash"]()
        with pytest.raises(SessionError, match="expected an open session, found one that has ended: crash"):
            session.info()
    eventually(lambda: not server.holders())
    with connect() as session:
        session.info()


def test_a_loop_ends_at_the_client_s_limit(connect, server, library, eventually):
    with connect(seconds=1.0) as session:
        module = session.load(library)
        with pytest.raises(SessionTimeoutError, match=r"spin: expected it to end within 1 s, it did not"):
            module["spin"]()
    eventually(lambda: not server.holders())


def test_too_much_memory_ends_the_session(tmp_path, key, library):
    limits = SessionLimits(memory_bytes=100_000_000)
    with Server("127.0.0.1", 0, [key], tmp_path / "store", limits) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            module = session.load(library)
            with pytest.raises(SessionOutOfMemoryError, match="the session's limit of memory"):
                module["exhaust"]()


def test_too_large_files_are_refused_and_the_session_goes_on(connect):
    with connect() as session:
        with pytest.raises(SessionRefusedError, match="the session can't keep a file: its disk is full"):
            session.files.put("a", bytes(2 << 20))
        session.files.put("a", bytes(1000))


def test_too_many_files_end_the_session_though_the_store_is_cleared_away(
    connect, server, eventually, monkeypatch, tmp_path
):
    monkeypatch.setattr(served_session, "LOOK_SECONDS", 0.1)
    shutil.rmtree(tmp_path / "store")

    def fill(session):
        for number in range(4):
            session.files.put(f"f{number}", bytes(500_000))
        eventually(session._end.is_known.is_set)
        session.info()

    words = "expected files of at most 1048576 bytes in the session"
    with connect() as session, pytest.raises(SessionRefusedError, match=words):
        fill(session)
    eventually(lambda: not server.holders())


def test_a_client_that_dies_frees_the_device(server, key, eventually):
    host, port = server.address
    program = f"""
import os, sys
from sateen.rpc import Key, RemoteSession
session = RemoteSession({host!r}, {port}, Key(bytes.fromhex({key.secret.hex()!r})))
print("there", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout.readline() == b"there\n"
        assert len(server.holders()) == 1
        client.kill()
        eventually(lambda: not server.holders())


@pytest.fixture
def beats(monkeypatch):
    """A list that grows with each beat, and each answer to one."""
    found, receive = [], Channel.receive

    def counted(*arguments):
        message = receive(*arguments)
        if message is not None and message[0] == {"op": "beat"}:
            found.append(message)
        return message

    monkeypatch.setattr(Channel, "receive", counted)
    return found


def test_a_client_that_stands_still_frees_the_device_after_its_lease(server, key, beats, eventually):
    host, port = server.address
    program = f"""
from sateen.rpc import Key, RemoteSession, remote_session
remote_session.BEATS = 100
session = RemoteSession({host!r}, {port}, Key(bytes.fromhex({key.secret.hex()!r})))
print("there", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout.readline() == b"there\n"
        server._limits = replace(LIMITS, lease_seconds=0.5)
        known = len(beats)
        eventually(lambda: len(beats) > known + 1 or not server.holders())
        client.send_signal(signal.SIGSTOP)
        eventually(lambda: not server.holders())
        client.kill()


FORKING = """
import os, sys
from sateen.rpc import Key, RemoteSession
from sateen.runtime import SessionError
session = RemoteSession({host!r}, {port}, Key(bytes.fromhex({secret!r})))
child = os.fork()
if not child:
    try:
        session.info()
    except SessionError as error:
        print(error, flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1], session.info()["processors"] >= 1)
"""


def test_a_forked_process_neither_uses_nor_ends_the_session_of_its_parent(server, key):
    host, port = server.address
    program = FORKING.format(host=host, port=port, secret=key.secret.hex())
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    refusal, state = done.stdout.splitlines()
    assert refusal == "info: expected a session of this process, found one of the process that it comes from"
    assert state == "0 True"


def test_nothing_is_left_of_a_session(connect, server, library, eventually):
    with connect() as session:
        session.load(library)
        (served,) = server._sessions.values()
        folder = served._scratch
        assert folder.exists()
    eventually(lambda: not server.holders() and not folder.exists())
    assert not children_named("sateen.rpc.child")


def children_named(name):
    command = ["ps", "-o", "args", "--ppid", str(os.getpid())]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if name in line]


def test_a_session_that_nobody_holds_ends(connect, server, eventually):
    session = connect()
    assert len(server.holders()) == 1
    gc.disable()
    try:
        del session
        eventually(lambda: not server.holders())
    finally:
        gc.enable()


def test_the_folder_of_a_server_that_died_is_removed_by_the_next_one():
    program = """
from sateen.runtime.scratch import ScratchFolder
folder = ScratchFolder()
print(folder.path, flush=True)
input()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        folder = Path(other.stdout.readline().strip())
        remove_abandoned()
        assert folder.exists()
        other.kill()
        other.wait()
        remove_abandoned()
        assert not folder.exists()


def test_uploads_that_were_not_used_for_longest_go_first(tmp_path):
    a, b, c, own = *(tmp_path / (letter * 64) for letter in "abc"), tmp_path / "thesis.txt"
    for number, file in enumerate((own, a, b, c)):
        file.write_bytes(bytes(100))
        os.utime(file, (number, number))
    trim(tmp_path, 250)
    assert {*tmp_path.iterdir()} == {own, b, c}
    os.utime(b)
    trim(tmp_path, 100)
    assert {*tmp_path.iterdir()} == {own, b}  # what a user keeps there is no upload


def test_uploads_that_a_session_did_not_finish_are_removed(tmp_path):
    program = "import os; print(os.getpid())"
    dead = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    for process in (dead, os.getpid()):
        (tmp_path / f".sateen-{process}-0123abcd").write_bytes(bytes(100))
    trim(tmp_path, 1000)
    assert [path.name for path in tmp_path.iterdir()] == [f".sateen-{os.getpid()}-0123abcd"]


def test_a_store_may_be_named_from_the_current_folder(tmp_path, key, library, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Server("127.0.0.1", 0, [key], Path("store")) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            session.load(library)
    assert [*(tmp_path / "store").iterdir()]


def test_uploads_are_kept_within_the_limit(tmp_path, key, library, eventually):
    limits = SessionLimits(store_bytes=1000)
    with Server("127.0.0.1", 0, [key], tmp_path / "store", limits) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            session.load(library)
        eventually(lambda: not [*(tmp_path / "store").iterdir()])


def test_a_silent_server_is_lost_after_a_lease(key, tmp_path, library):
    program = f"""
import sys, threading
from pathlib import Path
from sateen.rpc import Key, Server, SessionLimits
key = Key(bytes.fromhex({key.secret.hex()!r}))
server = Server("127.0.0.1", 0, [key], Path({str(tmp_path / "store")!r}), SessionLimits(lease_seconds=4.0))
print(server.address[1], flush=True)
server.serve()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            with RemoteSession("127.0.0.1", int(process.stdout.readline()), key) as session:
                module = session.load(library)
                process.send_signal(signal.SIGSTOP)
                lost = "spin: expected word of the server within 4 s, none came"
                with pytest.raises(SessionLostError, match=lost):
                    module["spin"]()
        finally:
            process.kill()
    remove_abandoned()


def test_a_server_goes_on_after_a_connection_that_can_t_be_taken(tmp_path, key, monkeypatch):
    refusals = [OSError(24, "Too many open files"), ConnectionAbortedError()]

    class Refusing(socket.socket):
        def accept(self):
            if refusals:
                raise refusals.pop()
            return super().accept()

    def listening(*address):
        with socket.create_server(address) as made:
            return Refusing(fileno=made.detach())

    monkeypatch.setattr(listener, "listening", listening)
    with Server("127.0.0.1", 0, [key], tmp_path / "store", LIMITS) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            session.info()
    assert not refusals


def test_a_session_outlives_the_thread_that_took_its_connection(tmp_path, key):
    attached, is_open = [], threading.Event()

    class Waiting(Server):
        def take(self, channel, key, header):
            super().take(channel, key, header)
            if header.get("op") == "attach":
                attached.append(threading.current_thread())
                is_open.wait(30)

    with Waiting("127.0.0.1", 0, [key], tmp_path / "store", LIMITS) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            is_open.set()
            attached[0].join()
            for _ in range(3):
                session.info()


@pytest.mark.parametrize("end", ["closes", "crashes"])
def test_what_a_session_has_started_ends_with_it(connect, server, library, end):
    with connect() as session:
        (served,) = server._sessions.values()
        with subprocess.Popen(
            [sys.executable, "-c", JOINING, str(served._child.number)], stdout=subprocess.PIPE
        ) as own:
            assert own.stdout.readline() == b"joined\n"
            if end == "closes":
                session.close()
            else:
                with pytest.raises(SessionCrashedError):
                    session.load(library)["crash"]()
            assert own.wait(60) == -signal.SIGKILL


JOINING = """
import os, sys, time
os.setpgid(0, int(sys.argv[1]))
print("joined", flush=True)
time.sleep(600)
"""
"""A process that joins the group of a session, and would live on."""


def test_a_client_beats_while_its_session_starts(tmp_path, key, monkeypatch, beats, eventually):
    monkeypatch.setattr(remote_session, "BEATS", 100)

    class Slow(Server):
        def take(self, channel, key, header):
            if header.get("op") == "attach":
                eventually(lambda: len(beats) > 3)
            super().take(channel, key, header)

    with Slow("127.0.0.1", 0, [key], tmp_path / "store") as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            session.info()


def test_a_folder_that_can_t_be_made_is_told(connect, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(SessionRefusedError, match="can't make a folder for a session: No space left on device"):
        connect()
    monkeypatch.undo()
    with connect() as session:
        session.info()


def test_a_process_that_can_t_be_started_is_told(connect, server, monkeypatch, eventually):
    def refuse(*_, **__):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(served_session, "ProcessGroup", refuse)
    with pytest.raises(SessionRefusedError, match="the server can't start a process: Resource temporarily unavailable"):
        connect()
    monkeypatch.undo()
    eventually(lambda: not server.holders())
    with connect() as session:
        session.info()


def test_uploads_that_others_push_out_are_sent_again(connect, library, tmp_path):
    with connect() as session:
        session.load(library)
        (stored,) = (tmp_path / "store").iterdir()
        stored.unlink()
        out = np.zeros((2, 4), np.float32)
        session.load(library)["add"](ONES, ONES, out)
        np.testing.assert_array_equal(out, 2 * ONES)
        assert stored.exists()


def test_requests_that_can_t_be_sent_leave_the_session_open(connect):
    with connect() as session:
        for shape in ((1 << 70,), (-1,)):
            with pytest.raises(ArgumentError, match=r"expected extents of 0 to 2\^62 - 1, found shape"):
                session.empty(shape)
        session.info()


def test_a_session_is_watched_once(server, key, eventually):
    before = threading.active_count()
    with socket.create_connection(server.address) as connection:
        channel = greet(connection, key)
        channel.send({"op": "claim", "holder": "a", "seconds": 1.0, "token": ""})
        channel.receive(time.monotonic() + 5)
        channel.send({"op": "watch"})
        channel.send({"op": "watch"})
        answer, _ = channel.receive(time.monotonic() + 5)
    assert answer["message"] == "expected to watch a session once, found a second time"
    eventually(lambda: not server.holders() and threading.active_count() <= before)


def test_a_session_that_can_t_start_says_why(tmp_path, key):
    with Server("127.0.0.1", 0, [key], tmp_path / "store", SessionLimits(memory_bytes=1000)) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with pytest.raises(SessionCrashedError, match="the start: the session's process exited with code 1; its last"):
            RemoteSession(*server.address, key)


def test_content_is_sent_once_to_a_server(connect, server, library, tmp_path, eventually):
    with connect() as session:
        session.load(library)
    eventually(lambda: not server.holders())
    assert len([*(tmp_path / "store").iterdir()]) == 1
    with connect() as session:
        sent = session._connection.sent
        session.load(library)
        assert session._connection.sent == sent + 1


def test_a_wrong_key_and_no_server_are_told(server, key):
    with pytest.raises(SessionRefusedError, match="the server does not know this key; pair with it"):
        RemoteSession(*server.address, Key.new())
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(
        SessionLostError, match=f"127.0.0.1:{port}: expected a server of sateen-rpc: Connection refused"
    ):
        RemoteSession("127.0.0.1", port, key)


def test_the_end_of_the_server_is_told(server, connect, library):
    session = connect()
    module = session.load(library)
    server.close()
    with pytest.raises(SessionLostError, match=r"add: the connection to 127\.0\.0\.1:\d+ was lost"):
        module["add"](ONES, ONES, np.zeros((2, 4), np.float32))
    session.close()


def test_strangers_are_let_go_and_harm_nobody(server, connect, eventually):
    strangers = [socket.create_connection(server.address) for _ in range(100)]
    with strangers[0] as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(100))
        with suppress(ConnectionResetError):  # what it sent too much is not read
            assert stranger.recv(100) == b""
    for stranger in strangers:
        stranger.close()
    eventually(lambda: server._strangers._value == listener.MOST_STRANGERS)
    with connect() as session:
        session.info()


def test_wrong_requests_of_those_who_know_the_key_are_told(server, key):
    for header, message in (
        ({"op": "x"}, "a server of sessions is here: expected a request to claim or to attach, found 'x'"),
        ({}, "expected a request to claim or to attach, found None"),
        ({"op": "claim"}, "claim: expected the fields holder, op, seconds, token, found op"),
        ({"op": "claim", "holder": "a", "seconds": -1.0, "token": ""}, "expected a positive limit of seconds"),
        (
            {"op": "claim", "holder": "a", "seconds": 1.0, "token": "x"},
            "expected the token of a reservation",
        ),
        ({"op": "attach", "session": "x"}, "expected the token of a session that waits, found another"),
    ):
        with socket.create_connection(server.address) as connection:
            channel = greet(connection, key)
            channel.send(header)
            answer, _ = channel.receive(time.monotonic() + 5)
        assert message in answer["message"]


def test_the_name_of_a_file_is_no_key(server):
    with pytest.raises(ArgumentError, match="expected a Key, as `read_key` gives, found str"):
        RemoteSession(*server.address, "key")


def test_an_error_says_where_it_was_met(server):
    with pytest.raises(SessionRefusedError, match="the server does not know this key") as met:
        RemoteSession(*server.address, Key.new())
    assert met.value.__notes__ == [f"at 127.0.0.1:{server.address[1]}"]


def test_a_message_that_is_too_large_is_refused_by_its_limit(tmp_path, key):
    with Server("127.0.0.1", 0, [key], tmp_path, SessionLimits(message_bytes=1 << 16)) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session:
            session.files.put("a", bytes(1 << 16))
            words = "expected a message with a payload of at most 65536 bytes, found 8388608; the session has ended"
            with pytest.raises(SessionRefusedError, match=words):
                session.files.put("a", bytes(8 << 20))
            with pytest.raises(SessionError, match=r"expected an open session, found one that has ended: .*8388608"):
                session.files.names()


def test_files_that_are_none_are_refused_and_the_session_goes_on(connect, tmp_path):
    with connect() as session:
        for name, content, found in (("a", tmp_path, type(tmp_path).__name__), (b"content", "a", "bytes and str")):
            with pytest.raises(ArgumentError, match=f"expected the name of a file and its bytes, found .*{found}"):
                session.files.put(name, content)
        session.files.put("a", b"content")
        assert session.files.get("a") == b"content"


def test_a_server_needs_keys_and_an_address(tmp_path, key, server):
    with pytest.raises(ArgumentError, match="expected at least one key"):
        Server("127.0.0.1", 0, [], tmp_path)
    with pytest.raises(ArgumentError, match=r"expected an address to listen at, found .*: Address already in use"):
        Server(*server.address, [key], tmp_path)
    with pytest.raises(ArgumentError, match="expected a positive lease_seconds, found 0"):
        SessionLimits(lease_seconds=0)
    with pytest.raises(ArgumentError, match=r"expected lease_seconds of at most 1e\+06, found inf"):
        SessionLimits(lease_seconds=float("inf"))
    with pytest.raises(ArgumentError, match="expected sessions of 1 or more at once, found 0"):
        Server("127.0.0.1", 0, [key], tmp_path, most_sessions=0)
    (tmp_path / "a").touch()
    with pytest.raises(ArgumentError, match="a/b: expected a folder for uploads: Not a directory"):
        Server("127.0.0.1", 0, [key], tmp_path / "a" / "b")
    for seconds in (0, float("inf"), 1e7):
        with pytest.raises(ArgumentError, match="expected a positive limit of a session"):
            RemoteSession(*server.address, key, seconds=seconds)
