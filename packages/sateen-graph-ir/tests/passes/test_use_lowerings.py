"""Users' computations in place of ours."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import GraphBuilder, parse_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, Exp, MatMul, Relu
from sateen.graph_ir.passes.use_lowerings import use_lowerings
from sateen.runtime import Target, load
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import ObjectCache, te
from sateen.tensor_ir.ir.digests import digest
from sateen.topi import Computation, Operator, compute
from sateen.topi.computations.element_wise import unary


def doubled(op, x, *, outputs):
    """Not what exp is: so that a test sees whose computation ran."""
    assert isinstance(op, Exp)
    return unary(x, lambda e: e * 2.0, "doubled", outputs[0].layout)


def rows_apart(op, a, b, *, outputs):
    """A matrix product by a schedule of its own: a row after another."""
    assert isinstance(op, MatMul)
    if a.shape[0] > 8:
        return None
    k = te.reduce_axis(a.shape[1], "k")
    product = compute(outputs[0].static_shape, lambda i, j: te.sum(a(i, k) * b(k, j), axis=k), "product")

    def schedule(s, output, _machine):
        if output is not product.tensor:
            s[product.tensor].compute_at(s[output], s[output].axes[0])

    return Computation((product,), schedule)


def network(rows=4):
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (rows, 6))
    weight = builder.parameter("w", np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32))
    builder.output(builder.add(Relu(), builder.add(MatMul(), x, weight), name="y"))
    return builder.finish()


def exponential():
    builder = GraphBuilder("net")
    builder.output(builder.add(Exp(), builder.input("x", "float32", (3,)), name="y"))
    return builder.finish()


X = np.float32([1, 2, 3])


def run(graph, inputs, **options):
    return {name: a.numpy() for name, a in load(build(graph, **options)).run(inputs).items()}["y"]


def test_a_lowering_computes_the_operator_on_its_kind_of_target():
    operators = OPS.with_lowering(Exp, "llvm", doubled).with_lowering(Exp, "cuda", rows_apart)
    np.testing.assert_array_equal(run(exponential(), {"x": X}, operators=operators), X * 2)
    np.testing.assert_allclose(run(exponential(), {"x": X}), np.exp(X), rtol=1e-6)


def test_a_lowering_for_another_kind_changes_nothing():
    graph = exponential()
    assert use_lowerings(graph, OPS.with_lowering(Exp, "c", doubled), "llvm") is graph


def test_a_lowering_brings_its_schedule_and_takes_an_epilogue():
    graph, operators = network(), OPS.with_lowering(MatMul, "llvm", rows_apart)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    (kernel,) = lower_network(use_lowerings(graph, operators, "llvm"), Target.of("llvm")).kernels
    (own,) = lower_network(graph, Target.of("llvm")).kernels
    assert digest(kernel) != digest(own)
    expected = interpret(graph, {"x": x})["y"]
    np.testing.assert_allclose(run(graph, {"x": x}, operators=operators), expected, rtol=1e-5, atol=1e-6)


def test_none_keeps_the_own_computation():
    graph, operators = network(rows=16), OPS.with_lowering(MatMul, "llvm", rows_apart)
    (kernel,) = lower_network(use_lowerings(graph, operators, "llvm"), Target.of("llvm")).kernels
    (own,) = lower_network(graph, Target.of("llvm")).kernels
    assert digest(kernel) == digest(own)


CHOICE = """
graph net
  input %c: bool[]
  input %x: float32[3]
  %y = if(%c, %x)
    then_branch = graph one
      input %x: float32[3]
      %p = exp(%x)
      output %p
    else_branch = graph other
      input %x: float32[3]
      %q = relu(%x)
      output %q
  output %y
"""


def test_operators_within_bodies_are_lowered():
    lowered = use_lowerings(parse_graph(CHOICE, OPS), OPS.with_lowering(Exp, "llvm", doubled), "llvm")
    found = [interpret(lowered, {"c": np.array(c), "x": X})["y"].tolist() for c in (True, False)]
    assert found == [[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]]


def test_text_form_is_that_of_the_operator():
    graph = network()
    assert str(use_lowerings(graph, OPS.with_lowering(MatMul, "llvm", rows_apart), "llvm")) == str(graph)


def test_a_cache_keeps_the_kernels_of_both_apart(tmp_path):
    cache, operators = ObjectCache(tmp_path), OPS.with_lowering(Exp, "llvm", doubled)
    for _ in range(2):
        np.testing.assert_allclose(run(exponential(), {"x": X}, cache=cache), np.exp(X), rtol=1e-6)
        np.testing.assert_array_equal(run(exponential(), {"x": X}, cache=cache, operators=operators), X * 2)


@dataclass(frozen=True, slots=True)
class Twice(Operator):
    name = "acme.Twice"

    def infer(self, x):
        return (x,)

    def compute(self, x, *, outputs):
        return unary(x, lambda e: e + e, "twice")


def test_a_lowering_may_be_for_an_operator_of_another_package():
    def constant(op, x, **_outputs):
        return unary(x, lambda e: e * 0.0 + (7.0 if op == Twice() else 0.0), "seven")

    builder = GraphBuilder("net")
    builder.output(builder.add(Twice(), builder.input("x", "float32", (3,)), name="y"))
    operators = OPS.with_ops(Twice).with_lowering(Twice, "llvm", constant)
    np.testing.assert_array_equal(run(builder.finish(), {"x": X}, operators=operators), np.full(3, 7, np.float32))


def test_a_lowering_that_gives_another_type_is_refused():
    def halved(_op, x, **_outputs):
        return Computation((compute((1,), lambda i: x(i) * 0.5, "part"),))

    with pytest.raises(InferenceError, match=r"exp: expected a computation of float32\[3\], found one of float32\[1\]"):
        build(exponential(), operators=OPS.with_lowering(Exp, "llvm", halved))
