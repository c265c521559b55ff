"""A tracker, a proxy and servers as processes of this machine, which can be killed, stopped, restarted and cut off."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import trustme
from cuttable import CuttableWay

from sateen.rpc import Key, add_key

NAME = "board"
LEASE_SECONDS = 3
START_SECONDS = 60.0


class Process:
    """A verb of `sateen-rpc`, at the port of 127.0.0.1 that it took first, in this or another `python`."""

    def __init__(
        self,
        verb: str,
        key_file: Path,
        folder: Path,
        *options: str,
        port: int = 0,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = {**os.environ, "TMPDIR": str(folder), **(environment or {})}
        self._command = [python, "-m", "sateen.rpc.command", verb, "--key-file", str(key_file), *options]
        self._folder = folder
        folder.mkdir()
        self.port = port
        self.start()

    def start(self) -> None:
        command = [*self._command, "--bind", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environment)
        assert self.process.stdout is not None
        is_told, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline() if is_told else ""
        found = re.search(r":(\d+)$", line.strip())
        if found is None:
            self.kill()
            raise RuntimeError(f"expected the place of {' '.join(command)}, found {line!r}")
        self.port = int(found[1])

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self._finish()

    def end(self) -> int:
        """As a person ends it; gives its exit code."""
        self.process.terminate()
        return self._finish()

    def left(self) -> list[Path]:
        """What it has left in its folder for temporary files."""
        return list(self._folder.iterdir())

    def _finish(self) -> int:
        assert self.process.stdout is not None
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


class Network:
    """A tracker and a proxy, each with a key of its own. All connections are encrypted."""

    def __init__(self, folder: Path) -> None:
        self.key, self.tracker_key, self.proxy_key = keys = Key.new(), Key.new(), Key.new()
        files = [folder / name for name in ("key", "tracker_key", "proxy_key")]
        for key, file in zip(keys, files, strict=True):
            add_key(key, file)
        self.key_file, self.tracker_key_file, self.proxy_key_file = files
        certificate, private, self.authority = (folder / f"{name}.pem" for name in ("certificate", "private", "ca"))
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(private)
        authority.cert_pem.write_to_path(self.authority)
        self.encrypted = ("--tls-cert", str(certificate), "--tls-key", str(private))
        self.tracker = Process("tracker", self.tracker_key_file, folder / "tracker", *self.encrypted)
        self.proxy = Process("proxy", self.proxy_key_file, folder / "proxy", *self.encrypted)


class Board:
    """A server that clients reach by a way that can be cut: to it, or to a proxy at which it waits."""

    def __init__(self, number: int, network: Network, folder: Path, *, is_proxied: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.is_proxied, self._name = is_proxied, f"board{number}"
        self.way = CuttableWay(network.proxy.port if is_proxied else port)
        options = {
            "--store": folder / f"store{number}",
            "--lease-seconds": LEASE_SECONDS,
            "--tracker": f"127.0.0.1:{network.tracker.port}",
            "--tracker-key-file": network.tracker_key_file,
            "--tls-ca": network.authority,
            "--name": NAME,
        }
        way = f"127.0.0.1:{self.way.port}"
        if is_proxied:
            options |= {"--proxy": way, "--proxy-key-file": network.proxy_key_file, "--proxy-name": self._name}
        else:
            options["--advertise"] = way
        words = [*(str(word) for pair in options.items() for word in pair), *network.encrypted]
        self.server = Process("server", network.key_file, folder / self._name, *words, port=port)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.way.port}{f'/{self._name}' if self.is_proxied else ''}"
