"""Functions, loops and choices, of TensorFlow 2 and 1."""

import numpy as np
import pytest

from sateen.frontends import from_tensorflow
from sateen.frontends.core.source import LIMITS
from sateen.frontends.tensorflow import raising
from sateen.frontends.tensorflow.functions import inlined
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT, INT, BOOL = DType.of("float32"), DType.of("int32"), DType.of("bool")


@pytest.fixture
def named(make):
    """named(function): an attribute that names a function."""
    return lambda name: make.pb.NameAttrList(name=name)


def twice(make, name="twice"):
    nodes = [make.node("sum", "AddV2", "x", "x", T=FLOAT)]
    return make.function(name, ["x"], nodes, {"y": "sum:z:0"})


def test_calls_are_replaced_by_the_nodes_of_functions(make, named, run):
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("call", "PartitionedCall", "x", f=named("twice")),
        make.node("again", "StatefulPartitionedCall", "call:0", f=named("twice")),
        make.node("y", "Neg", "again", T=FLOAT),
        functions=[twice(make)],
    )
    assert run(graph, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [-4, -8]
    network, _ = from_tensorflow(graph.SerializeToString())
    assert [span.node for node in network.nodes for span in node.spans] == ["call/sum", "again/sum", "y"]


def test_outputs_of_operators_with_several_are_found_by_name(make, named, run):
    nodes = [
        make.node("top", "TopKV2", "x", "k", T=FLOAT),
        make.constant("k", np.int32(1)),
        make.node("as", "Cast", "top:indices:0", SrcT=INT, DstT=FLOAT),
    ]
    graph = make.graph(
        make.placeholder("x", 3),
        make.node("call", "PartitionedCall", "x", f=named("where")),
        make.node("y", "Neg", "call", T=FLOAT),
        functions=[make.function("where", ["x"], nodes, {"place": "as:y:0"})],
    )
    assert run(graph, {"x": np.array([1, 5, 2], np.float32)})["y"].tolist() == [-1]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([], "node 'call' calls function 'f', which is missing"),
        (["f", "f"], "function 'f' is defined twice"),
        (["calls itself"], "expected functions nested at most 64 deep"),
    ],
)
def test_calls_that_lead_nowhere_are_refused(make, named, functions, message):
    made = [
        make.function("f", ["x"], [make.node("in", "PartitionedCall", "x", f=named("f"))], {"y": "in:output:0"})
        if name == "calls itself"
        else twice(make, name)
        for name in functions
    ]
    graph = make.graph(
        make.placeholder("x", 2), make.node("call", "PartitionedCall", "x", f=named("f")), functions=made
    )
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(graph.SerializeToString())
    assert message in str(refusal.value)


def test_functions_that_grow_without_bound_are_refused(make, named):
    functions = [
        make.function(
            f"f{i}",
            ["x"],
            [make.node(f"n{j}", "PartitionedCall", "x", f=named(f"f{i + 1}")) for j in range(8)],
            {"y": "n0:output:0"},
        )
        for i in range(12)
    ]
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("call", "PartitionedCall", "x", f=named("f0")),
        functions=[*functions, twice(make, "f12")],
    )
    with pytest.raises(FrontendError, match="expected at most 50000 nodes from functions"):
        from_tensorflow(graph.SerializeToString())


def test_functions_of_many_inputs_are_refused_if_they_are_called_often(make, named):
    wide = make.function("wide", ["x"], [make.node("y", "AddN", *["x"] * 40_000, T=FLOAT)], {"y": "y:sum:0"})
    calls = [make.node(f"call{i}", "PartitionedCall", "x", f=named("wide")) for i in range(50)]
    graph = make.graph(make.placeholder("x", 2), *calls, functions=[wide])
    with pytest.raises(FrontendError, match="expected at most 1600000 inputs, outputs and attributes in functions"):
        from_tensorflow(graph.SerializeToString())


def test_calls_that_give_what_they_take_may_be_a_long_row(make, named, run):
    same = make.function("same", ["x"], [], {"y": "x"})
    calls = [
        make.node(f"call{i}", "PartitionedCall", f"call{i - 1}" if i else "x", f=named("same")) for i in range(2000)
    ]
    graph = make.graph(make.placeholder("x", 2), *calls, make.node("y", "Neg", "call1999", T=FLOAT), functions=[same])
    assert run(graph, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [-1, -2]


def test_looking_for_choices_takes_work_in_proportion_to_the_graph(make, monkeypatch):
    def looks(count: int) -> int:
        nodes = [make.placeholder("x", 2)]
        for i in range(count):
            nodes += [
                make.placeholder(f"p{i}", dtype="bool"),
                make.node(f"switch{i}", "Switch", "x", f"p{i}", T=FLOAT),
                make.node(f"minus{i}", "Neg", f"switch{i}", T=FLOAT),
                make.node(f"merge{i}", "Merge", f"minus{i}", f"switch{i}:1", T=FLOAT),
            ]
        counted = Counted(raising._KINDS)
        monkeypatch.setattr(raising, "_KINDS", counted)
        operations, _ = inlined(make.graph(*nodes), (), LIMITS)
        found = [operation.type for operation in raising.raised(operations, LIMITS)]
        assert found.count("If") == count
        return counted.looks

    assert looks(80) <= 4 * looks(20)


class Counted(dict[str, str]):
    """A table that counts how often it is asked."""

    looks = 0

    def get(self, *given):
        self.looks += 1
        return super().get(*given)


@pytest.mark.parametrize(("condition", "expected"), [(True, [2, 4]), (False, [-1, -2])])
def test_a_choice_is_made_while_the_network_runs(make, named, run, condition, expected):
    other = make.function("minus", ["x"], [make.node("n", "Neg", "x", T=FLOAT)], {"y": "n:y:0"})
    graph = make.graph(
        make.placeholder("p", dtype="bool"),
        make.placeholder("x", 2),
        make.node("y", "StatelessIf", "p", "x", then_branch=named("twice"), else_branch=named("minus")),
        functions=[twice(make), other],
    )
    assert run(graph, {"p": np.array(condition), "x": np.array([1, 2], np.float32)})["y"].tolist() == expected
    assert run(graph, {"x": np.array([1, 2], np.float32)}, constants={"p": condition})["y"].tolist() == expected


def switched(make, *, predicate):
    """y = x + x if the predicate holds, else -x, as TensorFlow 1 writes it."""
    return make.graph(
        predicate,
        make.placeholder("x", 2),
        make.node("pivot", "Switch", "p", "p", T=BOOL),
        make.node("switch_t", "Identity", "pivot:1", T=BOOL),
        make.node("switch", "Switch", "x", "p", T=FLOAT),
        make.node("minus", "Neg", "switch", T=FLOAT),
        make.node("sum", "AddV2", "switch:1", "switch:1", "^switch_t", T=FLOAT),
        make.node("y", "Merge", "minus", "sum", T=FLOAT),
    )


@pytest.mark.parametrize(("condition", "expected"), [(True, [2, 4]), (False, [-1, -2])])
def test_a_choice_of_tensorflow_1_is_one_too(make, run, condition, expected):
    graph = switched(make, predicate=make.placeholder("p", dtype="bool"))
    assert run(graph, {"p": np.array(condition), "x": np.array([1, 2], np.float32)})["y"].tolist() == expected


@pytest.mark.parametrize(("condition", "expected"), [(True, [4, 8]), (False, [1, 2])])
def test_choices_in_a_row_may_be_decided_by_one_tensor(make, run, condition, expected):
    """As optimisers of graphs leave them, which merge equal nodes."""
    graph = switched(make, predicate=make.placeholder("p", dtype="bool"))
    graph.node.extend(
        [
            make.node("switch2", "Switch", "y", "p", T=FLOAT),
            make.node("minus2", "Neg", "switch2", T=FLOAT),
            make.node("sum2", "AddV2", "switch2:1", "switch:1", T=FLOAT),
            make.node("sum3", "AddV2", "sum2", "switch:1", T=FLOAT),
            make.node("z", "Merge", "minus2", "sum3", T=FLOAT),
        ]
    )
    assert run(graph, {"p": np.array(condition), "x": np.array([1, 2], np.float32)})["z"].tolist() == expected


def test_choices_are_nested_within_limits(make):
    nodes = [make.placeholder("x", 2)]
    for i in range(65):
        before = f"switch{i - 1}:1" if i else "x"
        nodes += [make.placeholder(f"p{i}", dtype="bool"), make.node(f"switch{i}", "Switch", before, f"p{i}", T=FLOAT)]
    result = "switch64:1"
    for i in reversed(range(65)):
        nodes += [
            make.node(f"minus{i}", "Neg", f"switch{i}", T=FLOAT),
            make.node(f"merge{i}", "Merge", f"minus{i}", result, T=FLOAT),
        ]
        result = f"merge{i}"
    with pytest.raises(FrontendError, match="expected loops and choices nested at most 64 deep, found more"):
        from_tensorflow(make.graph(*nodes).SerializeToString())


def test_a_choice_by_a_constant_leaves_one_branch(make):
    network, _ = from_tensorflow(switched(make, predicate=make.constant("p", np.array(True))).SerializeToString())
    assert [node.op.op_name() for node in network.nodes] == ["add", "identity"]


def counted(make, *, step=1):
    """y = 2^n · x after n iterations, as TensorFlow 1 writes a loop."""
    frame = {"frame_name": "loop"}
    return make.graph(
        make.placeholder("x", 2),
        make.constant("zero", np.int32(0)),
        make.node("i", "Enter", "zero", T=INT, **frame),
        make.node("v", "Enter", "x", T=FLOAT, **frame),
        make.node("i/merge", "Merge", "i", "i/next", T=INT),
        make.node("v/merge", "Merge", "v", "v/next", T=FLOAT),
        make.constant("limit", np.int32(6)),
        make.node("less", "Less", "i/merge", "limit", T=INT),
        make.node("cond", "LoopCond", "less"),
        make.node("i/switch", "Switch", "i/merge", "cond", T=INT),
        make.node("v/switch", "Switch", "v/merge", "cond", T=FLOAT),
        make.constant("step", np.int32(step)),
        make.node("i/add", "AddV2", "i/switch:1", "step", T=INT),
        make.node("v/add", "AddV2", "v/switch:1", "v/switch:1", T=FLOAT),
        make.node("i/next", "NextIteration", "i/add", T=INT),
        make.node("v/next", "NextIteration", "v/add", T=FLOAT),
        make.node("out", "Exit", "v/switch", T=FLOAT),
        make.node("y", "Identity", "out", T=FLOAT),
    )


@pytest.mark.parametrize(("step", "factor"), [(1, 64), (2, 8), (4, 4)])
def test_a_loop_that_counts_runs_as_often_as_known(make, run, step, factor):
    graph = counted(make, step=step)
    network, _ = from_tensorflow(graph.SerializeToString())
    assert [node.op.op_name() for node in network.nodes if node.op.op_name() in {"loop", "while"}] == ["loop"]
    assert run(graph, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [factor, 2 * factor]


def test_a_state_that_only_the_condition_reads_needs_no_switch(make, run):
    frame = {"frame_name": "loop"}
    graph = make.graph(
        make.placeholder("x", 2),
        make.constant("zero", np.float32(0)),
        make.constant("limit", np.float32(20)),
        make.constant("axis", np.array([0], np.int32)),
        make.node("s", "Enter", "zero", T=FLOAT, **frame),
        make.node("v", "Enter", "x", T=FLOAT, **frame),
        make.node("s/merge", "Merge", "s", "s/next", T=FLOAT),
        make.node("v/merge", "Merge", "v", "v/next", T=FLOAT),
        make.node("less", "Less", "s/merge", "limit", T=FLOAT),
        make.node("cond", "LoopCond", "less"),
        make.node("v/switch", "Switch", "v/merge", "cond", T=FLOAT),
        make.node("v/add", "AddV2", "v/switch:1", "v/switch:1", T=FLOAT),
        make.node("s/sum", "Sum", "v/add", "axis", T=FLOAT, Tidx=INT),
        make.node("s/next", "NextIteration", "s/sum", T=FLOAT),
        make.node("v/next", "NextIteration", "v/add", T=FLOAT),
        make.node("out", "Exit", "v/switch", T=FLOAT),
        make.node("y", "Identity", "out", T=FLOAT),
    )
    assert run(graph, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [8, 16]


def test_a_loop_that_data_ends_is_decided_while_the_network_runs(make, named, run):
    limit = [
        make.constant("most", np.float32(50)),
        make.constant("axes", np.array([0], np.int32)),
        make.node("all", "Sum", "x", "axes", T=FLOAT),
        make.node("less", "Less", "all:y:0", "most:y:0", T=FLOAT),
    ]
    test = make.function("test", ["x"], limit, {"go": "less:z:0"})
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("loop", "While", "x", cond=named("test"), body=named("twice")),
        make.node("y", "Neg", "loop", T=FLOAT),
        functions=[test, twice(make)],
    )
    assert run(graph, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [-32, -64]
    assert run(graph, {"x": np.array([40, 20], np.float32)})["y"].tolist() == [-40, -20]


def test_cycles_in_bodies_are_refused(make, named):
    around = [
        make.node("a", "Identity", "b:output:0", T=FLOAT),
        make.node("b", "Identity", "a:output:0", T=FLOAT),
    ]
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("y", "While", "x", cond=named("f"), body=named("f")),
        functions=[make.function("f", ["x"], around, {"y": "a:output:0"})],
    )
    with pytest.raises(FrontendError, match="depends on itself, through a cycle of nodes"):
        from_tensorflow(graph.SerializeToString())
