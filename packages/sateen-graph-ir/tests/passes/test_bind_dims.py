"""Passes bind_dims and require_sizes."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from sateen.graph_ir.ir import Dim, GraphBuilder, Symbol, TensorType
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import If, Relu
from sateen.graph_ir.passes.bind_dims import bind_dims
from sateen.graph_ir.passes.require_sizes import require_sizes
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.topi.operators import Operator

TEXT = "input %x: float32[?n, 2]\n%a = relu(%x)\n%y = concat(%a, %x) {axis=1}\noutput %y"
N = Symbol("n")


@dataclass(frozen=True, slots=True)
class Fill(Operator):
    """Data of another shape."""

    name = "acme.Fill"
    shape: tuple[Dim, ...] = ()
    kind: TensorType | None = None

    def infer(self, *inputs):
        return (TensorType(inputs[0].dtype, self.shape),)


def test_symbols_get_their_sizes(parse):
    graph = bind_dims(parse(TEXT), {"n": 5, "other": 1})
    assert str(graph.outputs[0].type) == "float32[5, 4]"


def test_other_symbols_stay(check_unchanged):
    check_unchanged(partial(bind_dims, dims={"m": 5}), TEXT)


def test_expressions_of_inputs_get_their_sizes(parse):
    graph = parse("input %x: float32[?n*2 + 1, (?n + 1)//2, ?m]\n%y = relu(%x)\noutput %y")
    assert str(bind_dims(graph, {"n": 3}).outputs[0].type) == "float32[7, 2, ?m]"


def test_attributes_get_their_sizes():
    g = GraphBuilder()
    kind = TensorType.of("int8", (N + 1,))
    g.output(g.add(Fill((N * 2 + 1, 3, Symbol("m")), kind), g.input("x", "float32", (N,))))
    (node,) = bind_dims(g.finish(), {"n": 5}).nodes
    assert node.op == Fill((11, 3, Symbol("m")), TensorType.of("int8", (6,)))
    assert str(node.outputs[0].type) == "float32[11, 3, ?m]"


def test_attributes_get_their_sizes_where_inputs_have_theirs():
    g = GraphBuilder()
    g.output(g.add(Fill((N,)), g.input("x", "float32", (4,))))
    assert str(bind_dims(g.finish(), {"n": 5}).outputs[0].type) == "float32[5]"


def test_bodies_get_their_sizes():
    def body(name):
        b = GraphBuilder(name)
        b.output(b.add(Fill((N,)), b.input("v", "float32", (N + 1,))))
        return b.finish()

    g = GraphBuilder()
    g.output(g.add(If(body("then"), body("otherwise")), g.input("c", "bool", ()), g.input("x", "float32", (N + 1,))))
    graph = bind_dims(g.finish(), {"n": 4})
    then = graph.nodes[0].op.then_branch
    types = [str(v.type) for v in (*then.inputs, *then.outputs, *graph.outputs)]
    assert types == ["float32[5]", "float32[4]", "float32[4]"]


@pytest.mark.parametrize(("size", "found"), [(0, "n = 0"), (-1, "n = -1"), (True, "n = True")])
def test_sizes_below_one_are_refused(parse, size, found):
    with pytest.raises(InferenceError, match=f"^bind_dims: expected sizes of one or more, found {found}$"):
        bind_dims(parse(TEXT), {"n": size})


def test_a_graph_of_known_sizes_is_the_same(check_unchanged):
    check_unchanged(require_sizes, TEXT.replace("?n", "3"))


def test_a_value_of_an_open_size_is_refused():
    g = GraphBuilder()
    g.output(g.add(Fill((N + Symbol("m"),)), g.input("x", "float32", (4,)), name="y"))
    message = (
        r"^build: expected known sizes, found %y: float32\[\?m \+ \?n\]; "
        r'give them: build\(graph, dims={"m": 1, "n": 1}\)$'
    )
    with pytest.raises(InferenceError, match=message):
        require_sizes(g.finish())


def test_the_judge_takes_sizes_from_its_inputs():
    g = GraphBuilder()
    g.output(g.add(Relu(), g.input("x", "float32", (2 * N,)), name="y"))
    g.output(g.add(Relu(), g.input("k", "float32", (N, 2)), name="z"))
    graph = g.finish()
    inputs = {"x": np.ones(6, np.float32), "k": np.ones((3, 2), np.float32)}
    assert interpret(graph, inputs)["y"].shape == (6,)
    with pytest.raises(ArgumentError, match=r"input 'x' expects float32\[\?n\*2\], found float32\[5\]"):
        interpret(graph, inputs | {"x": np.ones(5, np.float32)})
