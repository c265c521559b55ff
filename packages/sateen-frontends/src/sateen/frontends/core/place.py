"""The place of a model's nodes: the graph that they become part of, and the meaning of names there."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.core.emitter import Emitter
from sateen.frontends.core.operands import Operand
from sateen.graph_ir.ir import NodeSpan


@dataclass(frozen=True, slots=True)
class Unknown:
    """The result of a gap, or of a node after one. `reason` says of a result that its node does not have what is wrong;
    it is an error only where the result is read."""

    reason: str = ""


UNKNOWN = Unknown()
Scope = ChainMap[str, Operand | Unknown | None]
"""The operands that names stand for; None: an optional input of a function that its call leaves out."""


@dataclass(frozen=True, slots=True)
class Place:
    """The graph that nodes become part of, and the function or branch that contains them, if any.

    `names` maps the names of results in a branch or function to those of the node that contains it. `spans` are those
    of another node that these nodes stand for. A trial raises a gap, which is reported elsewhere. `remedy` says what
    helps with all gaps there. `opsets` are the versions of the operator sets there, in formats that have them.
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
        """Whether the nodes are in a function body or a branch, whose names are not the model's."""
        return bool(self.spans)

    def name_of(self, result: str) -> str:
        """The name of a node's result in the graph."""
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
    """The parts of a node that every format has: its name, its operator, and the names of its inputs and outputs; ''
    stands for an absent one. `domain` and `opset` name its set of operators, in formats that have several."""

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
    """A node whose inputs are known: its operands, and the names of its results in the graph."""

    heading: Heading
    inputs: tuple[Operand | None, ...]
    outputs: tuple[str, ...]
    spans: tuple[NodeSpan, ...]
    scope: Scope
    place: Place
