"""Nodes of operators that users bring."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from sateen.frontends import check_onnx, from_onnx
from sateen.graph_ir import OPS, interpret
from sateen.runtime import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute
from sateen.topi.computations.element_wise import unary


@dataclass(frozen=True, slots=True)
class Affine(Operator):
    """x · scale + shift, limited if asked; shift may be absent."""

    name = "acme.nn.Affine"
    scale: float
    limited: bool = False
    limits: tuple[float, ...] = (0.0, 6.0)
    label: str | None = None
    axes: tuple[int, ...] = ()
    count: int = 1

    def infer(self, x, shift=None):
        return (x,)

    def compute(self, x, shift=None, *, outputs):
        def element(*index):
            value = x(*index) * self.scale + (0.0 if shift is None else shift(*index))
            return te.minimum(te.maximum(value, self.limits[0]), self.limits[1]) if self.limited else value

        return Computation((compute(x.shape, element, "affine"),))


@dataclass(frozen=True, slots=True)
class Halves(Operator):
    """The two halves of the first axis, and any number of further inputs."""

    name = "acme.nn.Halves"

    def infer(self, x, *others):
        half = type(x)(x.dtype, (x.static_shape[0] // 2, *x.shape[1:]))
        return half, half

    def compute(self, x, *others, outputs):
        rows = outputs[0].static_shape[0]
        both = [compute(outputs[0].static_shape, lambda i, b=b: x(i + b * rows), f"half{b}") for b in (0, 1)]
        return Computation(tuple(both), lambda s, output, machine: None)


@dataclass(frozen=True, slots=True)
class Untellable(Operator):
    name = "acme.nn.Untellable"
    dtype: DType

    def infer(self, x):
        return (x,)


@dataclass(frozen=True, slots=True)
class Multinomial(Operator):
    """An operator of ONNX that sateen lacks."""

    name = "ai.onnx.Multinomial"
    sample_size: int = 1

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        return unary(x, lambda e: e + 1.0, "multinomial")


@dataclass(frozen=True, slots=True)
class Relu(Operator):
    """An operator that sateen has."""

    name = "ai.onnx.Relu"

    def infer(self, x):
        return (x,)


OPERATORS = OPS.with_ops(Affine, Halves, Untellable, Multinomial, Relu)


def model(kind, inputs=("x",), outputs=("y",), domain="acme.nn", opset=1, **attributes) -> ModelProto:
    """One node over x and z, float32[4]."""
    node = helper.make_node(kind, inputs, outputs, "the_node", domain=domain, **attributes)
    data = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4,)) for name in ("x", "z")]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme.nn", opset)]
    return helper.make_model(helper.make_graph([node], "net", data, results), opset_imports=opsets)


def op_of(proto: ModelProto) -> Operator:
    (node,) = from_onnx(proto, operators=OPERATORS)[0].nodes
    return node.op


X, Z = np.float32([-1, 0, 1, 2]), np.float32([1, 2, 3, 4])


def run(proto: ModelProto) -> dict[str, np.ndarray]:
    return interpret(from_onnx(proto, operators=OPERATORS)[0], {"x": X, "z": Z})


def test_attributes_go_to_the_fields_of_their_names():
    proto = model("Affine", scale=2.0, limited=1, limits=[0.0, 1.0], label="a", axes=[1, 2], count=3)
    assert op_of(proto) == Affine(2.0, True, (0.0, 1.0), "a", (1, 2), 3)
    assert op_of(model("Affine", scale=2.0)) == Affine(2.0)


def test_values_are_those_of_the_operator():
    np.testing.assert_array_equal(run(model("Affine", ("x", "z"), scale=2.0))["y"], X * 2 + Z)
    np.testing.assert_array_equal(run(model("Affine", ("x", ""), scale=2.0, limited=1))["y"], [0, 0, 2, 4])


def test_several_outputs_and_any_number_of_inputs():
    found = run(model("Halves", ("x", "z", "x"), ("a", "b")))
    np.testing.assert_array_equal(found["a"], X[:2])
    np.testing.assert_array_equal(found["b"], X[2:])
    np.testing.assert_array_equal(run(model("Halves", outputs=("", "b")))["b"], X[2:])


def test_an_operator_of_onnx_that_sateen_lacks_may_be_brought_and_one_that_it_has_stays():
    assert op_of(model("Multinomial", domain="", sample_size=2)) == Multinomial(2)
    assert op_of(model("Relu", domain="")).op_name() == "relu"


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (model("Affine"), "expected attribute 'scale', found none"),
        (model("Affine", scale=2), "expected attribute 'scale' of type FLOAT, found INT"),
        (model("Affine", scale=2.0, bias=1.0), "Affine of opset 1 has no attribute 'bias'"),
        (model("Affine", scale=2.0, limited=2), "expected True or False as attribute 'limited', found 2"),
        (model("Affine", (), scale=2.0), "expected 1 to 2 inputs of Affine, found 0"),
        (model("Affine", ("x", "z", "z"), scale=2.0), "expected 1 to 2 inputs of Affine, found 3"),
        (model("Affine", ("", "z"), scale=2.0), "expected input 0 (x), found none"),
        (model("Affine", outputs=("y", "z2"), scale=2.0), "expected at most 1 outputs of acme.nn.Affine, found 2"),
        (model("Untellable"), "field 'dtype' of acme.nn.Untellable has no kind of attribute in ONNX"),
        (model("Absent"), "ONNX has no operator of this name in acme.nn 1"),
    ],
)
def test_a_node_that_does_not_fit_is_reported_by_name(proto, message):
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        from_onnx(proto, operators=OPERATORS)
    assert "node 'the_node'" in str(caught.value)


def test_a_set_without_the_operator_reports_it_and_says_what_helps():
    report = check_onnx(model("Affine", scale=2.0))
    (gap,) = report.gaps
    assert gap.help == "export in standard ONNX, or bring the operator (docs/operators.md)"
    assert check_onnx(model("Affine", scale=2.0), operators=OPERATORS).is_supported


def test_a_function_of_the_model_counts_before_an_operator_of_its_name():
    proto = model("Affine", scale=2.0)
    body = [helper.make_node("Neg", ["a"], ["b"])]
    proto.functions.append(
        helper.make_function("acme.nn", "Affine", ["a"], ["b"], body, [helper.make_opsetid("", 18)], ["scale"])
    )
    np.testing.assert_array_equal(run(proto)["y"], -X)
