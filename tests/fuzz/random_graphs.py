"""Random ONNX graphs with data: every node is valid, and evaluated while it is drawn.

So that what is drawn next can use values as well as types: indices that are in range, divisors that are not zero. What
a judge can't evaluate is dropped. Only shapes of constants are decided by values, as a compiler for known shapes needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from graph_evaluation import is_float, judged
from node_evaluation import IR_VERSION, Array, NoAnswerError
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper
from onnx.defs import SchemaError, get_schema

OPSETS = (13, 15, 17, 18, 19, 20, 21, 22, 23, 24, 26)
MOST_ELEMENTS = 1 << 13
EXTENTS = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33)
FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, "bool")
_WEIGHTS = {"float32": 40, "float64": 6, "float16": 5, "bfloat16": 3, "int64": 8, "int32": 8, "int8": 4, "uint8": 4,
            "bool": 4}  # fmt: skip


_TYPE_WORDS = {
    **{name: f"tensor({name})" for name in (*INTEGERS, "bool", "float16", "bfloat16")},
    "float32": "tensor(float)",
    "float64": "tensor(double)",
}


class UnfitError(Exception):
    """What was drawn can't be part of the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value of a graph, with the data that it has; `is_known` says that the data are the model's own."""

    name: str
    data: Array
    is_known: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def rank(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> str:
        return self.data.dtype.name


@dataclass(frozen=True, slots=True)
class RandomGraph:
    """A model and the inputs for which it was drawn."""

    model: ModelProto
    inputs: dict[str, Array]


Family = Callable[["Drawing", str], None]
"""Draws a node of the operator with that name."""
Families = Sequence[tuple[str, Family]]


@dataclass(slots=True)
class Drawing:
    """A graph that grows, or a body in one: `outer` has the values that a body can read."""

    rng: Random
    opset: int
    families: Families
    outer: tuple[Value, ...] = ()
    prefix: str = ""
    is_repeated: bool = False
    """Whether values differ from those that are known here, as in the body of a loop."""
    nodes: list[NodeProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    initializers: list[Value] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    count: int = 0

    # What a node takes.

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def dtype(self, among: Sequence[str]) -> str:
        return self.rng.choices(among, [_WEIGHTS.get(t, 1) for t in among])[0]

    def extents(self, rank: int) -> tuple[int, ...]:
        """An empty one among fifty."""
        shape = [0 if self.chance(0.01) else self.rng.choice(EXTENTS) for _ in range(rank)]
        while prod(shape) > MOST_ELEMENTS:
            shape[self.rng.randrange(rank)] = 1
        return tuple(shape)

    def take(
        self,
        dtypes: Sequence[str],
        ranks: Iterable[int] = range(5),
        *,
        shape: Sequence[int] | None = None,
        where: Callable[[Value], bool] = lambda value: True,
    ) -> Value:
        """A value of one of these types and ranks, or of a shape: one that is there, more often a late one, or new."""
        ranks = tuple(ranks) if shape is None else (len(shape),)
        fit = [
            v
            for v in (*self.outer, *self.values)
            if v.dtype in dtypes and v.rank in ranks and (shape is None or v.shape == tuple(shape)) and where(v)
        ]
        if fit and self.chance(0.9):
            return fit[-1 - min(int(self.rng.expovariate(0.5)), len(fit) - 1)]
        for _ in range(20):
            new = self.data(self.dtype(dtypes), self.extents(self.rng.choice(ranks)) if shape is None else shape)
            if where(Value("", new)):
                return self.leaf(new)
        raise UnfitError

    def leaf(self, data: Array, *, known: bool | None = None) -> Value:
        """An input, or a constant of the model; bodies have only these."""
        if self.prefix or (self.chance(0.3) if known is None else known):
            return self.known(data)
        value = Value(self.name("in"), data)
        self.inputs.append(value)
        self.values.append(value)
        return value

    def known(self, data: Array) -> Value:
        """A constant: an initialiser or a node."""
        value = Value(self.name("c"), data, is_known=True)
        if self.chance(0.3):
            tensor = numpy_helper.from_array(data, value.name)
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
        else:
            self.initializers.append(value)
        self.values.append(value)
        return value

    def integers(self, *numbers: int, dtype: str = "int64") -> Value:
        """A vector that decides a shape: known, and sometimes computed of what is known."""
        data = np.array(numbers, dtype).reshape(len(numbers))
        if self.chance(0.9) or not numbers:
            return self.known(data)
        more = self.known(data + 1)
        return self.add("Sub", [more, self.known(np.ones(1, dtype))])

    def scalar(self, number: float | bool, dtype: str) -> Value:
        return self.known(np.array(number, dtype))

    def data(self, dtype: str, shape: Sequence[int]) -> Array:
        """Data of a type: usual ones, whole numbers, an outlier, special values."""
        rng = np.random.default_rng(self.rng.getrandbits(32))
        kind, shape = self.rng.random(), tuple(shape)
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype in INTEGERS:
            bounds = np.iinfo(dtype)
            if kind < 0.05:
                ends = np.array([bounds.min, bounds.max, bounds.max // 2 + 1, 0, 1], dtype)
                return rng.choice(ends, shape)
            low, high = (0, 4) if kind < 0.6 else (-9, 10) if kind < 0.9 else (-100, 101)
            return rng.integers(max(low, bounds.min), high, shape).astype(dtype)
        if kind < 0.15:
            array = rng.integers(-8, 9, shape) / 2
        elif kind < 0.25:
            array = rng.uniform(0.1, 2, shape)
        else:
            array = rng.standard_normal(shape)
        array = np.asarray(array, np.float64)
        if prod(shape) and kind > 0.7:
            if kind < 0.9:
                special = [rng.choice([-1, 1]) * 10 ** rng.uniform(3, 5)]
            elif kind < 0.94:
                special = [np.nan, np.inf, -np.inf]
            elif kind < 0.98:
                special = [1e-40, -1e-42, 0.0, -0.0] if dtype != "float16" else [1e-7, -0.0]
            else:
                special = []
                array = np.zeros(shape)
            for number in special:
                array.reshape(-1)[rng.integers(array.size)] = number
        with np.errstate(over="ignore"):
            return array.astype(numpy_type(dtype))

    def name(self, word: str) -> str:
        self.count += 1
        return f"{self.prefix}{word}{self.count}"

    # What a node gives.

    def add(self, operator: str, inputs: Sequence[Value | None], /, **attributes: Any) -> Value:
        return self.add_many(operator, inputs, 1, **attributes)[0]

    def add_many(
        self, operator: str, inputs: Sequence[Value | None], outputs: int, /, **attributes: Any
    ) -> list[Value]:
        """A node with these attributes, None for absent ones. Raises UnfitError where no judge takes it."""
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        names = [self.name(operator.lower()) for _ in range(outputs)]
        self._require_types(operator, given)
        node = helper.make_node(
            operator, ["" if v is None else v.name for v in given], names,
            **{name: value for name, value in attributes.items() if value is not None},
        )  # fmt: skip
        around = (*self.outer, *self.values)
        alone = helper.make_model(
            helper.make_graph([node], "node", [], []), opset_imports=[helper.make_opsetid("", self.opset)]
        )
        try:
            found = judged(alone, {v.name: v.data for v in around})
        except NoAnswerError as error:
            raise UnfitError(str(error)) from error
        results = [Value(name, found[name]) for name in names]
        for value in results:
            if value.data.size > MOST_ELEMENTS or value.rank > 6 or value.dtype not in ALL:
                raise UnfitError(f"{operator} gives {value.dtype}{list(value.shape)}")
            if _is_lost(value.data) and not any(v is not None and _is_lost(v.data) for v in given):
                raise UnfitError(f"{operator} gives hardly a number")
        self.nodes.append(node)
        self.values.extend(results)
        self.used.update(node.input)
        return results

    def _require_types(self, operator: str, inputs: Sequence[Value | None]) -> None:
        """Raises UnfitError for what the operator does not take in this operator set."""
        try:
            schema = get_schema(operator, self.opset)
        except SchemaError as error:
            raise UnfitError(f"{operator} is no operator of set {self.opset}") from error
        if schema.deprecated:
            raise UnfitError(f"{operator} is deprecated in operator set {self.opset}")
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
        for i, value in enumerate(inputs):
            formal = schema.inputs[min(i, len(schema.inputs) - 1)].type_str
            if value is not None and _TYPE_WORDS[value.dtype] not in allowed.get(formal, {formal}):
                raise UnfitError(f"{operator} of operator set {self.opset} does not take {value.dtype}")

    def keep(self, draw: Callable[[], None]) -> bool:
        """What is drawn, if all of it fits; else nothing of it."""
        lists = (self.nodes, self.values, self.inputs, self.initializers)
        lengths = [len(entries) for entries in lists]
        used = set(self.used)
        try:
            draw()
        except UnfitError:
            for entries, length in zip(lists, lengths, strict=True):
                del entries[length:]  # type: ignore[attr-defined]
            self.used = used
            return False
        return True

    # Control flow.

    def body(self, *, repeated: bool) -> Drawing:
        """An empty body whose nodes may read all that is there."""
        return Drawing(
            self.rng, self.opset, self.families, (*self.outer, *self.values), f"{self.name('b')}_",
            repeated or self.is_repeated,
        )  # fmt: skip

    def graph(self, outputs: Sequence[Value], name: str = "g") -> GraphProto:
        return helper.make_graph(
            self.nodes, name, [_info(v) for v in self.inputs], [_info(v) for v in outputs],
            [numpy_helper.from_array(v.data, v.name) for v in self.initializers],
        )  # fmt: skip


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _is_lost(data: Array) -> bool:
    """Whether few elements are numbers that are not huge."""
    if not data.size or not is_float(data.dtype):
        return False
    with np.errstate(all="ignore"):
        wide = data.astype(np.float64)
        return bool(np.mean(np.isfinite(wide) & (np.abs(wide) < 1e9)) < 0.7)


def _info(value: Value) -> Any:
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.data.dtype), value.shape)


def draw_graph(seed: int, families: Families) -> RandomGraph:
    """The graph of a seed, of 3 to 40 nodes."""
    rng = Random(seed)
    drawing = Drawing(rng, rng.choice(OPSETS), families)
    wanted = rng.choice((3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40))
    grow(drawing, wanted)
    outputs = [v for v in drawing.values if v.name not in drawing.used and not _is_leaf(drawing, v)]
    extra = [v for v in drawing.values if v not in outputs and rng.random() < 0.05]
    outputs = (outputs + extra)[:8] or drawing.values[-1:]
    model = helper.make_model(
        drawing.graph(outputs, "drawn"),
        opset_imports=[helper.make_opsetid("", drawing.opset)],
        ir_version=IR_VERSION,
    )
    return RandomGraph(model, {v.name: v.data for v in drawing.inputs})


def _is_leaf(drawing: Drawing, value: Value) -> bool:
    return value in drawing.inputs or value.is_known


def grow(drawing: Drawing, wanted: int) -> None:
    """Nodes of random operators, until so many are there or too many did not fit."""
    for _ in range(wanted * 20):
        if sum(node.op_type != "Constant" for node in drawing.nodes) >= wanted:
            return
        operator, draw = drawing.rng.choice(drawing.families)
        drawing.keep(lambda draw=draw, operator=operator: draw(drawing, operator))
