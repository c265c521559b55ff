"""What clients have sent stays for the next one, within a limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

STORE = (Path(__file__).parents[2] / "src" / "device" / "store.js").as_uri()
PROGRAM = """
import { createHash } from "node:crypto";
const digestOf = (bytes) => createHash("sha256").update(bytes).digest("hex");
const store = new Store(250);
const contents = [1, 2, 3].map((value) => new Uint8Array(100).fill(value));
const digests = contents.map(digestOf);
const kept = () => digests.map((digest) => store.content(digest)?.[0] ?? null);
await store.keep(digests[0], contents[0]);
await store.keep(digests[1], contents[1]);
store.content(digests[0]);
await store.keep(digests[2], contents[2]);
const first = kept();
await store.keep(digestOf(new Uint8Array(300)), new Uint8Array(300));
answer([first, kept(), await errorOf(() => store.keep(digests[0], contents[1])), store.content({}) ?? null]);
"""


def test_what_was_not_used_for_longest_makes_room(node: Callable[..., object]) -> None:
    first, second, wrong, unknown = node(f"import {{ Store }} from {json.dumps(STORE)};{PROGRAM}")  # type: ignore[misc]
    assert first == [1, None, 3]
    assert second == [None, None, None]
    assert wrong == "ArgumentError: expected content of the digest that was told, found other content"
    assert unknown is None
