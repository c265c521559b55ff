"""Graphs: a flat tuple of nodes over named values, in topological order, immutable.

    graph = inputs, parameters (values with data), nodes, outputs, aliases
    node  = outputs <- op(inputs)

A graph is made by a GraphBuilder and changed only by copying through a Rewriter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sateen.graph_ir.types import TensorType
from sateen.runtime.display import counted, html_table, named, shortened, size
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir import Machine
from sateen.topi import contract
from sateen.topi.contract import require_class
from sateen.topi.layout import View
from sateen.topi.operator import Computation, LayoutChoice, Method, Operator

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor in a graph. Identity is the object; names are unique within a graph."""

    name: str
    type: TensorType

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"Value({shortened(str(self))}: {self.type})"


@dataclass(frozen=True, slots=True)
class NodeSpan:
    """Where a node came from: the user's model, the node's name there and its operator."""

    model: str
    node: str
    operator: str

    def __str__(self) -> str:
        model = f" of model {self.model!r}" if self.model else ""
        return f"node {self.node!r} ({self.operator}){model}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One application of an operator. An absent optional input is None."""

    op: Operator
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    spans: tuple[NodeSpan, ...] = ()
    method: Method | None = None
    """How it is computed, where that was chosen."""

    def __repr__(self) -> str:
        outputs = named([f"{v}: {v.type}" for v in self.outputs])
        return f"Node({outputs} = {self.op.op_name()}({named([v or 'none' for v in self.inputs])}))"

    @property
    def input_types(self) -> tuple[TensorType, ...]:
        """The types of the inputs that are present."""
        return tuple(v.type for v in self.inputs if v is not None)

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The types of the outputs."""
        return tuple(v.type for v in self.outputs)

    def computation(self, inputs: Sequence[View | None]) -> Computation:
        """What it computes of views of its inputs, as its method says, its outputs in the layouts of their types."""
        return contract.compute(self.op, inputs, self.output_types, self.method)

    def layouts(self, inputs: Sequence[TensorType], machine: Machine) -> Iterable[LayoutChoice]:
        """The layouts in which it can run, best first, for inputs in the layouts that they have."""
        if self.method is None:
            return self.op.layouts(inputs, self.output_types, machine)
        return self.op.layouts_by(self.method, inputs, self.output_types, machine)

    def operations(self) -> int:
        """Floating-point operations of the definition (`Operator.operations`). Requires static types."""
        return self.op.operations(self.input_types, self.output_types)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A network. `parameters` are constants; `aliases` maps an output to the input whose memory it may reuse."""

    name: str
    inputs: tuple[Value, ...]
    parameters: Mapping[Value, Array]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    aliases: Mapping[Value, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        from sateen.graph_ir.text import format_graph  # the text form knows graphs, so it imports this module

        return format_graph(self)

    def to_svg(self) -> str:
        """The graph drawn as SVG: a box per operator, a frame around what is fused, edges with the types of values."""
        from sateen.graph_ir.drawing import draw  # a drawing has the text of nodes, which knows graphs

        return draw(self)

    def __repr__(self) -> str:
        given, made = (named([f"{v.name}: {v.type}" for v in values]) for values in (self.inputs, self.outputs))
        held = f"{counted(len(self.nodes), 'node')}, parameters {size(self.parameter_bytes)}"
        return f"Graph({shortened(self.name)}: {given} -> {made}; {held})"

    def _repr_html_(self) -> str:
        facts = {
            "inputs": named([f"{v.name}: {v.type}" for v in self.inputs]),
            "outputs": named([f"{v.name}: {v.type}" for v in self.outputs]),
            "parameters": f"{len(self.parameters)}, {size(self.parameter_bytes)}",
        }
        rows = [
            (
                node.op.op_name(),
                named([v.name for v in node.outputs]),
                named([v.type for v in node.outputs]),
                named([v.name if v else "none" for v in node.inputs]),
            )
            for node in self.nodes
        ]
        return html_table(f"graph {self.name}", facts, ("operator", "result", "type", "of"), rows)

    @property
    def parameter_bytes(self) -> int:
        """The memory of all parameters."""
        return sum(data.nbytes for data in self.parameters.values())

    def operations(self) -> int:
        """Floating-point operations of all nodes (`Operator.operations`). Requires static types."""
        return sum(node.operations() for node in self.nodes)

    def producers(self) -> dict[Value, Node]:
        """The node that computes each value."""
        return {v: node for node in self.nodes for v in node.outputs}

    def consumers(self) -> dict[Value, list[Node]]:
        """The nodes that read each value, in order, once per read."""
        result: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for v in node.inputs:
                if v is not None:
                    result.setdefault(v, []).append(node)
        return result


class GraphBuilder:
    """Makes a graph node by node. Types are inferred as nodes are added; names are made unique.

    g = GraphBuilder("net")
    x = g.input("data", "float32", (1, 3, 224, 224))
    g.output(g.add(Relu(), x))
    graph = g.finish()
    """

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self._inputs: list[Value] = []
        self._given: set[Value] = set()
        self._parameters: dict[Value, Array] = {}
        self._nodes: list[Node] = []
        self._outputs: list[Value] = []
        self._aliases: dict[Value, Value] = {}
        self._names: dict[str, int] = {}
        self._producers: dict[Value, Node] = {}

    def unique(self, name: str) -> str:
        """`name`, or that with a number if it is taken."""
        clean = name or "v"
        if clean not in self._names:
            self._names[clean] = 1
            return clean
        while True:
            candidate = f"{clean}.{self._names[clean]}"
            self._names[clean] += 1
            if candidate not in self._names:
                self._names[candidate] = 1
                return candidate

    def reserve(self, graph: Graph) -> None:
        """Give no name that a value of the graph has."""
        for v in (*graph.inputs, *graph.parameters, *(o for node in graph.nodes for o in node.outputs)):
            self.unique(v.name)

    def input(self, name: str, dtype: DType | str, shape: Sequence[Any]) -> Value:
        return self.declare(Value(self.unique(name), TensorType.of(dtype, shape)))

    def declare(self, value: Value) -> Value:
        """Take an existing value as an input."""
        self._inputs.append(value)
        self._given.add(value)
        return value

    def parameter(self, name: str, data: Array) -> Value:
        """A constant."""
        array = np.ascontiguousarray(data) if data.ndim else data
        value = Value(self.unique(name), TensorType.of(DType.of(array.dtype), array.shape))
        self._parameters[value] = array
        return value

    def typed_parameter(self, name: str, type_: TensorType, data: Array) -> Value:
        """A constant whose data lies in memory as a layout says."""
        value = Value(self.unique(name), type_)
        self._parameters[value] = data
        return value

    def add(
        self,
        op: Operator,
        *inputs: Value | None,
        name: str = "",
        spans: tuple[NodeSpan, ...] = (),
        method: Method | None = None,
    ) -> Value:
        """Apply an operator of one output."""
        (value,) = self.add_all(op, *inputs, names=(name,) if name else (), spans=spans, method=method)
        return value

    def add_all(
        self,
        op: Operator,
        *inputs: Value | None,
        names: Sequence[str] = (),
        spans: tuple[NodeSpan, ...] = (),
        method: Method | None = None,
    ) -> tuple[Value, ...]:
        """Apply an operator; a value per output.

        Raises InferenceError, telling the node, where inputs don't fit, and ArgumentError for what is no operator and
        for inputs that are no values of this graph.
        """
        _require_operator(op)
        for i, v in enumerate(inputs):
            if v is not None:
                self._require_own(v, f"input {i} of {op.op_name()}")
        types = _infer_at(op, inputs, spans)
        given = [*names, *[f"{op.op_name()}"] * (len(types) - len(names))]
        outputs = tuple(Value(self.unique(n), t) for n, t in zip(given, types, strict=True))
        return self.append(Node(op, tuple(inputs), outputs, spans, method)).outputs

    def append(self, node: Node) -> Node:
        """Add a finished node."""
        self._nodes.append(node)
        self._producers.update((v, node) for v in node.outputs)
        return node

    def part(self, outputs: Sequence[Value]) -> Graph:
        """The graph of what some values depend on, as far as it is built."""
        reached: set[Node] = set()
        leaves: set[Value] = set()
        pending = list(outputs)
        while pending:
            v = pending.pop()
            node = self._producers.get(v)
            if node is None:
                leaves.add(v)
            elif node not in reached:
                reached.add(node)
                pending += [i for i in node.inputs if i is not None]
        return Graph(
            self.name,
            tuple(v for v in self._inputs if v in leaves),
            {v: data for v, data in self._parameters.items() if v in leaves},
            tuple(node for node in self._nodes if node in reached),
            tuple(outputs),
        )

    def output(self, *values: Value) -> None:
        """Give values to the caller, each once. Raises ArgumentError for one that is an output already, or none of
        this graph."""
        for v in values:
            self._require_own(v, "output")
            if v in self._outputs:
                raise ArgumentError(
                    f"output: expected each value once, found {v} twice; add Identity() of it for another output"
                )
            self._outputs.append(v)

    def alias(self, output: Value, input_: Value) -> None:
        """Let an output reuse the memory of an input. Raises InferenceError where their types differ, or the memory is
        another output's already, and ArgumentError for what is no input or no value of this graph."""
        self._require_own(output, "alias")
        if input_ not in self._inputs:
            raise ArgumentError(f"alias: expected an input of the graph, found {_described(input_)}")
        if output.type != input_.type:
            raise InferenceError(f"alias: {output} is {output.type}, but {input_} is {input_.type}")
        holder = next((o for o, i in self._aliases.items() if i is input_ and o is not output), None)
        if holder is not None:
            raise InferenceError(f"alias: expected an input for each output, found {input_} for {holder} and {output}")
        self._aliases[output] = input_

    def _require_own(self, value: object, role: str) -> None:
        """Raise ArgumentError for what is no value that this builder made or was given."""
        if isinstance(value, Value):
            if value in self._producers or value in self._parameters or value in self._given:
                return
            raise ArgumentError(
                f"{role}: expected a value of graph {self.name!r}, found {value} of another builder; declare it as an "
                "input, or add its node here"
            )
        raise ArgumentError(f"{role}: expected a value of the graph, found {_described(value)}")

    def finish(self) -> Graph:
        return Graph(
            self.name,
            tuple(self._inputs),
            dict(self._parameters),
            tuple(self._nodes),
            tuple(self._outputs),
            dict(self._aliases),
        )


def _require_operator(op: object) -> None:
    """Raise ArgumentError for what is no operator, and for one that no set of operators would take."""
    if isinstance(op, type) and issubclass(op, Operator):
        raise ArgumentError(
            f"add: expected an operator such as {op.__name__}(), found the class {op.__name__}; call it with its "
            "attributes"
        )
    if not isinstance(op, Operator):
        raise ArgumentError(f"add: expected an operator such as Relu(), found {type(op).__name__}")
    require_class(type(op))


def _described(value: object) -> str:
    """What was found in the place of a value, and what to do."""
    if isinstance(value, Value):
        return str(value)
    if isinstance(value, (np.ndarray, int, float)):
        return f"{type(value).__name__}; make a constant of it: parameter(name, array)"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}; give values one by one, as in add(op, *values)"
    return type(value).__name__


def infer(op: Operator, inputs: Sequence[Value | None]) -> tuple[TensorType, ...]:
    """Output types of an operator on values. Absent inputs are None; trailing ones may be left out."""
    return contract.infer(op, [None if v is None else v.type for v in inputs])


def note_node(error: Exception, inputs: Iterable[Value | None], spans: Iterable[NodeSpan]) -> None:
    """Add to an error the node that it is about: where it came from, and its inputs."""
    for span in spans:
        error.add_note(f"in {span}")
    for v in inputs:
        if v is not None:
            error.add_note(f"  {v}: {v.type}")


def _infer_at(op: Operator, inputs: Sequence[Value | None], spans: Iterable[NodeSpan]) -> tuple[TensorType, ...]:
    try:
        return infer(op, inputs)
    except Exception as error:
        note_node(error, inputs, spans)
        raise


class GraphRewriter:
    """Copies a graph while changing it: walk the nodes, `keep`, `replace` or `insert`, then `finish`.

    `value(v)` is what stands for a value of the old graph in the new one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = GraphBuilder(graph.name)
        self._values: dict[Value, Value] = {}
        self.changed = False
        self.builder.reserve(graph)
        self._reads: dict[Value, int] = dict.fromkeys(graph.outputs, 1)
        for v, nodes in graph.consumers().items():
            self._reads[v] = self._reads.get(v, 0) + len(nodes)
        for v in graph.inputs:
            self._values[v] = self.builder.declare(v)
        for v, data in graph.parameters.items():
            self._values[v] = v
            self.builder._parameters[v] = data

    def value(self, v: Value) -> Value:
        return self._values[v]

    def values(self, inputs: Iterable[Value | None]) -> tuple[Value | None, ...]:
        return tuple(None if v is None else self._values[v] for v in inputs)

    def keep(self, node: Node) -> None:
        """The node as it is, over the new values; its types are inferred anew if those of its inputs changed."""
        inputs = self.values(node.inputs)
        if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
            self.builder.append(node)
            self._bind(node.outputs, node.outputs)
            return
        same = all(
            a is b or (a is not None and b is not None and a.type == b.type)
            for a, b in zip(inputs, node.inputs, strict=True)
        )
        types = tuple(o.type for o in node.outputs) if same else _infer_at(node.op, inputs, node.spans)
        outputs = tuple(o if o.type == t else Value(o.name, t) for o, t in zip(node.outputs, types, strict=True))
        self.put(node, inputs, outputs)

    def insert(
        self,
        op: Operator,
        *inputs: Value | None,
        name: str = "",
        spans: tuple[NodeSpan, ...] = (),
        method: Method | None = None,
    ) -> Value:
        """A new node of one output over values of the new graph."""
        self.changed = True
        return self.builder.add(op, *inputs, name=name, spans=spans, method=method)

    def insert_all(
        self, op: Operator, *inputs: Value | None, names: Sequence[str] = (), spans: tuple[NodeSpan, ...] = ()
    ) -> tuple[Value, ...]:
        """A new node over values of the new graph; a value per output."""
        self.changed = True
        return self.builder.add_all(op, *inputs, names=names, spans=spans)

    def parameter(self, name: str, data: Array) -> Value:
        """A new constant."""
        self.changed = True
        return self.builder.parameter(name, data)

    def put(self, node: Node, inputs: tuple[Value | None, ...], outputs: tuple[Value, ...]) -> None:
        """The node over other values of the new graph, giving other ones."""
        self.changed = True
        self.builder.append(replace(node, inputs=inputs, outputs=outputs))
        self._bind(node.outputs, outputs)

    def replace(self, node: Node, *values: Value) -> None:
        """Drop the node; new values stand for its outputs.

        An output of the graph is a value of its own, computed by a node: where one of `values` can't become that, the
        node stays.
        """
        taken = {self._values[v] for v in self.graph.outputs if v in self._values}
        given = {*self.graph.inputs, *self.builder._parameters}
        if any(
            o in self.graph.outputs and (v in taken or v in given) for o, v in zip(node.outputs, values, strict=True)
        ):
            self.keep(node)
            return
        self.changed = True
        self._bind(node.outputs, values)

    def constant(self, v: Value | None) -> Array | None:
        """The data of a value of the new graph, if it is a parameter."""
        return None if v is None else self.builder._parameters.get(v)

    def producer(self, v: Value | None) -> Node | None:
        """The node of the new graph that computes a value of it."""
        return None if v is None else self.builder._producers.get(v)

    def is_shared(self, v: Value) -> bool:
        """Whether a value of the new graph stands for what has several readers, or is read and an output."""
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
        self.builder._parameters.update(zip(node.outputs, data, strict=True))

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


def _renamed(graph: Graph, names: Mapping[Value, str]) -> Graph:
    new = {v: Value(name, v.type) for v, name in names.items()}
    nodes = tuple(
        replace(n, inputs=tuple(v and new.get(v, v) for v in n.inputs), outputs=tuple(new.get(v, v) for v in n.outputs))
        if not new.keys().isdisjoint((*n.inputs, *n.outputs))
        else n
        for n in graph.nodes
    )
    outputs = tuple(new.get(v, v) for v in graph.outputs)
    aliases = {new.get(v, v): source for v, source in graph.aliases.items()}
    return Graph(graph.name, graph.inputs, graph.parameters, nodes, outputs, aliases)


Pass = Callable[[Graph], Graph]
