"""Makes graph nodes under the names of the model: its own values keep their names, added values get names next to
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

import numpy as np

from sateen.frontends.core.operands import Operand, open_dimensions_of, type_of
from sateen.graph_ir.evaluate import work_of
from sateen.graph_ir.ir import Array, Graph, GraphBuilder, NodeSpan, TensorType, Value, infer
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
        self._stand_ins: set[Value] = set()
        self._labels: dict[str, tuple[str, ...]] = {}
        self._inner_inputs: dict[Value, Callable[[], list[str]]] = {}
        self._tensor_bytes = tensor_bytes
        self._constant_bytes = tensor_bytes
        self._allowance = allowance

    def apart(self) -> Evaluation:
        """An emitter of a graph that is evaluated, within the same limits."""
        return Evaluation("evaluated", (), (), self._tensor_bytes, self._allowance)

    def input(self, name: str, type_: TensorType) -> Value:
        self._require_fit(name, type_)
        return self._builder.input(name, type_.dtype, type_.shape)

    def inner_input(self, name: str, type_: TensorType, decided_by: Callable[[], list[str]] = list) -> Value:
        """An input of a graph within a node; `decided_by` names the inputs of the model that it depends on."""
        value = self.input(name, type_)
        self._inner_inputs[value] = decided_by
        return value

    def stand_in(self, name: str, type_: TensorType) -> Value:
        """A value of this type in place of one that can't be computed, so that its readers can be checked."""
        value = self._builder.declare(Value(name, type_))
        self.mark_stand_in(value)
        return value

    def mark_stand_in(self, value: Value) -> None:
        """Note that an input stands for a value that can't be computed."""
        self._stand_ins.add(value)

    def is_behind_gap(self, value: Value) -> bool:
        """Whether a value depends on one that can't be computed."""
        return bool(self._stand_ins) and not self._stand_ins.isdisjoint(self._builder.part((value,)).inputs)

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
            self._parameters[id(operand)] = (operand, self._builder.parameter(chosen, np.asarray(operand, order="C")))
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
        of an integer divided by zero.
        """
        part = self._builder.part(values)
        given = self.given(part)
        is_static = all(v.type.is_static for node in part.nodes for v in node.outputs)
        if given is None or not is_static or not all(node.op.is_pure for node in part.nodes):
            return None
        points = _points_of(part)
        if points > min(MOST_POINTS, self._allowance.points):
            return None
        self._allowance.points -= int(points)
        try:
            found = interpret(part, given)
        except ExecutionError as error:
            raise FrontendError(f"its constants give no result: {str(error).splitlines()[0]}") from error
        return [found[value.name] for value in values]

    def given(self, part: Graph) -> Mapping[str, Array] | None:
        """The data of the inputs of a part of the graph, by name; None if it has inputs of the network."""
        return None if part.inputs else {}

    def is_constant(self, value: Value) -> bool:
        """Whether a value depends on constants alone."""
        return not self._builder.part((value,)).inputs

    def decided_by(self, value: Value) -> list[str]:
        """The names of the model's inputs that a value depends on, as far as they are known."""
        inputs = self._builder.part((value,)).inputs
        named = ([v.name] if v not in self._inner_inputs else self._inner_inputs[v]() for v in inputs)
        return list(dict.fromkeys(name for names in named for name in names))

    def add(
        self, op: Operator, inputs: Sequence[Value | None], names: Sequence[str], spans: tuple[NodeSpan, ...]
    ) -> tuple[Value, ...]:
        """Apply an operator; its first outputs are called `names`. Results without elements are not computed."""
        types = infer(op, inputs)
        for name, type_ in zip(names, types, strict=False):
            self._require_fit(name, type_)
        if names and all(0 in type_.shape and type_.is_static for type_ in types[: len(names)]):
            return tuple(self._empty(name, t, spans) for name, t in zip(names, types, strict=False))
        return self._builder.add_all(op, *inputs, names=names, spans=spans)

    def _empty(self, name: str, type_: TensorType, spans: tuple[NodeSpan, ...]) -> Value:
        data = np.empty(type_.static_shape, type_.dtype.numpy)
        return self._builder.add(Identity(), self.value(data, f"{name}.empty"), name=name, spans=spans)

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

    def __init__(
        self, name: str, reserved: Iterable[str], outputs: Iterable[str], tensor_bytes: int, allowance: Allowance
    ) -> None:
        super().__init__(name, reserved, outputs, tensor_bytes, allowance)
        self._dimensions: dict[str, Array] = {}

    def value(self, operand: Operand, name: str, own: bool = False) -> Value:
        if isinstance(operand, Value) or not open_dimensions_of(operand):
            return super().value(operand, name, own)
        value = self.input(self.beside(name), type_of(operand))
        self._dimensions[value.name] = operand
        return value

    def given(self, part: Graph) -> Mapping[str, Array]:
        return {v.name: self._dimensions[v.name] for v in part.inputs}

    def known(self, values: Sequence[Value]) -> list[Array] | None:
        part = self._builder.part(values)
        key = _key(part, self.given(part))
        if key in self._allowance.results:
            found = self._allowance.results[key]
            return None if found is None else [array.copy() for array in found]
        self._allowance.results[key] = super().known(values)
        return self._allowance.results[key]


def _key(part: Graph, given: Mapping[str, Array]) -> tuple[object, ...]:
    """A key that determines the values of a graph: its operators, their connections, and the data that they read.

    Equal operators may differ in their text (0.0 and -0.0); those with graphs in them are never equal.
    """
    places: dict[Value, int] = {}
    data: list[object] = []
    for v, array in (*part.parameters.items(), *((v, given[v.name]) for v in part.inputs)):
        places[v] = len(places)
        is_held = array.dtype != object
        data.append((v.type, sha256(array.tobytes()).digest() if is_held else tuple(array.flat)))
    nodes: list[object] = []
    for node in part.nodes:
        nodes.append((node.op, repr(node.op), tuple(None if v is None else places[v] for v in node.inputs)))
        for v in node.outputs:
            places[v] = len(places)
    return (*data, *nodes, *(places[v] for v in part.outputs))


def _points_of(graph: Graph) -> float:
    """The number of evaluations of an expression that interpreting a graph takes; infinite if values decide the
    iterations."""
    total = 0.0
    for node in graph.nodes:
        match node.op:
            case Loop(body=body, count=count):
                total += count * _points_of(body)
            case Control() as op:
                total += inf if isinstance(op, While) else sum(map(_points_of, op.bodies))
            case _:
                total += work_of(node)
    return total
