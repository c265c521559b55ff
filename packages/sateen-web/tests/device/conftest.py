"""What the tests of a page as a device share: programs in Node with the device's modules, and devices at a proxy."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from sateen.rpc import Key, Proxy, RemoteSession

DEVICE = Path(__file__).parents[2] / "src" / "device"
OLDEST_NODE = 22
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


class Device:
    """A device in Node. `changes` are its states so far."""

    def __init__(self, program: str, url: str, options: dict[str, object]) -> None:
        module = (DEVICE / "index.js").as_uri()
        command = [program, str(Path(__file__).with_name("program.mjs")), module, url, json.dumps(options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.changes: list[dict[str, Any]] = []
        self._seen = 0
        self._changed = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # which ends it
        self._listener.join(20)
        assert self._process.wait(20) == 0

    def wait_for(self, **expected: str) -> dict[str, Any]:
        """The next state from the last one found here on that has these values, or begins with them."""

        def fits(change: dict[str, Any]) -> bool:
            found = {name: change.get(name, "") for name in expected}
            return all(found[name].startswith(value) if value else not found[name] for name, value in expected.items())

        def is_there() -> bool:
            while self._seen < len(self.changes) and not fits(self.changes[self._seen]):
                self._seen += 1
            return self._seen < len(self.changes)

        with self._changed:
            assert self._changed.wait_for(is_there, 20), (expected, self.changes)
            return self.changes[self._seen]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._changed:
                    self.changes.append(json.loads(line))
                    self._changed.notify_all()


def address(proxy: Proxy) -> str:
    """Where a page dials a proxy."""
    host, port = proxy.web  # type: ignore[attr-defined]
    return f"ws://{host}:{port}"


@pytest.fixture
def start_device(key: Key, proxy: Proxy) -> Iterator[Callable[..., Device]]:
    """Starts a device named `page` with options of `serve`; skipped where Node is missing."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node is {version.strip()}, and WebSocket is in {OLDEST_NODE} and later")
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            Device(program, address(proxy), {"name": "page", "key": key.secret.hex(), **options})
        )


@pytest.fixture
def open_session(key: Key, proxy: Proxy) -> Iterator[Callable[..., RemoteSession]]:
    """Opens sessions of the device."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            RemoteSession(*proxy.address, **{"key": key, "device": "page", **options})
        )
