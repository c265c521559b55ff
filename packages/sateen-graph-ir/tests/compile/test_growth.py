"""Compiling takes a number of calls in proportion to the nodes of a network, and lowers equal groups once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lowered, network_target
from sateen.graph_ir.ir import Graph, GraphBuilder
from sateen.graph_ir.kernels import group_compiler
from sateen.graph_ir.ops import Add, Multiply, Sigmoid, Softmax, Tanh
from sateen.topi import Operator


def chain(length: int, *ops: Operator) -> Graph:
    """Operators in turn."""
    builder = GraphBuilder("chain")
    x = builder.input("x", "float32", (4, 16))
    for i in range(length):
        x = builder.add(ops[i % len(ops)], x)
    builder.output(x)
    return builder.finish()


def scaled(length: int) -> Graph:
    """Sums and products with constants, each of another value."""
    builder = GraphBuilder("scaled")
    x = builder.input("x", "float32", (4, 16))
    for i in range(length):
        x = builder.add((Add(), Multiply())[i % 2], x, builder.parameter(f"c{i}", np.float32(1 + i / length)))
    builder.output(x)
    return builder.finish()


NETWORKS: dict[str, Callable[[int], Graph]] = {
    "one group after the other": lambda n: chain(n, Tanh(), Sigmoid()),
    "no two nodes in a group": lambda n: chain(n, Tanh(), Softmax(1)),
    "constants": scaled,
}


def calls_of(function: Callable[[], object]) -> int:
    """The calls of Python functions within a call."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_calls_of_passes_and_lowering_grow_as_the_nodes(network: Callable[[int], Graph]) -> None:
    target = network_target("llvm")
    few, many, more = (calls_of(lambda n=n: lowered(network(n), target)) for n in (200, 600, 1800))
    assert more - many < 1.1 * 3 * (many - few)


@pytest.mark.parametrize("name", NETWORKS)
def test_equal_groups_of_a_long_network_are_lowered_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lower, names = group_compiler.lower_kernel, []

    def counted(*arguments: object) -> object:
        names.append(arguments[1])
        return lower(*arguments)

    monkeypatch.setattr(group_compiler, "lower_kernel", counted)
    build(NETWORKS[name](300))
    assert len(names) <= 3  # the first, those within, and the last
