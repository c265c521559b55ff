"""The page of a device in Chromium: a client compiles for it, runs there, and the page says what happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from sateen.graph_ir import build, workloads
from sateen.rpc import Key, Proxy, RemoteSession, query
from sateen.runtime import load

START = """
for (const [name, value] of Object.entries({ url: 'URL', key: 'KEY' })) document.getElementById(name).value = value;
document.getElementById('start').click();
"""


def test_a_page_is_a_device(
    site: tuple[Path, str],
    open_page: Callable[[str], Any],
    proxy: Proxy,
    key: Key,
) -> None:
    page = open_page(f"{site[1]}/demo/device.html?name=browser")
    host, port = proxy.web  # type: ignore[attr-defined]

    def start(text: str) -> None:
        page.value(START.replace("URL", f"ws://{host}:{port}").replace("KEY", text))

    def wait_for(state: str, said: str = "") -> None:
        page.wait_for(
            f"document.getElementById('state').textContent.startsWith('{state}') && "
            f"document.getElementById('said').textContent.includes('{said}')"
        )

    start("no key")
    wait_for("closed", "expected a key, as `sateen rpc key` writes it, found other text")
    start(Key.new().secret.hex())
    wait_for("connecting", "the other side does not know this key")
    page.value("document.getElementById('start').click()")
    wait_for("closed")
    start(key.secret.hex())
    wait_for("waiting")

    graph, data = workloads.mlp(), np.random.default_rng(0).random((1, 784), np.float32)
    with RemoteSession(*proxy.address, key, device="browser") as session:
        wait_for("held by ")
        info = session.info()
        assert info["target"].endswith("-mattr=+atomics,+simd128")
        assert "Chrome" in info["versions"]["engine"]
        model = session.load_model(build(graph, info["target"]), threads=2)
        with load(build(graph)) as here:
            expected = here.run({"data": data})[0].numpy()
        np.testing.assert_allclose(model.run({"data": data})[0].numpy(), expected, rtol=1e-4, atol=1e-6)
        assert model.time({"data": data}, repeat=2, min_seconds=1e-3).median > 0
    wait_for("waiting")
    page.value("document.getElementById('start').click()")
    wait_for("closed")
    while query(*proxy.address, key)["devices"]:
        sleep(0.02)
