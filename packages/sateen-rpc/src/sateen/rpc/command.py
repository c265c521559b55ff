"""The command of a device and of those who look after devices: `sateen-rpc`, or `sateen rpc`."""

from __future__ import annotations

import argparse
import re
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread

from sateen.rpc.dialing import Route
from sateen.rpc.keys import Key, add_key, read_key, read_keys
from sateen.rpc.listener import ANYWHERE, Address, Opening, listening
from sateen.rpc.pairing import SECONDS, await_pair, new_code, pair
from sateen.rpc.proxied_device import WaitingDevice
from sateen.rpc.proxy import Proxy
from sateen.rpc.registered_device import Registration
from sateen.rpc.server import Server
from sateen.rpc.session_limits import SessionLimits
from sateen.rpc.tls import certified, trusting
from sateen.rpc.tracker import Tracker
from sateen.rpc.tracker_client import query
from sateen.rpc.version import __version__
from sateen.runtime.errors import ArgumentError, SateenError, printable


def address(text: str) -> Address:
    """HOST:PORT, or [ADDRESS]:PORT of IPv6."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, found {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def byte_count(text: str) -> int:
    """A number of bytes, or of K, M or G: 1024 bytes, the square and the cube of that."""
    match = re.fullmatch(r"(\d{1,18})([KMG]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"expected a number of bytes, such as 1048576, 1024K, 1M or 1G, found {text!r}"
        )
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def main(arguments: Sequence[str] | None = None, program: str = "sateen-rpc") -> int:
    """The exit status: 0, 1 for a fault of what was given or met, 130 for an interrupt. Wrong usage exits with 2."""
    parsed = _parser(program).parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = parsed.run
    try:
        run(parsed)
    except SateenError as error:
        sys.stderr.write(f"{error.report()}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(program, description="Sessions on other machines.")
    parser.add_argument("--version", action="version", version=f"sateen-rpc {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, run: Callable[[argparse.Namespace], None], words: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=words, description=words)
        added.set_defaults(run=run, refuse=added.error)
        added.add_argument("--key-file", type=Path, required=True, help="the file of the key")
        return added

    server = verb("server", _server, "Give sessions on this machine to who knows a key of the file.")
    server.add_argument("--bind", type=address, default=("127.0.0.1", 9190), help="where to listen (127.0.0.1:9190)")
    server.add_argument("--sessions", type=int, default=1, metavar="COUNT", help="how many sessions at once (1)")
    server.add_argument("--store", type=Path, default=Path.home() / ".cache" / "sateen" / "rpc", help="for uploads")
    server.add_argument("--tracker", type=address, help="the tracker to register at")
    server.add_argument("--tracker-key-file", type=Path, metavar="FILE", help="its key (the first of --key-file)")
    server.add_argument("--name", help="the name to register under")
    server.add_argument("--advertise", type=address, help="where clients reach this server, if not at --bind")
    server.add_argument("--proxy", type=address, help="the proxy to wait at, where nobody can dial")
    server.add_argument("--proxy-name", metavar="NAME", help="the name to wait under, which is one device's (--name)")
    server.add_argument("--proxy-key-file", type=Path, metavar="FILE", help="its key (the first of --key-file)")
    for field, kind, words in _LIMITS:
        default = getattr(SessionLimits(), field)
        server.add_argument(f"--{field.replace('_', '-')}", type=kind, default=default, help=f"{words} ({default})")
    _encrypts(server)
    _trusts(server, "the tracker and the proxy")
    tracker = verb("tracker", _tracker, "Bring clients and devices together.")
    tracker.add_argument("--bind", type=address, default=("127.0.0.1", 9191), help="where to listen (127.0.0.1:9191)")
    _encrypts(tracker)
    proxy = verb(
        "proxy", _proxy, "Connect clients to devices that nobody can dial: these dial the proxy, and wait there."
    )
    proxy.add_argument("--bind", type=address, default=("127.0.0.1", 9192), help="where to listen (127.0.0.1:9192)")
    proxy.add_argument("--websocket", type=address, help="where to take WebSockets, too")
    proxy.add_argument("--origin", action="append", default=[], help="where pages are from that may open WebSockets, "
                       "besides the address that they dial: https://example.org, or null for files")  # fmt: skip
    _encrypts(proxy)
    asked = verb("query", _query, "Show who holds which device of a tracker or proxy, since when, and who waits.")
    asked.add_argument("tracker", type=address, metavar="HOST:PORT")
    _trusts(asked, "it")
    paired = verb("pair", _pair, "Get a key: show a code here, or type the code that another machine shows.")
    paired.add_argument("other", type=address, nargs="?", metavar="HOST:PORT", help="the machine that shows a code")
    paired.add_argument("code", nargs="?", help="its code")
    paired.add_argument("--bind", type=address, default=("127.0.0.1", 9190), help="where to wait for the other machine")
    verb("key", _key, "Write a new key to the file, to copy it to other machines by other means.")
    return parser


def _encrypts(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--tls-cert", type=Path, metavar="FILE", help="encrypt connections, with this certificate (PEM)")
    verb.add_argument("--tls-key", type=Path, metavar="FILE", help="the private key of the certificate (PEM)")


def _trusts(verb: argparse.ArgumentParser, whom: str) -> None:
    verb.add_argument("--tls-ca", type=Path, metavar="FILE", help=f"encrypt connections to {whom}, whose certificate "
                      "is this one or signed by it (PEM)")  # fmt: skip


def _certified(given: argparse.Namespace) -> ssl.SSLContext | None:
    if (given.tls_cert is None) != (given.tls_key is None):
        given.refuse("--tls-cert and --tls-key belong together")
    return None if given.tls_cert is None else certified(given.tls_cert, given.tls_key)


def _trusting(given: argparse.Namespace) -> ssl.SSLContext | None:
    return None if given.tls_ca is None else trusting(given.tls_ca)


_LIMITS = (
    ("request_seconds", float, "how long a request may take"),
    ("lease_seconds", float, "how long a session lives on without word from its client"),
    ("memory_bytes", byte_count, "how much a session may allocate; 0 for no limit"),
    ("disk_bytes", byte_count, "how much the files of a session may take"),
    ("message_bytes", byte_count, "the most bytes of a message"),
    ("store_bytes", byte_count, "the most bytes of kept uploads"),
)


def _server(given: argparse.Namespace) -> None:
    limits = SessionLimits(**{field: getattr(given, field) for field, _, _ in _LIMITS})
    keys = read_keys(given.key_file)
    if (given.tracker is None and given.proxy is None) != (given.name is None):
        given.refuse("--name belongs to --tracker or --proxy, which need it")
    for option, belongs_to in (("tracker_key_file", "tracker"), ("proxy_key_file", "proxy"), ("proxy_name", "proxy")):
        if getattr(given, option) is not None and getattr(given, belongs_to) is None:
            given.refuse(f"--{option.replace('_', '-')} belongs to --{belongs_to}")
    proxy_key, tracker_key = (
        keys[0] if file is None else read_key(file) for file in (given.proxy_key_file, given.tracker_key_file)
    )
    trust = _trusting(given)
    proxy = None if given.proxy is None else _route(given.proxy, trust, given.proxy_name or given.name)
    host, port = given.bind
    with ExitStack() as opened:
        server = opened.enter_context(Server(host, port, keys, given.store, limits, given.sessions, _certified(given)))
        _say(f"sessions at {_text(server.address)}")
        if proxy is not None:
            opened.callback(WaitingDevice(server, proxy, proxy_key, _warn).close)
        if given.tracker is not None:
            tracker = _route(given.tracker, trust)
            address = proxy or given.advertise
            opened.callback(Registration(server, given.name, tracker, tracker_key, address, _warn).close)
        _until_stopped(server.serve, server.close)


def _tracker(given: argparse.Namespace) -> None:
    host, port = given.bind
    with Tracker(host, port, read_keys(given.key_file), _certified(given)) as tracker:
        _say(f"devices at {_text(tracker.address)}")
        _until_stopped(tracker.serve, tracker.close)


def _proxy(given: argparse.Namespace) -> None:
    opening = None if given.websocket is None else _websocket_opening(given.origin)
    host, port = given.bind
    with Proxy(host, port, read_keys(given.key_file), _certified(given)) as proxy:
        _say(f"devices and clients at {_text(proxy.address)}")
        if opening is not None:
            _say(f"by WebSocket at {_text(proxy.add_door(given.websocket, opening))}")
        _until_stopped(proxy.serve, proxy.close)


def _route(place: Address, trust: ssl.SSLContext | None, device: str = "") -> Route:
    host, port = place
    return Route(host, port, trust, device)


def _websocket_opening(origins: Sequence[str]) -> Opening:
    try:
        unwrapped = import_module("sateen.rpc.websocket").unwrapped
    except ImportError:
        raise ArgumentError(
            "--websocket needs the package websockets, which is not installed: pip install 'websockets>=14.2'"
        ) from None
    return partial(unwrapped, origins=origins)


def _query(given: argparse.Namespace) -> None:
    host, port = given.tracker
    found = query(host, port, read_key(given.key_file), _trusting(given))
    rows = [("name", "address", "state", "held by", "since", "last heard")]
    for d in sorted(found["devices"], key=lambda device: (device["name"], device["address"])):
        holders = ", ".join(d["holders"])
        rows.append((d["name"], d["address"], d["state"], holders, f"{d['seconds']:.0f} s", f"{d['silent']:.0f} s"))
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        _say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for w in found["waiting"]:
        _say(f"{w['holder']} waits for {w['name']} with priority {w['priority']} since {w['seconds']:.0f} s")


def _pair(given: argparse.Namespace) -> None:
    if given.other is not None:
        if given.code is None:
            given.refuse("expected HOST:PORT and the code that it shows")
        host, port = given.other
        add_key(pair(host, port, given.code), given.key_file)
    else:
        with listening(*given.bind) as listener:
            code, place = new_code(), _text(_reached(listener.getsockname()[:2]))
            _say(f"At the other machine, within {SECONDS:.0f} s: sateen rpc pair {place} {code} --key-file FILE")
            add_key(await_pair(listener, code), given.key_file)
    _say_added(given.key_file)


def _key(given: argparse.Namespace) -> None:
    add_key(Key.new(), given.key_file)
    _say_added(given.key_file)


def _say_added(file: Path) -> None:
    """Servers know all keys of a file, and clients take one that has a single key."""
    count = len(read_keys(file))
    others = "" if count == 1 else f", which has {count}: a server knows them all, a client needs a file of one"
    _say(f"the new key is in {file}{others}")


def _until_stopped(serve: Callable[[], None], close: Callable[[], None]) -> None:
    """Serves until a signal asks to end. A signal may come just before this thread would wait in `accept`, and does not
    wake it then; the byte that it writes stays until it is read."""
    woken, waking = socket.socketpair()
    with woken, waking:
        waking.setblocking(False)
        before = signal.set_wakeup_fd(waking.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        serving = Thread(target=serve, daemon=True)
        serving.start()
        woken.recv(1)
        close()
        serving.join()
        signal.set_wakeup_fd(before)


def _warn(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()


def _text(place: Address) -> str:
    return str(Route(*place))


def _reached(place: Address) -> Address:
    """Where others reach who listens: by the name of this machine, if that is at all its addresses."""
    host, port = place
    return (socket.gethostname(), port) if host in ANYWHERE else place


if __name__ == "__main__":
    sys.exit(main())
