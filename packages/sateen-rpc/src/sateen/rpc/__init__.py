"""Authenticated connections between machines: keys, the handshake, and the frames that channels carry."""

from sateen.rpc.handshake import accept, greet
from sateen.rpc.keys import Key, read_key, write_key
from sateen.rpc.version import __version__
from sateen.rpc.wire import Channel

__all__ = [
    "Channel",
    "Key",
    "__version__",
    "accept",
    "greet",
    "read_key",
    "write_key",
]
