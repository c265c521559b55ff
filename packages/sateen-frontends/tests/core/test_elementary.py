"""Elementary functions that are several operators of the graph."""

from itertools import count
from math import inf, nan

import numpy as np
import pytest

from sateen.frontends.core.elementary import hypotenuse
from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.judge import interpret


class Node:
    """What of a node these functions use."""

    def __init__(self, builder):
        self.builder = builder
        self.result = self.step
        self.numbers = count()

    def step(self, op, *inputs):
        return self.builder.add(op, *inputs)

    def literal(self, number, dtype):
        return self.builder.parameter(f"literal.{next(self.numbers)}", np.array(number, dtype.numpy))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(3, -4, 5), (0, 0, 0), (-inf, nan, inf), (inf, inf, inf), (nan, 1, nan), (3e38, 1, 3e38), (3e-30, 4e-30, 5e-30)],
)
def test_a_hypotenuse_stays_in_range(a, b, expected):
    builder = GraphBuilder("g")
    values = [builder.input(name, "float32", (1,)) for name in ("a", "b")]
    builder.output(hypotenuse(Node(builder), *values))
    found = interpret(builder.finish(), {"a": np.array([a], np.float32), "b": np.array([b], np.float32)})
    np.testing.assert_allclose(next(iter(found.values())), [expected], rtol=1e-6)
