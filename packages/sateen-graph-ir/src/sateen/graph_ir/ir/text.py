"""Text form of graphs: one construct per line, `parse_graph` reads it back.

    graph net
      input %x: float32[1, 3, 224, 224]
      parameter %w: float32[64, 3, 7, 7] = sha256:0b9c…
      parameter %scale: float32[2] = [0.5, 2.0]
      %y: float32[1, 64, 112, 112]@aBcd16b = conv(%x, %w, none) {strides=(2, 2)}  # conv1 (Conv) of net.onnx
      output %y

Attributes with their default values are left out; `by direct(rows=1, columns=14, vectors=2)` is the chosen method. A
graph that is an attribute follows its node as an indented block. The spans of a node follow `#`. A parameter of more
than a few elements appears as the SHA-256 of its data; `large_parameters` gives the data that a text leaves out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sateen.graph_ir.ir.graph import Array, Graph, Node, NodeSpan, Value
from sateen.graph_ir.ir.types import Dimension, TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator
from sateen.topi.types import Layout

WORD = re.compile(r"[\w./-]+(?::+[\w./-]+)*")
"""A name that is written plainly; any other is written as a JSON string."""
MOST_INLINE_ELEMENTS = 16


def format_graph(graph: Graph) -> str:
    """The text of a graph, without a line end after the last line."""
    return "\n".join(_Printer(named, spans=True).lines(graph, ""))


def canonical_text(graph: Graph) -> str:
    """The text of a graph with numbered values, without its name and spans: only what the graph computes."""
    numbers: dict[Value, str] = {}
    printer = _Printer(lambda v: f"%{numbers.setdefault(v, str(len(numbers)))}", spans=False)
    return "\n".join(["graph", *list(printer.lines(graph, ""))[1:]])


def format_node(node: Node) -> str:
    """The line of a node."""
    return _Printer(named, spans=True).node(node)


def format_application(op: Operator, inputs: Sequence[str]) -> str:
    """The text of an operator on inputs, without attributes that are graphs."""
    attributes = {n: a for n, a in op.attributes().items() if not isinstance(a, Graph)}
    inside = ", ".join(f"{n}={format_attribute(a)}" for n, a in attributes.items())
    return f"{op.op_name()}({', '.join(inputs)})" + (f" {{{inside}}}" if inside else "")


def large_parameters(graph: Graph) -> dict[str, Array]:
    """The data that the text of a graph leaves out, nested graphs included, by digest."""
    found = {digest(data): data for v, data in graph.parameters.items() if _inline(v.type.dtype, data) is None}
    for node in graph.nodes:
        for body in subgraphs(node.op).values():
            found.update(large_parameters(body))
    return found


def digest(data: Array) -> str:
    """The text that stands for the data of a parameter."""
    return f"sha256:{hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data).hexdigest()}"


def subgraphs(op: Operator) -> dict[str, Graph]:
    """The attributes of an operator that are graphs."""
    return {name: value for name, value in op.attributes().items() if isinstance(value, Graph)}


def word(text: str) -> str:
    """A name, plain or quoted."""
    return text if WORD.fullmatch(text) else json.dumps(text)


def named(value: Value) -> str:
    return f"%{word(value.name)}"


def format_attribute(value: object) -> str:
    """The text of an attribute's value. Raises ArgumentError if it has none."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case float() | int():
            return repr(value)
        case str():
            return json.dumps(value)
        case tuple():
            inside = ", ".join(map(format_attribute, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case DType():
            return str(value)
        case Layout():
            return f"@{value}"
        case TensorType() | Dimension():
            return str(value)
    raise ArgumentError(f"expected an attribute with a text form, found {type(value).__name__} {value!r}")


class _Printer:
    def __init__(self, name: Callable[[Value], str], *, spans: bool) -> None:
        self.name = name
        self.spans = spans

    def lines(self, graph: Graph, indent: str) -> Iterator[str]:
        yield f"{indent}graph {word(graph.name)}" if self.spans else f"{indent}graph"
        inner = indent + "  "
        for v in graph.inputs:
            yield f"{inner}input {self.declare(v)}"
        for v, data in graph.parameters.items():
            yield f"{inner}parameter {self.declare(v)} = {_inline(v.type.dtype, data) or digest(data)}"
        for node in graph.nodes:
            yield inner + self.node(node)
            for name, body in subgraphs(node.op).items():
                first, *rest = self.lines(body, inner + "  ")
                yield f"{inner}  {name} = {first.strip()}"
                yield from rest
        for v in graph.outputs:
            yield f"{inner}output {self.name(v)}"
        for output, input_ in graph.aliases.items():
            yield f"{inner}alias {self.name(output)} = {self.name(input_)}"
        for v in graph.outputs:
            if self.spans and v.name in graph.labels:
                yield f"{inner}labels {self.name(v)} = {', '.join(map(json.dumps, graph.labels[v.name]))}"

    def declare(self, value: Value) -> str:
        return f"{self.name(value)}: {value.declared}"

    def node(self, node: Node) -> str:
        inputs = ["none" if v is None else self.name(v) for v in node.inputs]
        line = f"{', '.join(map(self.declare, node.outputs))} = {format_application(node.op, inputs)}"
        if type(node.method) in node.op.methods:
            line += f" by {node.method}"
        return f"{line}  # {', '.join(map(_span, node.spans))}" if self.spans and node.spans else line


def _span(span: NodeSpan) -> str:
    operator = f" ({word(span.operator)})" if span.operator else ""
    return word(span.node) + operator + (f" of {word(span.model)}" if span.model else "")


def _inline(dtype: DType, data: Array) -> str | None:
    """The elements as text, if they are few and parsing them gives the same bits."""
    if data.size > MOST_INLINE_ELEMENTS:
        return None
    flat = data.reshape(-1)
    texts = [_element(dtype, x) for x in flat]
    if dtype.is_float:
        again = np.array([float(t) for t in texts], np.float64).astype(flat.dtype)
        if again.tobytes() != flat.tobytes():
            return None
    return f"[{', '.join(texts)}]"


def _element(dtype: DType, x: np.generic) -> str:
    if dtype.is_bool:
        return "true" if x else "false"
    return str(x)
