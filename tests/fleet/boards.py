"""A tracker and servers as processes of this machine, which can be killed, stopped, restarted and cut off."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from cuttable import CuttableWay

NAME = "board"
LEASE_SECONDS = 3


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
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        if found is None:
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


class Board:
    """A server that clients reach by a way that can be cut."""

    def __init__(self, number: int, key_file: Path, folder: Path, tracker: Process) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.way = CuttableWay(port)
        options = {
            "--store": folder / f"store{number}",
            "--lease-seconds": LEASE_SECONDS,
            "--tracker": f"127.0.0.1:{tracker.port}",
            "--name": NAME,
            "--advertise": f"127.0.0.1:{self.way.port}",
        }
        words = [str(word) for pair in options.items() for word in pair]
        self.server = Process("server", key_file, folder / f"board{number}", *words, port=port)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.way.port}"
