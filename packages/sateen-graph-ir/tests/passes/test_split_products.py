"""Pass split_products."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, MatMul, Relu, Reshape, Slice, Split, Tanh, Transpose
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.graph_ir.passes.split_products import split_products


def network(*, axis=2, constant=True, bias=None, read=False):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (2, 5, 4))
    data = random.standard_normal((4, 9)).astype(np.float32)
    w = g.parameter("w", data) if constant else g.input("w", "float32", (4, 9))
    a = g.add(MatMul(), x, w)
    if bias is not None:
        a = g.add(Add(), a, g.parameter("b", random.standard_normal(bias).astype(np.float32)))
    sizes = (2, 3, 4) if axis == 2 else (2, 3)
    parts = g.add_all(Split(axis, sizes), a)
    g.output(*(g.add(Relu(), v) for v in parts), *([g.add(Relu(), a)] if read else []))
    return g.finish()


def kinds_after(before):
    """The kinds of the nodes after the pass, which compute the same."""
    after = remove_dead_nodes(split_products(before))
    verify_graph(after)
    random = np.random.default_rng(1)
    given = {v.name: random.standard_normal(v.type.static_shape).astype(np.float32) for v in before.inputs}
    expected, found = interpret(before, given), interpret(after, given)
    assert [*found] == [*expected]
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)
    return [type(n.op) for n in after.nodes]


@pytest.mark.parametrize("bias", [None, (9,), (5, 9), (1,)])
def test_columns_of_a_product_are_products_with_columns(bias):
    kinds = kinds_after(network(bias=bias))
    assert kinds.count(MatMul) == 3
    assert Split not in kinds


class Heads:
    """Queries, keys and values of 2 heads of depth 4, for 2 pictures of 5 tokens, which are columns of one product."""

    def __init__(self, divided=(2, 5, 3, 2, 4), order=(2, 0, 3, 1, 4)):
        random = np.random.default_rng(0)
        self.g = GraphBuilder("test")
        self.x = self.g.input("x", "float32", (2, 5, 6))
        self.w = self.g.parameter("w", random.standard_normal((6, 24)).astype(np.float32))
        self.b = self.g.parameter("b", random.standard_normal((24,)).astype(np.float32))
        self.product = self.g.add(Add(), self.g.add(MatMul(), self.x, self.w), self.b)
        self.divided = self.g.add(Reshape(divided), self.product)
        self.moved = self.g.add(Transpose(order), self.divided)

    def slice(self, start, end, axis=0, step=1, of=None):
        """Part of what is moved."""
        data = of or self.moved
        shape = data.type.static_shape
        starts, ends, steps = [0] * len(shape), [*shape], [1] * len(shape)
        starts[axis], ends[axis], steps[axis] = start, end, step
        return self.g.add(Slice(tuple(starts), tuple(ends), tuple(steps)), data)

    def finish(self, *outputs):
        self.g.output(*(self.g.add(Tanh(), v) for v in outputs))
        return self.g.finish()


def test_slices_of_a_product_whose_columns_are_divided_and_moved():
    h = Heads()
    kinds = kinds_after(h.finish(*(h.slice(i, i + 1) for i in range(3))))
    assert kinds == [MatMul, Add, Reshape, Transpose] * 3 + [Tanh] * 3


def test_a_split_of_a_product_whose_columns_are_divided_and_moved():
    h = Heads()
    kinds = kinds_after(h.finish(*h.g.add_all(Split(0, (2, 1)), h.moved)))
    assert kinds == [MatMul, Add, Reshape, Transpose] * 2 + [Tanh] * 2


def test_columns_that_are_not_neighbours():
    h = Heads(divided=(10, 2, 3, 4), order=(2, 1, 0, 3))
    kinds = kinds_after(h.finish(h.slice(0, 2), h.slice(2, 3)))
    assert kinds == [MatMul, Add, Reshape, Transpose] * 2 + [Tanh] * 2


def test_columns_in_another_order_and_columns_that_nothing_reads():
    h = Heads()
    kinds = kinds_after(h.finish(h.slice(2, 0, step=-1)))
    assert kinds == [MatMul, Add, Reshape, Transpose, Tanh]


def test_what_is_split_is_split_again():
    h = Heads()
    first, second = h.g.add_all(Split(0, (1, 2)), h.moved)
    kinds = kinds_after(h.finish(first, h.slice(0, 1, of=second), h.slice(1, 2, of=second)))
    assert kinds.count(MatMul) == 3
    assert not {Split, Slice} & {*kinds}


def heads_of_tokens():
    h = Heads()
    return h.finish(h.slice(0, 2, axis=3), h.slice(2, 5, axis=3))


def overlapping():
    h = Heads()
    return h.finish(h.slice(0, 2), h.slice(1, 3))


def along_two_axes():
    h = Heads()
    return h.finish(h.slice(0, 2), h.slice(0, 1, axis=2))


def read_between(name):
    h = Heads()
    return h.finish(*(h.slice(i, i + 1) for i in range(3)), getattr(h, name))


def an_output():
    h = Heads()
    parts = [h.slice(i, i + 1) for i in range(3)]
    h.g.output(h.moved)
    return h.finish(*parts)


def columns_joined_with_rows():
    h = Heads(divided=(2, 15, 8), order=(1, 0, 2))
    return h.finish(h.slice(0, 5), h.slice(5, 15))


def added_to_what_is_computed():
    h = Heads()
    total = h.g.add(Add(), h.moved, h.g.input("other", "float32", h.moved.type.static_shape))
    return h.finish(*(h.slice(i, i + 1, of=total) for i in range(3)))


@pytest.mark.parametrize(
    "graph",
    [network(axis=1), network(constant=False), network(read=True), heads_of_tokens(), overlapping(), along_two_axes(),
     *map(read_between, ("product", "divided", "moved")), an_output(), columns_joined_with_rows(),
     added_to_what_is_computed()],
    ids=["rows", "a matrix that is computed", "another reader", "rows that are moved", "shared columns", "two axes",
         "product read", "reshape read", "transpose read", "output", "columns joined with rows", "a computed operand"],
)  # fmt: skip
def test_others_stay(graph):
    assert split_products(graph) is graph
