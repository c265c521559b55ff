"""Changes graphs by copying them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sateen.graph_ir.ir.builder import GraphBuilder
from sateen.graph_ir.ir.graph import Array, Graph, Node, NodeSpan, Value, infer_at
from sateen.graph_ir.ir.types import TensorType
from sateen.runtime.device import Device
from sateen.topi.methods import Method
from sateen.topi.operators import Operator


class GraphRewriter:
    """Copies a graph while changing it: walk the nodes, `keep`, `replace` or `insert`, then `finish`.

    `value(v)` is the value in the new graph that stands for `v` of the old one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = GraphBuilder(graph.name)
        self._values: dict[Value, Value] = {}
        self.changed = False
        self.builder.reserve(graph)
        self._reads: dict[Value, int] = dict.fromkeys(graph.outputs, 1)
        for node in graph.nodes:
            for operand in node.inputs:
                if operand is not None:
                    self._reads[operand] = self._reads.get(operand, 0) + 1
        for v in graph.inputs:
            self._values[v] = self.builder.declare(v)
        for v, data in graph.parameters.items():
            self._values[v] = v
            self.builder.keep_parameter(v, data)

    def value(self, v: Value) -> Value:
        return self._values[v]

    def values(self, inputs: Iterable[Value | None]) -> tuple[Value | None, ...]:
        return tuple(None if v is None else self._values[v] for v in inputs)

    def keep(self, node: Node) -> None:
        """The node as it is, on the new values; types and devices are inferred again if those of its inputs changed."""
        values = self._values
        if all(v is None or values[v] is v for v in node.inputs):
            self.builder.append(node)
            values.update(zip(node.outputs, node.outputs, strict=True))
            return
        inputs = self.values(node.inputs)
        pairs = [(a, b) for a, b in zip(inputs, node.inputs, strict=True) if a is not None and b is not None]
        same_types = all(a is b or a.type == b.type for a, b in pairs)
        if same_types and all(a is b or a.device == b.device for a, b in pairs):
            self.put(node, inputs, node.outputs)
            return
        inferred = infer_at(node.op, inputs, node.spans)
        outputs = tuple(
            _inferred(o, o.type if same_types else t, device)
            for o, (t, device) in zip(node.outputs, inferred, strict=True)
        )
        self.put(node, inputs, outputs)

    def insert(
        self,
        op: Operator,
        *inputs: Value | None,
        name: str = "",
        spans: tuple[NodeSpan, ...] = (),
        method: Method | None = None,
    ) -> Value:
        """A new node with one output, on values of the new graph."""
        self.changed = True
        return self.builder.add(op, *inputs, name=name, spans=spans, method=method)

    def insert_all(
        self, op: Operator, *inputs: Value | None, names: Sequence[str] = (), spans: tuple[NodeSpan, ...] = ()
    ) -> tuple[Value, ...]:
        """A new node on values of the new graph; gives a value per output."""
        self.changed = True
        return self.builder.add_all(op, *inputs, names=names, spans=spans)

    def parameter(self, name: str, data: Array, device: Device) -> Value:
        """A new constant in memory of a device."""
        self.changed = True
        return self.builder.parameter(name, data, device)

    def put(self, node: Node, inputs: tuple[Value | None, ...], outputs: tuple[Value, ...]) -> None:
        """The node with other inputs and outputs, values of the new graph."""
        self.changed = True
        self.builder.append(replace(node, inputs=inputs, outputs=outputs))
        self._bind(node.outputs, outputs)

    def replace(self, node: Node, *values: Value) -> None:
        """Drop the node; new values stand for its outputs.

        An output of the graph must be a separate value that a node computes: if one of `values` can't become that, the
        node stays.
        """
        taken = {self._values[v] for v in self.graph.outputs if v in self._values}
        given = {*self.graph.inputs, *(v for v in values if self.builder.constant(v) is not None)}
        if any(
            o in self.graph.outputs and (v in taken or v in given) for o, v in zip(node.outputs, values, strict=True)
        ):
            self.keep(node)
            return
        self.changed = True
        self._bind(node.outputs, values)

    def constant(self, v: Value | None) -> Array | None:
        """The data of a value of the new graph, if it is a parameter."""
        return None if v is None else self.builder.constant(v)

    def producer(self, v: Value | None) -> Node | None:
        """The node of the new graph that computes a value of it."""
        return None if v is None else self.builder.producer(v)

    def is_shared(self, v: Value) -> bool:
        """Whether a value of the new graph stands for values with several readers, or is both read and an output."""
        return self._reads.get(v, 0) > 1

    def fold(self, node: Node, data: Sequence[Array]) -> None:
        """Drop the node; parameters of the names and types of its outputs hold its results.

        A node that computes an output of the graph stays.
        """
        if any(v in self.graph.outputs for v in node.outputs):
            self.keep(node)
            return
        self.changed = True
        self._bind(node.outputs, node.outputs)
        for v, array in zip(node.outputs, data, strict=True):
            self.builder.keep_parameter(v, array)

    def stand_for(self, old: Value, new: Value) -> None:
        """Let another value of the new graph stand for an input or a parameter."""
        self.changed = True
        self._bind((old,), (new,))

    def _bind(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        for o, n in zip(old, new, strict=True):
            self._values[o] = n
            if n is not o:
                self._reads[n] = self._reads.get(n, 0) + self._reads.get(o, 0)

    def finish(self) -> Graph:
        """The new graph, whose outputs have the names of the old ones; or the old one if nothing changed."""
        if not self.changed:
            return self.graph
        self.builder.output(*(self._values[v] for v in self.graph.outputs))
        for output, input_ in self.graph.aliases.items():
            self.builder.alias(self._values[output], self._values[input_])
        names = {self._values[v]: v.name for v in self.graph.outputs if self._values[v].name != v.name}
        return _renamed(self.builder.finish(), names) if names else self.builder.finish()


def _inferred(value: Value, type_: TensorType, device: Device) -> Value:
    same = (value.type, value.device) == (type_, device)
    return value if same else replace(value, type=type_, device=device)


def _renamed(graph: Graph, names: Mapping[Value, str]) -> Graph:
    new = {v: replace(v, name=name) for v, name in names.items()}
    nodes = tuple(
        replace(n, inputs=tuple(v and new.get(v, v) for v in n.inputs), outputs=tuple(new.get(v, v) for v in n.outputs))
        if not new.keys().isdisjoint((*n.inputs, *n.outputs))
        else n
        for n in graph.nodes
    )
    outputs = tuple(new.get(v, v) for v in graph.outputs)
    aliases = {new.get(v, v): source for v, source in graph.aliases.items()}
    labels = {new.get(v, v).name: graph.labels[v.name] for v in graph.outputs if v.name in graph.labels}
    return Graph(graph.name, graph.inputs, graph.parameters, nodes, outputs, aliases, labels)
