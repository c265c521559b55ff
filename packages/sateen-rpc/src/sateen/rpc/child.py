"""The process of a remote session: it has the client's connection from the server, and answers on it."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from threading import Thread

from sateen.rpc.wire import Channel
from sateen.runtime import SessionService
from sateen.runtime.limits import limit_memory

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serves requests until the client or the server is gone. Standard input has a line of JSON: the descriptor of the
    connection, its state, folders and limits; its end is that of the server."""
    given = json.loads(sys.stdin.readline())
    _die_with_server()
    if given["memory_bytes"]:
        limit_memory(given["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["disk_bytes"], given["disk_bytes"]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows beyond the limit is an error of writing
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    scratch, store = Path(given["scratch"]), Path(given["store"])
    with socket.socket(fileno=given["descriptor"]) as connection:
        channel = Channel.resumed(connection, given["state"])
        channel.send({})
        SessionService(channel, store, scratch, given["seconds"], given["message_bytes"]).serve()


def _die_with_server() -> None:
    """Dies when the server does, even in compiled code: by the system where it can say so, otherwise by a thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    Thread(target=_wait_for_server, daemon=True).start()


def _wait_for_server() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
