"""Plans of loops: how often a loop runs, where that is known, and which of its states it hands on, keeps, or fills.

A loop whose state counts up to a known limit runs a known number of times. Lists that it fills, an element in each
iteration, are then its stacked results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from sateen.frontends.core.operands import open_dimensions_of
from sateen.frontends.tensorflow.node import TensorflowNode
from sateen.frontends.tensorflow.operation import Operation, Region, reads
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import printable

UNLIMITED = (1 << 63) - 1
"""The most iterations of a loop without a limit."""
_SAME = frozenset({"Identity", "StopGradient"})
_WRITES = {"TensorArrayWriteV3": (3, 1, 2), "TensorListSetItem": (0, 1, 2)}
"""Operators that write an element of a list: which inputs are the list, the place and the element."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What each state of a loop is: `kept` stay as they are; of `stacked` lists each iteration writes the next element,
    of `latest` ones the only one, by the tensor that is written; others are handed on. `times` is the number of
    iterations; None: not known."""

    kept: frozenset[int]
    stacked: Mapping[int, str]
    latest: Mapping[int, str]
    times: int | None

    @property
    def lists(self) -> Mapping[int, str]:
        return {**self.stacked, **self.latest}

    def handed(self, count: int) -> list[int]:
        """Which of `count` states iterations hand on."""
        return [index for index in range(count) if index not in self.kept and index not in self.lists]


def planned(node: TensorflowNode, test: Region, body: Region) -> Plan:
    """What a loop with this condition and body does with each of its states."""
    makers = {name: one for one in body.operations for name in one.outputs}
    kept = frozenset(index for index, name in enumerate(body.outputs) if _source(name, makers) == body.inputs[index])
    times, counters = _times(node, test, body, makers, kept)
    stacked, latest = {}, {}
    for index, name in enumerate(body.outputs):
        written = _written(name, body, makers, index) if times else None
        if written is None:
            continue
        place, element = written
        length = node.shape(index)[:1]
        if place in counters and length == (times,):
            stacked[index] = element
        elif length == (1,) and _integer(makers.get(place)) == 0:
            latest[index] = element
    return Plan(kept, stacked, latest, times)


def _source(name: str, makers: Mapping[str, Operation]) -> str:
    """The tensor behind operators that hand it on."""
    while (one := makers.get(name)) is not None and one.type in _SAME and one.inputs:
        name = one.inputs[0]
    return name


def _written(name: str, body: Region, makers: Mapping[str, Operation], index: int) -> tuple[str, str] | None:
    """The place and element that an iteration writes into a list, if it does nothing else with it."""
    one = makers.get(_source(name, makers))
    if one is None or one.type not in _WRITES or len(one.inputs) <= max(_WRITES[one.type]):
        return None
    held, place, element = (one.inputs[i] for i in _WRITES[one.type])
    same = {body.inputs[index]}
    others = [other for other in body.operations if other.type not in _SAME and other is not one]
    if _source(held, makers) not in same or any(_source(read, makers) in same for o in others for read in reads(o)):
        return None
    return _source(place, makers), element


def _times(
    node: TensorflowNode, test: Region, body: Region, makers: Mapping[str, Operation], kept: frozenset[int]
) -> tuple[int | None, frozenset[str]]:
    """The number of iterations of a loop that counts up to known limits, and the body's inputs that count from 0 by
    1."""
    tests = {name: one for one in test.operations for name in one.outputs}
    pending, times = [test.outputs[0]], UNLIMITED
    while pending:
        one = tests.get(_source(pending.pop(), tests))
        if one is not None and one.type == "LogicalAnd":
            pending += one.inputs
            continue
        found = (
            None
            if one is None or one.type != "Less" or len(one.inputs) != 2
            else _limit(node, one, tests, test, body, makers, kept)
        )
        if found is None:
            return None, frozenset()
        times = min(times, found)
    counting = (i for i in range(len(body.inputs)) if _stride(i, body, makers) == 1 and _known(node, i) == 0)
    return times, frozenset(body.inputs[index] for index in counting)


def _limit(
    node: TensorflowNode,
    less: Operation,
    tests: Mapping[str, Operation],
    test: Region,
    body: Region,
    makers: Mapping[str, Operation],
    kept: frozenset[int],
) -> int | None:
    """The number of iterations until a comparison of a counter with a limit fails."""
    counter, limit = (_source(name, tests) for name in less.inputs)
    if counter not in test.inputs:
        return None
    index = test.inputs.index(counter)
    start, stride = _known(node, index), _stride(index, body, makers)
    if limit in test.inputs:
        place = test.inputs.index(limit)
        most = _known(node, place) if place in kept else None
    else:
        most = _constant(node, tests.get(limit), limit)
    if start is None or stride is None or most is None:
        return None
    return max(ceil((most - start) / stride), 0)


def _known(node: TensorflowNode, index: int) -> int | None:
    """The integer that a state begins as, if it is known."""
    operand = node.operand(index)
    if isinstance(operand, Value) or operand.size != 1 or operand.dtype.kind not in "iu" or open_dimensions_of(operand):
        return None
    return int(operand.reshape(()).item())


def _stride(index: int, body: Region, makers: Mapping[str, Operation]) -> int | None:
    """What an iteration adds to a state, if that is a known number above 0."""
    one = makers.get(_source(body.outputs[index], makers))
    if one is None or one.type not in {"Add", "AddV2"} or len(one.inputs) != 2:
        return None
    terms = [_source(name, makers) for name in one.inputs]
    if body.inputs[index] not in terms:
        return None
    other = terms[terms[0] == body.inputs[index]]
    found = _integer(makers.get(other))
    return found if found is not None and found > 0 else None


def _integer(made: Operation | None) -> int | None:
    """The integer that a constant in a body is."""
    if made is None or made.type != "Const" or "value" not in made.attributes:
        return None
    tensor = made.attributes["value"].tensor
    found = [*tensor.int_val, *tensor.int64_val] or np.frombuffer(
        tensor.tensor_content, {3: np.int32, 9: np.int64}.get(tensor.dtype, np.uint8)
    ).tolist()
    return int(found[0]) if tensor.dtype in (3, 9) and len(found) == 1 else None


def _constant(node: TensorflowNode, made: Operation | None, name: str) -> int | None:
    """An integer that a condition compares with: a constant in it, or a known tensor around it."""
    if made is not None:
        if made.type != "Const" or "value" not in made.attributes:
            return None
        data = node.decode(made.attributes["value"].tensor, f"node {printable(made.name)!r}")
    else:
        operand = node.call.scope.get(name)
        if not isinstance(operand, np.ndarray) or open_dimensions_of(operand):
            return None
        data = operand
    return int(data.reshape(()).item()) if data.size == 1 and data.dtype.kind in "iu" else None
