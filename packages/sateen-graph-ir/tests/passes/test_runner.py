"""Running passes."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sateen.graph_ir.compile import bind_parameters, build
from sateen.graph_ir.ir import Graph, Node, NodeSpan, TensorType, Value, verify_graph
from sateen.graph_ir.ops import Relu
from sateen.graph_ir.passes import run_pipeline
from sateen.graph_ir.passes.infer_types import infer_types
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.runtime import load
from sateen.runtime.errors import ArgumentError, InferenceError, TargetError

TEXT = "input %x: float32[2]\n%a = relu(%x)\n%y = exp(%x)\noutput %y"


def test_an_observer_sees_each_pass_with_its_graphs_and_time(parse):
    graph = parse(TEXT)
    runs = []
    result = run_pipeline(graph, (infer_types, remove_dead_nodes), runs.append)
    assert [(r.name, len(r.before.nodes), len(r.after.nodes)) for r in runs] == [
        ("infer_types", 2, 2), ("remove_dead_nodes", 2, 1)
    ]  # fmt: skip
    assert runs[0].after is graph
    assert runs[1].after is result
    assert all(r.seconds >= 0 for r in runs)


def test_build_tells_its_observer_each_pass_of_the_pipeline_and_the_last(parse):
    runs = []
    build(parse(TEXT), pipeline=(infer_types, remove_dead_nodes), observer=runs.append)
    assert [r.name for r in runs] == [
        "bind_dims",
        "require_sizes",
        "require_host",
        "infer_types",
        "remove_dead_nodes",
        "use_lowerings",
    ]


def retype(graph: Graph, shape: tuple[int, ...]) -> Graph:
    """A pass that is wrong: the first node's type is another."""
    first = graph.nodes[0]
    outputs = (Value("a", TensorType.of("float32", shape)),)
    wrong = Node(first.op, first.inputs, outputs, (NodeSpan("net", "n", "Relu"),))
    return replace(graph, nodes=(wrong, *graph.nodes[1:]))


@pytest.mark.parametrize("kind", ["array", "read-only", "file"])
def test_an_artifact_has_the_data_that_params_had_when_it_was_built(parse, kind, tmp_path):
    graph = parse("input %x: float32[1, 2]\ninput %w: float32[2, 64]\n%y = mat_mul(%x, %w)\noutput %y")
    w = np.arange(128, dtype=np.float32).reshape(2, 64)
    x, expected = np.array([[1, -2]], np.float32), w[0] - 2 * w[1]
    if kind == "file":
        w.tofile(tmp_path / "w")
        given = np.memmap(tmp_path / "w", np.float32, "r", shape=w.shape)
    else:
        given = w.view()
        given.flags.writeable = kind == "array"
    artifact = build(graph, params={"w": given})
    w[...] = 0
    if kind == "file":
        w.tofile(tmp_path / "w")
    assert load(artifact.to_bytes()).run({"x": x})["y"].numpy().tolist() == [expected.tolist()]


def test_params_make_inputs_constant_and_replace_the_data_of_parameters(parse):
    text = "input %x: float32[2]\ninput %v: float32[2]\nparameter %w: float32[2] = [1.0, 2.0]\n"
    graph = parse(text + "%a = multiply(%x, %w)\n%y = add(%a, %v)\noutput %y")
    data = {"w": np.float32([3, 4]), "v": np.float32([5, 6])}
    model = load(build(graph, params=data))
    assert [p.name for p in model.inputs] == ["x"]
    assert model.run({"x": np.float32([10, 20])})["y"].numpy().tolist() == [35.0, 86.0]
    assert bind_parameters(graph, {v.name: a for v, a in graph.parameters.items()}) is graph
    with pytest.raises(ArgumentError, match=r"params: bias, weight are not in the graph, whose inputs are %"):
        bind_parameters(graph, {"weight": 1, "bias": 2})
    with pytest.raises(ArgumentError, match=r"params: %w expects float32\[2\], found float64\[3\]"):
        build(graph, params={"w": np.zeros(3)})


def drop_first_node(graph: Graph) -> Graph:
    """A pass that is wrong: what it drops is used."""
    return replace(graph, nodes=graph.nodes[1:])


def drop_inputs(graph: Graph) -> Graph:
    return replace(graph, inputs=graph.inputs[:1])


def drop_outputs(graph: Graph) -> Graph:
    return replace(graph, outputs=graph.outputs[:1])


@pytest.mark.parametrize(
    ("pass_", "message"),
    [
        (drop_first_node, "expected every input of exp to be defined before its use, found %a"),
        (drop_inputs, "expected the inputs to stay, %x, %unread; found %x"),
        (drop_outputs, "expected the outputs to stay, %y, %x; found 1 of them"),
        (lambda graph: None, "expected <lambda> to return a Graph, found NoneType"),
    ],
)
def test_a_pass_of_a_user_keeps_what_others_use(parse, pass_, message):
    graph = parse("input %x: float32[2]\ninput %unread: float32[2]\n%a = relu(%x)\n%y = exp(%a)\noutput %y\noutput %x")
    with pytest.raises(InferenceError) as caught:
        build(graph, pipeline=(pass_,))
    assert str(caught.value) == message
    assert f"while running {pass_.__name__}" in caught.value.__notes__


def test_an_error_names_the_pass_and_the_node(parse):
    with pytest.raises(InferenceError) as caught:
        run_pipeline(parse(TEXT), (partial(retype, shape=(3,)),))
    assert caught.value.report() == (
        "InferenceError: relu: %a is float32[3], inferred float32[2]\n"
        "  in node 'n' (Relu) of model 'net'\n    %x: float32[2]\n  while running retype"
    )


@pytest.mark.parametrize("verify", [True, False])
def test_a_pass_that_returns_no_graph_is_named(parse, verify):
    def forget(graph):
        graph.nodes[0].op.op_name()

    with pytest.raises(InferenceError, match="expected forget to return a Graph, found NoneType"):
        run_pipeline(parse(TEXT), (forget,), verify=verify)


def test_a_fault_of_a_pass_tells_the_pass(parse):
    def divide(graph):
        return len(graph.nodes) // 0

    with pytest.raises(ZeroDivisionError) as caught:
        run_pipeline(parse(TEXT), (divide,))
    assert caught.value.__notes__ == ["while running divide"]


def test_nodes_that_a_pass_keeps_are_not_inferred_again(parse, monkeypatch):
    inferred = []
    infer = Relu.infer

    def counted(self, x):
        inferred.append(x)
        return infer(self, x)

    graph = parse("input %x: float32[2]\n%a = relu(%x)\n%y = exp(%a)\noutput %y")
    monkeypatch.setattr(Relu, "infer", counted)
    copied = run_pipeline(graph, (replace, replace, replace))
    assert (len(inferred), copied is graph) == (1, False)
    with pytest.raises(InferenceError, match=r"%a is float32\[3\], inferred float32\[2\]"):
        run_pipeline(graph, (replace, partial(retype, shape=(3,))))


def test_results_are_not_verified_when_that_is_not_asked_for(parse):
    result = run_pipeline(parse(TEXT), (partial(retype, shape=(3,)),), verify=False)
    assert result.nodes[0].outputs[0].type.shape == (3,)


def test_a_kind_of_target_that_networks_are_not_compiled_for_is_refused_before_any_pass(parse):
    runs = []
    message = "expected a target of kind llvm, .*, for which networks are compiled, found 'rocm'"
    with pytest.raises(TargetError, match=message):
        build(parse(TEXT), "rocm", observer=runs.append)
    assert not runs


def value(name, *shape):
    return Value(name, TensorType.of("float32", shape))


X, Y = value("x", 2), value("y", 2)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph("g", (X, value("x", 3)), {}, (), ()), "graph 'g': expected unique names, found %x twice"),
        (
            Graph("g", (), {X: np.zeros(3, np.float32)}, (), ()),
            "parameter %x has type float32[2], found data of float32[3]",
        ),
        (
            Graph("g", (), {}, (Node(Relu(), (X,), (Y,)),), ()),
            "expected every input of relu to be defined before its use, found %x",
        ),
        (Graph("g", (), {}, (), (Y,)), "expected every output to be defined before its use, found %y"),
        (Graph("g", (X,), {}, (Node(Relu(), (X,), (Y, value("z", 2))),), ()), "relu: expected 1 outputs, found 2"),
        (
            Graph("g", (X,), {}, (), (X,), {Y: X}),
            "alias: expected an output and an input of one type, found %y: float32[2] and %x: float32[2]",
        ),
    ],
)
def test_malformed_graphs_are_refused(graph, message):
    with pytest.raises(InferenceError) as caught:
        verify_graph(graph)
    assert str(caught.value) == message
