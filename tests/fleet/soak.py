"""Ten thousand calls of one session, after which client, server and session have the memory that they had before."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from boards import Process

from sateen.rpc import Key, RemoteSession, add_key
from sateen.tensor_ir import build, te

WARM_CALLS = 1000
MOST_GROWTH = 2 << 20
"""The most bytes that a process may grow after the first calls: less than 200 of each of the ten thousand."""


def resident(process: int) -> int:
    """The bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def children(process: int) -> list[int]:
    listed = (path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return [int(number) for numbers in listed for number in numbers]


def calls_of(session: RemoteSession) -> Callable[[int], None]:
    """A call of each kind: of a function with arrays that are sent, that stay, that are read; of files; of the log."""
    a, b = te.placeholder((64,), name="a"), te.placeholder((64,), name="b")
    c = te.compute((64,), lambda i: a[i] + b[i], name="c")
    add = session.load(build(te.create_schedule(c), [a, b, c], name="add").library())["add"]
    held, one, out = session.empty(64), np.ones(64, np.float32), np.empty(64, np.float32)

    def call(number: int) -> None:
        match number % 5:
            case 0:
                add(one, one, out)
                assert out[0] == 2
            case 1:
                held.copy_from(one)
            case 2:
                add(session.array(one), held, out)
            case 3:
                assert held.numpy()[0] == 1
            case _:
                session.files.put("a", b"b")
                session.log()

    return call


def main() -> None:
    """Calls, and tells how much each process has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="calls (10000)")
    options = parser.parse_args()
    key = Key.new()
    with TemporaryDirectory() as name:
        folder = Path(name)
        add_key(key, folder / "key")
        server = Process("server", folder / "key", folder / "scratch", "--store", str(folder / "store"))
        try:
            with RemoteSession("127.0.0.1", server.port, key) as session:
                (child,) = children(server.process.pid)
                watched = {"client": os.getpid(), "server": server.process.pid, "session": child}
                call = calls_of(session)
                for number in range(WARM_CALLS):
                    call(number)
                gc.collect()
                before = {name: resident(process) for name, process in watched.items()}
                for number in range(options.count):
                    call(number)
                gc.collect()
                grown = {name: resident(process) - before[name] for name, process in watched.items()}
        finally:
            server.end()
    told = ", ".join(f"{name} {size >> 10} KB" for name, size in grown.items())
    assert max(grown.values()) <= MOST_GROWTH, f"expected processes that keep their size, found growth: {told}"
    sys.stdout.write(f"{options.count} calls; growth: {told}\n")


if __name__ == "__main__":
    main()
