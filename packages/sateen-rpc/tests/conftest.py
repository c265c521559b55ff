"""Pairs of connected ends."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from sateen.rpc import Key, accept, greet


@pytest.fixture
def key():
    return Key.new()


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
