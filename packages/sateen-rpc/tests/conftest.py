"""Pairs of connected ends."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sateen.rpc import Key, accept, greet


@pytest.fixture
def key():
    return Key.new()


@pytest.fixture
def eventually():
    """Waits until a condition is so."""

    def wait(condition, seconds=20.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    return wait


@pytest.fixture
def ends():
    """Two ends of a connection, closed after the test."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@pytest.fixture
def channels(ends, key):
    """A client's and a server's channel after their handshake."""
    client, server = ends
    with ThreadPoolExecutor(1) as other_side:
        accepted = other_side.submit(accept, server, {key.id: key}.get)
        greeted = greet(client, key)
        channel, found = accepted.result()
    assert found == key
    return greeted, channel


@pytest.fixture
def other_side():
    """Calls a function in a thread of its own; a future of the result."""
    with ThreadPoolExecutor(1) as executor:
        yield executor.submit
