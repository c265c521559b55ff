"""A connection that can be cut: it copies bytes between those who come and a server, until it is told not to."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Lock, Thread


class CuttableWay:
    """Listens at `port`, one that is free, and connects whoever comes to `target`. While it is cut, nobody gets
    through, and who was connected is not any more."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        Thread(target=self._serve, daemon=True).start()

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self._target), 5)
            except OSError:
                one.close()
                continue
            with self._lock:
                if not self._is_cut:
                    self._open |= {one, other}
                    Thread(target=self._join, args=(one, other), daemon=True).start()
                    continue
            one.close()
            other.close()

    def _join(self, one: socket.socket, other: socket.socket) -> None:
        back = Thread(target=_copy, args=(other, one), daemon=True)
        back.start()
        _copy(one, other)
        back.join()
        with self._lock:
            self._open -= {one, other}
        one.close()
        other.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        source.settimeout(None)
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
