"""Graphs within a node: the branches of an If, the body of a loop. Each becomes a separate graph, or part of the graph
around it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from sateen.frontends.core.emitter import Emitter
from sateen.frontends.core.importer import Importer, P
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.place import Call, Place, Scope, Unknown
from sateen.graph_ir.ir import Array, Graph, NodeSpan, TensorType, Value
from sateen.graph_ir.ops import Identity
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


@dataclass(frozen=True, slots=True)
class Subgraph(Generic[P]):
    """A graph within a node, as in the file. `names` are the names of all values that it defines, `reads` those that
    its nodes and outputs read, and `data` holds the data of its constants."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: Sequence[P]
    names: Sequence[str]
    reads: Sequence[str]
    data: Callable[[], Mapping[str, Array]]


@dataclass(slots=True, eq=False)
class Body(Generic[P]):
    """A graph within a node while it is read. `inputs` are those that the node itself gives, `captured` maps values
    around the node to the inputs that stand for them."""

    graph: Subgraph[P]
    emitter: Emitter
    outer: Emitter
    spans: tuple[NodeSpan, ...]
    inputs: list[Value] = field(default_factory=list)
    captured: dict[Value, Value] = field(default_factory=dict)

    def input(self, name: str, type_: TensorType) -> Value:
        self.inputs.append(self.emitter.inner_input(name, type_))
        return self.inputs[-1]

    def capture(self, value: Value) -> Value:
        if value not in self.captured:
            self.captured[value] = self.emitter.inner_input(value.name, value.type, self.outer.decided_by(value))
            if self.outer.is_behind_gap(value):
                self.emitter.mark_stand_in(self.captured[value])
        return self.captured[value]

    def constant(self, data: Array) -> Value:
        return self.emitter.value(data, "constant")

    def add(self, op: Operator, *inputs: Value) -> Value:
        """A node of ours."""
        return self.emitter.add(op, inputs, (self.emitter.beside(op.op_name()),), self.spans)[0]

    def read_with(self, results: Sequence[Operand]) -> list[Value]:
        """The values around the node that its body reads, or that are among the results."""
        read = {v for node in self.emitter.finish().nodes for v in node.inputs}
        read.update(result for result in results if isinstance(result, Value))
        return [outer for outer, inner in self.captured.items() if inner in read]

    def finish(self, results: Sequence[Operand], captured: Sequence[Value]) -> Graph:
        """The graph that gives the results, each by a node of its own, and captures these values in this order."""
        computed = set(self.emitter.finish().producers())
        for result in results:
            value = result if isinstance(result, Value) else self.constant(result)
            if value not in computed:
                value = self.add(Identity(), value)
            computed.discard(value)
            self.emitter.output(value)
        inputs = (*self.inputs, *map(self.capture, captured))
        return replace(self.emitter.finish(), inputs=inputs)


@dataclass(frozen=True, slots=True)
class Bodies(Generic[P]):
    """Reads the graphs within one node."""

    importer: Importer[P]
    call: Call

    def open(self, graph: Subgraph[P]) -> Body[P]:
        """A body of which no node is read yet."""
        emitter = self.importer.emitter_of(graph.name or "body", graph.names, graph.outputs)
        return Body(graph, emitter, self.call.place.emitter, self.call.spans)

    def read(
        self, body: Body[P], given: Mapping[str, Operand], *, is_trial: bool = False, remedy: str = ""
    ) -> list[Operand] | None:
        """The outputs of a body whose inputs are `given`; None after a gap. A trial raises a gap instead. `remedy` says
        what else would help with a gap."""
        outer = self.call.place
        inside: Scope = ChainMap({})
        for name in dict.fromkeys(body.graph.reads):
            if name in self.call.scope:
                operand = self.call.scope[name]
                inside[name] = body.capture(operand) if isinstance(operand, Value) else operand
        inside.update(given)
        self.importer.require_depth(outer)
        place = replace(
            outer,
            emitter=body.emitter,
            names={},
            depth=outer.depth + 1,
            is_trial=is_trial or outer.is_trial,
            remedy=remedy or outer.remedy,
        )
        return self._read(body.graph, inside, place)

    def take(self, graph: Subgraph[P]) -> list[Operand] | None:
        """The outputs of a branch whose nodes replace the node; None after a gap."""
        return self._read(graph, self.call.scope.new_child(), self.importer.inside(self.call, graph.outputs))

    def inline(self, graph: Subgraph[P], given: Mapping[str, Operand], name: str) -> list[Operand] | None:
        """The outputs of a graph whose nodes are put beside the node, with names below `name`; None after a gap."""
        prefix = f"{next((n for n in self.call.outputs if n), 'body')}/{name}"
        place = replace(self.importer.inside(self.call, ()), prefix=prefix)
        return self._read(graph, self.call.scope.new_child(dict(given)), place)

    def _read(self, graph: Subgraph[P], scope: Scope, place: Place) -> list[Operand] | None:
        scope.update(graph.data())
        self.importer.read(graph.nodes, scope, place)
        results = [present(scope, name) for name in graph.outputs]
        known = [result for result in results if not isinstance(result, Unknown)]
        return known if len(known) == len(results) else None


def present(scope: Scope, name: str) -> Operand | Unknown:
    """The result of a body under a name. Raises FrontendError if there is none."""
    operand = scope.get(name)
    if operand is None:
        raise FrontendError(f"the body computes no {name!r}")
    return operand
