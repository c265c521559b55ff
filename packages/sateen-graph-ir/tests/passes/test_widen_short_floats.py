"""Pass widen_short_floats."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sateen.graph_ir import OPS, build, parse_graph
from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Conv, MatMul, Relu, WinogradConv
from sateen.graph_ir.passes import default_pipeline, run_pipeline
from sateen.graph_ir.passes.widen_short_floats import widen_short_floats
from sateen.runtime import Target, load
from sateen.tensor_ir import Machine
from sateen.topi.operators import Operator

MACHINE = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")


def widened(text):
    graph = widen_short_floats(parse_graph(text.strip(), OPS), MACHINE)
    verify_graph(graph)
    return str(graph).strip()


def test_results_between_operators_are_float32():
    assert widened("""
graph net
  input %x: float16[4, 8]
  input %w: float16[8, 8]
  %a = mat_mul(%x, %w)
  %y = relu(%a)
  output %y
""") == """
graph net
  input %x: float16[4, 8]
  input %w: float16[8, 8]
  %x.1: float32[4, 8] = cast(%x) {dtype=float32}
  %w.1: float32[8, 8] = cast(%w) {dtype=float32}
  %a: float32[4, 8] = mat_mul(%x.1, %w.1)
  %y.1: float32[4, 8] = relu(%a)
  %y: float16[4, 8] = cast(%y.1) {dtype=float16}
  output %y
""".strip()  # fmt: skip


def test_casts_of_the_user_round_as_before():
    assert widened("""
graph net
  input %x: float32[4]
  %h = cast(%x) {dtype=float16}
  %s = add(%h, %h)
  %f = cast(%s) {dtype=float32}
  %y = relu(%f)
  output %y
""") == """
graph net
  input %x: float32[4]
  %h: float16[4] = cast(%x) {dtype=float16}
  %h.1: float32[4] = cast(%h) {dtype=float32}
  %s: float32[4] = add(%h.1, %h.1)
  %y: float32[4] = relu(%s)
  output %y
""".strip()  # fmt: skip


def test_a_cast_between_short_types_rounds_to_both():
    text = widened("""
graph net
  input %x: float16[4]
  %s = add(%x, %x)
  %b = cast(%s) {dtype=bfloat16}
  %y = add(%b, %b)
  output %y
""")
    assert "cast(%s) {dtype=float16}" in text
    assert "%b: bfloat16[4] = cast(%s.1) {dtype=bfloat16}" in text


@pytest.mark.parametrize(
    "text",
    [
        """
graph net
  input %x: float32[4]
  %y = relu(%x)
  output %y
""",
        """
graph net
  input %t: float16[1000, 64]
  input %i: int64[3]
  %a = gather(%t, %i) {axis=0}
  %y = reshape(%a) {shape=(192)}
  output %y
""",
    ],
    ids=["float32", "moves of what is short"],
)
def test_others_stay(text):
    graph = parse_graph(text.strip(), OPS)
    after = widen_short_floats(graph, MACHINE)
    assert str(after) == str(graph)


def test_a_cache_stays_short_where_rows_join_it():
    text = widened("""
graph net
  input %past: float16[8, 4]
  input %x: float16[1, 4]
  %new = relu(%x)
  %present = concat(%past, %new) {axis=0}
  %y = relu(%present)
  output %present
  output %y
""")
    assert "%present: float16[9, 4] = concat(%past, %new.1)" in text


def test_bits_are_those_of_the_short_type():
    text = widened("""
graph net
  input %x: float16[4]
  %a = relu(%x)
  %y = bit_cast(%a) {dtype=int16}
  output %y
""")
    assert "%y: int16[4] = bit_cast(%a.1) {dtype=int16}" in text
    assert "%a.1: float16[4] = cast(%a) {dtype=float16}" in text


@dataclass(frozen=True, slots=True)
class Twice(Operator):
    """An operator of a user, which takes any type."""

    name = "acme.Twice"

    def infer(self, x):
        return (x,)


def test_operators_of_users_and_machines_without_a_system_keep_their_types():
    g = GraphBuilder("test")
    g.output(g.add(Relu(), g.add(Twice(), g.input("x", "float16", (4,)))))
    graph = g.finish()
    after = widen_short_floats(graph, MACHINE)
    assert [str(n.outputs[0].type.dtype) for n in after.nodes] == ["float16", "float32", "float32", "float16"], after
    assert widen_short_floats(graph, Machine.of("llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4")) is graph
    assert widen_short_floats(graph, replace(MACHINE, enlargement_cycles=float("inf"))) is graph


def network(dtype):
    """A convolution that Winograd's method suits, and a product, with weights of a type."""
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", dtype, (1, 64, 28, 28))
    w, m = (random.standard_normal(shape).astype("float16") for shape in ((64, 64, 3, 3), (28, 32)))
    weight, matrix = (g.parameter("w", (a / 8).astype(x.type.dtype.numpy)) for a in (w, m))
    a = g.add(Relu(), g.add(Conv(pads=(1, 1, 1, 1)), x, weight))
    g.output(g.add(MatMul(), a, matrix, name="y"))
    return g.finish()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_methods_for_float32_are_chosen_with_weights_of_short_types(dtype):
    target = Target.of("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    for numerics, kind in (("default", WinogradConv), ("strict", Conv)):
        after = run_pipeline(network(dtype), default_pipeline(target, numerics))
        assert any(isinstance(n.op, kind) for n in after.nodes)


def test_a_network_is_closer_to_the_exact_one():
    graph = network("float16")
    x = {"x": np.random.default_rng(1).standard_normal((1, 64, 28, 28)).astype("float16")}
    exact = interpret(network("float32"), {"x": x["x"].astype("float32")})["y"]
    errors = {}
    for numerics in ("default", "strict"):
        found = load(build(graph, numerics=numerics)).run(x)["y"].numpy()
        assert found.dtype == np.float16
        errors[numerics] = np.abs(found.astype("float32") - exact).max() / np.abs(exact).max()
    assert errors["default"] < 1e-3
    assert errors["default"] <= errors["strict"]
