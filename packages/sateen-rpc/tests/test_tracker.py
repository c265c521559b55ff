"""Trackers: who is sent where, and what becomes of those who fail."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from sateen.rpc import (
    Key,
    Registration,
    RemoteSession,
    Server,
    Tracker,
    dialing,
    greet,
    query,
    standing_connection,
    tracked_session,
    tracker,
)
from sateen.rpc.listener import Listener
from sateen.rpc.server import Reservation
from sateen.runtime import ArgumentError, SessionLostError, SessionRefusedError


@pytest.fixture
def stack():
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def track(stack, key):
    """Opens a tracker, at a port if one is given."""

    def open_(port=0):
        opened = stack.enter_context(Tracker("127.0.0.1", port, [key]))
        threading.Thread(target=opened.serve, daemon=True).start()
        return opened

    return open_


@pytest.fixture
def device(stack, key, tmp_path):
    """Opens a server that registers at a tracker."""

    def open_(at, name="pi"):
        server = stack.enter_context(Server("127.0.0.1", 0, [key], tmp_path / "store"))
        threading.Thread(target=server.serve, daemon=True).start()
        registered = Registration(server, name, at.address, key)
        stack.callback(registered.close)
        return server

    return open_


def names_of(at, key):
    return sorted((d["name"], d["state"]) for d in query(*at.address, key)["devices"])


def test_a_client_is_sent_to_a_free_device(track, device, key, eventually):
    at = track()
    server = device(at)
    eventually(lambda: names_of(at, key) == [("pi", "free")])
    with tracked_session(*at.address, key, "pi") as session:
        assert session.info()["processors"] >= 1
        eventually(lambda: names_of(at, key) == [("pi", "held")])
        (told,) = query(*at.address, key)["devices"]
        assert told["address"] == "{}:{}".format(*server.address)
        assert "@" in told["holders"][0]
    eventually(lambda: names_of(at, key) == [("pi", "free")])


def test_who_asks_first_is_next_within_a_priority(track, device, key, eventually):
    at = track()
    device(at)
    eventually(lambda: names_of(at, key) == [("pi", "free")])
    order = []

    def ask(priority, mark):
        with tracked_session(*at.address, key, "pi", priority=priority):
            order.append(mark)

    with ThreadPoolExecutor(3) as threads, tracked_session(*at.address, key, "pi"):
        for number, (priority, mark) in enumerate([(0, "first"), (0, "second"), (5, "urgent")], 1):
            threads.submit(ask, priority, mark)
            eventually(lambda n=number: len(query(*at.address, key)["waiting"]) == n)
        assert [w["priority"] for w in query(*at.address, key)["waiting"]] == [5, 0, 0]
    assert order == ["urgent", "first", "second"]


def test_clients_share_devices_of_a_name(track, device, key, eventually):
    at = track()
    for name in ("pi", "pi", "phone"):
        device(at, name)
    eventually(lambda: len(names_of(at, key)) == 3)
    places = []

    def ask():
        with tracked_session(*at.address, key, "pi") as session:
            places.append(repr(session).split(",")[0])
            time.sleep(0.2)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: ask(), range(6)))
    assert len(places) == 6
    assert len(set(places)) == 2


def test_without_a_free_device_the_wait_ends(track, device, key, eventually):
    at = track()
    device(at)
    with pytest.raises(SessionRefusedError, match=r"expected a device 'phone' within 0\.3 s, found"):
        tracked_session(*at.address, key, "phone", wait=0.3)
    with tracked_session(*at.address, key, "pi"):
        eventually(lambda: names_of(at, key) == [("pi", "held")])
        words = r"a free device 'pi' within 0\.3 s, all 1 are held: .*@.* \(key"
        with pytest.raises(SessionRefusedError, match=words):
            tracked_session(*at.address, key, "pi", wait=0.3)


def test_a_client_that_gives_up_leaves_the_queue(track, key, eventually):
    at = track()
    with socket.create_connection(at.address) as connection:
        channel = greet(connection, key)
        channel.send({"op": "ask", "name": "pi", "priority": 0, "holder": "a", "wait": 600.0})
        eventually(lambda: len(query(*at.address, key)["waiting"]) == 1)
    eventually(lambda: not query(*at.address, key)["waiting"])


def test_a_client_that_left_while_a_device_was_asked_does_not_wait_again(track, key, eventually):
    at = track()
    with socket.create_connection(at.address) as connection:
        pretended = greet(connection, key)
        pretended.send({"op": "register", "name": "pi", "host": "0.0.0.0", "port": 9, "device": ""})
        pretended.send({"op": "state", "free": True, "holders": []})
        eventually(lambda: names_of(at, key) == [("pi", "free")])
        assert query(*at.address, key)["devices"][0]["address"] == "127.0.0.1:9"
        with pytest.raises(SessionRefusedError, match="expected a free device 'pi'"):
            tracked_session(*at.address, key, "pi", wait=0.2)
        while (header := pretended.receive(time.monotonic() + 5)[0]).get("op") != "reserve":
            assert header in ({"beat": 5.0}, {"op": "heard"})
        pretended.send({"op": "reserved", "token": header["token"], "done": False})
        eventually(lambda: names_of(at, key) == [("pi", "held")])
        assert not query(*at.address, key)["waiting"]


@pytest.mark.parametrize("seconds", [float("nan"), -1.0, 1e7])
def test_a_wait_must_be_one(track, key, seconds):
    at = track()
    with pytest.raises(ArgumentError, match=r"expected seconds to wait, at most 1e\+06; found"):
        tracked_session(*at.address, key, "pi", wait=seconds)
    with socket.create_connection(at.address) as connection:
        channel = greet(connection, key)
        channel.send({"op": "ask", "name": "pi", "priority": 0, "holder": "a", "wait": seconds})
        answer, _ = channel.receive(time.monotonic() + 5)
    assert answer["message"].startswith("expected seconds to wait, at most")


def test_a_device_leaves_a_tracker_that_is_silent(key, device, eventually):
    greetings = []

    class Silent(Listener):
        def take(self, channel, _key, header):
            greetings.append(header["op"])
            channel.send({"beat": 0.1})
            while channel.receive() is not None:
                pass

    with Silent("127.0.0.1", 0, [key]) as at:
        threading.Thread(target=at.serve, daemon=True).start()
        device(at)
        eventually(lambda: len(greetings) >= 3)


def test_a_device_comes_back_after_an_answer_that_is_none(key, device, eventually):
    greetings = []

    class Odd(Listener):
        def take(self, channel, _key, header):
            greetings.append(header["op"])
            channel.send({"beat": "often"})

    with Odd("127.0.0.1", 0, [key]) as at:
        threading.Thread(target=at.serve, daemon=True).start()
        device(at)
        eventually(lambda: len(greetings) >= 3)


def test_a_device_that_can_t_go_there_says_why_and_comes_back(track, stack, key, tmp_path, monkeypatch, eventually):
    refusals, told = [OSError(24, "Too many open files"), OSError(24, "Too many open files")], []

    def connected(*arguments):
        if refusals:
            raise refusals.pop()
        return dialing.connected(*arguments)

    monkeypatch.setattr(standing_connection, "connected", connected)
    at = track()
    server = stack.enter_context(Server("127.0.0.1", 0, [key], tmp_path / "store"))
    stack.callback(Registration(server, "pi", at.address, key, tell=told.append).close)
    eventually(lambda: names_of(at, key) == [("pi", "free")])
    stack.callback(Registration(server, "odd", at.address, Key.new(), tell=told.append).close)
    eventually(lambda: len(told) == 2)
    place = "{}:{}".format(*at.address)
    again = "; this device goes there again"
    assert told == [
        f"{place}: [Errno 24] Too many open files{again}",
        f"{place}: the server does not know this key; pair with it, or give the file of its key{again}",
    ]


def test_a_device_that_does_not_answer_keeps_nobody_from_another(track, device, key, monkeypatch, eventually):
    monkeypatch.setattr(tracker, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(standing_connection, "SILENCE_SECONDS", 200.0)  # so that it is not just forgotten
    at = track()
    with socket.create_connection(at.address) as connection:
        mute = greet(connection, key)
        mute.send({"op": "register", "name": "pi", "host": "127.0.0.1", "port": 9, "device": ""})
        mute.send({"op": "state", "free": True, "holders": []})
        eventually(lambda: names_of(at, key) == [("pi", "free")])
        device(at)
        eventually(lambda: names_of(at, key) == [("pi", "free")] * 2)
        for _ in range(2):
            with tracked_session(*at.address, key, "pi", wait=60.0) as session:
                session.info()


def test_a_device_that_goes_is_forgotten_and_its_clients_go_elsewhere(track, device, key, eventually):
    at = track()
    server = device(at)
    eventually(lambda: names_of(at, key) == [("pi", "free")])
    server.close()
    eventually(lambda: names_of(at, key) != [("pi", "free")])
    device(at)
    with tracked_session(*at.address, key, "pi") as session:
        session.info()


def test_sessions_and_devices_outlive_a_tracker(track, device, key, monkeypatch, eventually):
    monkeypatch.setattr(standing_connection, "LONGEST_PAUSE", 0.2)
    at = track()
    device(at)
    with tracked_session(*at.address, key, "pi") as session:
        port = at.address[1]
        at.close()
        session.info()
        again = track(port)
        eventually(lambda: names_of(again, key) == [("pi", "held")])
    eventually(lambda: names_of(again, key) == [("pi", "free")])


def test_a_silent_device_is_forgotten(track, key, monkeypatch, eventually):
    monkeypatch.setattr(standing_connection, "SILENCE_SECONDS", 0.3)
    at = track()
    with socket.create_connection(at.address) as connection:
        channel = greet(connection, key)
        channel.send({"op": "register", "name": "pi", "host": "127.0.0.1", "port": 9, "device": ""})
        assert "beat" in channel.receive()[0]
        eventually(lambda: names_of(at, key) == [])


def test_a_reservation_lapses(track, device, key):
    at = track()
    served = device(at)
    assert served.reserve("token", "somebody")
    with pytest.raises(SessionRefusedError, match="held by somebody"):
        RemoteSession(*served.address, key)
    served._reservations["token"] = Reservation("somebody", time.monotonic())
    with RemoteSession(*served.address, key) as session:
        session.info()


def test_a_wrong_key_and_wrong_requests_are_told(track, key):
    at = track()
    with pytest.raises(SessionRefusedError, match="does not know this key"):
        query(*at.address, Key.new())
    at.close()
    with pytest.raises(SessionLostError, match="expected a server of sateen-rpc"):
        query(*at.address, key)
