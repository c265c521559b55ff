"""The wire as a page speaks it: the vectors of docs/wire.md, and bytes of hostile peers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[4] / "docs" / "wire.md"


@pytest.fixture
def vectors() -> dict[str, str]:
    """The values of the page by name, as hexadecimal digits."""
    rows = re.findall(r"^\| ([a-z' ]+) \| `([0-9a-f` ]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: re.sub("[` ]", "", text) for name, text in rows}


HANDSHAKE = """
const [secret, ...nonces] = given;
crypto.getRandomValues = (bytes) => (bytes.set(bytesIn(nonces.shift() ?? "00")), bytes);
const shared = await Key.of(`sateen-key ${secret}\\n`);
const [client, server] = ends();
const [greeted, accepted] = await Promise.all([
  handshake.greet(client.stream, shared), handshake.accept(server.stream, shared),
]);
const start = client.said.length;
await greeted.send({ op: "query" });
await greeted.send({ op: "beat" }, [new Uint8Array(Buffer.from("abc"))]);
const first = await accepted.receive();
const second = await accepted.receive(Infinity, 3);
const [hello, proof, ...frames] = client.said.map(hexadecimal);
answer({
  id: hexadecimal(shared.id), hello, proof, frames, server: hexadecimal(key.joined(...server.said)),
  read: [first.header, second.header, Buffer.from(second.payload).toString()],
});
"""


def test_a_handshake_and_frames_are_the_vectors(vectors: dict[str, str], device_node: Callable[..., object]) -> None:
    told = device_node(HANDSHAKE, vectors["key"], vectors["client's nonce"], vectors["server's nonce"])
    assert told == {
        "id": vectors["key id"],
        "hello": vectors["client's hello"],
        "proof": vectors["client's proof"],
        "server": vectors["server's hello"] + vectors["server's proof"],
        "frames": [vectors["first frame"], vectors["second frame"]],
        "read": [{"op": "query"}, {"op": "beat"}, "abc"],
    }


FRAMES = """
const coder = await Coder.of(new Uint8Array(32));
const pair = () => ends().map(({ stream, said }) => [new Channel(stream, coder, coder), said]);
const sent = async (...headers) => {
  const [[channel, said]] = pair();
  for (const header of headers) await channel.send(header, [Uint8Array.of(1, 2, 3)]);
  return said;
};
const [first, second] = await sent({ op: "one" }, { op: "two" });
const changed = first.slice();
changed[15] ^= 1;
const huge = first.slice();
huge[10] = 1;
const long = first.slice();
long[3] = 1;
const read = (...pieces) => errorOf(async () => {
  const [[sender], [receiver]] = pair();
  for (const piece of pieces) await sender.stream.write(piece, Infinity);
  sender.close();
  while ((await receiver.receive(Infinity, 3)) !== null);
});
answer([
  await read(first, second), await read(first.subarray(0, 9), first.subarray(9)), await read(changed),
  await read(first, first), await read(second), await read(huge), await read(long), await read(first.subarray(0, 30)),
]);
"""


def test_frames_that_are_changed_repeated_left_out_or_too_long(device_node: Callable[..., object]) -> None:
    changed = "SessionProtocolError: expected the next message of the other side, found one changed on its way"
    assert device_node(FRAMES) == [
        "no error",
        "no error",
        changed,
        changed,
        changed,
        "SessionProtocolError: expected a message with a payload of at most 3 bytes, found 281474976710659",
        "SessionProtocolError: expected a message with a header of at most 1048576 bytes, found 16777224",
        "SessionLostError: the other side closed the connection",
    ]


STRANGERS = """
const known = await Key.of("01".repeat(32));
const other = await Key.of("02".repeat(32));
const asClient = (text) => errorOf(async () => {
  const [client, server] = ends();
  await client.stream.write(new Uint8Array(Buffer.from(text.padEnd(84, "?"))), Infinity);
  await handshake.accept(server.stream, known);
});
const [client, server] = ends();
const both = await Promise.all([
  errorOf(() => handshake.greet(client.stream, other).finally(() => client.stream.close())),
  errorOf(() => handshake.accept(server.stream, known)),
]);
const silent = ends();
silent[1].stream.close();
answer([
  await asClient("GET / HTTP/1.1"), await asClient("sateen-rpc\\x02\\x00"), await asClient("sateen-rpc\\x01\\x00"),
  ...both,
  await errorOf(() => handshake.greet(silent[0].stream, known)),
]);
"""


def test_strangers_are_refused(device_node: Callable[..., object]) -> None:
    lost = "SessionLostError: the other side closed the connection"
    assert device_node(STRANGERS) == [
        "SessionRefusedError: expected sateen-rpc at the other end, found something else",
        "SessionVersionError: expected protocol 1, found 2; renew sateen-web here",
        "SessionRefusedError: expected a client with the key of this device, found one without",
        "SessionRefusedError: the other side does not know this key",
        lost,
        lost,
    ]


UNREAD = """
const [one, other] = ends();
for (let i = 0; i < 4; i++) await one.stream.write(new Uint8Array(1 << 20), Infinity);
const flood = await errorOf(() => other.stream.read(8 << 20, Infinity));
const [left, right] = ends();
right.stream.mostUnread = 10;
left.stream.write(Uint8Array.of(1, 2, 3), Infinity);
left.stream.close();
const rest = await right.stream.read(3, Infinity);
const [, silent] = ends();
const late = await errorOf(() => silent.stream.read(1, performance.now() + 10));
const socket = { send() {}, close() {}, bufferedAmount: 1 << 30 };
const full = await errorOf(() => new Stream(socket).write(rest, performance.now() + 10));
const text = new Stream(socket);
socket.onmessage({ data: "text" });
const words = await errorOf(() => text.read(1, Infinity));
answer([flood, [...rest], await right.stream.goesOn(Infinity), late, full, words]);
"""


def test_a_stream_keeps_little_that_nobody_reads(device_node: Callable[..., object]) -> None:
    assert device_node(UNREAD) == [
        "SessionProtocolError: expected at most 2097152 bytes at once, found more",
        [1, 2, 3],
        False,
        "Error: ",
        "Error: ",
        "SessionProtocolError: expected messages of bytes, found one of text",
    ]


MESSAGES = """
const { packed, unpacked } = messages;
const header = {
  op: "é", none: null, yes: true, no: false, small: [0, 127, -1, -32], large: [128, -33, 2 ** 40, -(2 ** 40)],
  half: 0.5, long: "x".repeat(70000), list: Array.from({ length: 20 }, (_, i) => i), within: { a: [{}] },
};
const bad = [
  "90", "c0", "a161", "81a161", "82a16101a16101", "810102", "81a161c1", "81a161d40000", "81a161a2ff", "81a161a1ff",
  "81a161ddffffffff", "81a161" + "91".repeat(9) + "00", "81a16100" + "00",
];
answer([
  JSON.stringify(unpacked(packed(header))) === JSON.stringify(header),
  unpacked(bytesIn(given[0])), String(unpacked(bytesIn("81a161cfffffffffffffffff")).a),
  unpacked(bytesIn("81a95f5f70726f746f5f5f81a16101")).constructor === Object,
  await Promise.all(bad.map((text) => errorOf(() => unpacked(bytesIn(text))))),
]);
"""


def test_headers_are_what_msgpack_says(device_node: Callable[..., object]) -> None:
    packed = pytest.importorskip("msgpack", reason="msgpack is not installed").packb(
        {"a": [1, -200, 70000, 1.5, "x" * 40, None, True, {"b": []}]}
    )
    same, read, large, is_plain, errors = device_node(MESSAGES, packed.hex())  # type: ignore[misc]
    assert (same, large, is_plain) == (True, "18446744073709551615", True)
    assert read == {"a": [1, -200, 70000, 1.5, "x" * 40, None, True, {"b": []}]}
    assert [error.partition(": ")[0] for error in errors] == ["SessionProtocolError"] * 13
    assert errors[-2].endswith("expected lists and maps at most 8 deep in each other, found more")
    assert errors[-1].endswith("expected the end of the header, found 1 bytes more")
