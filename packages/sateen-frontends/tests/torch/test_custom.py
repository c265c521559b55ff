"""Calls of operators that users bring."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_torch
from sateen.graph_ir import OPS, interpret
from sateen.runtime import DType
from sateen.runtime.errors import FrontendError
from sateen.topi import Operator
from sateen.topi.dimensions import Dim

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("acme.scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


def _call(written, target="acme.scaled.default", **arguments):
    x, offset = written.input("x", X.shape), written.parameter("b", OFFSET)
    return written.data(written.call(target, x=x, offset=offset, name="y", **arguments))


def test_tensors_are_inputs_and_other_arguments_attributes(written, scaled, operators):
    data = _call(written, factor=2.5, limited=True, sizes=[3, 4], word="a", device=None)
    graph, _ = from_torch(data, operators=operators)
    assert [node.op for node in graph.nodes] == [scaled(2.5, True, (3, 4), "a")]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], np.minimum(X * 2.5 + OFFSET, 1))


def test_lists_of_tensors_and_absent_ones_are_inputs_too(written):
    @dataclass(frozen=True, slots=True)
    class Joined(Operator):
        name = "acme.joined.out"
        layout: int

        def infer(self, x, mask=None, *others):
            return (x,)

    x, others = written.input("x", (2,)), [written.input(f"z{i}", (2,)) for i in range(2)]
    call = written.call("acme.joined.out", x=x, mask=None, others=others, layout=3)
    graph, _ = from_torch(written.data(call), operators=OPS.with_ops(Joined))
    (node,) = graph.nodes
    assert node.op == Joined(3)
    assert [value and value.name for value in node.inputs] == ["x", None, "z0", "z1"]


def test_element_types_and_sizes_that_the_program_computes_are_attributes(written):
    @dataclass(frozen=True, slots=True)
    class Sized(Operator):
        name = "acme.sized"
        dtype: DType
        size: Dim

        def infer(self, x):
            return (x,)

    x = written.input("x", (3, 4))
    size = written.number("aten.sym_size.int", self=x, dim=1)
    call = written.call("acme.sized.default", x=x, dtype=written.type("int64"), size=size)
    graph, _ = from_torch(written.data(call), operators=OPS.with_ops(Sized))
    assert graph.nodes[-1].op == Sized(DType.of("int64"), 4)


def test_a_call_that_only_writes_into_its_inputs_is_a_gap(written, operators):
    x, offset = written.input("x", X.shape), written.parameter("b", OFFSET)
    written.call("acme.scaled.default", results=0, x=x, offset=offset, factor=1.0)
    data = written.data(written.call("aten.relu.default", self=x))
    (gap,) = check(data, operators=operators).gaps
    assert gap.reason == "calls without results, which write into their inputs, are not supported"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "acme.scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ({"factor": 1.0, "pad": 2}, "acme.scaled has no attribute 'pad'"),
        ({"factor": "a"}, "expected a number as attribute 'factor', found 'a'"),
        ({"factor": 1.0, "implicit": True}, "acme.scaled has no attribute 'implicit'"),
    ],
)
def test_calls_that_do_not_fit_are_gaps(written, arguments, reason, operators):
    (gap,) = check(_call(written, **arguments), operators=operators).gaps
    assert gap.reason.startswith(reason)


def test_a_result_of_another_type_than_the_program_declares_is_refused(written, operators):
    written.input("z", (1, 4))
    written.declared["y"] = written.declared["z"]
    with pytest.raises(FrontendError, match="the program declares 'y' otherwise than it computes it"):
        from_torch(_call(written, factor=1.0), operators=operators)


def test_a_call_that_nobody_brings_says_how(written):
    with pytest.raises(FrontendError, match=r"acme.scaled.*\n.*\n.*bring the operator \(operators="):
        from_torch(_call(written, factor=1.0))
