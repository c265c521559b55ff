"""Operators that users bring: an operator that MXNet does not have, or one in Python."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_mxnet
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.topi import Operator

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("mxnet.Scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


@pytest.fixture
def model(symbol_of, arrays_of):
    """model(operator, attribute=text, …): the symbol and the arrays of one operator."""

    def made(operator, **attributes):
        nodes = [("null", "x", (), {}), ("null", "b", (), {}), (operator, "y", (0, 1), attributes)]
        return symbol_of(nodes, [(2, 0)]), arrays_of({"b": OFFSET})

    return made


@pytest.mark.parametrize(("operator", "of_custom"), [("Scaled", {}), ("Custom", {"op_type": "Scaled"})])
def test_attributes_go_to_the_fields_of_their_names(model, operator, of_custom, scaled, operators):
    given = model(operator, factor="2.5", limited="True", sizes="(3, 4)", word="12", **of_custom)
    graph, _ = from_mxnet(*given, shapes={"x": X.shape}, operators=operators)
    assert [node.op for node in graph.nodes] == [scaled(2.5, True, (3, 4), "12")]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y_output"], np.minimum(X * 2.5 + OFFSET, 1))


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, "mxnet.Scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ({"factor": "1", "pad": "2"}, "mxnet.Scaled has no attribute 'pad'"),
        ({"factor": "large"}, "expected a number as attribute 'factor', found 'large'"),
        ({"factor": "None"}, "expected a number as attribute 'factor', found None"),
    ],
)
def test_operators_that_do_not_fit_are_gaps(model, attributes, reason, operators):
    (gap,) = check(*model("Scaled", **attributes), shapes={"x": X.shape}, operators=operators).gaps
    assert gap.reason.startswith(reason)


def test_numbers_may_be_meant_as_text(symbol_of):
    @dataclass(frozen=True, slots=True)
    class Named(Operator):
        name = "mxnet.Named"
        word: str | None = None
        words: tuple[str, ...] = ()

        def infer(self, x):
            return (x,)

    given = symbol_of([("null", "x", (), {}), ("Named", "y", (0,), {"word": "12", "words": "(12, a)"})], [(1, 0)])
    graph, _ = from_mxnet(given, shapes={"x": (2,)}, operators=OPS.with_ops(Named))
    assert [node.op for node in graph.nodes] == [Named("12", ("12", "a"))]


def test_an_operator_that_fails_is_a_gap(symbol_of):
    @dataclass(frozen=True, slots=True)
    class Failing(Operator):
        name = "mxnet.Failing"

        def infer(self, x):
            return x.absent

    given = symbol_of([("null", "x", (), {}), ("Failing", "y", (0,), {})], [(1, 0)])
    (gap,) = check(given, shapes={"x": (2,)}, operators=OPS.with_ops(Failing)).gaps
    assert gap.reason.startswith("operator mxnet.Failing failed by AttributeError: ")


@pytest.mark.parametrize(("operator", "of_custom"), [("Scaled", {}), ("Custom", {"op_type": "Scaled"})])
def test_an_operator_that_nobody_brings_says_how(model, operator, of_custom):
    with pytest.raises(FrontendError, match=r"y.*\n.*\n.*bring the operator \(operators="):
        from_mxnet(*model(operator, factor="1", **of_custom), shapes={"x": X.shape})
