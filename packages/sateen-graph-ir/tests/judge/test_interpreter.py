"""The graph interpreter."""

import numpy as np
import pytest

from sateen.graph_ir.evaluate import NativeEvaluator, by_kernel, work_of
from sateen.graph_ir.ir import GraphBuilder, Symbol, TensorType
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, Concat, Slice
from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.graph_ir.passes.fuse import fuse
from sateen.graph_ir.passes.precompute_parameters import precompute_parameters
from sateen.runtime.errors import ArgumentError
from sateen.topi.types import Layout, pack


def test_each_node_is_computed_and_rounded_to_its_type(parse):
    graph = parse("""
        input %x: float16[2]
        %a = multiply(%x, %x)
        %y = multiply(%a, %x)
        output %y
    """)
    x = np.array([300, 1.1], np.float16)
    y = interpret(graph, {"x": x})["y"]
    assert y.dtype == np.float16
    assert y.tolist() == [np.inf, np.float16(float(np.float16(float(x[1]) ** 2)) * float(x[1]))]


def test_shapes_of_the_inputs_give_symbolic_dimensions(parse):
    graph = parse("input %x: float32[?n, 2]\ninput %y: float32[?n, 1]\n%z = add(%x, %y)\noutput %z")
    x, y = np.ones((3, 2), np.float32), np.ones((3, 1), np.float32)
    assert interpret(graph, {"x": x, "y": y})["z"].tolist() == [[2, 2]] * 3
    with pytest.raises(ArgumentError, match=r"input 'y' expects float32\[\?n, 1\], found float32\[4, 1\]"):
        interpret(graph, {"x": x, "y": np.ones((4, 1), np.float32)})


def test_wrong_inputs_are_refused(parse):
    graph = parse("input %x: float32[2]\n%y = relu(%x)\noutput %y")
    with pytest.raises(ArgumentError, match="expected inputs x; found none"):
        interpret(graph, {})
    with pytest.raises(ArgumentError, match=r"input 'x' expects float32\[2\], found float64\[2\]"):
        interpret(graph, {"x": np.zeros(2)})


def test_layouts_and_fused_nodes_do_not_change_values():
    g = GraphBuilder()
    blocked = TensorType.of("float32", (3, 20), Layout.parse("aB16b"))
    data = np.arange(60, dtype=np.float32).reshape(3, 20)
    w = g.typed_parameter("w", blocked, pack(data, Layout.parse("aB16b")))
    g.output(g.add(Add(), g.input("x", "float32", (3, 20)), w, name="y"))
    x = np.ones((3, 20), np.float32)
    graph = g.finish()
    assert np.array_equal(interpret(graph, {"x": x})["y"], data + 1)
    assert np.array_equal(interpret(fuse(graph), {"x": x})["y"], data + 1)


@pytest.mark.parametrize("shape", [(3, 4), (400, 350)])
def test_nodes_are_evaluated_from_their_definition_or_natively(parse, shape):
    graph = parse(f"input %x: float32{list(shape)}\n%y = multiply(%x, %x)\noutput %y")
    (node,) = graph.nodes
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    assert work_of(node) == x.size
    anywhere = np.frombuffer(b"?" + x.tobytes(), np.float32, x.size, 1).reshape(shape)  # as a file has it
    assert not anywhere.flags.aligned
    for given in (x, anywhere):
        (y,) = NativeEvaluator().evaluate(node, [given, given])
        assert np.array_equal(y, x * x)


@pytest.mark.parametrize(
    ("operation", "expected", "size", "counts"),
    [("multiply(%x, %x)", np.square, 40_000, [0, 0, 0, 1, 1]), ("cum_sum(%x) {axis=0}", np.cumsum, 3000, [0, 1, 1])],
    ids=["expression", "loops"],
)
def test_a_kernel_is_compiled_when_nodes_of_a_kind_are_much_work(operation, expected, size, counts, parse, monkeypatch):
    compiled, build = [], by_kernel.build_functions
    monkeypatch.setattr(by_kernel, "build_functions", lambda functions: compiled.append(functions) or build(functions))
    (node,) = parse(f"input %x: int64[{size}]\n%y = {operation}\noutput %y").nodes
    x, evaluator = np.arange(size), NativeEvaluator()
    for count in counts:
        (y,) = evaluator.evaluate(node, [x] * len(node.inputs))
        assert np.array_equal(y, expected(x))
        assert len(compiled) == count


@pytest.mark.parametrize(
    ("layout", "shape"),
    [("acdb", (2, 3, 4, 5)), ("aBcd4b", (2, 6, 2, 3)), ("ABcd2a3b2a", (7, 5, 2, 1)), ("aBc4b", (1, 8, 3))],
)
def test_packing_agrees_with_the_index_map_of_the_layout(layout, shape):
    layout = Layout.parse(layout)
    data = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    packed = pack(data, layout)
    assert packed.shape == layout.physical_shape(shape)
    for index in np.ndindex(shape):
        assert packed[layout.physical_index(index)] == data[index]
    assert packed.sum() == data.sum()


def test_a_network_of_blocked_layouts_gives_the_values_of_the_plain_one(parse, of_lanes):
    graph = parse("""
        input %x: float32[1, 16, 5, 5]
        parameter %s: float32[1] = [0.01]
        %w = slice(%x) {starts=(0, 0, 0, 0), ends=(1, 16, 3, 3), steps=(1, 1, 1, 1)}
        %k = multiply(%w, %s)
        %c = conv(%x, %k) {pads=(1, 1, 1, 1)}
        %y = relu(%c)
        output %y
    """)
    blocked = precompute_parameters(choose_layouts(graph, of_lanes(16)))
    x = np.random.default_rng(0).standard_normal((1, 16, 5, 5)).astype(np.float32)
    assert np.array_equal(interpret(graph, {"x": x})["y"], interpret(blocked, {"x": x})["y"])


def test_dimensions_without_a_number_are_moved():
    g = GraphBuilder()
    turned = g.add(Slice(starts=(2,), ends=(-1,), steps=(-2,)), g.input("x", "int64", (3,)))
    g.output(g.add(Concat(axis=0), turned, g.parameter("c", np.array([4])), name="y"))
    graph, n = g.finish(), Symbol("n")
    assert interpret(graph, {"x": np.array([n, 2, 3], object)})["y"].tolist() == [3, n, 4]
    with pytest.raises(ArgumentError, match=r"input 'x' expects int64\[3\], found object\[2\]"):
        interpret(graph, {"x": np.array([n, 2], object)})
