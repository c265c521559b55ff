"""What the tests of a page as a device share: programs in Node with the device's modules, and ends of streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

DEVICE = Path(__file__).parents[2] / "src" / "device"
MODULES = ("channel", "errors", "handshake", "key", "messages", "stream")

ENDS = """
// Two streams, each with what it has sent; bytes go from one to the other.
const ends = () => {
  const socket = () => ({
    bufferedAmount: 0,
    said: [],
    send(bytes) {
      const sent = bytes.slice();
      this.said.push(sent);
      queueMicrotask(() => this.other.onmessage({ data: sent.buffer }));
    },
    close() {
      queueMicrotask(() => this.other.onclose());
    },
  });
  const sockets = [socket(), socket()];
  sockets.forEach((one, i) => (one.other = sockets[1 - i]));
  return sockets.map((one) => ({ stream: new Stream(one), said: one.said }));
};
const hexadecimal = (bytes) => Buffer.from(bytes).toString("hex");
const bytesIn = (text) => new Uint8Array(Buffer.from(text, "hex"));
"""


@pytest.fixture
def device_node(node: Callable[..., object]) -> Callable[..., object]:
    """Runs a program in Node as `node` does, with the names of the device's modules."""
    imports = [f"import * as {name} from {json.dumps((DEVICE / f'{name}.js').as_uri())};" for name in MODULES]
    names = "const { Stream, DeadlineError } = stream; const { Channel } = channel; const { Key, Coder } = key;"
    prologue = "\n".join([*imports, names, ENDS])
    return lambda program, *arguments: node(prologue + program, *arguments)
