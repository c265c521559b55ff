"""A page in Chromium without a window, and a server of pages.

It is driven over two pipes by the DevTools protocol: messages of JSON, each ended by a zero.
"""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

ROOT = Path(__file__).parents[2]
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--remote-debugging-pipe",
)  # fmt: skip
WEBGPU = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")
"""The options with which Chromium has WebGPU on the processor."""
_SECONDS = 60
_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_CALLER_READS, _CALLER_WRITES = 4, 3
"""The descriptors of the protocol, as Chromium has them."""


class Page:
    """A page at an address. Chromium, which has more options than here, ends with it."""

    def __init__(self, program: str, folder: Path, address: str, options: tuple[str, ...] = ()) -> None:
        there_reads, self._to = os.pipe()
        self._from, there_writes = os.pipe()
        joined = f'exec "$0" "$@" {_CALLER_WRITES}<&{there_reads} {_CALLER_READS}>&{there_writes}'
        command = ["bash", "-c", joined, program, *_OPTIONS, *options, f"--user-data-dir={folder}", "about:blank"]
        with (folder / "log").open("wb") as log:
            pipes = (there_reads, there_writes)
            self._process = subprocess.Popen(command, pass_fds=pipes, stdout=log, stderr=log)
        os.close(there_reads)
        os.close(there_writes)
        self._number, self._unread = 0, b""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable", self._session)
        self._call("Page.navigate", self._session, url=address)
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript, awaited if it is a promise."""
        told = self._call(
            "Runtime.evaluate", self._session, expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Returns when an expression holds; fails if it does not within 30 seconds."""
        again = f"""new Promise((done) => {{
          const look = () => ({condition}) ? done(true) : setTimeout(look, 20);
          setTimeout(() => done(false), 30000);
          look();
        }})"""
        assert self.value(again), f"{condition} did not come true: {self.value('document.body.innerText')}"

    def choose_file(self, selector: str, path: Path) -> None:
        """What choosing a file in an input element does."""
        root = self._call("DOM.getDocument", self._session)["root"]["nodeId"]
        node = self._call("DOM.querySelector", self._session, nodeId=root, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", self._session, nodeId=node, files=[str(path)])

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", self._session)["data"])

    def _call(self, method: str, session: str = "", **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]  # type: ignore[no-any-return]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], _SECONDS)
            assert ready, "Chromium does not answer"
            more = os.read(self._from, 1 << 16)
            assert more, "Chromium ended"
            self._unread += more
        first, _, self._unread = self._unread.partition(b"\0")
        return json.loads(first)  # type: ignore[no-any-return]


@pytest.fixture
def open_page(tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page in Chromium, with more options after the address; skipped where Chromium is missing."""
    if _CHROMIUM is None:
        pytest.skip("chromium is not installed")
    program, numbers = _CHROMIUM, count()
    with ExitStack() as stack:

        def opened(address: str, *options: str) -> Page:
            folder = tmp_path / f"chromium{next(numbers)}"  # of its own, or the one that is open answers
            folder.mkdir()
            return stack.enter_context(Page(program, folder, address, options))

        yield opened


@pytest.fixture
def open_webgpu_page(open_page: Callable[..., Page]) -> Callable[[str], Page]:
    """Opens a page in Chromium with WebGPU on the processor; skipped where it has none."""

    def opened(address: str) -> Page:
        page = open_page(address, *WEBGPU)
        if not page.value("navigator.gpu?.requestAdapter().then((adapter) => adapter !== null) ?? false"):
            pytest.skip("this Chromium has no WebGPU on the processor")
        return page

    return opened


class _Isolating(http.server.SimpleHTTPRequestHandler):
    """Serves pages as isolated from other origins, which may share memory, and logs nothing."""

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder with the package, and the address under which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    for part in ("src", "demo"):
        shutil.copytree(ROOT / part, folder / part)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Isolating, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
