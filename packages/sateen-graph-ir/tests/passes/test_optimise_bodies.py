"""optimise_bodies and lift_parameters: text before, text after."""

from functools import partial

import numpy as np

from sateen.graph_ir.ir import Graph, GraphBuilder, parse_graph, verify_graph, why_different
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, Add, Loop
from sateen.graph_ir.passes import Pass
from sateen.graph_ir.passes.fold_constants import fold_constants
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.graph_ir.passes.optimise_bodies import optimise_bodies
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes

OPTIMISE: Pass = partial(optimise_bodies, before=(fold_constants,), after=(remove_dead_nodes,))


def check(transform: Pass, before: str, after: str) -> None:
    graph, expected = (parse_graph(text.strip(), OPS) for text in (before, after))
    result = transform(graph)
    assert why_different(result, expected) is None, f"{why_different(result, expected)}\n{result}"
    verify_graph(result)
    inputs = {"x": np.float32([1, 2]), "d": np.float32([3, 4]), "c": np.array(True)}
    given = {v.name: inputs[v.name] for v in graph.inputs}
    for name, array in interpret(graph, given).items():
        np.testing.assert_array_equal(interpret(result, given)[name], array)


def graph_of(text: str) -> Graph:
    return parse_graph(text.strip(), OPS)


LOOP = """
graph net
  input %x: float32[2]
  input %d: float32[2]
  parameter %w: float32[2] = [1.0, -1.0]
  %y: float32[2] = loop(%x, %d, %w) {count=3, carried=1}
    body = graph body
      input %i: int64[]
      input %s: float32[2]
      input %unread: float32[2]
      input %v: float32[2]
      %p: float32[2] = relu(%v)
      %t: float32[2] = add(%s, %p)
      output %t
  output %y
"""
LOOP_WITH_CONSTANT = """
graph net
  input %x: float32[2]
  input %d: float32[2]
  parameter %w: float32[2] = [1.0, -1.0]
  %y: float32[2] = loop(%x) {count=3, carried=1}
    body = graph body
      input %i: int64[]
      input %s: float32[2]
      parameter %p: float32[2] = [1.0, 0.0]
      %t: float32[2] = add(%s, %p)
      output %t
  output %y
"""


def test_captured_parameters_are_folded_in_bodies_and_unread_values_dropped() -> None:
    check(OPTIMISE, LOOP, LOOP_WITH_CONSTANT)


def test_a_value_that_one_branch_reads_stays_in_both() -> None:
    text = """
graph net
  input %c: bool[]
  input %x: float32[2]
  input %d: float32[2]
  %y: float32[2] = if(%c, %x, %d)
    then_branch = graph then
      input %a: float32[2]
      input %b: float32[2]
      %t: float32[2] = relu(%a)
      output %t
    else_branch = graph else
      input %a: float32[2]
      input %b: float32[2]
      %t: float32[2] = add(%a, %b)
      output %t
  output %y
"""
    graph = graph_of(text)
    assert OPTIMISE(graph) is graph


def test_bodies_of_bodies_are_optimised() -> None:
    text = """
graph net
  input %x: float32[2]
  %y: float32[2] = loop(%x) {count=3, carried=1}
    body = graph outer
      input %i: int64[]
      input %s: float32[2]
      parameter %w: float32[2] = [1.0, -1.0]
      %t: float32[2] = loop(%s, %w) {count=2, carried=1}
        body = graph inner
          input %j: int64[]
          input %r: float32[2]
          input %v: float32[2]
          %p: float32[2] = relu(%v)
          %u: float32[2] = add(%r, %p)
          output %u
      output %t
  output %y
"""
    after = """
graph net
  input %x: float32[2]
  %y: float32[2] = loop(%x) {count=3, carried=1}
    body = graph outer
      input %i: int64[]
      input %s: float32[2]
      %t: float32[2] = loop(%s) {count=2, carried=1}
        body = graph inner
          input %j: int64[]
          input %r: float32[2]
          parameter %p: float32[2] = [1.0, 0.0]
          %u: float32[2] = add(%r, %p)
          output %u
      output %t
  output %y
"""
    check(OPTIMISE, text, after)


def test_a_graph_without_bodies_stays() -> None:
    graph = graph_of("graph net\n  input %x: float32[2]\n  %y: float32[2] = relu(%x)\n  output %y")
    assert OPTIMISE(graph) is graph
    assert lift_parameters(graph) is graph


def test_parameters_of_bodies_become_captured_parameters_of_the_graph() -> None:
    after = """
graph net
  input %x: float32[2]
  input %d: float32[2]
  parameter %w: float32[2] = [1.0, -1.0]
  parameter %p: float32[2] = [1.0, 0.0]
  %y: float32[2] = loop(%x, %p) {count=3, carried=1}
    body = graph body
      input %i: int64[]
      input %s: float32[2]
      input %p: float32[2]
      %t: float32[2] = add(%s, %p)
      output %t
  output %y
"""
    check(lift_parameters, LOOP_WITH_CONSTANT, after)


def test_branches_take_each_others_parameters_and_leave_them_unread() -> None:
    before = """
graph net
  input %c: bool[]
  input %x: float32[2]
  %y: float32[2] = if(%c, %x)
    then_branch = graph then
      input %a: float32[2]
      parameter %p: float32[2] = [1.0, 0.0]
      %t: float32[2] = add(%a, %p)
      output %t
    else_branch = graph else
      input %a: float32[2]
      parameter %p: float32[] = [2.0]
      %t: float32[2] = multiply(%a, %p)
      output %t
  output %y
"""
    after = """
graph net
  input %c: bool[]
  input %x: float32[2]
  parameter %p: float32[2] = [1.0, 0.0]
  parameter %p.1: float32[] = [2.0]
  %y: float32[2] = if(%c, %x, %p, %p.1)
    then_branch = graph then
      input %a: float32[2]
      input %p: float32[2]
      input %p.1: float32[]
      %t: float32[2] = add(%a, %p)
      output %t
    else_branch = graph else
      input %a: float32[2]
      input %p.1: float32[2]
      input %p: float32[]
      %t: float32[2] = multiply(%a, %p)
      output %t
  output %y
"""
    check(lift_parameters, before, after)


def test_bodies_with_the_same_data_share_a_parameter() -> None:
    data = np.float32([1, 2])

    def body() -> Graph:
        builder = GraphBuilder("body")
        builder.input("i", "int64", ())
        state = builder.input("s", "float32", (2,))
        builder.output(builder.add(Add(), state, builder.parameter("w", data)))
        return builder.finish()

    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (2,))
    builder.output(builder.add(Loop(body(), 2, 1), builder.add(Loop(body(), 3, 1), x)))
    lifted = lift_parameters(builder.finish())
    assert [held is data for held in lifted.parameters.values()] == [True]
    assert lifted.nodes[0].inputs[1] is lifted.nodes[1].inputs[1]
