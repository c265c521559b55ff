"""What a session elsewhere costs: `nox -s bench -- remote [--page]`.

A server in a process of its own, on loopback: the round trip of a small call whose arrays stay there, 64 MB sent, and
the same network loaded once more. A time is the median of its samples, with the range between the quartiles as its
spread; the second load is a single one. With --page the part of the page is written.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from page import Figure, write_figures

from sateen.graph_ir import GraphBuilder, ops
from sateen.graph_ir import build as build_network
from sateen.rpc import Key, RemoteSession, add_key
from sateen.tensor_ir import build, te

UPLOAD_BYTES = 64 << 20
CALLS, UPLOADS = 2000, 15


def sampled(call: Callable[[], object], count: int) -> tuple[float, float]:
    """The median of the seconds of a call, and the range between the quartiles; the first call doesn't count."""
    call()
    samples = []
    for _ in range(count):
        start = perf_counter()
        call()
        samples.append(perf_counter() - start)
    lower, _, upper = quantiles(samples, n=4)
    return median(samples), upper - lower


def round_trip(session: RemoteSession) -> Figure:
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] + 1, name="b")
    module = session.load(build(te.create_schedule(b), [a, b], name="increment").library())
    function, given = module["increment"], (session.empty(16), session.empty(16))
    seconds, spread = sampled(lambda: function(*given), CALLS)
    return Figure("round trip of a small call", 200, seconds * 1e6, spread * 1e6, "us", at_most=True)


def upload(session: RemoteSession) -> Figure:
    content = np.random.default_rng(0).bytes(UPLOAD_BYTES)
    seconds, spread = sampled(lambda: session.files.put("content", content), UPLOADS)
    rate = UPLOAD_BYTES / seconds / 1e6
    return Figure("64 MB sent", 500, rate, rate * spread / seconds, "MB/s", f"{seconds * 1e3:.0f} ms")


def second_upload(session: RemoteSession) -> Figure:
    """The bytes that loading a network of 64 MB sends if the server has had it before."""
    builder = GraphBuilder("sum")
    x = builder.input("x", "float32", (UPLOAD_BYTES // 4,))
    p = builder.parameter("p", np.random.default_rng(0).standard_normal(UPLOAD_BYTES // 4, np.float32))
    builder.output(builder.add(ops.Add(), x, p))
    artifact = build_network(builder.finish())
    start = perf_counter()
    session.load_model(artifact).close()
    first = perf_counter() - start
    sent, send = [], session._connection.send

    def recorded(header: dict[str, object], payload: list[bytes], deadline: float | None = None) -> None:
        sent.append(sum(map(len, payload)))
        send(header, payload, deadline)

    session._connection.send = recorded  # type: ignore[method-assign, assignment]
    start = perf_counter()
    session.load_model(artifact).close()
    detail = f"{(perf_counter() - start) * 1e3:.0f} ms, {first * 1e3:.0f} ms at first"
    return Figure("64 MB loaded once more, bytes sent", 0, sum(sent), 0, "", detail, at_most=True)


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        key, key_file = Key.new(), Path(name) / "key"
        add_key(key, key_file)
        command = [sys.executable, "-m", "sateen.rpc.command", "server", "--bind", "127.0.0.1:0"]
        command += ["--key-file", str(key_file), "--store", str(Path(name) / "store")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            found = re.search(r":(\d+)$", server.stdout.readline().strip())
            assert found is not None
            try:
                with RemoteSession("127.0.0.1", int(found[1]), key, seconds=600.0) as session:
                    figures = [round_trip(session), upload(session), second_upload(session)]
            finally:
                server.terminate()
    for figure in figures:
        print(figure.row())
    if options.page:
        write_figures("remote", figures)


if __name__ == "__main__":
    main()
