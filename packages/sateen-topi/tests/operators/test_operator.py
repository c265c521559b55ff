"""The contract for operators of any package."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError, InferenceError
from sateen.tensor_ir import Machine, te
from sateen.topi import Computation, Kind, Layout, LayoutChoice, Operator, Symbol, TensorType, kind_of, placeholder
from sateen.topi.computations.element_wise import unary


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    name = "acme.Swish"
    beta: float = 1.0

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        return unary(x, lambda e: e * te.sigmoid(e * self.beta), "swish", outputs[0].layout)


@pytest.mark.parametrize(
    ("outputs", "found"),
    [(placeholder((2,), "float32", "x"), "View"), (None, "NoneType"), ((1, None), r"\(int, NoneType\)")],
)
def test_a_computation_of_what_is_no_tuple_of_views_is_refused(outputs, found):
    message = rf"Computation: expected a tuple of a view for each output, as \(view,\), found {found}"
    with pytest.raises(ExpressionError, match=message):
        Computation(outputs)


def test_operators_are_values():
    assert Swish(2.0) == Swish(beta=2.0)
    assert Swish(2.0) != Swish()
    assert hash(Swish(2.0)) == hash(Swish(2.0))


def test_an_operator_infers_symbols_and_computes(computed, random):
    type_ = TensorType.of("float32", (2, Symbol("n")))
    assert Swish().infer(type_) == (type_,)
    x = random.standard_normal((3, 40)).astype(np.float32)
    out = TensorType.of("float32", x.shape)
    np.testing.assert_allclose(
        computed(lambda view: Swish(2.0).compute(view, outputs=(out,)), x), x / (1 + np.exp(-2.0 * x)), rtol=2e-5
    )


def test_what_an_operator_is_to_fusion_follows_from_its_computation():
    x = placeholder((2, 3), "float32", "x")
    assert kind_of(Swish().compute(x, outputs=(TensorType.of("float32", (2, 3)),))) is Kind.ELEMENT_WISE


def test_an_operator_runs_row_major_unless_it_says_more():
    types = [TensorType.of("float32", (1, 32), Layout.blocked(2, 1, 16))]
    assert list(Swish().layouts(types, types, Machine.of("llvm"))) == [LayoutChoice((None,), (None,))]


def test_an_open_dimension_is_refused_where_a_number_is_needed():
    with pytest.raises(InferenceError, match=r"^expected known dimensions, found float32\[2, \?n\]$"):
        _ = TensorType.of("float32", (2, Symbol("n"))).static_shape
