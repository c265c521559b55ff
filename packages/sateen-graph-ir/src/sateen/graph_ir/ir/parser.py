"""Reads the text form of graphs: `parse_graph(str(graph), OPS)` has the structure of `graph`.

The type of a node's output may be left out; then it is inferred. A line that begins with `#` is a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, NoReturn, TypeVar, get_type_hints

import numpy as np

from sateen.graph_ir.ir.graph import HOST, Array, Graph, Node, NodeSpan, Value, infer_outputs
from sateen.graph_ir.ir.op_set import OpSet
from sateen.graph_ir.ir.text import WORD
from sateen.graph_ir.ir.types import Dim, Dimension, TensorType
from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ExpressionError, SateenError
from sateen.tensor_ir.ir import ParseError
from sateen.topi.dimensions import DimensionTextError, read_dimension
from sateen.topi.methods import Method, parse_method
from sateen.topi.operators import Operator, is_of, kind_text
from sateen.topi.types import Layout

Input = TypeVar("Input")
NO_DATA: Mapping[str, Array] = {}


def parse_graph(text: str, ops: OpSet, data: Mapping[str, Array] = NO_DATA) -> Graph:
    """The graph of this text, whose operators are among `ops`; `data` gives large parameters by their digest.

    Raises ParseError with line and column, what was expected and what was found, and InferenceError if a type that the
    text leaves out can't be inferred.
    """
    parser = _Parser(text, ops, data)
    line = parser.next("a graph")
    line.expect("graph")
    graph = parser.graph(line)
    if parser.more:
        parser.next("the end of the text").fail("the end of the text")
    return graph


_TOKEN = re.compile(
    rf"""(?P<string>"(?:\\.|[^"\\])*")
    |(?P<digest>sha256:[0-9a-f]{{64}}\b)
    |(?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf\b)(?![\w.]))
    |(?P<word>{WORD.pattern})
    |(?P<mark>[=(){{}}\[\],:%@?\#])
    """,
    re.VERBOSE,
)
_CONSTANTS: Mapping[str, object] = {
    "none": None, "true": True, "false": False, "inf": float("inf"), "nan": float("nan")
}  # fmt: skip


class _Line:
    """One line of the text, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self.text = text.rstrip()
        self.number = number
        self.indent = len(text) - len(text.lstrip())
        self.position = self.indent

    def fail(self, expected: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        token = _TOKEN.match(self.text, place)
        found = repr(token[0]) if token else repr(self.text[place]) if place < len(self.text) else "the end of the line"
        raise ParseError(f"line {self.number}, column {place + 1}: expected {expected}, found {found}")

    def skip(self) -> None:
        while self.position < len(self.text) and self.text[self.position] == " ":
            self.position += 1

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Consumes and returns the text that the pattern matches here."""
        found = pattern.match(self.text, self.position)
        if found is None or not found[0]:
            return None
        self.position = found.end()
        self.skip()
        return found[0]

    def accept(self, mark: str) -> bool:
        """Whether the next token is this one; if so, consumes it."""
        token = _TOKEN.match(self.text, self.position)
        if token is None or token[0] != mark:
            return False
        self.position = token.end()
        self.skip()
        return True

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            self.fail(repr(mark))

    def end(self) -> None:
        if self.position < len(self.text):
            self.fail("the end of the line")

    def word(self, expected: str) -> str:
        """A plain or quoted name."""
        start = self.position
        quoted = self.take(_STRING)
        if quoted is not None:
            try:
                return str(json.loads(quoted))
            except json.JSONDecodeError:
                self.fail(f"{expected} in a string of JSON", start)
        plain = self.take(WORD)
        if plain is None:
            self.fail(expected)
        return plain


_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_DEVICE = re.compile(r"\w+(?:\(\d+\))?")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"-?(?:inf\b|\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w.]))")
_OPEN_DIMENSION = re.compile(r"-?(?:\?|[0-9]+ ?(?:[*+]|//|- ))|-\(")
"""The beginning of an attribute's value that is a dimension with symbols, without parentheses."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\b")
_LAYOUT = re.compile(r"\w+")
_METHOD = re.compile(r"\w+\([^()]*\)")


class _Parser:
    def __init__(self, text: str, ops: OpSet, data: Mapping[str, Array]) -> None:
        numbered = enumerate(text.split("\n"), 1)
        self.lines = [_Line(t, n) for n, t in numbered if t.strip() and not t.lstrip().startswith("#")]
        self.row = 0
        self.ops = ops
        self.data = data

    @property
    def more(self) -> bool:
        return self.row < len(self.lines)

    def next(self, expected: str) -> _Line:
        if not self.more:
            last = self.lines[-1].number + 1 if self.lines else 1
            raise ParseError(f"line {last}, column 1: expected {expected}, found the end of the text")
        self.row += 1
        return self.lines[self.row - 1]

    def inside(self, outer: _Line) -> bool:
        """Whether the next line is indented further than `outer`."""
        return self.more and self.lines[self.row].indent > outer.indent

    # Constructs, each on a line.

    def graph(self, head: _Line) -> Graph:
        name = head.word("the name of the graph")
        head.end()
        return _Body(self, head, name).read()


_Result = tuple[str, tuple[TensorType, Device] | None]
"""The name of an output, and its type and device if they are declared."""


class _Body:
    """The lines of one graph."""

    def __init__(self, parser: _Parser, head: _Line, name: str) -> None:
        self.parser = parser
        self.head = head
        self.name = name
        self.values: dict[str, Value] = {}
        self.inputs: list[Value] = []
        self.parameters: dict[Value, Array] = {}
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.aliases: dict[Value, Value] = {}
        self.labels: dict[str, tuple[str, ...]] = {}

    def read(self) -> Graph:
        indent = -1
        while self.parser.inside(self.head):
            line = self.parser.next("a construct")
            indent = line.indent if indent < 0 else indent
            if line.indent != indent:
                line.fail(f"a construct at column {indent + 1}")
            self.construct(line)
        return Graph(
            self.name,
            tuple(self.inputs),
            self.parameters,
            tuple(self.nodes),
            tuple(self.outputs),
            self.aliases,
            self.labels,
        )

    def construct(self, line: _Line) -> None:
        if line.accept("input"):
            self.inputs.append(self.declaration(line))
        elif line.accept("parameter"):
            value = self.declaration(line)
            line.expect("=")
            self.parameters[value] = self.parameter_data(line, value.type)
        elif line.accept("output"):
            self.outputs.append(self.known(line))
        elif line.accept("alias"):
            output = self.known(line)
            line.expect("=")
            self.aliases[output] = self.known(line)
        elif line.accept("labels"):
            labelled = self.known(line)
            line.expect("=")
            self.labels[labelled.name] = self.listed(line)
        elif line.text.startswith("%", line.position):
            self.node(line)
            return
        else:
            line.fail("input, parameter, output, alias, labels or a node")
        line.end()

    def listed(self, line: _Line) -> tuple[str, ...]:
        """Words between commas."""
        words = [line.word("a label")]
        while line.accept(","):
            words.append(line.word("a label"))
        return tuple(words)

    def node(self, line: _Line) -> None:
        declared = [self.result(line)]
        while line.accept(","):
            declared.append(self.result(line))
        line.expect("=")
        start = line.position
        op_class, inputs, attributes = _application(line, self.parser.ops, self.known)
        method = _method(line, op_class) if line.accept("by") else None
        spans = self.spans(line)
        line.end()
        while self.parser.inside(line):
            block = self.parser.next("the graph of an attribute")
            name = _attribute_name(block, op_class, attributes)
            block.expect("=")
            block.expect("graph")
            attributes[name] = self.parser.graph(block)
        op = _make(line, start, op_class, attributes)
        outputs = self.results(line, declared, op, inputs)
        self.values.update((v.name, v) for v in outputs)
        self.nodes.append(Node(op, tuple(inputs), outputs, spans, method))

    def results(
        self, line: _Line, declared: Sequence[_Result], op: Operator, inputs: list[Value | None]
    ) -> tuple[Value, ...]:
        """The outputs of a node, as they are declared; types and devices of the others are inferred."""
        own = [Value(name, *placed) for name, placed in declared if placed is not None]
        if len(own) == len(declared):
            return tuple(own)
        inferred = _infer(line, op, inputs)
        if len(inferred) != len(declared):
            line.fail(f"{len(inferred)} outputs of {op.op_name()}", line.indent)
        return tuple(Value(name, *(placed or found)) for (name, placed), found in zip(declared, inferred, strict=True))

    # Parts of a line.

    def new_name(self, line: _Line) -> str:
        start = line.position
        line.expect("%")
        name = line.word("the name of a value")
        if name in self.values:
            line.fail("a name that is not taken", start + 1)
        return name

    def declaration(self, line: _Line) -> Value:
        name = self.new_name(line)
        line.expect(":")
        value = self.values[name] = Value(name, tensor_type(line), self.device(line) or HOST)
        return value

    def result(self, line: _Line) -> _Result:
        name = self.new_name(line)
        if not line.accept(":"):
            return name, None
        return name, (tensor_type(line), self.device(line) or HOST)

    def device(self, line: _Line) -> Device | None:
        """The device after `on`, such as opencl(0)."""
        if not line.accept("on"):
            return None
        start = line.position
        text = line.take(_DEVICE) or ""
        try:
            return Device.of(text)
        except ArgumentError:
            line.fail("a device such as opencl(0)", start)

    def known(self, line: _Line) -> Value:
        start = line.position
        line.expect("%")
        value = self.values.get(line.word("the name of a value"))
        if value is None:
            line.fail("a value that is defined above", start + 1)
        return value

    def parameter_data(self, line: _Line, type_: TensorType) -> Array:
        start = line.position
        shape, dtype = type_.physical_shape, type_.dtype.numpy
        found = line.take(_DIGEST)
        if found is not None:
            data = self.parser.data.get(found)
            if data is None or data.shape != shape or data.dtype != dtype:
                line.fail(f"the digest of given data of {dtype}{list(shape)}", start)
            return data
        line.expect("[")
        elements: list[object] = []
        while not line.accept("]"):
            if elements:
                line.expect(",")
            elements.append(attribute(line))
        if len(elements) != int(np.prod(shape, dtype=np.int64)):
            line.fail(f"{int(np.prod(shape, dtype=np.int64))} elements", start)
        return np.array(elements).astype(dtype).reshape(shape)

    def spans(self, line: _Line) -> tuple[NodeSpan, ...]:
        found: list[NodeSpan] = []
        if not line.accept("#"):
            return ()
        while not found or line.accept(","):
            node, operator, model = line.word("the name of a node"), "", ""
            if line.accept("("):
                operator = line.word("the name of an operator")
                line.expect(")")
            if line.accept("of"):
                model = line.word("the name of a model")
            found.append(NodeSpan(model, node, operator))
        return tuple(found)


def tensor_type(line: _Line) -> TensorType:
    """A type such as float32[1, ?n + 1]@aB16b."""
    start = line.position
    try:
        dtype = DType.of(line.take(_NAME) or "")
    except ArgumentError:
        line.fail("an element type", start)
    line.expect("[")
    dims: list[Dim] = []
    while not line.accept("]"):
        if dims:
            line.expect(",")
        dims.append(_extent(line))
    return TensorType.of(dtype, dims, _layout(line) if line.accept("@") else None)


def _extent(line: _Line) -> Dim:
    start = line.position
    extent = _dimension(line)
    if isinstance(extent, int) and extent < 0:
        line.fail("a dimension", start)
    return extent


def _dimension(line: _Line) -> Dim:
    try:
        dimension, line.position = read_dimension(line.text, line.position)
    except DimensionTextError as error:
        line.fail(error.expected, error.position)
    return dimension


def _group(line: _Line) -> Dimension | None:
    """The dimension in parentheses that begins here; None if a tuple begins here."""
    try:
        dimension, end = read_dimension(line.text, line.position)
    except DimensionTextError:
        return None
    if isinstance(dimension, int):
        return None
    line.position = end
    return dimension


def _layout(line: _Line) -> Layout:
    start = line.position
    try:
        return Layout.parse(line.take(_LAYOUT) or "")
    except ExpressionError:
        line.fail("a layout such as aBcd16b", start)


def attribute(line: _Line) -> object:
    """The value of an attribute."""
    if _OPEN_DIMENSION.match(line.text, line.position):
        return _dimension(line)
    if line.text.startswith("(", line.position) and (dimension := _group(line)) is not None:
        return dimension
    number = line.take(_NUMBER)
    if number is not None:
        return int(number) if number.lstrip("-").isdigit() else float(number)
    if line.accept("("):
        items: list[object] = []
        while not line.accept(")"):
            items.append(attribute(line))
            if not line.accept(","):
                line.expect(")")
                break
        return tuple(items)
    if line.accept("@"):
        return _layout(line)
    if line.text.startswith('"', line.position):
        return line.word("a string")
    start = line.position
    name = line.take(_NAME) or ""
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if line.text.startswith("[", line.position):
        line.position = start
        return tensor_type(line)
    try:
        return DType.of(name)
    except ArgumentError:
        line.fail("the value of an attribute", start)


def parse_application(text: str, ops: OpSet) -> tuple[Operator, tuple[TensorType | None, ...]]:
    """An operator and the types of its inputs, as in relu(float32[2, 3]). Raises ParseError for other text."""
    line = _Line(text, 1)
    op_class, inputs, attributes = _application(line, ops, tensor_type)
    line.end()
    return _make(line, 0, op_class, attributes), tuple(inputs)


def _application(
    line: _Line, ops: OpSet, read: Callable[[_Line], Input]
) -> tuple[type[Operator], list[Input | None], dict[str, object]]:
    """A class of operators, its inputs and its attributes."""
    start = line.position
    op_class = ops.ops.get(line.word("the name of an operator"))
    if op_class is None:
        line.fail("the name of an operator", start)
    line.expect("(")
    inputs: list[Input | None] = []
    while not line.accept(")"):
        if inputs:
            line.expect(",")
        inputs.append(None if line.accept("none") else read(line))
    return op_class, inputs, _attributes(line, op_class)


def _attributes(line: _Line, op_class: type[Operator]) -> dict[str, object]:
    found: dict[str, object] = {}
    if not line.accept("{"):
        return found
    kinds = get_type_hints(op_class)
    while not line.accept("}"):
        if found:
            line.expect(",")
        name = _attribute_name(line, op_class, found)
        line.expect("=")
        start = line.position
        found[name] = attribute(line)
        if not is_of(found[name], kinds[name]):
            line.fail(f"{kind_text(kinds[name])} as {name!r} of {op_class.op_name()}", start)
    return found


def _method(line: _Line, op_class: type[Operator]) -> Method:
    start = line.position
    try:
        return parse_method((line.take(_METHOD) or "").rstrip(), op_class.methods)
    except ArgumentError as error:
        line.fail(str(error).removeprefix("expected ").split(";")[0], start)


def _attribute_name(line: _Line, op_class: type[Operator], found: Mapping[str, object]) -> str:
    """The name of an attribute, which must not be repeated."""
    start = line.position
    name = line.take(_NAME)
    left = [f.name for f in _fields(op_class) if f.name not in found]
    if name not in left:
        line.fail(f"an attribute of {op_class.op_name()} ({', '.join(left) or 'none'})", start)
    assert name is not None
    return name


def _make(line: _Line, start: int, op_class: type[Operator], attributes: Mapping[str, object]) -> Operator:
    for field in _fields(op_class):
        if field.default is MISSING and field.default_factory is MISSING and field.name not in attributes:
            line.fail(f"attribute {field.name!r} of {op_class.op_name()}", start)
    arguments: dict[str, Any] = dict(attributes)
    return op_class(**arguments)


def _fields(op_class: type[Operator]) -> tuple[Field[Any], ...]:
    return fields(op_class)  # type: ignore[arg-type]


def _infer(line: _Line, op: Operator, inputs: list[Value | None]) -> tuple[tuple[TensorType, Device], ...]:
    try:
        return infer_outputs(op, inputs)
    except SateenError as error:
        error.add_note(f"in line {line.number}: {line.text.strip()}")
        raise
