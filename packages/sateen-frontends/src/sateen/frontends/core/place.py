"""Where the nodes of a model stand: the graph that they become part of, and what names stand for there."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.core.emitter import Emitter
from sateen.frontends.core.operands import Operand
from sateen.graph_ir.ir import NodeSpan


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a gap, or a node behind one, would compute."""


UNKNOWN = Unknown()
Scope = ChainMap[str, Operand | Unknown | None]
"""What names stand for; None: an optional input of a function that its call leaves out."""


@dataclass(frozen=True, slots=True)
class Place:
    """The graph that nodes become part of, and what holds them if not the main graph itself.

    `names` are what a branch or function calls its results and what the node that holds it calls them. `spans` are of
    the node that they stand for where that is another one. A trial raises a gap, which is reported elsewhere. `remedy`
    is what helps with all gaps there. `opsets` are the versions of the operator sets that hold there, in formats that
    have such.
    """

    emitter: Emitter
    opsets: Mapping[str, int] = field(default_factory=dict)
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    spans: tuple[NodeSpan, ...] = ()
    depth: int = 0
    is_trial: bool = False
    remedy: str = ""

    @property
    def is_inner(self) -> bool:
        """Whether the nodes stand in a function body or a branch, whose names are not the model's."""
        return bool(self.spans)

    def name_of(self, result: str) -> str:
        """What a node's result is called in the graph."""
        if result in self.names:
            return self.names[result]
        return self.emitter.beside(f"{self.prefix}/{result}") if result and self.is_inner else result

    def inside(
        self, names: Sequence[str], results: Sequence[str], spans: tuple[NodeSpan, ...], opsets: Mapping[str, int]
    ) -> Place:
        """The place inside a node whose outputs are called `names` outside and `results` inside."""
        first = next((name for name in names if name), "body")
        named = {inner: name for inner, name in zip(results, names, strict=False) if name}
        return replace(self, opsets=opsets, prefix=first, names=named, spans=spans, depth=self.depth + 1)


@dataclass(frozen=True, slots=True)
class Heading:
    """A node as every format has it: its name, its operator, and the names of what it reads and gives; '' stands for
    what is absent. `domain` and `opset` say which set of operators it is of, in formats that have several."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    opset: int = 0

    @property
    def qualified_operator(self) -> str:
        return f"{self.domain}.{self.operator}" if self.domain else self.operator


@dataclass(frozen=True, slots=True)
class Call:
    """A node whose inputs are known: what it reads, and what its results are called in the graph."""

    heading: Heading
    inputs: tuple[Operand | None, ...]
    outputs: tuple[str, ...]
    spans: tuple[NodeSpan, ...]
    scope: Scope
    place: Place
