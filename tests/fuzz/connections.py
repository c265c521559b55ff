"""Hostile connections: `python connections.py --count 100000`; `--seed` draws others.

Half are frames: what a sender with the key has sent is damaged on its way, repeated, moved, cut or made up. The
receiver must give a beginning of what was sent, and then an error or the end. A third are handshakes with a server in
a process of its own: noise, other versions, wrong keys, replayed proofs, silence. It must start no session, and
answer who knows the key afterwards. The rest are requests of somebody who does know the key, with wrong fields: a
session's service must answer each. Memory is watched: of a frame's receiver and of the server.
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from sateen.rpc import Key, RemoteSession, add_key, greet
from sateen.rpc.wire import LENGTHS, Channel
from sateen.runtime import SessionService
from sateen.runtime.errors import SateenError

MOST_PAYLOAD = 1 << 16
MOST_FRAME_MEMORY = 4 << 20
"""What the receiver of a damaged frame may take: its bound for a header, and the rest."""
MOST_GROWTH = 64 << 20
"""What the server may grow by while thousands of strangers come: threads and buffers of 64 of them at once."""
HUGE = (0, 1, 0x7F, 0xFFFF, (1 << 20) + 1, 0x7FFFFFFF, 0xFFFFFFFF)
BATCH = 50
Message = tuple[dict[str, Any], bytes]


def drawn(random: Random, depth: int = 3) -> Any:
    """A value of a kind that msgpack knows, with at most `depth` lists and maps in each other."""
    kinds: list[Callable[[], Any]] = [
        lambda: random.randrange(-(1 << 63), 1 << 63),
        lambda: random.choice([-1, 0, 1, 2, 1 << 31, 1 << 62]),
        lambda: random.random() * 10 ** random.randrange(-5, 300),
        lambda: random.choice([None, True, False, float("nan"), float("inf")]),
        lambda: "".join(chr(random.randrange(1, 0x3000)) for _ in range(random.randrange(20))),
        lambda: random.choice(["", "float32", "../../etc/passwd", "0" * 64, "x" * 5000]),
        lambda: random.randbytes(random.randrange(40)),
        lambda: [["float32", [random.randrange(-2, 5)]]],
        lambda: [drawn(random, depth - 1) for _ in range(random.randrange(4))],
        lambda: {str(i): drawn(random, depth - 1) for i in range(random.randrange(3))},
    ]
    return random.choice(kinds if depth else kinds[:-2])()


def frames(random: Random) -> str:
    """Damages what one end sends, and gives it to the other; the name of the damage."""
    key, other = random.randbytes(32), random.randbytes(32)
    sent: list[Message] = [
        ({"op": "x", "number": n, "value": drawn(random)}, random.randbytes(random.choice([0, 0, 5, 3000])))
        for n in range(random.randrange(1, 4))
    ]
    parts = [_bytes_of(key, other, sent[: n + 1])[len(_bytes_of(key, other, sent[:n])) :] for n in range(len(sent))]
    name, data = random.choice(DAMAGES)(random, parts)
    near, far = socket.socketpair()
    with near, far:
        near.sendall(data)
        near.shutdown(socket.SHUT_WR)
        channel, received = Channel(far, other, key), 0
        tracemalloc.start()
        try:
            while (message := channel.receive(most_bytes=MOST_PAYLOAD)) is not None:
                header, payload = message
                assert received < len(sent), f"{name}: found a message that nobody sent: {header}"
                assert repr((header, bytes(payload))) == repr(sent[received]), f"{name}: found another message"
                received += 1
        except SateenError:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MOST_FRAME_MEMORY, f"{name}: took {peak} bytes"
    return name


def _bytes_of(key: bytes, other: bytes, messages: list[Message]) -> bytes:
    near, far = socket.socketpair()
    with near, far:
        channel = Channel(near, key, other)
        for header, payload in messages:
            channel.send(header, [payload] if payload else [])
        near.shutdown(socket.SHUT_WR)
        far.setblocking(True)
        return b"".join(iter(lambda: far.recv(1 << 16), b""))


def _flip(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    data = bytearray(b"".join(parts))
    for _ in range(random.randrange(1, 4)):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return "flipped bits", bytes(data)


def _cut(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    data = b"".join(parts)
    return "cut", data[: random.randrange(len(data))]


def _leave_out(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    kept = [part for part in parts if random.random() < 0.5]
    return "left out", b"".join(kept)


def _repeat(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    return "repeated", b"".join(part * random.randrange(1, 3) for part in parts)


def _move(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    return "moved", b"".join(random.sample(parts, len(parts)))


def _lengths(random: Random, parts: list[bytes]) -> tuple[str, bytes]:
    lengths = struct.pack("<IQ", random.choice(HUGE), random.choice([*HUGE, 1 << 40, (1 << 64) - 1]))
    return "other lengths", lengths + b"".join(parts)[LENGTHS.size :]


def _noise(random: Random, _parts: list[bytes]) -> tuple[str, bytes]:
    return "noise", random.randbytes(random.randrange(200))


DAMAGES = (_flip, _cut, _leave_out, _repeat, _move, _lengths, _noise)


def requests(random: Random, folder: Path, count: int) -> None:
    """Sends wrong requests to a service, which must answer each with an answer or an error."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        key, other = random.randbytes(32), random.randbytes(32)
        client, service = Channel(ours, key, other), Channel(theirs, other, key)
        answering = SessionService(service, folder, folder, 60.0, MOST_PAYLOAD)
        names = [*answering._requests, *answering._deliveries]
        for _ in range(count):
            name = random.choice(names)
            schema = {**answering._requests, **answering._deliveries}[name][0]
            header = {"op": name, "unused": [], **{field: drawn(random) for field in schema}}
            for field in [field for field in header if random.random() < 0.1]:
                header[field] = drawn(random)
            if random.random() < 0.1:
                header.pop(random.choice(list(header)))
            client.send(header, [random.randbytes(random.choice([0, 0, 4, 100]))])
        ours.shutdown(socket.SHUT_WR)
        answering.serve()
        theirs.shutdown(socket.SHUT_WR)
        answers = 0
        while (message := client.receive(most_bytes=1 << 20)) is not None:
            answers += 1
            memory = message[0].get("error") == "SessionOutOfMemoryError"
        assert answers == count or memory, f"expected {count} answers, found {answers}"


def handshake(random: Random, place: tuple[str, int], key: Key, recorded: list[bytes]) -> str:
    """One hostile handshake; its name."""
    with socket.create_connection(place, 10) as connection:
        match random.randrange(6):
            case 0:
                connection.sendall(random.randbytes(random.randrange(200)))
                return "noise"
            case 1:
                connection.sendall(b"sateen-rpc" + struct.pack("<H", random.randrange(1 << 16)) + random.randbytes(40))
                return "other versions"
            case 2:
                try:
                    greet(connection, Key(random.randbytes(32)))
                except SateenError:
                    return "unknown keys"
                raise AssertionError("expected a refusal of an unknown key")
            case 3:
                connection.sendall(recorded[0])
                connection.recv(76)
                connection.sendall(recorded[1])
                assert connection.recv(1) == b"", "expected a refusal of a replayed proof"
                return "replayed proofs"
            case 4:
                connection.sendall(b"sateen-rpc\x01\x00" + random.randbytes(32) + key.id)
                connection.recv(76)
                connection.sendall(random.randbytes(32 + random.randrange(100)))
                return "made-up proofs"
            case _:
                return "silence"


class Recorder:
    """A connection that keeps what is sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.sent: list[bytes] = []
        self._connection = connection

    def sendall(self, data: bytes) -> None:
        self.sent.append(data)
        self._connection.sendall(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def handshakes(random: Random, count: int, kinds: Counter[str]) -> int:
    """Hostile handshakes with a server in a process of its own; the bytes that it grew by."""
    with TemporaryDirectory() as name:
        folder, key = Path(name), Key.new()
        add_key(key, folder / "key")
        command = [sys.executable, "-m", "sateen.rpc.command", "server", "--bind", "127.0.0.1:0"]
        command += ["--key-file", str(folder / "key"), "--store", str(folder / "store")]
        scratch = folder / "scratch"
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stdout is not None
            place = "127.0.0.1", int(server.stdout.readline().rpartition(":")[2])
            try:
                with socket.create_connection(place, 10) as connection:
                    recorder = Recorder(connection)
                    greet(recorder, key)  # type: ignore[arg-type]
                before = _resident(server.pid)
                for _ in range(count):
                    kinds[handshake(random, place, key, recorder.sent)] += 1
                    assert server.poll() is None, "expected a server that lives on"
                assert not list(scratch.iterdir()), "expected no session, found its folder"
                grown = _resident(server.pid) - before
                with RemoteSession(*place, key) as session:
                    session.info()
            finally:
                server.terminate()
        assert server.returncode == 0
        assert grown < MOST_GROWTH, f"expected a server that keeps its size, found {grown} bytes more"
        return grown


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Draws connections, and tells how many of each kind there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, metavar="N", help="connections and requests (100000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, kinds = Random(options.seed), Counter[str]()
    for _ in range(options.count // 2):
        kinds[frames(random)] += 1
    grown = handshakes(random, options.count // 3, kinds)
    left = options.count - sum(kinds.values())
    with TemporaryDirectory() as name:
        (Path(name) / "log").touch()
        for begun in range(0, left, BATCH):
            requests(random, Path(name), min(BATCH, left - begun))
    kinds["requests"] = left
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    count = sum(kinds.values())
    sys.stdout.write(f"{count} hostile connections: {told}; the server grew by {grown >> 10} KB\n")


if __name__ == "__main__":
    main()
