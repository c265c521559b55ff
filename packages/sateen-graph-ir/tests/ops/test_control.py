"""Control flow: text form, inference and its refusals, definition, and the same values from compiled networks."""

from collections.abc import Sequence

import numpy as np
import pytest

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Array, Graph, TensorType, parse_graph, verify_graph, why_different
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS, If, Loop, While
from sateen.runtime import load
from sateen.runtime.errors import InferenceError

CHOICE = """
graph choice
  input %c: bool[]
  input %x: float32[3]
  %y: float32[3], %z: float32[3] = if(%c, %x)
    then_branch = graph then
      input %a: float32[3]
      %exp: float32[3] = exp(%a)  # grow (Exp) of net
      %same: float32[3] = identity(%a)
      output %exp
      output %same
    else_branch = graph else
      input %b: float32[3]
      parameter %two: float32[] = [2.0]
      %twice: float32[3] = multiply(%b, %two)
      %relu: float32[3] = relu(%twice)
      output %relu
      output %twice
  %r: float32[3] = abs(%y)
  output %r
  output %z
"""
FIBONACCI = """
graph fibonacci
  input %a: float32[2]
  input %b: float32[2]
  input %t: float32[5, 2]
  %x: float32[2], %y: float32[2], %all: float32[5, 2] = loop(%a, %b, %t) {count=5, carried=2}
    body = graph step
      input %i: int64[]
      input %p: float32[2]
      input %q: float32[2]
      input %rows: float32[5, 2]
      %row: float32[2] = gather(%rows, %i)
      %next: float32[2] = identity(%q)
      %sum: float32[2] = add(%p, %q)
      %scaled: float32[2] = multiply(%sum, %row)
      output %next
      output %sum
      output %scaled
  output %x
  output %y
  output %all
"""
DOUBLING = """
graph doubling
  input %most: int64[]
  input %start: bool[]
  input %x: float32[2]
  input %end: float32[]
  %y: float32[2] = while(%most, %start, %x, %end)
    body = graph step
      input %i: int64[]
      input %v: float32[2]
      input %limit: float32[]
      %twice: float32[2] = add(%v, %v)
      %sum: float32[] = reduce_sum(%twice) {axes=(0,), keepdims=false}
      %more: bool[] = less(%sum, %limit)
      output %more
      output %twice
  output %y
"""
NESTED = """
graph nested
  input %x: float32[2]
  %y: float32[2], %parts: float32[4, 3, 2] = loop(%x) {count=4, carried=1}
    body = graph outer
      input %i: int64[]
      input %v: float32[2]
      parameter %two: int64[] = [2]
      %early: bool[] = less(%i, %two)
      %w: float32[2] = if(%early, %v)
        then_branch = graph grow
          input %v: float32[2]
          %a: float32[2] = add(%v, %v)
          output %a
        else_branch = graph shrink
          input %v: float32[2]
          parameter %half: float32[] = [0.5]
          %m: float32[2] = multiply(%v, %half)
          output %m
      %steps: float32[3, 2] = loop(%v, %i) {count=3}
        body = graph inner
          input %k: int64[]
          input %u: float32[2]
          input %n: int64[]
          %place: int64[] = add(%k, %n)
          %number: float32[] = cast(%place) {dtype=float32}
          %s: float32[2] = add(%u, %number)
          output %s
      output %w
      output %steps
  output %y
  output %parts
"""


def graph_of(text: str) -> Graph:
    graph = parse_graph(text.strip(), OPS)
    verify_graph(graph)
    return graph


def compiled(graph: Graph, inputs: dict[str, Array]) -> dict[str, Array]:
    return {name: array.numpy() for name, array in load(build(graph)).run(inputs).items()}


def check(text: str, cases: Sequence[dict[str, Array]], **expected: Sequence[object]) -> None:
    """Definition and compiled network give what is expected of each output in each case."""
    graph = graph_of(text)
    model = load(build(graph))
    for number, inputs in enumerate(cases):
        by_definition = interpret(graph, inputs)
        native = {name: array.numpy() for name, array in model.run(inputs).items()}
        for name, values in expected.items():
            np.testing.assert_allclose(by_definition[name], np.asarray(values[number]), rtol=1e-6)
            np.testing.assert_allclose(native[name], np.asarray(values[number]), rtol=1e-6)


@pytest.mark.parametrize("text", [CHOICE, FIBONACCI, DOUBLING, NESTED])
def test_text_form_round_trips(text: str) -> None:
    graph = graph_of(text)
    assert str(graph) == text.strip()
    assert why_different(parse_graph(str(graph), OPS), graph, names=True) is None


def test_if_gives_what_the_branch_gives_that_its_condition_takes() -> None:
    x = np.float32([1, -2, 0])
    cases = [{"c": np.array(c), "x": x} for c in (True, False)]
    check(CHOICE, cases, r=[np.exp(x), [2, 0, 0]], z=[x, 2 * x])


def test_loop_hands_values_on_and_stacks_the_others() -> None:
    a, b, rows = np.float32([1, 2]), np.float32([3, 5]), np.arange(10, dtype=np.float32).reshape(5, 2)
    numbers = [a, b]
    for _ in range(5):
        numbers.append(numbers[-2] + numbers[-1])
    check(FIBONACCI, [{"a": a, "b": b, "t": rows}], x=[numbers[5]], y=[numbers[6]], all=[np.stack(numbers[2:]) * rows])


def test_a_loop_of_no_iterations_gives_what_it_is_given() -> None:
    a, b = np.float32([1, 2]), np.float32([3, 5])
    text = FIBONACCI.replace("count=5", "count=0").replace("%all: float32[5, 2]", "%all: float32[0, 2]")
    graph = graph_of(text)
    inputs = {"a": a, "b": b, "t": np.zeros((5, 2), np.float32)}
    found = interpret(graph, inputs)
    np.testing.assert_array_equal(found["x"], a)
    np.testing.assert_array_equal(found["y"], b)
    assert found["all"].shape == (0, 2)


def test_while_ends_by_its_condition_or_by_the_most_iterations() -> None:
    x = np.float32([1, 2])
    numbers = [(10, True, 20.0), (2, True, 20.0), (10, True, -1.0), (0, True, 20.0), (10, False, 20.0)]
    cases = [{"most": np.array(m), "start": np.array(s), "x": x, "end": np.array(e, np.float32)} for m, s, e in numbers]
    check(DOUBLING, cases, y=[8 * x, 4 * x, 2 * x, x, x])


def test_control_flow_nests() -> None:
    x = np.float32([1, 3])
    values = [x, 2 * x, 4 * x, 2 * x]
    parts = np.stack([np.stack([v + i + k for k in range(3)]) for i, v in enumerate(values)])
    check(NESTED, [{"x": x}], y=[x], parts=[parts])


def test_values_behind_control_flow_do_not_lie_where_its_own_live() -> None:
    text = """
graph busy
  input %c: bool[]
  input %x: float32[64]
  %kept: float32[64] = exp(%x)
  %other: float32[64] = sin(%x)
  %y: float32[64] = if(%c, %kept)
    then_branch = graph then
      input %a: float32[64]
      %s: float32[] = reduce_sum(%a) {axes=(0,), keepdims=false}
      %t: float32[64] = subtract(%a, %s)
      %u: float32[] = reduce_max(%t) {axes=(0,), keepdims=false}
      %v: float32[64] = add(%t, %u)
      output %v
    else_branch = graph else
      input %a: float32[64]
      %n: float32[64] = negative(%a)
      output %n
  %q: float32[64] = softmax(%y) {axis=0}
  %z: float32[64] = add(%q, %kept)
  %w: float32[64] = add(%z, %other)
  output %w
"""
    graph = graph_of(text)
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    for condition in (True, False):
        inputs = {"c": np.array(condition), "x": x}
        np.testing.assert_allclose(compiled(graph, inputs)["w"], interpret(graph, inputs)["w"], rtol=1e-4, atol=1e-4)


def test_convolutions_in_branches_run_in_their_own_layouts() -> None:
    text = """
graph deep
  input %c: bool[]
  input %x: float32[1, 16, 8, 8]
  input %w: float32[16, 16, 3, 3]
  %first: float32[1, 16, 8, 8] = conv(%x, %w) {pads=(1, 1, 1, 1)}
  %y: float32[1, 16, 8, 8] = if(%c, %first, %w)
    then_branch = graph then
      input %a: float32[1, 16, 8, 8]
      input %v: float32[16, 16, 3, 3]
      %d: float32[1, 16, 8, 8] = conv(%a, %v) {pads=(1, 1, 1, 1)}
      %e: float32[1, 16, 8, 8] = relu(%d)
      output %e
    else_branch = graph else
      input %a: float32[1, 16, 8, 8]
      input %v: float32[16, 16, 3, 3]
      %r: float32[1, 16, 8, 8] = relu(%a)
      output %r
  %z: float32[1, 16, 8, 8] = conv(%y, %w) {pads=(1, 1, 1, 1)}
  output %z
"""
    graph = graph_of(text)
    random = np.random.default_rng(0)
    w = random.standard_normal((16, 16, 3, 3)).astype(np.float32) / 12
    x = random.standard_normal((1, 16, 8, 8)).astype(np.float32)
    model = load(build(graph, params={"w": w}))
    for condition in (True, False):
        expected = interpret(graph, {"c": np.array(condition), "x": x, "w": w})["z"]
        found = model.run({"c": np.array(condition), "x": x})["z"].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_bodies_take_the_dimensions_of_what_they_are_given() -> None:
    graph = graph_of(CHOICE.replace("float32[3]", "float32[?n]"))
    x = np.float32([1, -2, 0, 4])
    np.testing.assert_array_equal(interpret(graph, {"c": np.array(False), "x": x})["z"], 2 * x)


def test_steps_of_a_network_count_a_control_node_once() -> None:
    artifact = build(graph_of(CHOICE), timed=True)
    assert [step.operators for step in artifact.steps] == [("if",), ("abs",)]


BOOL, NUMBER, VECTOR, MATRIX = (
    TensorType.of(dtype, shape)
    for dtype, shape in (("bool", ()), ("int64", ()), ("float32", (3,)), ("float32", (2, 3)))
)
RELU = "graph relu\n  input %x: float32[3]\n  %y: float32[3] = relu(%x)\n  output %y"
SUM = (
    "graph sum\n  input %x: float32[3]\n  %y: float32[] = reduce_sum(%x) {axes=(0,), keepdims=false}\n  output %y"
)  # fmt: skip
ITSELF = "graph itself\n  input %x: float32[3]\n  output %x"
TWICE = "graph twice\n  input %x: float32[3]\n  %y: float32[3] = relu(%x)\n  output %y\n  output %y"
SHRINKING = "graph body\n  input %i: int64[]\n" + SUM.split("\n", 1)[1]
UNCONDITIONAL = "graph body\n  input %i: int64[]\n" + RELU.split("\n", 1)[1]


BLOCKED = """
graph blocked
  input %x: float32[3]
  %y: float32[3]@A2a = convert_layout(%x) {layout=@A2a}
  output %y
"""


@pytest.mark.parametrize(
    ("then_branch", "else_branch", "inputs", "message"),
    [
        (RELU, RELU, [NUMBER, VECTOR], "if: condition expects bool[], found int64[]"),
        (RELU, RELU, [BOOL, MATRIX], "if: then_branch takes float32[3], found float32[2, 3]"),
        (RELU, SUM, [BOOL, VECTOR], "if: then_branch gives float32[3], but else_branch float32[]"),
        (
            RELU,
            ITSELF,
            [BOOL, VECTOR],
            "if: else_branch must compute each of its outputs by a node of its own, such as",
        ),
        (TWICE, RELU, [BOOL, VECTOR], "if: then_branch must compute each of its outputs by a node of its own, such as"),
        (BLOCKED, RELU, [BOOL, VECTOR], "if: then_branch must give row-major outputs, found float32[3]@A2a"),
    ],
)
def test_if_refuses(then_branch: str, else_branch: str, inputs: Sequence[TensorType], message: str) -> None:
    with pytest.raises(InferenceError) as error:
        If(parse_graph(then_branch, OPS), parse_graph(else_branch, OPS)).infer(*inputs)
    assert message in str(error.value)


def test_loop_refuses() -> None:
    body = parse_graph(SHRINKING, OPS)
    with pytest.raises(InferenceError, match=r"loop: count expects 0 or more, found -1"):
        Loop(body, -1).infer(VECTOR)
    with pytest.raises(InferenceError, match=r"loop: carried expects 0 to 1, found 2"):
        Loop(body, 3, 2).infer(VECTOR)
    with pytest.raises(InferenceError, match=r"iterations are given float32\[3\], but hand on float32\[\]"):
        Loop(body, 3, 1).infer(VECTOR)
    assert Loop(body, 3).infer(VECTOR) == (TensorType.of("float32", (3,)),)


def test_while_refuses() -> None:
    body = parse_graph(UNCONDITIONAL, OPS)
    with pytest.raises(
        InferenceError, match=r"while: expected int64\[\], bool\[\] first, found bool\[\], float32\[3\]"
    ):
        While(body).infer(BOOL, VECTOR)
    with pytest.raises(InferenceError, match=r"while: body expects to give bool\[\] first, gives float32\[3\]"):
        While(body).infer(NUMBER, BOOL, VECTOR)
