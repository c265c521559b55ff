"""Hostile clients of a page that is a device: `python pages.py --count 6000`; `--seed` draws others.

A third are strangers: noise, other versions, wrong keys, made-up proofs, silence. A third know the key, and send frames
that are damaged on their way, repeated, moved, cut or made up. The rest are requests in sessions, with wrong fields:
each must be answered, or end the session for a reason. The page runs in Node, at a proxy of its own. It must live on,
be free after each of them, and hold no more in the end.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from time import sleep

from connections import BATCH, DAMAGES, drawn

from sateen.rpc import Key, Proxy, RemoteSession, Route, greet, query
from sateen.rpc.websocket import unwrapped
from sateen.rpc.wire import Channel
from sateen.runtime.errors import (
    ArgumentError,
    ArtifactError,
    ExecutionError,
    SateenError,
    SessionOutOfMemoryError,
    SessionProtocolError,
    SessionRefusedError,
    SessionTimeoutError,
)
from sateen.tensor_ir import build, te

DEVICE = Path(__file__).parents[2] / "packages" / "sateen-web" / "src" / "device" / "index.js"
MOST_GROWTH = 8 << 20
"""What a page may hold in the end beyond what it held after the first clients."""
MOST_SECONDS = 5.0
"""How long a request may take: some ask for billions of calls."""
WARM = 30
"""The first clients of each kind."""
PROGRAM = Path(__file__).with_name("page.mjs")
REQUESTS = {
    "info": (), "log": (), "names": (), "load": ("digest", "threads"), "load_model": ("digest", "threads"),
    "store": ("digest",), "empty": ("dtype", "shape"), "read": ("array",), "copy": ("array",), "get": ("name",),
    "remove": ("name",), "put": ("name",), "array": ("arrays",), "write": ("array", "arrays"),
    "call": ("module", "function", "arrays"), "run": ("model", "arrays", "kept"),
    "time": ("module", "function", "arrays", "number", "repeat", "min_seconds"),
    "time_in_turns": ("calls", "repeat", "min_seconds"), "unload": ("module",), "unload_model": ("model",),
}  # fmt: skip
RIGHT = {
    "digest": "0" * 64, "threads": 1, "dtype": "float32", "shape": [3, 16], "array": 1, "name": "a", "module": 0,
    "function": "doubled", "arrays": [1, 2], "number": 1, "repeat": 1, "min_seconds": 0, "model": 0, "kept": [None],
    "calls": [[0, "doubled", [[1, 2]]]],
}  # fmt: skip
"""Fields of requests that are right, of which some are kept."""


class Page:
    """A page in Node, and the way to it."""

    def __init__(self, process: subprocess.Popen[str], proxy: Proxy, key: Key) -> None:
        self._process, self._proxy, self.key = process, proxy, key
        self.route = Route(*proxy.address, device="page")

    def wait(self) -> None:
        """Returns when the page waits and nobody is connected to it."""
        while [d["state"] for d in query(*self._proxy.address, self.key)["devices"]] != ["waits"]:
            assert self._process.poll() is None, "expected a page that lives on"
            sleep(0.01)

    def size(self) -> int:
        """The bytes that it holds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def session(self) -> RemoteSession:
        return RemoteSession(*self._proxy.address, self.key, device="page", seconds=MOST_SECONDS)


@contextmanager
def opened() -> Iterator[Page]:
    """A page that waits."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("expected Node, found none")
    key = Key.new()
    with Proxy("127.0.0.1", 0, [key]) as proxy:
        host, port = proxy.add_door(("127.0.0.1", 0), unwrapped)
        threading.Thread(target=proxy.serve, daemon=True).start()
        command = [node, "--expose-gc", str(PROGRAM), DEVICE.as_uri(), f"ws://{host}:{port}", key.secret.hex()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            page = Page(process, proxy, key)
            page.wait()
            yield page
        assert process.returncode == 0


def stranger(random: Random, page: Page) -> str:
    """One who does not know the key; what it does."""
    with page.route.connection(page.key) as connection:
        match random.randrange(5):
            case 0:
                connection.sendall(random.randbytes(random.randrange(200)))
                return "noise"
            case 1:
                connection.sendall(b"sateen-rpc" + struct.pack("<H", random.randrange(1 << 16)) + random.randbytes(40))
                return "other versions"
            case 2:
                with suppress(SateenError):
                    greet(connection, Key(random.randbytes(32)))
                    raise AssertionError("expected a refusal of an unknown key")
                return "unknown keys"
            case 3:
                connection.sendall(b"sateen-rpc\x01\x00" + random.randbytes(32) + page.key.id)
                connection.settimeout(10)
                connection.recv(76)
                connection.sendall(random.randbytes(32 + random.randrange(100)))
                return "made-up proofs"
            case _:
                return "silence"


def damaged(random: Random, page: Page) -> str:
    """One who knows the key, whose frames are damaged; by what."""
    with page.route.connection(page.key) as connection:
        channel = greet(connection, page.key)
        claim = {"op": "claim", "holder": "x", "seconds": 1.0, "token": ""}
        frames = [_bytes_of(channel, header) for header in (claim, {"op": "beat"}, {"op": "watch"})]
        name, data = random.choice(DAMAGES)(random, frames)
        connection.setblocking(True)
        connection.sendall(data)
        return name


def _bytes_of(channel: Channel, header: dict[str, object]) -> bytes:
    """The next frame of a channel, which is not sent."""
    sent: list[bytes] = []
    channel._write = lambda data, _: sent.append(bytes(data))  # type: ignore[method-assign, assignment]
    channel.send(header)
    return b"".join(sent)


def requests(random: Random, page: Page, library: bytes, count: int) -> None:
    """Wrong requests in one session, each of which must be answered, or end it for a reason."""
    with page.session() as session:
        session.load(library)
        _held = [session.empty((3, 16)), session.empty((3, 16))]  # by the numbers in RIGHT
        for _ in range(count):
            name = random.choice(list(REQUESTS))
            header = {"op": name, **{f: RIGHT[f] if random.random() < 0.7 else drawn(random) for f in REQUESTS[name]}}
            if random.random() < 0.1:
                header[random.choice(list(header))] = drawn(random)
            payload = [random.randbytes(random.choice([0, 0, 4, 192]))]
            try:
                session.request(name, header, payload, most_bytes=1 << 20)
            except (SessionOutOfMemoryError, SessionTimeoutError):
                return
            except (ArgumentError, ArtifactError, ExecutionError, SessionProtocolError, SessionRefusedError):
                pass


def main() -> None:
    """Draws clients, and tells how many of each kind there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=6000, metavar="N", help="clients and requests (6000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, kinds = Random(options.seed), Counter[str]()
    a = te.placeholder((te.var("n"), 16), name="A")
    doubled = te.compute((a.shape[0], 16), lambda i, j: a[i, j] * 2, name="B")
    library = build(te.create_schedule(doubled.op), [a, doubled], target="wasm32", name="doubled").library()
    third = max(options.count // 3, 1)
    with opened() as page:
        before = page.size()
        for number in range(third):
            for client in (stranger, damaged):
                kinds[client(random, page)] += 1
                page.wait()
            if number % BATCH == 0:
                requests(random, page, library, min(BATCH, third - number))
                page.wait()
            if number <= WARM:
                before = page.size()
        grown = page.size() - before
    kinds["requests"] = third
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    assert grown < MOST_GROWTH, f"expected a page that holds no more in the end, found {grown} bytes more"
    sys.stdout.write(f"{sum(kinds.values())} hostile clients: {told}; the page holds {grown >> 10} KB more\n")


if __name__ == "__main__":
    main()
