"""A page as a device, here in Node: what clients of a proxy do there, and what hostile ones don't."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.graph_ir import build as build_network
from sateen.graph_ir import workloads
from sateen.rpc import Key, Proxy, RemoteSession, Route, greet
from sateen.runtime import (
    ArgumentError,
    ArtifactError,
    SessionCrashedError,
    SessionError,
    SessionOutOfMemoryError,
    SessionRefusedError,
    SessionTimeoutError,
    load,
)
from sateen.tensor_ir import build, te

unwrapped = pytest.importorskip("sateen.rpc.websocket", reason="the package websockets is not installed").unwrapped
StartDevice = Callable[..., Any]
OpenSession = Callable[..., RemoteSession]


def library(target: str) -> bytes:
    """`scaled`, twice a matrix of any height, by way of an array that needs memory."""
    a = te.placeholder((te.var("n"), 16), name="A")
    more = te.compute((a.shape[0], 16), lambda i, j: a[i, j] + 1, name="M")
    b = te.compute((a.shape[0], 16), lambda i, j: more[i, j] * 2 - 2, name="B")
    return build(te.create_schedule(b.op), [a, b], target=target, name="scaled").library()


def picking(target: str) -> bytes:
    """`picked`, elements by their indices, which it does not check."""
    a = te.placeholder((4,), name="A")
    index = te.placeholder((4,), name="I", dtype="int32")
    c = te.compute((4,), lambda i: a[index[i]], name="C")
    return build(te.create_schedule(c.op), [a, index, c], target=target, name="picked").library()


def test_networks_and_functions_run_there(start_device: StartDevice, open_session: OpenSession) -> None:
    device = start_device()
    device.wait_for(state="waiting", said="")
    session = open_session()
    assert device.wait_for(state="held")["holder"]
    target = session.info()["target"]
    assert target == "llvm -mtriple=wasm32-unknown-unknown -mattr=+atomics,+simd128"

    graph, data = workloads.mlp(), np.random.default_rng(0).random((1, 784), np.float32)
    with load(build_network(graph)) as here, session.load_model(build_network(graph, target), threads=2) as there:
        expected = here.run({"data": data})[0].numpy()
        np.testing.assert_allclose(there.run({"data": data})[0].numpy(), expected, rtol=1e-4, atol=1e-6)
        kept, held = session.empty((1, 10)), session.array(data)
        assert len(there.run({"data": held}, out={"probabilities": kept})) == 0
        np.testing.assert_allclose(kept.numpy(), expected, rtol=1e-4, atol=1e-6)
        assert len(there.time({"data": held}, repeat=3, min_seconds=1e-3).samples) == 3

    rows = np.arange(48, dtype=np.float32).reshape(3, 16)
    for code in ("wasm32", target):
        module, out = session.load(library(code), threads=1), np.zeros_like(rows)
        module["scaled"](rows, out)
        np.testing.assert_array_equal(out, 2 * rows)
    there_out = session.empty((3, 16))
    sent = session.array(rows)
    copied = sent.copy()
    copied.copy_from(rows + 1)
    times = session.time_in_turns([(module["scaled"], [[sent, there_out], [copied, there_out]])], repeat=2)
    assert len(times[0].samples) == 2
    module["scaled"](copied, there_out)
    np.testing.assert_array_equal(there_out.numpy(), 2 * (rows + 1))
    assert module["scaled"].time(sent, there_out, repeat=2).number == 1
    module.unload()

    session.files.put("log.txt", b"abc")
    assert (session.files.names(), session.files.get("log.txt"), session.log()) == (["log.txt"], b"abc", "")
    session.files.remove("log.txt")
    assert session.files.names() == []
    session.close()
    device.wait_for(state="waiting", said="")


def test_what_was_sent_is_not_sent_again(start_device: StartDevice, open_session: OpenSession) -> None:
    device = start_device()
    artifact, asked = build_network(workloads.mlp(), "wasm32"), []
    for _ in range(2):
        device.wait_for(state="waiting")
        with open_session() as session:
            request = session.request
            session.request = lambda what, header, *more: (asked.append(header["op"]), request(what, header, *more))[1]  # type: ignore[method-assign]  # noqa: B023
            session.load_model(artifact)
            device.wait_for(state="held")
    assert asked == ["load_model", "store", "load_model", "load_model"]


def test_errors_have_their_names_and_leave_the_session(start_device: StartDevice, open_session: OpenSession) -> None:
    device = start_device()
    device.wait_for(state="waiting")
    session = open_session()
    with pytest.raises(ArtifactError, match="expected code for WebAssembly, found some for llvm -mtriple=x86_64"):
        session.load_model(build_network(workloads.mlp(), "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64"))
    with pytest.raises(ArtifactError, match="expected a library that this engine compiles"):
        session.load(b"no module")
    module = session.load(library("wasm32"))
    words = r"scaled: argument 1 \(B\): an argument has another extent than expected; found float32\[4, 16\]"
    with pytest.raises(ArgumentError, match=words):
        module["scaled"](np.ones((3, 16), np.float32), np.ones((4, 16), np.float32))
    with pytest.raises(ArgumentError, match="an output overlaps another argument"):
        module["scaled"](held := session.empty((3, 16)), held)
    with pytest.raises(ArgumentError, match="expected at most 100000 samples, found 2147483648 of each call"):
        module["scaled"].time(session.empty((3, 16)), session.empty((3, 16)), repeat=1 << 31)
    with pytest.raises(ArgumentError, match='expected a file of this session, found no "a"'):
        session.files.get("a")
    with pytest.raises(ArgumentError, match="expected the plain name of a file"):
        session.files.put("../a", b"")
    other, busy = session.array(np.arange(3)), "the device is in use, held by "
    with pytest.raises(SessionRefusedError, match=busy):
        open_session()
    assert other.numpy().tolist() == [0, 1, 2]
    device.wait_for(state="held", said=f"SessionRefusedError: {busy}")


def test_code_that_fails_or_does_not_end_ends_the_session(start_device: StartDevice, open_session: OpenSession) -> None:
    device = start_device(limits={"memoryBytes": 64 << 20})
    device.wait_for(state="waiting")
    module = open_session().load(picking("wasm32"))
    floats, indices = np.ones(4, np.float32), np.full(4, 1 << 28, np.int32)
    with pytest.raises(SessionCrashedError, match="picked: the code ended with RuntimeError: memory access out of"):
        module["picked"](floats, indices, floats.copy())
    device.wait_for(state="held")
    device.wait_for(state="waiting", said="SessionCrashedError: picked: ")

    session = open_session(seconds=4.0)
    module = session.load(library("wasm32"))
    arrays = session.empty((1, 16)), session.empty((1, 16))
    with pytest.raises(SessionTimeoutError):
        module["scaled"].time(*arrays, number=1 << 50)
    device.wait_for(state="held")
    device.wait_for(state="waiting")

    with pytest.raises(SessionOutOfMemoryError):
        open_session().empty(1 << 30)
    device.wait_for(state="held")
    device.wait_for(state="waiting", said="SessionOutOfMemoryError: ")
    assert open_session().info()["memory_bytes"] == 64 << 20


def test_who_has_another_key_gets_nothing(start_device: StartDevice, open_session: OpenSession, key: Key) -> None:
    device = start_device()
    device.wait_for(state="waiting")
    with pytest.raises(SessionRefusedError, match="the server does not know this key"):
        open_session(key=Key.new(), proxy_key=key)
    device.wait_for(state="waiting", said="SessionLostError: the other side closed the connection")
    stranger = start_device(name="stranger", key=Key.new().secret.hex())
    stranger.wait_for(state="connecting", said="SessionRefusedError: the other side does not know this key")
    double = start_device()
    double.wait_for(state="connecting", said="SessionRefusedError: the proxy refused: expected a name that no device")


def test_frames_that_come_twice_and_ones_that_are_too_long_end_their_connection(
    start_device: StartDevice, open_session: OpenSession, key: Key, proxy: Proxy
) -> None:
    device = start_device(limits={"messageBytes": 1 << 20})
    device.wait_for(state="waiting")
    with Route(*proxy.address, device="page").connection(key) as connection:
        channel = greet(connection, key)
        channel.send({"op": "claim", "holder": "somebody\n" * 30, "seconds": 1.0, "token": ""})
        assert channel.receive() is not None
        assert device.wait_for(state="held")["holder"] == ("somebody?" * 30)[:100]
        channel.send({"op": "beat"})
        channel.sent -= 1
        channel.send({"op": "beat"})
        while channel.receive() is not None:
            pass
        device.wait_for(state="waiting", said="SessionProtocolError: expected the next message of the other side")
    session = open_session()
    device.wait_for(state="held")
    assert session.array(np.zeros(1 << 20, np.uint8)).nbytes == 1 << 20
    with pytest.raises(SessionError):
        session.array(np.zeros(2 << 20, np.uint8))
    device.wait_for(state="waiting", said="SessionProtocolError: expected a message with a payload of at most 1048576")


def test_a_client_that_is_gone_or_silent_leaves_the_device_free(
    start_device: StartDevice, key: Key, proxy: Proxy
) -> None:
    device = start_device(limits={"leaseSeconds": 0.5})
    device.wait_for(state="waiting")
    route = Route(*proxy.address, device="page")
    with route.connection(key) as connection:  # and no beat follows
        channel = greet(connection, key)
        channel.send({"op": "claim", "holder": "silent", "seconds": 1.0, "token": ""})
        device.wait_for(state="held", holder="silent")
        device.wait_for(state="waiting", said="SessionLostError: expected word of a client, none came")
    connection = route.connection(key)
    greet(connection, key).send({"op": "claim", "holder": "gone", "seconds": 1.0, "token": ""})
    device.wait_for(state="held", holder="gone")
    connection.close()
    device.wait_for(state="waiting")


def test_a_device_comes_back_to_its_proxy(start_device: StartDevice, proxy: Proxy, key: Key) -> None:
    device = start_device()
    device.wait_for(state="waiting")
    proxy.close()
    device.wait_for(state="connecting", said="SessionLostError: ")
    with Proxy(*proxy.address, [key]) as again:
        again.add_door(proxy.web, unwrapped)  # type: ignore[attr-defined]
        threading.Thread(target=again.serve, daemon=True).start()
        device.wait_for(state="waiting", said="")
