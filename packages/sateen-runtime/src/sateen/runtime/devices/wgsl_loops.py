"""Short loops of WGSL, unrolled for a driver that ends loops which take long (docs/targets.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LOOP = re.compile(r"^(\s*)for \(var (\w+): i32 = (-?\d+); \2 < (-?\d+); \2\+\+\) \{$")
_ANY_LOOP = re.compile(r"^\s*(for|while|loop)\b")
_SHORT, _MOST_COPIES = 8, 64
"""As the compiler counts that tells how many iterations are left (`codegen.wgsl.iterations` of sateen.tensor_ir)."""


def unroll(text: str) -> str:
    """The text with the statements of short loops written out.

        for (var i: i32 = 0; i < 2; i++) {        {
          y[i] = x[i];                              var i: i32 = 0;
        }                                    =>     y[i] = x[i];
                                                  }
                                                  { var i: i32 = 1; ...

    A loop is short if it has at most 8 iterations, none that is not short within, and gives at most 64 copies.
    """
    lines, _ = _unrolled(text.split("\n"))
    return "\n".join(lines)


def _unrolled(lines: Sequence[str]) -> tuple[list[str], int | None]:
    """The lines, and the most copies of a statement among them; None if loops are left."""
    made: list[str] = []
    copies: int | None = 1
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not _ANY_LOOP.match(line):
            made.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        end = lines.index(f"{indent}}}", place)
        body, inner = _unrolled(lines[place:end])
        place = end + 1
        loop = _LOOP.match(line)
        times = range(int(loop[3]), int(loop[4])) if loop is not None else range(_SHORT + 1)
        if loop is not None and inner is not None and len(times) <= _SHORT and len(times) * inner <= _MOST_COPIES:
            for i in times:
                made += [f"{indent}{{", f"{indent}  var {loop[2]}: i32 = {i};", *body, f"{indent}}}"]
            copies = None if copies is None else max(copies, max(len(times), 1) * inner)
        else:
            made += [line, *body, f"{indent}}}"]
            copies = None
    return made, copies
