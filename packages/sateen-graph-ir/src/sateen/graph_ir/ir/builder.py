"""Makes graphs node by node, and refuses users' mistakes where they are written."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from sateen.graph_ir.ir.graph import HOST, Array, Graph, Node, NodeSpan, Value, infer_at, require_labels
from sateen.graph_ir.ir.types import TensorType
from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.topi.methods import Method
from sateen.topi.operators import Operator, require_class


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
        self._outputs: dict[Value, None] = {}
        self._aliases: dict[Value, Value] = {}
        self._labels: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, int] = {}
        self._producers: dict[Value, Node] = {}
        self._order: dict[Value | Node, int] = {}

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
        """Reserve the names of a graph's values."""
        for v in (*graph.inputs, *graph.parameters, *(o for node in graph.nodes for o in node.outputs)):
            self.unique(v.name)

    def input(self, name: str, dtype: DType | str, shape: Sequence[Any], device: Device | str = HOST) -> Value:
        """An input in memory of a device."""
        return self.declare(Value(self.unique(name), TensorType.of(dtype, shape), Device.of(device)))

    def declare(self, value: Value) -> Value:
        """Take an existing value as an input."""
        self._inputs.append(value)
        self._given.add(value)
        self._number(value)
        return value

    def parameter(self, name: str, data: Array, device: Device | str = HOST) -> Value:
        """A constant in memory of a device."""
        array = np.ascontiguousarray(data) if data.ndim else data
        value = Value(self.unique(name), TensorType.of(DType.of(array.dtype), array.shape), Device.of(device))
        self.keep_parameter(value, array)
        return value

    def typed_parameter(self, name: str, type_: TensorType, data: Array, device: Device = HOST) -> Value:
        """A constant whose data is in the memory order of a layout."""
        value = Value(self.unique(name), type_, device)
        self.keep_parameter(value, data)
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
        """Apply an operator, of which the node has the canonical form; a value per output.

        Raises InferenceError with the node if inputs don't fit, and ArgumentError if `op` is no operator or an input is
        no value of this graph.
        """
        _require_operator(op)
        for i, v in enumerate(inputs):
            if v is not None:
                self._require_own(v, f"input {i} of {op.op_name()}")
        inferred = infer_at(op, inputs, spans)
        given = [*names, *[f"{op.op_name()}"] * (len(inferred) - len(names))]
        outputs = tuple(Value(self.unique(n), t, device) for n, (t, device) in zip(given, inferred, strict=True))
        return self.append(Node(op.canonical(), tuple(inputs), outputs, spans, method)).outputs

    def keep_parameter(self, value: Value, data: Array) -> None:
        """Take an existing value as a constant."""
        self._parameters[value] = data
        self._number(value)

    def constant(self, value: Value) -> Array | None:
        """The data of a constant; None for another value."""
        return self._parameters.get(value)

    def producer(self, value: Value) -> Node | None:
        """The node that computes a value; None for an input, a constant, and a value of another graph."""
        return self._producers.get(value)

    def append(self, node: Node) -> Node:
        """Add a finished node."""
        self._nodes.append(node)
        self._number(node)
        for v in node.outputs:
            self._producers[v] = node
            self._number(v)
        return node

    def _number(self, part: Value | Node) -> None:
        """Note the place of a value or a node in the graph."""
        self._order.setdefault(part, len(self._order))

    def part(self, outputs: Sequence[Value], given: Container[Value] = ()) -> Graph:
        """The part of the graph so far that some values depend on. It begins at the values of `given` that it reaches,
        which are its inputs. The time that it takes grows with the part, not with the graph."""
        reached: set[Node] = set()
        leaves: set[Value] = set()
        pending = list(outputs)
        while pending:
            v = pending.pop()
            node = None if v in given else self._producers.get(v)
            if node is None:
                leaves.add(v)
            elif node not in reached:
                reached.add(node)
                pending += [i for i in node.inputs if i is not None]
        parameters = leaves & self._parameters.keys()
        return Graph(
            self.name,
            tuple(sorted(leaves - parameters, key=self._order.__getitem__)),
            {v: self._parameters[v] for v in sorted(parameters, key=self._order.__getitem__)},
            tuple(sorted(reached, key=self._order.__getitem__)),
            tuple(outputs),
        )

    def output(self, *values: Value) -> None:
        """Give values to the caller, each once. Raises ArgumentError for a value that is an output already or not of
        this graph."""
        for v in values:
            self._require_own(v, "output")
            if v in self._outputs:
                raise ArgumentError(
                    f"output: expected each value once, found {v} twice; add Identity() of it for another output"
                )
            self._outputs[v] = None

    def alias(self, output: Value, input_: Value) -> None:
        """Let an output reuse the memory of an input. Raises InferenceError if their types differ or another output
        uses the memory already, and ArgumentError for a value that is no input or not of this graph."""
        self._require_own(output, "alias")
        if input_ not in self._inputs:
            raise ArgumentError(f"alias: expected an input of the graph, found {_described(input_)}")
        if (output.type, output.device) != (input_.type, input_.device):
            raise InferenceError(f"alias: {output} is {output.declared}, but {input_} is {input_.declared}")
        holder = next((o for o, i in self._aliases.items() if i is input_ and o is not output), None)
        if holder is not None:
            raise InferenceError(f"alias: expected an input for each output, found {input_} for {holder} and {output}")
        self._aliases[output] = input_

    def label(self, output: Value, names: Iterable[str]) -> None:
        """Say what the elements along the last axis of an output are called, or the values of one of int64.

        Raises ArgumentError for a value that is no output, and InferenceError for another number of names than
        elements."""
        if output not in self._outputs:
            raise ArgumentError(f"label: expected an output of the graph, found {_described(output)}")
        self._labels[output.name] = tuple(names)
        require_labels(output, self._labels[output.name])

    def _require_own(self, value: object, role: str) -> None:
        """Raise ArgumentError unless this builder made or was given the value."""
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
            dict(self._labels),
        )


def _require_operator(op: object) -> None:
    """Raise ArgumentError unless it is an operator that a set of operators would take."""
    if isinstance(op, type) and issubclass(op, Operator):
        raise ArgumentError(
            f"add: expected an operator such as {op.__name__}(), found the class {op.__name__}; call it with its "
            "attributes"
        )
    if not isinstance(op, Operator):
        raise ArgumentError(f"add: expected an operator such as Relu(), found {type(op).__name__}")
    require_class(type(op))


def _described(value: object) -> str:
    """The object found in place of a value, and a hint what to do."""
    if isinstance(value, Value):
        return str(value)
    if isinstance(value, (np.ndarray, int, float)):
        return f"{type(value).__name__}; make a constant of it: parameter(name, array)"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}; give values one by one, as in add(op, *values)"
    return type(value).__name__
