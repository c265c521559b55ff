"""Bindings that are merged: a page does what the runtime does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from sateen.graph_ir import OPS, Graph, build, parse_graph, workloads
from sateen.runtime.devices.wgsl_text import Place, kernels_of

MODULE = Path(__file__).parents[2] / "src" / "webgpu" / "wgsl_text.js"

PROGRAM = """
const { text, cases } = JSON.parse(readFileSync(given[0], "utf-8"));
const kernels = kernelsOf(text);
answer([
  [...kernels.keys()],
  cases.map(({ kernel, places, most, window }) => {
    const shared = kernels.get(kernel).partition(places, most, window);
    const listed = shared.map(({ numbers, isWritten, positions }) => [numbers, isWritten, positions]);
    return [listed, kernels.get(kernel).merged(shared, window)];
  }),
]);
"""


TYPES = """
graph types
  input %a: int8[30]
  input %b: int64[20]
  input %i: int64[5]
  %c = add(%a, %a)
  %d = gather(%b, %i) {axis=0}
  output %c
  output %d
"""


@pytest.mark.parametrize("graph", [workloads.lstm(), parse_graph(TYPES, OPS)], ids=["lstm", "types"])
def test_a_page_merges_bindings_as_the_runtime_does(graph: Graph, node: Callable[..., object], tmp_path: Path) -> None:
    """In random places, of which some overlap and some are larger than a binding may be."""
    text = build(graph, "webgpu").kernels.decode()
    kernels, drawn = kernels_of(text), random.Random(0)
    cases, expected = [], []
    for kernel in [*kernels.values()] * 8:
        begins = [(drawn.randrange(3), 4 * drawn.randrange(8)) for _ in kernel.bindings]
        places = [Place(memory, begin, begin + 4 * drawn.randrange(1, 6)) for memory, begin in begins]
        most, window = drawn.randrange(1, 5), 4 * drawn.randrange(2, 8)
        shared = kernel.partition(places, most, window)
        listed = [{"memory": p.memory, "begin": p.begin, "end": p.end} for p in places]
        cases.append({"kernel": kernel.name, "places": listed, "most": most, "window": window})
        merged = kernel.merged(shared, window)
        expected.append([[[[*s.numbers], s.is_written, [*s.positions]] for s in shared], merged])
    assert len({str(one) for one, _ in expected}) > 8  # which differ
    assert any("sateen_window1_" in merged for _, merged in expected)
    (tmp_path / "cases").write_text(json.dumps({"text": text, "cases": cases}), encoding="utf-8")
    program = f"import {{ kernelsOf }} from {json.dumps(MODULE.as_uri())};" + PROGRAM
    names, found = node(program, tmp_path / "cases")  # type: ignore[misc]
    assert names == [*kernels]
    assert found == expected
