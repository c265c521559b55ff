"""What sessions give to hold: arrays, networks and files that stay where they run."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import socket
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sateen.runtime import (
    ArgumentError,
    DeviceError,
    LocalSession,
    Session,
    SessionProtocolError,
    SessionService,
    framing,
    read_artifact,
)
from sateen.runtime.sessions import service

pytestmark = pytest.mark.skipif(os.name != "posix", reason="local sessions need setrlimit of POSIX")
KEPT = Path(__file__).parent / "running_sum.sateen"
X = np.array([[1, -2, 3], [0, 5, -1]], np.float32)
TOTAL = np.array([[10, 20, 30], [1, 2, 3]], np.float32)
ONES = np.ones((2, 4), np.float32)


@pytest.fixture(scope="module")
def session() -> Iterator[LocalSession]:
    with LocalSession() as opened:
        yield opened


def test_arrays_stay_until_they_are_read(session: Session, library: bytes) -> None:
    a, b, c = session.array(ONES), session.empty((2, 4)), session.empty((2, 4))
    add = session.load(library)["add"]
    add(a, a, b)
    add(b, ONES, c)
    np.testing.assert_array_equal(c.numpy(), 3 * ONES)
    assert (c.shape, str(c.dtype), c.nbytes) == ((2, 4), "float32", 32)
    c.copy_from(5 * ONES)
    out = np.zeros((2, 4), np.float32)
    add(c, a, out)
    np.testing.assert_array_equal(out, 6 * ONES)
    assert str(session.array(np.array(3, np.int16))) == "ConnectedArray(int16[])"


def test_arrays_of_other_types_and_sessions_are_refused(session: LocalSession, library: bytes) -> None:
    a = session.array(ONES)
    with pytest.raises(ArgumentError, match=r"expected float32\[2, 4\], found float32\[3\]"):
        a.copy_from(np.zeros(3, np.float32))
    with pytest.raises(ArgumentError, match=r"add: argument 1 \(B\): expected 2 dimensions"):
        session.load(library)["add"](a, session.empty((3,)), a)
    with LocalSession() as other, pytest.raises(ArgumentError, match=r"expected an array of LocalSession.*, found one"):
        other.load(library)["add"](a, ONES, other.empty((2, 4)))


def test_arrays_that_nobody_holds_are_freed(session: LocalSession) -> None:
    for _ in range(20):
        session.empty((1 << 20,))
    gc.collect()
    assert len(session._unused) > 0
    session.info()
    assert len(session._unused) == 0


@pytest.mark.usefixtures("runs_kept")
def test_a_network_has_the_methods_of_a_model(session: Session) -> None:
    for source in (KEPT, str(KEPT), KEPT.read_bytes(), read_artifact(KEPT)):
        with session.load_model(source) as model:
            assert [p.name for p in model.inputs] == ["x", "total"]
            outputs = model.run({"x": X, "total": TOTAL})
            np.testing.assert_allclose(outputs["next_total"].numpy(), TOTAL + outputs["y"].numpy())
            model.set_input("x", X)
            model.set_input("total", session.array(TOTAL))
            np.testing.assert_array_equal(model.run()[1].numpy(), outputs[1].numpy())
            np.testing.assert_array_equal(model.get_output("y").numpy(), outputs["y"].numpy())
            assert len(model.time(number=2, repeat=3).samples) == 3


@pytest.mark.usefixtures("runs_kept")
def test_outputs_go_where_they_are_wanted(session: Session) -> None:
    model = session.load_model(KEPT, threads=1)
    there, here = session.empty((2, 3)), np.zeros((2, 3), np.float32)
    outputs = model.run({"x": X, "total": TOTAL}, out={"next_total": there, "y": here})
    assert [*outputs] == ["y"]
    np.testing.assert_allclose(there.numpy(), TOTAL + here)
    last = model.run({"x": X, "total": there})["next_total"]
    np.testing.assert_allclose(last.numpy(), TOTAL + 2 * here)


@pytest.mark.usefixtures("runs_kept")
def test_wrong_names_and_types_are_refused(session: Session) -> None:
    model = session.load_model(KEPT)
    with pytest.raises(ArgumentError, match=r"expected inputs x: .*; found 'totl'; did you mean total"):
        model.run({"x": X, "totl": TOTAL})
    with pytest.raises(ArgumentError, match=r"input total: .* is missing; found x"):
        model.run({"x": X})
    with pytest.raises(
        ArgumentError, match=r"run: expected a mapping from the names of inputs to arrays.*found ndarray"
    ):
        model.run(X)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"run: expected a mapping from the names of outputs to arrays.*found list"):
        model.run({"x": X, "total": TOTAL}, out=[X])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"expected outputs y: .*; found 'z'"):
        model.run({"x": X, "total": TOTAL}, out={"z": TOTAL})
    with pytest.raises(ArgumentError, match=r"argument 0 \(x\): expected 2 in dimension 0"):
        model.run({"x": X[:1], "total": TOTAL})
    with pytest.raises(ArgumentError, match=r"expected inputs .*; found 'a'"):
        model.set_input("a", X)
    with pytest.raises(ArgumentError, match="the model has not run yet"):
        session.load_model(KEPT).get_output(0)


def test_files_live_as_long_as_the_session() -> None:
    with LocalSession() as session:
        assert session.files.names() == []
        session.files.put("a.bin", b"abc")
        session.files.put("b", memoryview(b"d" * 1000))
        assert session.files.names() == ["a.bin", "b"]
        assert session.files.get("a.bin") == b"abc"
        session.files.remove("a.bin")
        assert session.files.names() == ["b"]
        folder = session._folder
        for name in ("../a", "", ".a", "a/b", "x" * 200):
            with pytest.raises(ArgumentError, match="expected the plain name of a file"):
                session.files.put(name, b"")
        with pytest.raises(ArgumentError, match="expected a file of this session, found no 'a\\.bin'"):
            session.files.get("a.bin")
    assert not folder.exists()


def test_a_session_tells_what_is_there_and_what_was_printed(session: Session) -> None:
    info = session.info()
    assert info["target"].startswith("llvm -mtriple=")
    assert info["processors"] >= 1
    assert info["memory_bytes"] > 1 << 20
    assert "numpy" in info["versions"]
    assert session.log() == ""


def test_content_is_sent_once(session: LocalSession, library: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes | memoryview] = []
    monkeypatch.setattr(
        session, "_connection", SimpleNamespace(send=recorder(session, sent), receive=session._connection.receive)
    )
    session.load(library + b" ")
    assert sum(map(len, sent)) == len(library) + 1
    session.load(library + b" ")
    assert sum(map(len, sent)) == len(library) + 1


def recorder(session: LocalSession, sent: list[bytes | memoryview]) -> Callable[..., None]:
    """A connection's `send` that keeps payloads."""
    send = session._connection.send

    def record(
        header: framing.Header, payload: Sequence[bytes | memoryview] = (), deadline: float | None = None
    ) -> None:
        sent.extend(payload)
        send(header, payload, deadline)

    return record


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"op": "x"}, "expected a request of info, log, .*, found 'x'"),
        ({}, "expected a request of .*, found None"),
        ({"op": "info"}, "info: expected the fields unused, found"),
        ({"op": "load", "unused": [], "digest": "../x", "threads": 0}, "expected a digest of 64 digits"),
        ({"op": "load", "unused": [], "digest": 3, "threads": 0}, "load: expected another type as 'digest', found int"),
        ({"op": "info", "unused": [[]]}, r"info: expected numbers of unused arrays, found \[\[\]\]"),
        ({"op": "unload", "unused": [], "module": 999}, "expected what this session holds, found number 999"),
        ({"op": "time_in_turns", "unused": [], "calls": [[1]], "repeat": 1, "min_seconds": 0}, "lists of arguments"),
        ({"op": "read", "unused": [], "array": True}, "read: expected another type as 'array', found bool"),
        ({"op": "empty", "unused": [], "dtype": "floot", "shape": []}, "expected an element type"),
        ({"op": "array", "unused": [], "arrays": [["float32", [1]]]}, "expected 4 bytes of arrays, found 0"),
        ({"op": "array", "unused": [], "arrays": [["float32", [-1]]]}, "expected an element type and a shape"),
        ({"op": "array", "unused": [], "arrays": []}, "expected one array, found 0"),
        ({"op": "array", "unused": [], "arrays": [3]}, "expected an element type and a shape, found 3"),
    ],
)
def test_requests_are_checked(session: LocalSession, request_: framing.Header, message: str) -> None:
    with pytest.raises((ArgumentError, SessionProtocolError), match=message):
        answer(session, request_)
    session.info()


def answer(session: LocalSession, header: framing.Header) -> None:
    session._connection.send(header)
    session.answer("x", monotonic() + 60)


def test_what_is_stored_is_what_its_digest_says(session: LocalSession) -> None:
    with pytest.raises(ArgumentError, match="expected content of digest 0000"):
        session.request("x", {"op": "store", "digest": "0" * 64}, [b"abc"])


def test_a_service_answers_until_its_client_is_gone(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        framing.send(ours, {"op": "info", "unused": []})
        ours.shutdown(socket.SHUT_WR)
        SessionService(framing.JsonConnection(theirs), tmp_path, tmp_path, 60.0, 1000).serve()
        found = framing.receive(ours)
    assert found is not None
    assert set(found[0]) == {"target", "machine", "processors", "memory_bytes", "versions"}


def test_an_answer_that_is_too_large_is_told_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "_MOST_HEADER_BYTES", 150)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(2):
            framing.send(ours, {"op": "info", "unused": []})
        ours.shutdown(socket.SHUT_WR)
        SessionService(framing.JsonConnection(theirs), tmp_path, tmp_path, 60.0, 1000).serve()
        for _ in range(2):
            found = framing.receive(ours)
            assert found is not None
            assert found[0]["error"] == "SessionRefusedError"
            assert found[0]["message"].startswith("the answer can't be sent: expected a header of at most 150 bytes, f")


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(service, "replacing", full)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        framing.send(ours, {"op": "put", "unused": [], "name": "a"}, [b"abc"])
        ours.shutdown(socket.SHUT_WR)
        SessionService(framing.JsonConnection(theirs), tmp_path, tmp_path, 60.0, 1000).serve()
        found = framing.receive(ours)
    assert found is not None
    assert found[0] == {"error": "SessionRefusedError", "message": "the session can't keep a file: its disk is full"}


def test_who_holds_too_much_can_still_read_and_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_HELD", 1)
    empty = {"op": "empty", "dtype": "float32", "shape": [1]}
    said = answers_to(tmp_path, empty, empty, {"op": "read", "array": 0}, {"op": "info", "unused": [0]}, empty)
    assert [header.get("message", "") for header in said] == [
        "",
        "expected at most 1 arrays, modules and models, found more",
        "",
        "",
        "",
    ]


def test_a_network_is_compared_with_its_digest_in_parts(tmp_path: Path) -> None:
    size = 32 << 20
    digest = hashlib.sha256(bytes(size)).hexdigest()
    with (tmp_path / digest).open("wb") as file:
        file.truncate(size)
    tracemalloc.start()
    (said,) = answers_to(tmp_path, {"op": "load_model", "digest": digest, "threads": 0})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said["error"] == "ArtifactError"
    assert peak < size / 4


def test_a_store_that_was_cleared_away_is_made_again(tmp_path: Path) -> None:
    content = b"abc"
    store, digest = tmp_path / "store", hashlib.sha256(content).hexdigest()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        framing.send(ours, {"op": "store", "unused": [], "digest": digest}, [content])
        ours.shutdown(socket.SHUT_WR)
        SessionService(framing.JsonConnection(theirs), store, tmp_path, 60.0, 1000).serve()
    assert (store / digest).read_bytes() == content


def answers_to(folder: Path, *requests: framing.Header) -> list[framing.Header]:
    """What a service says to requests without bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for header in requests:
            framing.send(ours, {"unused": [], **header})
        ours.shutdown(socket.SHUT_WR)
        SessionService(framing.JsonConnection(theirs), folder, folder, 60.0, 1000).serve()
        theirs.shutdown(socket.SHUT_WR)
        return [said[0] for said in iter(lambda: framing.receive(ours), None)]


def test_functions_are_timed_in_turns_where_they_run(session: LocalSession, library: bytes) -> None:
    module = session.load(library, threads=1)
    given = [[session.array(ONES), session.array(n * ONES), session.empty((2, 4))] for n in range(3)]
    facts = session.empty(2, "int64")
    calls = [(module["add"], given), (module["host"], [[facts]])]
    add, host = session.time_in_turns(calls, repeat=4, min_seconds=1e-4)
    assert (len(add.samples), len(host.samples)) == (4, 4)
    assert min(add.number, host.number) >= 1
    np.testing.assert_array_equal([c.numpy()[0, 0] for _, _, c in given], [1, 2, 3])
    with pytest.raises(ArgumentError, match="add: expected arrays of the session, found others"):
        session.time_in_turns([(module["add"], [[ONES, ONES, ONES]])])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="expected a repeat of 1 or more"):
        session.time_in_turns(calls, repeat=0)
    with LocalSession() as other, pytest.raises(ArgumentError, match=r"expected a function of LocalSession"):
        other.time_in_turns(calls)


def test_an_array_is_copied_where_it_is(session: LocalSession) -> None:
    a = session.array(ONES)
    b = a.copy()
    a.copy_from(2 * ONES)
    np.testing.assert_array_equal(b.numpy(), ONES)


@pytest.mark.usefixtures("runs_kept")
def test_steps_are_timed_of_networks_that_write_the_clock(session: LocalSession) -> None:
    with session.load_model(KEPT) as model, pytest.raises(ArgumentError, match="expected a network with timed steps"):
        model.time_steps({"x": X, "total": TOTAL})


@pytest.mark.usefixtures("runs_kept")
def test_networks_on_processors_are_not_timed_against_each_other(session: Session) -> None:
    model = session.load_model(KEPT)
    given = {"x": session.array(X), "total": session.array(TOTAL)}
    with pytest.raises(ArgumentError, match=r"expected a network on a device, found one on cpu\(0\)"):
        session.time_networks([(model, given)])
    with pytest.raises(ArgumentError, match="expected a repeat of 1 or more"):
        session.time_networks([(model, given)], repeat=0)
    with pytest.raises(ArgumentError, match="expected arrays of the session, found others"):
        session.time_networks([(model, {**given, "x": X})])  # type: ignore[dict-item]
    with LocalSession() as other, pytest.raises(ArgumentError, match=r"expected a network of LocalSession.*, found"):
        other.time_networks([(model, given)])


def test_devices_that_are_not_there_are_refused(session: Session) -> None:
    with pytest.raises(DeviceError, match=r"vulkan"):
        session.device("vulkan(7)")
    with pytest.raises(ArgumentError, match="expected a device such as 'cpu'"):
        session.device("a device")


@pytest.mark.parametrize("runs", [[3], [[0]], [[0, [["float32", [1]]]]], [[99, []]]])
def test_runs_that_are_none_are_refused(tmp_path: Path, runs: list[Any]) -> None:
    (said,) = answers_to(tmp_path, {"op": "time_networks", "runs": runs, "repeat": 1, "min_seconds": 0})
    assert said["error"] == "ArgumentError"
