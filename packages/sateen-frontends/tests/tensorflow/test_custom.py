"""Nodes of operators that users bring."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import from_tensorflow
from sateen.graph_ir import OPS, interpret
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute

FLOAT = DType.of("float32")
X = np.array([-1, 2], np.float32)


@dataclass(frozen=True, slots=True)
class Affine(Operator):
    """x · scale, limited if asked."""

    name = "Acme.Affine"
    scale: float
    limited: bool = False

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        def element(*index):
            return te.minimum(x(*index) * self.scale, 1.0) if self.limited else x(*index) * self.scale

        return Computation((compute(x.shape, element, "affine"),))


@dataclass(frozen=True, slots=True)
class Twice(Operator):
    name = "tensorflow.Twice"

    def infer(self, x):
        return x, x

    def compute(self, x, *, outputs):
        both = [compute(x.shape, lambda *index, k=k: x(*index) * k, f"times{k}") for k in (1.0, 2.0)]
        return Computation(tuple(both), lambda s, output, machine: None)


OPERATORS = OPS.with_ops(Affine, Twice)


def test_attributes_go_to_the_fields_of_their_names(make):
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("y", "Acme>Affine", "x", scale=3.0, limited=True, T=FLOAT, _class="loc"),
        make.node("twice", "Twice", "y", T=FLOAT),
        make.node("z", "Neg", "twice:1", T=FLOAT),
    )
    network, _ = from_tensorflow(graph.SerializeToString(), operators=OPERATORS)
    assert network.nodes[0].op == Affine(3.0, True)
    assert interpret(network, {"x": X})["z"].tolist() == [6, -2]


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("Acme>Affine", {}, "Acme.Affine needs attribute 'scale'; its attributes are limited, scale"),
        ("Acme>Affine", {"scale": 1.0, "N": 2}, "Acme.Affine has no attribute 'N'"),
        ("Acme>Affine", {"scale": "a"}, "expected a number as attribute 'scale', found 'a'"),
        ("Acme>Affine", {"scale": 1.0, "limited": 2}, "expected True or False as attribute 'limited', found 2"),
        ("Acme>Absent", {}, "sateen has no such operator"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(make, operator, attributes, message):
    graph = make.graph(make.placeholder("x", 2), make.node("y", operator, "x", T=FLOAT, **attributes))
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(graph.SerializeToString(), operators=OPERATORS)
    assert message in str(refusal.value)


def test_in_a_function_an_operator_has_one_output(make):
    body = make.function("f", ["a"], [make.node("twice", "Twice", "a", T=FLOAT)], {"y": "twice:doubled:0"})
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("call", "PartitionedCall", "x", f=make.pb.NameAttrList(name="f")),
        make.node("y", "Neg", "call", T=FLOAT),
        functions=[body],
    )
    with pytest.raises(FrontendError, match="a function reads its outputs by names"):
        from_tensorflow(graph.SerializeToString(), operators=OPERATORS)
