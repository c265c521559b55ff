"""The graph so far: what is known of its values takes work that grows with the graph, not with its square."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.frontends.core import emitter as emitter_module
from sateen.frontends.core.emitter import VISIT, Allowance, Emitter
from sateen.graph_ir.ir import TensorType, Value
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, Relu

LENGTH = 300


class Counted(Emitter):
    """An emitter that evaluates under the eyes of a test."""

    def __init__(self, points: int = 1 << 26) -> None:
        super().__init__("net", (), (), 1 << 30, Allowance(points=points))

    def chain(self, value: Value, length: int = LENGTH) -> list[Value]:
        found = [value]
        for index in range(length):
            found += self.add(Add(), (found[-1], found[-1]), (f"y{index}",), ())
        return found


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes of each graph that is evaluated."""
    counts: list[int] = []

    def counting(graph, inputs):
        counts.append(len(graph.nodes))
        return interpret(graph, inputs)

    monkeypatch.setattr(emitter_module, "interpret", counting)
    return counts


def test_each_node_is_evaluated_once(evaluated):
    emitter = Counted()
    values = emitter.chain(emitter.value(np.ones(2, np.int64), "one"), 40)
    for power, value in enumerate(values):
        (data,) = emitter.known((value,))
        assert data.tolist() == [2**power] * 2
    for value in reversed(values):
        assert emitter.known((value,)) is not None
    assert sum(evaluated) == 40


def test_a_value_that_inputs_decide_is_not_walked_back_from(evaluated, monkeypatch):
    emitter = Counted()
    values = emitter.chain(emitter.input("x", TensorType.of("float32", (2,))))
    monkeypatch.setattr(emitter._builder, "part", None)
    assert all(emitter.known((value,)) is None for value in values)
    assert {emitter.decided_by(value) for value in values} == {("x",)}
    assert not any(emitter.is_constant(value) or emitter.is_behind_gap(value) for value in values)
    assert evaluated == []


def test_what_depends_on_a_stand_in_is_behind_a_gap():
    emitter = Counted()
    *_, last = emitter.chain(emitter.stand_in("lost", TensorType.of("float32", (2,))))
    assert emitter.is_behind_gap(last)
    beside = emitter.input("x", TensorType.of("float32", (2,)))
    (both,) = emitter.add(Add(), (beside, last), ("both",), ())
    assert emitter.is_behind_gap(both)
    assert emitter.decided_by(both) == ("x",)
    assert not emitter.is_behind_gap(beside)


def test_what_is_too_much_work_is_asked_once(evaluated):
    emitter = Counted(points=1000)
    large = emitter.value(np.ones(1001, np.float32), "large")
    (first,) = emitter.add(Relu(), (large,), ("first",), ())
    assert emitter.known((first,)) is None
    values = emitter.chain(first, 10)
    assert all(emitter.known((value,)) is None for value in values)
    assert emitter._allowance.points == 1000 - VISIT
    assert evaluated == []


def test_looking_at_nodes_is_work(evaluated):
    """From the last value to the first, nothing that is known of one helps with the next."""
    emitter = Counted(points=VISIT * 25)
    values = emitter.chain(emitter.value(np.ones(1000, np.float32), "large"), 10)
    assert all(emitter.known((value,)) is None for value in reversed(values[1:]))
    assert emitter._allowance.points == VISIT * (25 - 10 - 9 - 8)
    assert emitter.known((values[1],)) is None
    assert evaluated == []


def test_a_value_knows_a_few_of_the_inputs_that_decide_it():
    emitter = Counted()
    inputs = [emitter.input(f"x{index}", TensorType.of("float32", (2,))) for index in range(6)]
    value = inputs[0]
    for index, other in enumerate(inputs[1:]):
        (value,) = emitter.add(Add(), (value, other), (f"y{index}",), ())
    assert emitter.decided_by(value) == ("x0", "x1", "x2", "x3")
