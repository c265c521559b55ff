"""Operators of other packages in graphs: inferred, printed, interpreted, laid out, fused and compiled as ours."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import GraphBuilder, NodeSpan, parse_graph, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, Add, Conv, Relu
from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.graph_ir.passes.fold_constants import fold_constants
from sateen.graph_ir.passes.share_equal_nodes import share_equal_nodes
from sateen.runtime import Target, load
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.topi import Computation, LayoutChoice, Operator, Symbol, TensorType, compute
from sateen.topi.computations.element_wise import unary
from sateen.topi.computations.softmaxes import softmax


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    """x · sigmoid(beta·x), in any layout."""

    name = "acme.Swish"
    beta: float = 1.0

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        return unary(x, lambda e: e * te.sigmoid(e * self.beta), "swish", outputs[0].layout)

    def layouts(self, inputs, outputs, machine):
        yield LayoutChoice((inputs[0].layout,), (inputs[0].layout,))


@dataclass(frozen=True, slots=True)
class Weighted(Operator):
    """softmax(x) · weight, of rows; weight may be absent. It brings a schedule."""

    name = "acme.Weighted"
    axis: int

    def infer(self, x, weight=None):
        if not x.dtype.is_float:
            raise InferenceError(f"expects floating-point data, found {x.dtype}")
        return (x,)

    def compute(self, x, weight=None, *, outputs):
        if weight is None:
            return softmax(x, self.axis)
        product = compute(x.shape, lambda *i: x(*i) * weight(i[-1]), "weighted")
        return Computation((product,))


def swish(x, beta):
    return x / (1 + np.exp(-beta * x))


def one(operator, *shapes):
    builder = GraphBuilder("net")
    inputs = [None if s is None else builder.input(f"x{i}", "float32", s) for i, s in enumerate(shapes)]
    builder.output(builder.add(operator, *inputs, name="y"))
    return builder.finish()


def run(graph, inputs, **options):
    return {name: a.numpy() for name, a in load(build(graph, **options)).run(inputs).items()}


def test_text_form_has_the_name_and_attributes_and_is_read_back():
    graph = one(Swish(1.5), (2, Symbol("n")))
    assert str(graph).splitlines()[2] == "  %y: float32[2, ?n] = acme.Swish(%x0) {beta=1.5}"
    again = parse_graph(str(graph), OPS.with_ops(Swish))
    assert again.nodes[0].op == Swish(1.5)
    assert str(again) == str(graph)
    verify_graph(again)


def test_text_with_an_operator_that_is_not_of_the_set_is_refused():
    with pytest.raises(ParseError, match=r"line 3, column 23: expected the name of an operator, found 'acme\.Swish'"):
        parse_graph(str(one(Swish(), (2, 3))), OPS)


def test_text_with_a_wrong_attribute_is_refused():
    text = str(one(Swish(1.5), (2, 3))).replace("1.5", "true")
    with pytest.raises(ParseError, match=r"expected a number as 'beta' of acme\.Swish, found 'true'"):
        parse_graph(text, OPS.with_ops(Swish))


@dataclass(frozen=True, slots=True)
class Unprintable(Swish):
    name = "acme.Unprintable"
    extra: complex = 0j


def test_an_attribute_without_text_form_is_refused():
    with pytest.raises(ArgumentError, match="expected an attribute with a text form, found complex 1j"):
        str(one(Unprintable(1.0, 1j), (2, 3)))


class Plain(Swish):
    """Not qualified."""

    __slots__ = ()
    name = "Plain"


class Loose(Operator):
    """No dataclass, so it has no attributes."""

    name = "acme.Loose"


@dataclass(frozen=True, slots=True)
class Listed(Swish):
    name = "acme.Listed"
    weights: object = ()
    axes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unresolved(Swish):
    name = "acme.Unresolved"
    scale: "OnlyForTypeCheckers" = 1.0  # noqa: F821


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: one(Plain(), (2,)), "Plain: expected a qualified name such as 'acme.Swish', found 'Plain'"),
        (lambda: one(Loose(), (2,)), "Loose: expected a frozen dataclass, whose fields are the attributes"),
        (lambda: Swish("a"), "acme.Swish: beta expects a number, found 'a'"),
        (lambda: Listed(axes=[1, 2]), "acme.Listed: axes expects a tuple of integers, found [1, 2]; write (1, 2)"),
        (lambda: Unresolved(scale=2.0), "Unresolved: expected annotations of fields that can be resolved at run time"),
        (lambda: Listed(weights=[1.0]), "acme.Listed: expected attributes that can't change, such as tuples: unhashab"),
    ],
)
def test_an_operator_is_checked_where_it_is_made_and_where_it_is_added(made, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        made()


def test_compiled_and_interpreted_values_agree_with_the_formula():
    x = np.random.default_rng(0).standard_normal((3, 50)).astype(np.float32)
    graph = one(Swish(0.5), (3, 50))
    np.testing.assert_allclose(interpret(graph, {"x0": x})["y"], swish(x, 0.5), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(graph, {"x0": x})["y"], swish(x, 0.5), rtol=1e-5, atol=1e-6)


def test_it_becomes_one_kernel_with_its_neighbours():
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (4, 8))
    builder.output(builder.add(Relu(), builder.add(Swish(), builder.add(Relu(), x)), name="y"))
    assert len(lower_network(builder.finish(), Target.of("llvm")).kernels) == 1


def test_its_own_schedule_is_used_and_takes_an_epilogue():
    random = np.random.default_rng(0)
    x = random.standard_normal((6, 40)).astype(np.float32)
    builder = GraphBuilder("net")
    rows = builder.add(Weighted(1), builder.input("x", "float32", x.shape), None)
    builder.output(builder.add(Swish(), rows, name="y"))
    graph = builder.finish()
    assert len(lower_network(graph, Target.of("llvm")).kernels) == 1
    powers = np.exp(x - x.max(1, keepdims=True))
    expected = swish(powers / powers.sum(1, keepdims=True), 1.0)
    np.testing.assert_allclose(run(graph, {"x": x})["y"], expected, rtol=1e-5, atol=1e-6)


@dataclass(frozen=True, slots=True)
class Total(Operator):
    """The sums of the rows of relu(x), in two stages without a schedule."""

    name = "acme.Total"

    def infer(self, x):
        return (TensorType.of(x.dtype, x.shape[:1]),)

    def compute(self, x, *, outputs):
        above = compute(x.shape, lambda i, j: te.maximum(x(i, j), 0.0), "above")
        k = te.reduce_axis(x.shape[1], "k")
        return Computation((compute(x.shape[:1], lambda i: te.sum(above(i, k), axis=k), "total"),))


def test_a_reduction_without_a_schedule_computes_between_its_neighbours():
    x = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    builder = GraphBuilder("net")
    before = builder.add(Swish(), builder.input("x", "float32", x.shape))
    builder.output(builder.add(Swish(), builder.add(Total(), before), name="y"))
    expected = swish(np.maximum(swish(x, 1.0), 0).sum(1), 1.0)
    np.testing.assert_allclose(run(builder.finish(), {"x": x})["y"], expected, rtol=1e-5)


def test_optional_inputs_are_given_or_not():
    x, weight = np.float32([[1, 2, 3]]), np.float32([2, 3, 4])
    found = run(one(Weighted(1), (1, 3), (3,)), {"x0": x, "x1": weight})["y"]
    np.testing.assert_array_equal(found, x * weight)


def test_it_runs_in_the_layouts_that_it_names(of_lanes):
    random = np.random.default_rng(0)
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (1, 64, 28, 28))
    weight = builder.parameter("w", random.standard_normal((64, 64, 1, 1)).astype(np.float32))
    builder.output(builder.add(Swish(), builder.add(Conv(), x, weight), name="y"))
    graph = builder.finish()
    laid = choose_layouts(graph, of_lanes(8))
    (node,) = (n for n in laid.nodes if isinstance(n.op, Swish))
    assert str(node.outputs[0].type) == "float32[1, 64, 28, 28]@aBcd8b"
    data = {"x": random.standard_normal((1, 64, 28, 28)).astype(np.float32)}
    expected = interpret(graph, data)["y"]
    np.testing.assert_allclose(run(laid, data, pipeline=())["y"], expected, rtol=1e-4, atol=1e-5)


def test_it_is_folded_on_constants_and_shared_where_equal():
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (3,))
    constant = builder.parameter("c", np.float32([1, -1, 0]))
    folded = builder.add(Swish(), constant)
    same = [builder.add(Swish(2.0), x) for _ in range(2)]
    builder.output(builder.add(Add(), builder.add(Add(), *same), folded, name="y"))
    graph = share_equal_nodes(fold_constants(builder.finish()))
    assert [n.op.op_name() for n in graph.nodes] == ["acme.Swish", "add", "add"]
    (data,) = (a for v, a in graph.parameters.items() if v is folded)
    np.testing.assert_allclose(data, swish(np.float32([1, -1, 0]), 1.0), rtol=1e-6)


@dataclass(frozen=True, slots=True)
class OtherSwish(Operator):
    """Another package's operator, which happens to have the name of ours."""

    name = "acme.Swish"

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        return unary(x, lambda e: e * 2.0, "swish", outputs[0].layout)


def test_operators_of_one_name_are_two_where_they_are_of_two_classes():
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (3,))
    builder.output(builder.add(Swish(), x, name="a"), builder.add(OtherSwish(), x, name="b"))
    data = np.float32([1, 2, 3])
    found = run(builder.finish(), {"x": data})
    np.testing.assert_allclose(found["a"], swish(data, 1.0), rtol=1e-5)
    np.testing.assert_array_equal(found["b"], data * 2)


@dataclass(frozen=True, slots=True)
class Faulty(Operator):
    """Does one thing wrong."""

    name = "acme.Faulty"
    fault: str

    def infer(self, x):
        match self.fault:
            case "infers no tuple":
                return x
            case "raises":
                return (x.nothing,)
            case "infers another type":
                return (TensorType.of("float16", x.shape),)
        return (x,)

    def compute(self, x, *, outputs):
        match self.fault:
            case "computes nothing":
                return None
            case "raises in compute":
                return x.nothing
            case "gives an input":
                return Computation((x,))
        return unary(x, lambda e: e, "faulty")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("infers no tuple", "acme.Faulty: expected infer to give a tuple of row-major types, found TensorType("),
        ("computes nothing", "acme.Faulty: expected a Computation, found None"),
        ("gives an input", "acme.Faulty: expected outputs that are computed, found an input"),
        ("infers another type", "acme.Faulty: expected a computation of float16[2], found one of float32[2]"),
    ],
)
def test_an_operator_that_breaks_the_contract_is_named(fault, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        build(one(Faulty(fault), (2,)))


def test_what_an_operator_raises_tells_whose_code_it_is():
    with pytest.raises(AttributeError) as caught:
        one(Faulty("raises"), (2,))
    assert caught.value.__notes__ == [f"in operator 'acme.Faulty', {__name__}.Faulty", "  %x0: float32[2]"]


def test_what_a_computation_raises_tells_whose_code_it_is_and_the_node():
    graph = one(Faulty("raises in compute"), (2,))
    (node,) = graph.nodes
    graph = replace(graph, nodes=(replace(node, spans=(NodeSpan("net", "n", "Faulty"),)),))
    whose = f"in operator 'acme.Faulty', {__name__}.Faulty"
    for use in (build, lambda g: interpret(g, {"x0": np.zeros(2, np.float32)})):
        with pytest.raises(AttributeError) as caught:
            use(graph)
        assert caught.value.__notes__[:3] == [
            whose, "in node 'n' (Faulty) of model 'net'", "  %x0: float32[2]"
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ((), "acme.Weighted: takes inputs x, weight; found 0 of them"),
        (((2, 3), (3,), (3,)), "acme.Weighted: takes inputs x, weight; found 3 of them"),
        ((None, (3,)), "acme.Weighted: expects input 'x', found none"),
    ],
)
def test_inputs_are_checked_against_the_parameters_of_infer(shapes, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        one(Weighted(1), *shapes)


def test_an_error_of_inference_tells_node_and_operator():
    builder = GraphBuilder("net")
    with pytest.raises(InferenceError) as caught:
        builder.add(Weighted(1), builder.input("x", "int32", (2, 3)))
    assert caught.value.report() == (
        "InferenceError: expects floating-point data, found int32\n"
        f"  in operator 'acme.Weighted', {__name__}.Weighted\n    %x: int32[2, 3]"
    )
