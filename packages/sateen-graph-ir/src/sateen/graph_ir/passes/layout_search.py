"""The layouts in which the nodes of a graph take the least estimated time, conversions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from sateen.graph_ir.ir import Graph, Node, TensorType, Value
from sateen.tensor_ir import Machine
from sateen.topi.operators import LayoutChoice
from sateen.topi.types import FLOAT32, Layout

Choices = Mapping[Node, LayoutChoice]


def in_layout(given: TensorType, layout: Layout | None) -> TensorType:
    return given if given.layout == layout else TensorType.of(given.dtype, given.shape, layout)


def greedy(graph: Graph, costs: Costs, *, in_order: bool) -> Choices:
    """The first choice of each node for the layouts of its inputs."""
    found: dict[Node, LayoutChoice] = {}
    given: dict[Value, Layout | None] = {}
    for node in graph.nodes:
        present = [v for v in node.inputs if v is not None]
        choice = next(costs.choices(node, [given.get(v) for v in present], in_order=in_order))
        found[node] = choice
        given.update(zip(node.outputs, choice.outputs, strict=True))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Choices, and estimates in cycles of one core, each worked out once."""

    graph: Graph
    machine: Machine
    constants: frozenset[Value] = field(init=False)
    _choices: dict[tuple[Node, tuple[Layout | None, ...]], tuple[LayoutChoice, ...]] = field(default_factory=dict)
    _work: dict[Node, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", frozenset(self.graph.constants()))

    def choices(self, node: Node, layouts: Sequence[Layout | None], *, in_order: bool) -> Iterator[LayoutChoice]:
        """The choices of a node whose inputs have some layouts, best first; perhaps only those that keep axes in
        order."""
        key = node, tuple(layouts)
        if key not in self._choices:
            present = [v for v in node.inputs if v is not None]
            types = [in_layout(v.type, layout) for v, layout in zip(present, layouts, strict=True)]
            self._choices[key] = tuple(node.layouts(types, self.machine.at(node.outputs[0].device.kind)))
        return (c for c in self._choices[key] if not in_order or _is_in_order(c))

    def node(self, node: Node, choice: LayoutChoice) -> float:
        """The cost of an operator: its arithmetic, or the bytes that it moves."""
        if node not in self._work:
            self._work[node] = self._work_of(node)
        return self._work[node] * choice.slowdown

    def _work_of(self, node: Node) -> float:
        types = [v.type for v in node.inputs if v is not None]
        results = [v.type for v in node.outputs]
        moved = sum(_bytes(v) for v in node.outputs)
        rates = self.machine.at(node.outputs[0].device.kind).rates
        multiply_adds = node.op.operations(types, results) / 2
        return max(FLOAT32.bytes * multiply_adds / rates.multiply_add_bytes, moved / rates.moved)

    def conversion(self, value: Value, given: Layout | None, needed: Layout | None) -> float:
        """The cost of converting a value from one layout to another; no run converts parameters."""
        if given == needed or value in self.constants:
            return 0.0
        rates = self.machine.at(value.device.kind).rates
        return 2 * _bytes(value) / rates.moved + rates.conversion_cycles

    def total(self, choices: Choices) -> float:
        """The cost of the whole graph."""
        given = {v: layout for n, c in choices.items() for v, layout in zip(n.outputs, c.outputs, strict=True)}
        needed: dict[tuple[Value, Layout | None], None] = {(v, None): None for v in self.graph.outputs}
        for node, choice in choices.items():
            needed.update(dict.fromkeys(_needs(node, choice)))
        conversions = sum(self.conversion(v, given.get(v), layout) for v, layout in needed)
        return sum(self.node(n, c) for n, c in choices.items()) + conversions


def _is_in_order(choice: LayoutChoice) -> bool:
    return all(given is None or given.is_in_order for given in choice.outputs)


def _bytes(value: Value) -> int:
    return prod(value.type.static_shape) * value.type.dtype.bytes


def _needs(node: Node, choice: LayoutChoice) -> Iterable[tuple[Value, Layout | None]]:
    """The values that a node reads, and the layouts that it reads them in."""
    return zip((v for v in node.inputs if v is not None), choice.inputs, strict=True)


def least(graph: Graph, costs: Costs, *, in_order: bool) -> Choices:
    """Choices by dynamic programming: costs from first to last, then the best choices from last to first."""
    ways = _ways(graph, costs, in_order)
    found: dict[Node, LayoutChoice] = {}
    needed: dict[Value, dict[Layout | None, None]] = {v: {None: None} for v in graph.outputs}
    for node in reversed(graph.nodes):
        totals: dict[LayoutChoice, float] = {}
        for choice, spent in ways[node].items():
            given = zip(node.outputs, choice.outputs, strict=True)
            behind = (costs.conversion(v, layout, other) for v, layout in given for other in needed.get(v, ()))
            totals[choice] = spent + sum(behind)
        found[node] = min(totals, key=totals.__getitem__)
        for value, layout in _needs(node, found[node]):
            needed.setdefault(value, {})[layout] = None
    return {node: found[node] for node in graph.nodes}


def _ways(graph: Graph, costs: Costs, in_order: bool) -> dict[Node, dict[LayoutChoice, float]]:
    """The cost of each choice of a node, with its share of its inputs' costs in the best layouts for it."""
    readers = {v: len(nodes) for v, nodes in graph.consumers().items()}
    row_major: dict[Layout | None, float] = {None: 0.0}
    ways: dict[Node, dict[LayoutChoice, float]] = {}
    values: dict[Value, dict[Layout | None, float]] = {}

    def cost(value: Value, needed: Layout | None) -> float:
        given, share = values.get(value, row_major), readers[value]
        return min(spent / share + costs.conversion(value, layout, needed) for layout, spent in given.items())

    for node in graph.nodes:
        present = [values.get(v, row_major) for v in node.inputs if v is not None]
        ways[node] = spent_by = {}
        for common in dict.fromkeys((None, *(layout for v in present for layout in v))):
            layouts = [common if common in v else None for v in present]
            for choice in costs.choices(node, layouts, in_order=in_order):
                spent_by[choice] = costs.node(node, choice) + sum(cost(*need) for need in _needs(node, choice))
        for i, value in enumerate(node.outputs):
            table: dict[Layout | None, float] = {}
            for choice, spent in spent_by.items():
                table[choice.outputs[i]] = min(spent, table.get(choice.outputs[i], spent))
            values[value] = table
    return ways
