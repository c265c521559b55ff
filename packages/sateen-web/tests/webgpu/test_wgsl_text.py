"""Bindings that are merged: a page does what the runtime does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from sateen.graph_ir import build, workloads
from sateen.runtime.devices.wgsl_text import Place, kernels_of

MODULE = Path(__file__).parents[2] / "src" / "webgpu" / "wgsl_text.js"

PROGRAM = """
const { text, cases } = JSON.parse(readFileSync(given[0], "utf-8"));
const kernels = kernelsOf(text);
answer([
  [...kernels.keys()],
  cases.map(({ kernel, places, most }) => {
    const shared = kernels.get(kernel).partition(places, most);
    const listed = shared.map(({ number, isWritten, positions }) => [number, isWritten, positions]);
    return [listed, kernels.get(kernel).merged(shared)];
  }),
]);
"""


def test_a_page_merges_bindings_as_the_runtime_does(node: Callable[..., object], tmp_path: Path) -> None:
    text = build(workloads.lstm(), "webgpu").kernels.decode()
    kernels, drawn = kernels_of(text), random.Random(0)
    cases, expected = [], []
    for kernel in [*kernels.values()] * 8:
        begins = [(drawn.randrange(3), drawn.randrange(8)) for _ in kernel.bindings]
        places = [Place(memory, begin, begin + drawn.randrange(1, 6)) for memory, begin in begins]
        most = drawn.randrange(1, 5)
        shared = kernel.partition(places, most)
        listed = [{"memory": p.memory, "begin": p.begin, "end": p.end} for p in places]
        cases.append({"kernel": kernel.name, "places": listed, "most": most})
        expected.append([[[s.number, s.is_written, [*s.positions]] for s in shared], kernel.merged(shared)])
    assert len({str(one) for one, _ in expected}) > 8  # which differ
    (tmp_path / "cases").write_text(json.dumps({"text": text, "cases": cases}), encoding="utf-8")
    names, found = node(f"import {{ kernelsOf }} from {json.dumps(MODULE.as_uri())};" + PROGRAM, tmp_path / "cases")  # type: ignore[misc]
    assert names == [*kernels]
    assert found == expected
