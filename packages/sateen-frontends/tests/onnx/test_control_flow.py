"""If, Loop and Scan that are decided at run time, judged by ONNX's reference evaluator; and what is refused of them."""

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from sateen.frontends import check_onnx, from_onnx
from sateen.graph_ir import build, interpret, ops
from sateen.graph_ir.ir import Array, Graph
from sateen.runtime import load
from sateen.runtime.errors import FrontendError


def model_of(text: str) -> onnx.ModelProto:
    return parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text)


def check(model: onnx.ModelProto, *cases: dict[str, Array]) -> Graph:
    """The graph of a model, whose definition and compiled network give what the reference evaluator gives."""
    graph, _ = from_onnx(model)
    network = load(build(graph))
    for inputs in cases:
        expected = dict(
            zip([o.name for o in model.graph.output], ReferenceEvaluator(model).run(None, inputs), strict=True)
        )
        for found in (interpret(graph, inputs), {name: a.numpy() for name, a in network.run(inputs).items()}):
            for name, array in expected.items():
                np.testing.assert_allclose(found[name], array, rtol=1e-5)
    return graph


def refusal(text: str) -> str:
    with pytest.raises(FrontendError) as error:
        from_onnx(model_of(text))
    return str(error.value)


X, Z = np.float32([1, -2, 3]), np.float32([0.5, 1, 2])
BOTH = [{"c": np.array(c), "x": X, "z": Z} for c in (True, False)]

CHOICE = """
net (bool c, float[3] x, float[3] z) => (float[3] y, float[3] w) {
  y, w = If (c) <
    then_branch = then () => (float[3] a, float[3] x) { a = Add(x, z) },
    else_branch = else () => (float[3] d, float[3] e) { k = Constant<value_float = 2.0>() d = Mul(x, k) e = Exp(z) }>
}"""


def test_if_computes_the_branch_that_its_condition_takes() -> None:
    graph = check(model_of(CHOICE), *BOTH)
    (node,) = graph.nodes
    assert isinstance(node.op, ops.If)
    assert [v.name for v in node.outputs] == ["y", "w"]
    assert str(node.op.then_branch.nodes[0].spans[0]) == "node 'a' (Add) of model 'net'"
    assert len(node.op.else_branch.parameters) == 1


def test_a_condition_of_one_element_may_have_axes() -> None:
    text = CHOICE.replace("bool c", "bool[1, 1] c")
    graph, _ = from_onnx(model_of(text))
    for case in BOTH:
        expected = interpret(from_onnx(model_of(CHOICE))[0], case)
        found = interpret(graph, {**case, "c": case["c"].reshape(1, 1)})
        np.testing.assert_array_equal(found["y"], expected["y"])


def test_a_condition_of_several_elements_is_refused() -> None:
    assert "expected one element as 'c', found bool[2]" in refusal(CHOICE.replace("bool c", "bool[2] c"))


def test_branches_of_different_types_are_refused() -> None:
    text = """
net (bool c, float[3] x) => (float[N] y) {
  y = If (c) <then_branch = then () => (float[3] a) { a = Exp(x) },
              else_branch = else () => (float[1] b) { b = ReduceSum(x) }>
}"""
    found = refusal(text)
    assert (
        "the condition is computed at run time, but then_branch gives 'a' as float32[3], else_branch as float32[1]"
        in found
    )
    assert "node 'y'; inputs bool[]" in found
    assert "bind what decides it, if the values are always the same: constants={'c': ...}, or --bind c=..." in found
    graph, _ = from_onnx(model_of(text), constants={"c": np.array(False)})
    assert graph.outputs[0].type.shape == (1,)


def test_branches_that_do_not_fit_their_if_are_refused() -> None:
    text = CHOICE.replace("then () =>", "then (float[3] more) =>")
    assert "expected branches of no inputs and 2 outputs, found one of 1 and 2" in refusal(text)
    model = model_of(CHOICE)
    del model.graph.node[0].attribute[1].g.output[1]
    with pytest.raises(FrontendError, match="expected branches of no inputs and 2 outputs, found one of 0 and 1"):
        from_onnx(model)


def test_branches_nest_and_one_that_is_known_is_taken() -> None:
    text = """
net (bool c, bool b, float[3] x) => (float[3] y) {
  s = Shape(x)  three = Constant<value_ints = [3]>()  known = Equal(s, three)
  y = If (c) <
    then_branch = then () => (float[3] a) {
      a = If (b) <then_branch = one () => (float[3] q) { q = Neg(x) },
                  else_branch = two () => (float[3] r) { t = Exp(x) r = Add(t, x) }> },
    else_branch = else () => (float[3] d) {
      d = If (known) <then_branch = three_long () => (float[3] u) { u = Abs(x) },
                      else_branch = other () => (float[3] v) { v = Unknown(x) }> }>
}"""
    cases = [{"c": np.array(c), "b": np.array(b), "x": X} for c in (True, False) for b in (True, False)]
    model = model_of(text)
    graph, _ = from_onnx(model)
    for case in cases:
        x, inner = case["x"], -case["x"] if case["b"] else np.exp(X) + X
        np.testing.assert_allclose(interpret(graph, case)["y"], inner if case["c"] else np.abs(x), rtol=1e-6)
    assert [n.op.op_name() for n in graph.nodes] == ["if"]


def test_all_gaps_in_branches_are_reported() -> None:
    text = """
net (bool c, float[3] x) => (float[3] y) {
  y = If (c) <then_branch = then () => (float[3] a) { t = Exp(x) a = First(t) },
              else_branch = else () => (float[3] b) { b = Second(x) }>
}"""
    report = check_onnx(model_of(text))
    assert [gap.operator for gap in report.gaps] == ["First", "Second"]
    assert report.gaps[0].inputs == ("float32[3]",)


def test_what_helps_with_a_gap_in_a_branch_is_to_bind_the_condition() -> None:
    text = """
net (bool c, float[3] x, int64[1] n) => (float[M] y) {
  y = If (c) <then_branch = then () => (float[3] a) { two = Constant<value_ints=[2]>() a = Reshape(x, two) },
              else_branch = else () => (float[3] b) { b = Neg(x) }>
}"""
    (gap,) = check_onnx(model_of(text)).gaps
    assert gap.help == "bind what decides it, if the values are always the same: constants={'c': ...}, or --bind c=..."


def test_an_if_in_a_function_of_the_model() -> None:
    model = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
net (bool c, float[3] x) => (float[3] y) { t = own.choose(c, x) y = Neg(t) }
<domain: "own", opset_import: ["" : 17]>
choose (c, x) => (y) {
  y = If (c) <then_branch = then () => (a) { a = Exp(x) }, else_branch = else () => (b) { b = Add(x, x) }>
}""")
    check(model, *[{"c": np.array(c), "x": X} for c in (True, False)])


LOOP = """
net (float[3] x, float[4, 3] rows) => (float[3] y, float[4, 3] all) {
  n = Constant<value_int = 4>()  go = Constant<value = bool {1}>()
  y, all = Loop (n, go, x) <body = body (int64 i, bool on, float[3] v) => (bool more, float[3] o, float[1, 3] p) {
    more = Identity(on)  row = Gather(rows, i)  o = Add(v, row)  q = Mul(o, x)
    zero = Constant<value_ints = [0]>()  p = Unsqueeze(q, zero) }>
}"""


def test_a_loop_of_known_length_hands_values_on_and_stacks_the_others() -> None:
    model = model_of(LOOP)
    graph, _ = from_onnx(model)
    (node,) = graph.nodes
    assert isinstance(node.op, ops.Loop)
    assert (node.op.count, node.op.carried) == (4, 1)
    inputs = {"x": X, "rows": np.arange(12, dtype=np.float32).reshape(4, 3)}
    expected = ReferenceEvaluator(model).run(None, inputs)
    found = load(build(graph)).run(inputs)
    np.testing.assert_allclose(found["y"].numpy(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(found["all"].numpy().reshape(4, 3), expected[1], rtol=1e-6)


def test_values_that_a_loop_swaps() -> None:
    text = """
net (float[3] x, float[3] z) => (float[3] y, float[3] w) {
  n = Constant<value_int = 3>()  go = Constant<value = bool {1}>()
  y, w = Loop (n, go, x, z) <body = body (int64 i, bool on, float[3] v, float[3] u)
    => (bool more, float[3] u, float[3] o) { more = Identity(on)  o = Add(v, u) }>
}"""
    check(model_of(text), {"x": X, "z": Z})


WHILE = """
net (float[3] x, float end, int64 most) => (float[3] y, int64 k) {
  go = Constant<value = bool {1}>()  zero = Constant<value_int = 0>()  one = Constant<value_int = 1>()
  y, k = Loop (most, go, x, zero) <body = body (int64 i, bool on, float[3] v, int64 n)
    => (bool more, float[3] o, int64 m) {
      o = Add(v, v)  s = Abs(o)  f = ReduceSum<keepdims = 0>(s)  more = Less(f, end)  m = Add(n, one) }>
}"""


def test_a_loop_ends_by_its_condition_or_its_trip_count() -> None:
    numbers = [(10, 100), (2, 100), (0, 100), (10, 1)]
    cases = [{"x": X, "end": np.array(end, np.float32), "most": np.array(most)} for most, end in numbers]
    graph = check(model_of(WHILE), *cases)
    assert isinstance(graph.nodes[0].op, ops.While)


def test_a_loop_without_a_trip_count_ends_by_its_condition() -> None:
    text = WHILE.replace(", int64 most)", ")").replace("Loop (most, go", "Loop (, go")
    check(model_of(text), {"x": X, "end": np.array(100, np.float32)})


def test_a_loop_without_an_input_condition_ends_where_its_body_says_so() -> None:
    """The evaluator of the onnx package runs no iteration here; onnxruntime runs these."""
    graph, _ = from_onnx(model_of(WHILE.replace("Loop (most, go", "Loop (most, ")))
    inputs = {"x": X, "end": np.array(10, np.float32), "most": np.array(100)}
    given = from_onnx(model_of(WHILE))[0]
    assert isinstance(graph.nodes[0].op, ops.While)
    np.testing.assert_array_equal(interpret(graph, inputs)["y"], interpret(given, inputs)["y"])


def test_what_decides_a_branch_is_named_as_an_input_of_the_model_however_deep() -> None:
    text = """
net (bool c, float[3] x, float rate) => (float[M] y) {
  low = Constant<value_float = 9.0>()  slow = Less(rate, low)
  y = If (c) <then_branch = then () => (float[3] p) {
                p = If (slow) <then_branch = one () => (float[3] a) { a = Neg(x) },
                               else_branch = two () => (float[3] b) { b = Unknown(x) }> },
              else_branch = else () => (float[3] d) { d = Abs(x) }>
}"""
    (gap,) = check_onnx(model_of(text)).gaps
    assert "constants={'rate': ...}, or --bind rate=..." in gap.help


@pytest.mark.parametrize(("count", "is_known"), [(3, True), (1 << 31, False)])
def test_what_must_be_known_may_come_out_of_a_loop_over_constants(count: int, is_known: bool) -> None:
    text = f"""
net (float[6] x) => (float[N] y) {{
  n = Constant<value_int = {count}>()  go = Constant<value = bool {{1}}>()  v = Constant<value_ints = [0]>()
  w = Loop (n, go, v) <body = body (int64 i, bool on, int64[1] a) => (bool more, int64[1] b) {{
    more = Identity(on)  one = Constant<value_ints = [1]>()  b = Add(a, one) }}>
  end = Constant<value_ints = [6]>()
  y = Slice (x, w, end)
}}"""
    if is_known:
        assert str(from_onnx(model_of(text))[0].outputs[0].type) == "float32[3]"
    else:
        expected = "input 1 (starts) must be known while compiling, but takes long to compute from constants"
        assert expected in refusal(text)


def test_a_loop_whose_shapes_depend_on_the_iteration_is_unrolled() -> None:
    text = """
net (float[5] x) => (float[1] y, float[4, 1] all) {
  n = Constant<value_int = 4>()  go = Constant<value = bool {1}>()
  start = Constant<value = float[1] {0.0}>()  axis = Constant<value_ints = [0]>()  one = Constant<value_int = 1>()
  y, all = Loop (n, go, start) <body = body (int64 i, bool on, float[1] v) => (bool more, float[1] o, float[1] p) {
    more = Identity(on)  a = Unsqueeze(i, axis)  j = Add(i, one)  b = Unsqueeze(j, axis)
    s = Slice(x, a, b)  o = Add(v, s)  p = Neg(o) }>
}"""
    graph, _ = from_onnx(model_of(text))
    assert not any(isinstance(node.op, ops.Control) for node in graph.nodes)
    x = np.float32([1, 2, 3, 4, 5])
    found = interpret(graph, {"x": x})
    np.testing.assert_array_equal(found["y"], [10])
    np.testing.assert_array_equal(found["all"], [[-1], [-3], [-6], [-10]])


@pytest.mark.parametrize("condition", ["true", "false"])
def test_a_loop_of_no_iterations_gives_what_it_is_given(condition: str) -> None:
    count = 0 if condition == "true" else 4
    text = LOOP.replace("value_int = 4", f"value_int = {count}").replace(
        "bool {1}", "bool {1}" if condition == "true" else "bool {0}"
    )
    graph, _ = from_onnx(model_of(text.replace("float[4, 3] all", "float[N, 1, 3] all")))
    found = interpret(graph, {"x": X, "rows": np.zeros((4, 3), np.float32)})
    np.testing.assert_array_equal(found["y"], X)
    assert found["all"].shape == (0, 1, 3)


def test_loops_that_are_refused() -> None:
    grows = WHILE.replace("o = Add(v, v)", "o = Concat<axis = 0>(v, v)")
    assert "iterations take 'v' as float32[3], but hand it on as float32[6]" in refusal(grows)
    stacked = WHILE.replace("int64 k) {", "int64 k, float[N, 3] all) {").replace("y, k = Loop", "y, k, all = Loop")
    stacked = stacked.replace("int64 m) {", "int64 m, float[3] s) {")
    assert "how many iterations output 'all' has the results of is known at run time only" in refusal(stacked)
    assert "constants={'most': ...}, or --bind most=..." in refusal(stacked)
    counted = stacked.replace("Loop (most, go", "Loop (three, go").replace(
        "go =", "three = Constant<value_int = 3>() go ="
    )
    assert "end the model before this node and do what follows outside" in refusal(counted)
    endless = LOOP.replace("Loop (n, go", "Loop (, go")
    assert "expected a condition or at most 4294967296 iterations, found neither" in refusal(endless)
    wide = WHILE.replace("more = Less(f, end)", "t = Less(o, end)  more = Identity(t)")
    assert "expected one bool as the condition that the body computes, found bool[3]" in refusal(wide)
    short = LOOP.replace("Loop (n, go, x)", "Loop (n, go)").replace("y, all = Loop", "all = Loop")
    assert "expected a body of 2 inputs" in refusal(short.replace("float[3] y, ", ""))


SCAN = """
net (float[2] s, float[5, 2] x) => (float[2] y, float[5, 2] z) {
  y, z = Scan <num_scan_inputs = 1, body = body (float[2] a, float[2] v) => (float[2] o, float[2] p) {
    o = Add(a, v)  p = Exp(o) }> (s, x)
}"""


def test_scan_takes_slices_and_stacks_results() -> None:
    x = np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)
    check(model_of(SCAN), {"s": np.float32([1, 2]), "x": x})


def test_scan_in_other_directions_and_along_other_axes() -> None:
    attributes = (
        "scan_input_directions = [1], scan_input_axes = [1], scan_output_directions = [1], scan_output_axes = [1]"
    )
    text = SCAN.replace("num_scan_inputs = 1,", f"num_scan_inputs = 1, {attributes},").replace(
        "float[5, 2] x", "float[2, 5] x"
    )
    graph, _ = from_onnx(model_of(text.replace("float[5, 2] z", "float[2, 5] z")))
    x, s = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5), np.float32([1, 2])
    states = s + np.cumsum(x[:, ::-1], axis=1).T
    for found in (interpret(graph, {"s": s, "x": x}), load(build(graph)).run({"s": s, "x": x})):
        np.testing.assert_allclose(np.asarray(found["y"]), states[-1], rtol=1e-5)
        np.testing.assert_allclose(np.asarray(found["z"]), np.exp(states[::-1].T), rtol=1e-5)


def test_scans_that_are_refused() -> None:
    assert "expected a body of 2 inputs, 3 of them scanned" in refusal(
        SCAN.replace("num_scan_inputs = 1", "num_scan_inputs = 3")
    )
    more = SCAN.replace("y, z = Scan", "y, z, more = Scan")
    assert "expected a body of 2 inputs, 1 of them scanned, and 3 outputs or more, found 2 and 2" in refusal(more)
    text = SCAN.replace("num_scan_inputs = 1,", "num_scan_inputs = 1, scan_input_axes = [0, 1],")
    assert "expected 1 integers as scan_input_axes, found [0, 1]" in refusal(text)
    apart = SCAN.replace("float[5, 2] x)", "float[5, 2] x, float[4, 2] w)").replace("inputs = 1", "inputs = 2")
    apart = apart.replace("float[2] v)", "float[2] v, float[2] u)").replace("(s, x)", "(s, x, w)")
    assert "expected scanned inputs of one length, found [4, 5]" in refusal(apart)
    model = model_of(SCAN.replace("(s, x)", "(, s, x)"))
    model.opset_import[0].version = 8
    with pytest.raises(FrontendError, match="Scan has a batch before operator set 9"):
        from_onnx(model)
