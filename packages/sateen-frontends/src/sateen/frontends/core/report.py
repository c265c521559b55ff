"""The report of everything in a model that can't be compiled: all gaps at once, as data for programs and as text for
people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from sateen.runtime.display import counted, shortened
from sateen.runtime.errors import FrontendError, printable

MOST_KINDS, MOST_NODES = 8, 3
"""The most kinds of gaps, and nodes of one kind, in the text of a report."""
MOST_REASON, MOST_CHARACTERS = 240, 160
"""The most characters of a reason, and of types or of what would help; a model may have names of any length."""


@contextmanager
def in_model(name: str) -> Iterator[None]:
    """Adds the name of the model to errors of reading it."""
    try:
        yield
    except FrontendError as error:
        error.add_note(f"in model {name!r}")
        raise


class UnsupportedError(FrontendError):
    """A node that is well formed but can't be compiled. `help` says what would change that."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.help = remedy


class BehindGapError(UnsupportedError):
    """A node that must know the result of a node that can't be compiled."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A node that can't be compiled. `inputs` are the types of its inputs, if they are known; `domain` and `opset`
    are '' and 0 in formats that have none."""

    node: str
    operator: str
    domain: str
    opset: int
    inputs: tuple[str, ...]
    reason: str
    help: str

    @property
    def qualified_operator(self) -> str:
        return f"{self.domain}.{self.operator}" if self.domain else self.operator


@dataclass(frozen=True, slots=True)
class Report:
    """The parts of a model that can't be compiled. `opsets` are the versions of the operator sets that it names, if
    any. `unchecked` counts nodes that read the results of gaps; only the names of their operators were looked up."""

    model: str
    opsets: Mapping[str, int]
    operators: Mapping[str, int]
    gaps: tuple[Gap, ...]
    unchecked: int

    @property
    def is_supported(self) -> bool:
        return not self.gaps

    @property
    def nodes(self) -> int:
        return sum(self.operators.values())

    def to_json(self) -> dict[str, object]:
        """The report as values that JSON has."""
        return {**asdict(self), "nodes": self.nodes, "supported": self.is_supported}

    @property
    def head(self) -> str:
        """The line that names the model."""
        opsets = ", ".join(f"{printable(domain) or 'ai.onnx'} {version}" for domain, version in self.opsets.items())
        named = f", operator sets {opsets}" if opsets else ""
        return f"model {self.model!r}, {counted(self.nodes, 'node')}{named}"

    def __str__(self) -> str:
        if not self.gaps:
            return f"{self.head}: all nodes can be compiled"
        alike: dict[tuple[str, int, str, str], list[Gap]] = {}
        for gap in self.gaps:
            alike.setdefault((gap.qualified_operator, gap.opset, gap.reason, gap.help), []).append(gap)
        lines = [f"{self.head}: {counted(len(self.gaps), 'node')} can't be compiled"]
        for (operator, opset, reason, remedy), gaps in list(alike.items())[:MOST_KINDS]:
            names = ", ".join(repr(gap.node) for gap in gaps[:MOST_NODES])
            names += f" and {len(gaps) - MOST_NODES} more" if len(gaps) > MOST_NODES else ""
            named = f"{printable(operator)} (opset {opset})" if opset else printable(operator)
            lines.append(f"  {len(gaps)} x {named}: {shortened(reason, MOST_REASON)}")
            lines.append(f"    node {names}; inputs {shortened(', '.join(gaps[0].inputs), MOST_CHARACTERS) or 'none'}")
            lines += [f"    {shortened(remedy, MOST_CHARACTERS)}"] * bool(remedy)
        if len(alike) > MOST_KINDS:
            others = sum(map(len, list(alike.values())[MOST_KINDS:]))
            lines.append(f"  and {others} of {len(alike) - MOST_KINDS} other kinds; `sateen check --json` tells all")
        if self.unchecked:
            lines.append(f"  looked up by name only: {counted(self.unchecked, 'node')} behind these")
        return "\n".join(lines)
