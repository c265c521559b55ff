"""The child process of a local session."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from sateen.runtime.framing import JsonConnection
from sateen.runtime.limits import limit_memory
from sateen.runtime.sessions.service import SessionService

_MESSAGE_BYTES = 1 << 36


def main(arguments: Sequence[str]) -> None:
    """Serves requests from the socket of that descriptor until it closes:

    `DESCRIPTOR FOLDER SECONDS MEMORY_BYTES`, 0 for no limit.
    """
    descriptor, folder, seconds, memory_bytes = int(arguments[0]), Path(arguments[1]), *map(float, arguments[2:])
    if memory_bytes:
        limit_memory(int(memory_bytes))
    with socket.socket(fileno=descriptor) as opened:
        connection = JsonConnection(opened)
        connection.send({})
        store = folder / "store"
        store.mkdir()
        SessionService(connection, store, folder, seconds, _MESSAGE_BYTES).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
