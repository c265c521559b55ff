"""Makes graph nodes under the names of the model: its own values keep their names, added values get names next to
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf

import numpy as np

from sateen.frontends.core.operands import Operand, open_dimensions_of, type_of
from sateen.frontends.core.origins import Origins
from sateen.graph_ir.evaluate import work_of
from sateen.graph_ir.ir import Array, Graph, GraphBuilder, Node, NodeSpan, TensorType, Value, infer
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Control, Identity, Loop, While
from sateen.runtime.errors import ExecutionError, FrontendError, InferenceError, printable
from sateen.topi.operators import Operator

EVALUATED_BYTES = 1 << 29
"""The most bytes of data that importing makes: shapes, ranges and values computed from them."""
EVALUATED_POINTS = 1 << 26
"""The most evaluations of an expression (`work_of`) while importing: some seconds."""
MOST_POINTS = 1 << 20
"""The most evaluations of an expression for one value."""
VISIT = 16
"""The evaluations of an expression that take as long as to look at a node."""
LONGEST_LABEL = 512
"""The most characters of a label, as in an artifact."""


@dataclass(slots=True)
class Allowance:
    """The remaining budget of evaluation while a model is imported, and the results so far."""

    bytes: int = field(default_factory=lambda: EVALUATED_BYTES)
    points: int = field(default_factory=lambda: EVALUATED_POINTS)
    results: dict[tuple[object, ...], list[Array] | None] = field(default_factory=dict)
    """The results of small graphs, by a key: layers of a network repeat their shape arithmetic."""


class Emitter:
    """A graph being built.

    `reserved` are the names of the model's own values, `outputs` those reserved for the nodes that compute the outputs
    of the model. No tensor takes more than `tensor_bytes`, nor do all constants together; `allowance` bounds
    evaluation.
    """

    def __init__(
        self, name: str, reserved: Iterable[str], outputs: Iterable[str], tensor_bytes: int, allowance: Allowance
    ) -> None:
        self._builder = GraphBuilder(name)
        self._reserved = frozenset(reserved)
        self._outputs = frozenset(outputs)
        self._taken: dict[str, int] = {}
        self._parameters: dict[int, tuple[Array, Value]] = {}  # by identity of the data, which is kept alive
        self._origins = Origins()
        self._evaluated: dict[Value, Array] = {}
        self._points: dict[Node, float] = {}
        self._labels: dict[str, tuple[str, ...]] = {}
        self._tensor_bytes = tensor_bytes
        self._constant_bytes = tensor_bytes
        self._allowance = allowance

    def apart(self) -> Evaluation:
        """An emitter of a graph that is evaluated, within the same limits."""
        return Evaluation("evaluated", (), (), self._tensor_bytes, self._allowance)

    def input(self, name: str, type_: TensorType) -> Value:
        return self.inner_input(name, type_, (name,))

    def inner_input(self, name: str, type_: TensorType, deciding: Iterable[str] = ()) -> Value:
        """An input of a graph within a node; `deciding` are the inputs of the model that it depends on."""
        self._require_fit(name, type_)
        value = self._builder.input(name, type_.dtype, type_.shape)
        self._origins.input(value, deciding)
        return value

    def stand_in(self, name: str, type_: TensorType) -> Value:
        """A value of this type in place of one that can't be computed, so that its readers can be checked."""
        value = self._builder.declare(Value(name, type_))
        self._origins.input(value, ())
        self.mark_stand_in(value)
        return value

    def mark_stand_in(self, value: Value) -> None:
        """Note that an input stands for a value that can't be computed."""
        self._origins.mark_stand_in(value)

    def is_behind_gap(self, value: Value) -> bool:
        """Whether a value depends on one that can't be computed."""
        return self._origins[value].is_behind_gap

    def beside(self, name: str) -> str:
        """`name`, perhaps with a number, so that no other value has it, neither the model's nor ours."""
        candidate = name
        while candidate in self._reserved or candidate in self._taken:
            self._taken[name] = self._taken.get(name, 0) + 1
            candidate = f"{name}.{self._taken[name]}"
        self._taken[candidate] = 0
        return candidate

    def value(self, operand: Operand, name: str, own: bool = False) -> Value:
        """A value of the graph. Data becomes a parameter, once, called `name` if that is the model's own name of it,
        otherwise a name next to it."""
        if isinstance(operand, Value):
            return operand
        if id(operand) not in self._parameters:
            self._constant_bytes -= operand.nbytes
            if self._constant_bytes < 0:
                raise FrontendError(f"{name!r}: expected at most {self._tensor_bytes} bytes of constants, found more")
            chosen = name if own and name not in self._outputs else self.beside(name)
            made = self._builder.parameter(chosen, np.asarray(operand, order="C"))
            self._origins.constant(made)
            self._parameters[id(operand)] = (operand, made)
        return self._parameters[id(operand)][1]

    def evaluated(self, data: Array) -> Array:
        """The data, counted as made by importing. Raises FrontendError if the total is too large."""
        self._allowance.bytes -= data.nbytes
        if self._allowance.bytes < 0:
            raise FrontendError(f"expected to evaluate at most {EVALUATED_BYTES} bytes while importing, found more")
        return data

    def known(self, values: Sequence[Value]) -> list[Array] | None:
        """The data of values that depend on constants alone, by the definitions of their operators.

        None if they depend on more, or if that is work for the compiler. Raises FrontendError if there is no result, as
        of an integer divided by zero. Each node is evaluated once, and each look at one is counted as work, so that
        all questions together take no more time than the allowance.
        """
        if self._allowance.points <= 0 or not all(self._origins[v].is_evaluable for v in values):
            return None
        self._evaluate([v for v in dict.fromkeys(values) if v not in self._evaluated])
        found = [self._data_of(v) for v in values]
        return None if any(data is None for data in found) else [data for data in found if data is not None]

    def _evaluate(self, values: Sequence[Value]) -> None:
        """Evaluate the nodes behind values, if that is little work."""
        part = self._builder.part(values, self._evaluated)
        points = sum(map(self._points_of, part.nodes))
        self._allowance.points -= VISIT * len(part.nodes)
        if points > min(MOST_POINTS, self._allowance.points):
            for value in values:
                self._origins.refuse(value)
            return
        self._allowance.points -= int(points)
        every = replace(part, outputs=tuple(v for node in part.nodes for v in node.outputs))
        try:
            found = interpret(every, {v.name: self._evaluated[v] for v in part.inputs})
        except ExecutionError as error:
            raise FrontendError(f"its constants give no result: {str(error).splitlines()[0]}") from error
        self._evaluated.update((v, found[v.name]) for v in every.outputs)

    def _data_of(self, value: Value) -> Array | None:
        """The data of a constant or an evaluated value."""
        data = self._builder.constant(value)
        return self._evaluated.get(value) if data is None else data

    def _points_of(self, node: Node) -> float:
        if node not in self._points:
            self._points[node] = _points_of(node)
        return self._points[node]

    def is_constant(self, value: Value) -> bool:
        """Whether a value depends on constants alone."""
        return self._origins[value].is_constant

    def decided_by(self, value: Value) -> tuple[str, ...]:
        """The names of the first few of the model's inputs that a value depends on, as far as they are known."""
        return self._origins[value].deciding

    def add(
        self, op: Operator, inputs: Sequence[Value | None], names: Sequence[str], spans: tuple[NodeSpan, ...]
    ) -> tuple[Value, ...]:
        """Apply an operator; its first outputs are called `names`. Results without elements are not computed."""
        types = infer(op, inputs)
        for name, type_ in zip(names, types, strict=False):
            self._require_fit(name, type_)
        if names and all(0 in type_.shape and type_.is_static for type_ in types[: len(names)]):
            return tuple(self._empty(name, t, spans) for name, t in zip(names, types, strict=False))
        made = self._builder.add_all(op, *inputs, names=names, spans=spans)
        self._origins.computed(op, inputs, made)
        return made

    def _empty(self, name: str, type_: TensorType, spans: tuple[NodeSpan, ...]) -> Value:
        data = np.empty(type_.static_shape, type_.dtype.numpy)
        empty = self.value(data, f"{name}.empty")
        made = self._builder.add(Identity(), empty, name=name, spans=spans)
        self._origins.constant(made)
        return made

    def _require_fit(self, name: str, type_: TensorType) -> None:
        """Raises FrontendError for an excessively large tensor, which even a small model can request."""
        if type_.is_static and type_.bytes > self._tensor_bytes:
            raise FrontendError(
                f"expected tensors of at most {self._tensor_bytes} bytes, {name!r} of type {type_} takes {type_.bytes}"
            )

    def label(self, name: str, labels: Iterable[str]) -> None:
        """Say what the elements along the last axis of a value are called, or of int64 its values 0, 1, ..., if it is
        an output of the graph. Raises FrontendError for labels that no artifact has."""
        given = tuple(map(printable, labels))
        if any(len(label) > LONGEST_LABEL for label in given):
            raise FrontendError(f"{name!r}: expected labels of at most {LONGEST_LABEL} characters, found a longer one")
        self._labels[name] = given

    def output(self, value: Value) -> None:
        self._builder.output(value)
        if value.name in self._labels:
            try:
                self._builder.label(value, self._labels[value.name])
            except InferenceError as error:
                raise FrontendError(f"output {value.name!r}: {error}") from None

    def finish(self) -> Graph:
        return self._builder.finish()


class Evaluation(Emitter):
    """A graph that is evaluated while importing; its inputs are dimensions without a number."""

    def value(self, operand: Operand, name: str, own: bool = False) -> Value:
        if isinstance(operand, Value) or not open_dimensions_of(operand):
            return super().value(operand, name, own)
        value = self.input(self.beside(name), type_of(operand))
        self._origins.input(value, (value.name,), is_evaluable=True)
        self._evaluated[value] = operand
        return value

    def known(self, values: Sequence[Value]) -> list[Array] | None:
        part = self._builder.part(values, self._evaluated)
        key = _key(part, self._evaluated)
        if key in self._allowance.results:
            found = self._allowance.results[key]
            return None if found is None else [array.copy() for array in found]
        self._allowance.results[key] = super().known(values)
        return self._allowance.results[key]


def _key(part: Graph, given: Mapping[Value, Array]) -> tuple[object, ...]:
    """A key that determines the values of a graph: its operators, their connections, and the data that they read.

    Equal operators may differ in their text (0.0 and -0.0); those with graphs in them are never equal.
    """
    places: dict[Value, int] = {}
    data: list[object] = []
    for v, array in (*part.parameters.items(), *((v, given[v]) for v in part.inputs)):
        places[v] = len(places)
        is_held = array.dtype != object
        data.append((v.type, sha256(array.tobytes()).digest() if is_held else tuple(array.flat)))
    nodes: list[object] = []
    for node in part.nodes:
        nodes.append((node.op, repr(node.op), tuple(None if v is None else places[v] for v in node.inputs)))
        for v in node.outputs:
            places[v] = len(places)
    return (*data, *nodes, *(places[v] for v in part.outputs))


def _points_of(node: Node) -> float:
    """The number of evaluations of an expression that interpreting a node takes; infinite if values decide the
    iterations."""
    match node.op:
        case While():
            return inf
        case Loop(body=body, count=count):
            return count * sum(map(_points_of, body.nodes))
        case Control() as op:
            return sum(_points_of(inner) for body in op.bodies for inner in body.nodes)
        case _:
            return work_of(node)
