"""Fixtures for passes: text in, text out, and the same values before and after."""

from collections.abc import Callable

import numpy as np
import pytest

from weft.graph_ir.equal import why_different
from weft.graph_ir.graph import Graph, Pass
from weft.graph_ir.interpreter import interpret
from weft.graph_ir.ops import OPS
from weft.graph_ir.parser import parse_graph
from weft.graph_ir.pipeline import verify_graph


@pytest.fixture
def parse() -> Callable[[str], Graph]:
    """A graph from the lines of its text."""
    return _parse


@pytest.fixture
def check() -> Callable[[Pass, str, str], Graph]:
    """Check that a pass turns one text into another, and that both compute the same."""

    def check(transform: Pass, before: str, after: str) -> Graph:
        graph, expected = _parse(before), _parse(after)
        result = transform(graph)
        assert why_different(result, expected) is None, f"{why_different(result, expected)}\n{result}"
        assert [v.name for v in result.outputs] == [v.name for v in graph.outputs]
        verify_graph(result)
        _same_values(graph, result)
        return result

    return check


@pytest.fixture
def check_unchanged() -> Callable[[Pass, str], None]:
    """Check that a pass leaves a graph as it is."""

    def check(transform: Pass, text: str) -> None:
        graph = _parse(text)
        result = transform(graph)
        assert result is graph, str(result)

    return check


def _parse(text: str) -> Graph:
    lines = [line.strip() for line in text.strip().split("\n")]
    graph = parse_graph("\n".join(["graph test", *(f"  {line}" for line in lines if line)]), OPS)
    verify_graph(graph)
    return graph


def _same_values(one: Graph, other: Graph) -> None:
    random = np.random.default_rng(0)
    inputs = {v.name: _random(random, v.type.dtype.numpy, v.type.static_shape) for v in one.inputs}
    expected, found = interpret(one, inputs), interpret(other, inputs)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


def _random(random: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(-3, 3, shape).astype(dtype)
