"""Structural equality of graphs: whether two graphs compute the same values in the same way."""

from __future__ import annotations

import hashlib
from itertools import zip_longest

from sateen.graph_ir.ir.graph import Graph
from sateen.graph_ir.ir.text import canonical_text, format_graph


def structural_equal(a: Graph, b: Graph, *, names: bool = False) -> bool:
    """Whether two graphs are equal except for names and spans; with `names`, whether names and spans are equal, too."""
    return why_different(a, b, names=names) is None


def why_different(a: Graph, b: Graph, *, names: bool = False) -> str | None:
    """The first line that differs, as `line 3: … against …` in the names of the graphs; None if no line differs."""
    own = [format_graph(g).splitlines() for g in (a, b)]
    compared = own if names else [canonical_text(g).splitlines() for g in (a, b)]
    for number, (x, y) in enumerate(zip_longest(*compared)):
        if x != y:
            one, other = (lines[number].strip() if number < len(lines) else "the end" for lines in own)
            return f"line {number + 1}: {one} against {other}"
    return None


def structural_key(graph: Graph) -> str:
    """A SHA-256 that is equal for structurally equal graphs: it does not depend on names and spans."""
    return hashlib.sha256(canonical_text(graph).encode()).hexdigest()
