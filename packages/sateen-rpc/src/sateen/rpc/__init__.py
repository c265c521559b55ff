"""Sessions on other machines: a server gives them, to clients that share a key with it."""

from sateen.rpc.dialing import Route
from sateen.rpc.handshake import accept, greet
from sateen.rpc.keys import Key, add_key, read_key, read_keys
from sateen.rpc.pairing import await_pair, new_code, pair
from sateen.rpc.proxied_device import WaitingDevice
from sateen.rpc.proxy import Proxy
from sateen.rpc.registered_device import Registration
from sateen.rpc.remote_session import RemoteSession
from sateen.rpc.server import Server
from sateen.rpc.session_limits import SessionLimits
from sateen.rpc.tls import certified, trusting
from sateen.rpc.tracker import Tracker
from sateen.rpc.tracker_client import query, tracked_session
from sateen.rpc.version import __version__
from sateen.rpc.wire import Channel

__all__ = [
    "Channel",
    "Key",
    "Proxy",
    "Registration",
    "RemoteSession",
    "Route",
    "Server",
    "SessionLimits",
    "Tracker",
    "WaitingDevice",
    "__version__",
    "accept",
    "add_key",
    "await_pair",
    "certified",
    "greet",
    "new_code",
    "pair",
    "query",
    "read_key",
    "read_keys",
    "tracked_session",
    "trusting",
]
