"""Memory plans: what is alive at one time does not overlap, in random graphs and in compiled ones."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import Array, Graph, GraphBuilder, Node, Value
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.memory import Location, MemoryPlan, plan_memory
from sateen.graph_ir.memory import plan as memory
from sateen.graph_ir.ops import Add, Concat, Exp, MatMul, Relu, Reshape, Sigmoid, Slice, Split
from sateen.graph_ir.passes.separate_concat_inputs import separate_concat_inputs
from sateen.runtime import Target, load

TARGET = Target.of("llvm")


def random_graph(seed: int) -> Graph:
    """Element-wise nodes, sums, concatenations, splits, slices and reshapes of values of several sizes."""
    random = np.random.default_rng(seed)
    builder = GraphBuilder("random")
    values = [builder.input("x", "float32", (1, 4, 3)), builder.input("y", "float32", (1, 2, 3))]
    values.append(builder.parameter("p", random.standard_normal((1, 3, 3)).astype("float32")))

    def pick(rank: int = 3) -> Value:
        fitting = [v for v in values if v.type.rank == rank]
        return fitting[-1 - min(int(random.geometric(0.3)) - 1, len(fitting) - 1)]

    for _ in range(24):
        match random.integers(7):
            case 0 | 1:
                values.append(builder.add([Relu(), Sigmoid()][random.integers(2)], pick()))
            case 2:
                a, b = pick(), pick()
                values.append(builder.add(Add(), a, b if a.type == b.type else a))
            case 3 | 4:
                axis = int(random.integers(5)) // 4 + 1
                operands = [v for v in (pick(), pick(), pick()) if axis == 1 or v.type.shape[1] == 3]
                if operands and sum(v.type.static_shape[axis] for v in operands) < 40:
                    same = [v for v in operands if _fits(v, operands[0], axis)]
                    values.append(builder.add(Concat(axis), *same))
            case 5:
                v = pick()
                first = int(random.integers(1, v.type.static_shape[1] + 1))
                values += builder.add_all(Split(1, (first, v.type.static_shape[1] - first)), v)
                values = [v for v in values if v.type.bytes]
            case _:
                v = pick()
                _, n, m = v.type.static_shape
                values.append(builder.add(Reshape((1, m, n) if m == n else (1, n, m)), v))
                start = int(random.integers(n))
                values.append(builder.add(Slice((0, start, 0), (1, n, m), (1, 1, 1)), v))
    computed = [v for v in values if v in builder._producers]
    outputs = dict.fromkeys([computed[-1], computed[int(random.integers(len(computed)))]])
    builder.output(*outputs)
    return builder.finish()


def _fits(a: Value, b: Value, axis: int) -> bool:
    return all(m == n for d, (m, n) in enumerate(zip(a.type.shape, b.type.shape, strict=True)) if d != axis)


class Simulation:
    """A graph run over planned memory, in which each element is a number of its own and no node makes another's."""

    def __init__(self, graph: Graph, plan: MemoryPlan) -> None:
        self.plan = plan
        self.workspace = np.full(plan.workspace_bytes // 4, -1)
        self.outside = {v: np.full(v.type.bytes // 4, -1) for v in (*graph.inputs, *graph.parameters, *graph.outputs)}
        self.expected: dict[Value, Array] = {}
        self.count = 0
        for v in (*graph.inputs, *graph.parameters):
            self.write(v, self.fresh(v))

    def fresh(self, value: Value) -> Array:
        shape = value.type.static_shape
        self.count += int(np.prod(shape))
        return np.arange(self.count - int(np.prod(shape)), self.count).reshape(shape)

    def memory(self, value: Value) -> Array:
        view = self.plan.views.get(value, Location(value, 0))
        first = view.offset // 4
        if view.source not in self.outside:
            first += self.plan.workspace[view.source] // 4
        block = self.outside.get(view.source, self.workspace)
        return block[first : first + value.type.bytes // 4]

    def write(self, value: Value, data: Array) -> None:
        self.expected[value] = data
        self.memory(value)[:] = data.ravel()

    def is_intact(self, value: Value) -> bool:
        return np.array_equal(self.memory(value), self.expected[value].ravel())

    def run(self, node: Node, scratch: int) -> None:
        inputs = [v for v in node.inputs if v is not None]
        if node in self.plan.free:
            made = _moved(node.op, [self.expected[v] for v in inputs])
            self.expected.update(zip(node.outputs, made, strict=True))
            assert all(map(self.is_intact, node.outputs)), f"{node.op} has work to do"
            return
        for offset in self.plan.scratch.get(node, ()):
            self.workspace[offset // 4 : offset // 4 + scratch // 4] = -2
        assert all(map(self.is_intact, inputs)), f"inputs of {node.op}"
        for v in node.outputs:
            self.write(v, self.fresh(v))
        overwritten = {self.plan.views.get(v, Location(v, 0)) for v in node.outputs}
        others = [v for v in inputs if self.plan.views.get(v, Location(v, 0)) not in overwritten]
        for offset in self.plan.scratch.get(node, ()):
            self.workspace[offset // 4 : offset // 4 + scratch // 4] = -2
        assert all(map(self.is_intact, (*others, *node.outputs))), f"outputs of {node.op}"


def _moved(op: object, inputs: list[Array]) -> list[Array]:
    match op:
        case Reshape(shape=shape):
            return [inputs[0].reshape(shape)]
        case Split(axis=axis, sizes=sizes):
            return np.split(inputs[0], np.cumsum(sizes)[:-1], axis)
        case Slice(starts=starts, ends=ends):
            return [inputs[0][tuple(map(slice, starts, ends))]]
        case Concat(axis=axis):
            return [np.concatenate(inputs, axis)]
        case _:
            raise AssertionError(op)


def simulate(graph: Graph, plan: MemoryPlan) -> None:
    simulation = Simulation(graph, plan)
    for node in graph.nodes:
        simulation.run(node, 256)
    assert all(map(simulation.is_intact, graph.outputs))


@pytest.mark.parametrize("seed", range(200))
def test_no_value_is_overwritten_while_it_is_needed(seed: int) -> None:
    graph = random_graph(seed)
    if seed % 2:
        graph = separate_concat_inputs(graph)
    random = np.random.default_rng(seed)
    scratch = {node: (256,) * int(random.integers(3)) for node in graph.nodes}
    overwritable = {n: [n.inputs[0]] for n in graph.nodes if n.op in (Relu(), Sigmoid()) and n.inputs[0] is not None}
    plan = plan_memory(graph, scratch, overwritable)
    assert plan.least_bytes <= plan.workspace_bytes
    simulate(graph, plan)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_graphs_give_what_the_interpreter_gives(seed: int) -> None:
    graph = random_graph(1000 + seed)
    random = np.random.default_rng(seed)
    inputs = {v.name: random.standard_normal(v.type.static_shape).astype("float32") for v in graph.inputs}
    found = load(build(graph), threads=1).run(inputs)
    for name, expected in interpret(graph, inputs).items():
        np.testing.assert_allclose(found[name].numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_dense_block_is_computed_in_place() -> None:
    """Each concatenation takes the one before and a part computed from that: all lie in the last one's memory."""
    builder = GraphBuilder("dense")
    value = first = builder.add(Exp(), builder.input("x", "float32", (1, 16, 8)))
    parts = []
    for _ in range(3):
        start = builder.add(Slice((0, 0, 0), (1, 16, 8), (1, 1, 1)), value)
        parts.append(builder.add(Sigmoid(), start))
        value = builder.add(Concat(1), value, parts[-1])
    builder.output(builder.add(Relu(), value))
    graph = builder.finish()
    plan = plan_memory(graph)
    assert plan.free == {node for node in graph.nodes if isinstance(node.op, Concat | Slice)}
    assert [plan.views[v] for v in (first, *parts)] == [Location(value, 512 * i) for i in range(4)]
    assert plan.workspace == {value: 0}
    assert plan.workspace_bytes == plan.least_bytes == 4 * 512


def chain() -> Graph:
    builder = GraphBuilder("chain")
    a = builder.add(Exp(), builder.input("x", "float32", (64,)), name="a")
    b = builder.add(Relu(), a, name="b")
    c = builder.add(Sigmoid(), b, name="c")
    builder.output(builder.add(Exp(), c, name="y"))
    return builder.finish()


def test_an_output_takes_the_place_of_an_input_that_nothing_else_needs() -> None:
    graph = chain()
    (a,), (b,), (c,), _ = (node.outputs for node in graph.nodes)
    overwritable = {node: [v for v in node.inputs if v is not None] for node in graph.nodes}
    assert plan_memory(graph).workspace_bytes == 2 * 256
    plan = plan_memory(graph, overwritable=overwritable)
    assert plan.views == {b: Location(a, 0), c: Location(a, 0)}, "the network's input and output keep their own memory"
    assert plan.workspace_bytes == plan.least_bytes == 256


def test_an_input_that_is_read_later_keeps_its_place() -> None:
    graph = chain()
    relu, last = graph.nodes[1], graph.nodes[3]
    (a,) = graph.nodes[0].outputs
    again = Node(Add(), (a, *last.inputs), last.outputs)
    plan = plan_memory(Graph("later", graph.inputs, {}, (*graph.nodes[:3], again), graph.outputs), {}, {relu: [a]})
    assert plan.views == {}


def test_an_input_that_lies_in_the_memory_of_another_one_keeps_its_place() -> None:
    """The sum of a value and of the same one reshaped, which is read at other places."""
    builder = GraphBuilder("shared")
    a = builder.add(Exp(), builder.input("x", "float32", (4, 16)), name="a")
    turned = builder.add(Reshape((16, 4)), a, name="turned")
    b = builder.add(MatMul(), a, turned, name="b")
    builder.output(builder.add(Relu(), b))
    graph = builder.finish()
    (_, view, product, _) = graph.nodes
    alike = Node(product.op, product.inputs, (Value("c", a.type),))
    last = Node(Relu(), alike.outputs, (Value("y", a.type),))
    graph = Graph("shared", graph.inputs, {}, (graph.nodes[0], view, alike, last), last.outputs)
    assert plan_memory(graph, {}, {alike: [a]}).views == {turned: Location(a, 0)}
    alone = Node(Relu(), (turned,), alike.outputs)
    graph = Graph("alone", graph.inputs, {}, (graph.nodes[0], view, alone, last), last.outputs)
    assert alike.outputs[0] in plan_memory(graph, {}, {alone: [turned]}).views


def test_storage_of_kernels_is_part_of_the_workspace() -> None:
    """The packed operand of a matrix product lies beside the values that live at the same time."""
    builder = GraphBuilder("product")
    x = builder.add(Relu(), builder.input("x", "float32", (2, 64, 48)))
    builder.output(builder.add(MatMul(), x, builder.add(Relu(), builder.input("y", "float32", (2, 48, 64)))))
    network = lower_network(builder.finish(), TARGET)
    product = network.graph.nodes[-1]
    (offset,) = network.plan.scratch[product]
    ends = {v: place + v.type.bytes for v, place in network.plan.workspace.items()}
    assert all(offset >= ends[v] or offset < network.plan.workspace[v] for v in product.inputs if v is not None)
    kernel = next(f for f in network.kernels if f.name == network.calls[product])
    assert [b.name for b in kernel.parameters[:3]] == ["input0", "input1", "matmul"]
    assert len(kernel.parameters) == 4
    assert "allocate" not in str(kernel).split("parallel")[0]


def test_where_the_greedy_rule_leaves_a_hole_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, random = random_graph(14), np.random.default_rng(14)
    scratch = {node: (256,) * int(random.integers(3)) for node in graph.nodes}
    plan = plan_memory(graph, scratch)
    assert plan.workspace_bytes == plan.least_bytes
    monkeypatch.setattr(memory, "MOST_TRIES", 1)
    assert plan_memory(graph, scratch).workspace_bytes > plan.least_bytes


def test_beyond_a_number_of_comparisons_blocks_lie_above_all_that_live_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = [separate_concat_inputs(random_graph(seed)) for seed in range(40)]
    sizes = [plan_memory(graph).workspace_bytes for graph in graphs]
    for most in (0, 100):
        monkeypatch.setattr(memory, "MOST_COMPARED", most)
        plans = [plan_memory(graph) for graph in graphs]
        for graph, plan in zip(graphs, plans, strict=True):
            simulate(graph, plan)
        assert any(plan.workspace_bytes > size for plan, size in zip(plans, sizes, strict=True))
