"""Pass fuse_attention."""

from math import prod

import numpy as np
import pytest

from sateen.graph_ir import build
from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import (
    Add,
    Attention,
    BroadcastTo,
    Cast,
    Concat,
    Divide,
    Equal,
    Exp,
    MatMul,
    Multiply,
    ReduceMax,
    Reshape,
    Softmax,
    Transpose,
    Where,
)
from sateen.graph_ir.passes.fuse_attention import fuse_attention
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.runtime import DType, load


def fused(graph):
    """The graph after the pass, which gives the same values."""
    after = remove_dead_nodes(fuse_attention(graph))
    verify_graph(after)
    random = np.random.default_rng(1)
    given = {v.name: random.standard_normal(v.type.static_shape).astype(v.type.dtype.numpy) for v in graph.inputs}
    expected, found = interpret(graph, given), interpret(after, given)
    for name, array in expected.items():
        bound = 1e-2 if array.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(found[name], array, rtol=bound, atol=bound)
    return after


def test_a_product_of_queries_and_keys_a_scale_a_mask_a_softmax_and_a_product_of_values(check):
    check(
        lambda graph: remove_dead_nodes(fuse_attention(graph)),
        """
        input %q: float32[2, 3, 5, 4]
        input %x: float32[2, 7, 3, 4]
        input %v: float32[2, 3, 7, 6]
        input %mask: float32[2, 1, 1, 7]
        parameter %c: float32[1] = [0.5]
        %kt: float32[2, 3, 4, 7] = transpose(%x) {permutation=(0, 2, 3, 1)}
        %s: float32[2, 3, 5, 7] = mat_mul(%q, %kt)
        %m: float32[2, 3, 5, 7] = multiply(%s, %c)
        %a: float32[2, 3, 5, 7] = add(%m, %mask)
        %p: float32[2, 3, 5, 7] = softmax(%a) {axis=3}
        %y: float32[2, 3, 5, 6] = mat_mul(%p, %v)
        output %y
        """,
        """
        input %q: float32[2, 3, 5, 4]
        input %x: float32[2, 7, 3, 4]
        input %v: float32[2, 3, 7, 6]
        input %mask: float32[2, 1, 1, 7]
        %x.1: float32[2, 3, 7, 4] = transpose(%x) {permutation=(0, 2, 1, 3)}
        %y: float32[2, 3, 5, 6] = attention(%q, %x.1, %v, %mask) {scale=0.5}
        output %y
        """,
    )


class Network:
    """A graph with attention of [2, 3, 6, 4] and keys [2, 3, 8, 4] that its methods build part by part."""

    def __init__(self, dtype="float32"):
        self.g, self.dtype = GraphBuilder("net"), dtype
        self.q = self.g.input("q", dtype, (2, 3, 6, 4))
        self.k = self.g.input("k", dtype, (2, 3, 8, 4))
        self.v = self.g.input("v", dtype, (2, 3, 8, 5))

    def number(self, x, dtype=None):
        return self.g.parameter("number", np.full((1,), x, np.dtype(dtype or self.dtype)))

    def scores(self, q=None, kt=None):
        return self.g.add(MatMul(), q or self.q, kt or self.g.add(Transpose((0, 1, 3, 2)), self.k))

    def finish(self, scores, *others):
        p = self.g.add(Softmax(3), scores)
        self.g.output(self.g.add(MatMul(), p, self.v, name="y"), *others)
        return self.g.finish()


def only_attention(graph):
    """The one attention that the pass makes of a graph."""
    (node,) = [n for n in fused(graph).nodes if isinstance(n.op, Attention)]
    assert not any(isinstance(n.op, (Softmax, MatMul)) for n in fused(graph).nodes)
    return node.op


def scaled_queries(n):
    return n.scores(n.g.add(Multiply(), n.number(0.25), n.q))


def divided_keys(n):
    return n.scores(kt=n.g.add(Divide(), n.g.add(Transpose((0, 1, 3, 2)), n.k), n.number(4.0)))


def divided_scores(n):
    return n.g.add(Divide(), n.scores(), n.number(4.0))


def all_scaled(n):
    kt = n.g.add(Transpose((0, 1, 3, 2)), n.g.add(Multiply(), n.k, n.number(2.0)))
    return n.g.add(Multiply(), n.scores(n.g.add(Divide(), n.q, n.number(2.0)), kt), n.number(0.25))


@pytest.mark.parametrize("build_scores", [scaled_queries, divided_keys, divided_scores, all_scaled])
def test_scales_of_queries_keys_and_scores(build_scores):
    n = Network()
    assert only_attention(n.finish(build_scores(n))) == Attention(scale=0.25)


def causal(rows, columns, reach, fill):
    query, key = np.ogrid[:rows, :columns]
    return np.where(key <= query + reach, 0, fill).astype(np.float32)


@pytest.mark.parametrize("fill", [-np.inf, np.finfo(np.float32).min])
@pytest.mark.parametrize("reach", [0, 2])
def test_a_constant_mask_behind_each_query_becomes_its_reach(fill, reach):
    n = Network()
    mask = n.g.parameter("mask", causal(6, 8, reach, fill)[None, None])
    assert only_attention(n.finish(n.g.add(Add(), n.scores(), mask))) == Attention(reach=reach)


@pytest.mark.parametrize(("fill", "reach"), [(-np.inf, 2), (np.finfo(np.float16).min, None)])
def test_a_mask_of_float16_excludes_by_infinity_alone(fill, reach):
    n = Network("float16")
    mask = n.g.parameter("mask", causal(6, 8, 2, fill).astype(np.float16))
    assert only_attention(n.finish(n.g.add(Add(), n.scores(), mask))) == Attention(reach=reach)


def test_constant_choices_behind_each_query_become_its_reach():
    n = Network()
    allowed = n.g.parameter("mask", causal(6, 8, 2, -1) == 0)
    chosen = n.g.add(Where(), allowed, n.scores(), n.number(-np.inf))
    assert only_attention(n.finish(chosen)) == Attention(reach=2)


@pytest.mark.parametrize("fill", [-10000.0, -1.0])
def test_masks_that_only_lower_scores_are_added(fill):
    n = Network()
    mask = n.g.parameter("mask", causal(6, 8, 2, fill))
    assert only_attention(n.finish(n.g.add(Add(), mask, n.scores()))) == Attention()


@pytest.mark.parametrize("inverted", [False, True])
def test_masks_that_choose(inverted):
    n = Network()
    mask = n.g.input("mask", "bool", (2, 1, 6, 8))
    parts = (n.scores(), n.number(-5.0))
    chosen = n.g.add(Where(), mask, *(reversed(parts) if inverted else parts))
    assert only_attention(n.finish(chosen)) == Attention(fill=-5.0)


def test_two_masks_are_added_to_each_other():
    n = Network()
    first, second = n.g.input("first", "float32", (1, 3, 6, 8)), n.g.input("second", "float32", (2, 1, 6, 8))
    scores = n.g.add(Multiply(), n.scores(), n.number(0.5))
    after = fused(n.finish(n.g.add(Add(), n.g.add(Add(), scores, first), second)))
    assert sorted(type(node.op).__name__ for node in after.nodes) == ["Add", "Attention"]


def test_a_softmax_in_longer_floats():
    n = Network("float16")
    wide = n.g.add(Cast(DType.of("float32")), n.g.add(Multiply(), n.scores(), n.number(0.5)))
    p = n.g.add(Cast(DType.of("float16")), n.g.add(Softmax(3), wide))
    n.g.output(n.g.add(MatMul(), p, n.v, name="y"))
    assert only_attention(n.g.finish()) == Attention(scale=0.5)


def chosen_by(n, least):
    """Weights that are 0 in rows whose largest score is a number."""
    mask = n.g.input("mask", "float32", (2, 1, 6, 8))
    scores = n.g.add(Add(), n.scores(), mask)
    nothing = n.g.add(Equal(), n.g.add(ReduceMax((3,)), scores), n.number(least))
    p = n.g.add(Where(), nothing, n.number(0.0), n.g.add(Softmax(3), scores))
    n.g.output(n.g.add(MatMul(), p, n.v, name="y"))
    return n.g.finish()


def test_rows_without_scores_may_be_zero():
    assert only_attention(chosen_by(Network(), -np.inf)) == Attention(empty_is_zero=True)


def test_keys_and_values_of_several_heads_are_read_where_they_are():
    n = Network()
    apart = (n.g.add(Reshape((2, 3, 1, 8, width)), x) for x, width in ((n.k, 4), (n.v, 5)))
    wide = [n.g.add(BroadcastTo((2, 3, 2, 8, width)), x) for x, width in zip(apart, (4, 5), strict=True)]
    k, v = (n.g.add(Reshape((2, 6, 8, width)), x) for x, width in zip(wide, (4, 5), strict=True))
    scores = n.g.add(MatMul(), n.g.input("queries", "float32", (2, 6, 3, 4)), n.g.add(Transpose((0, 1, 3, 2)), k))
    n.g.output(n.g.add(MatMul(), n.g.add(Softmax(3), scores), v, name="y"))
    (node,) = fused(n.g.finish()).nodes
    assert [v.name for v in node.inputs] == ["queries", "k", "v"]


def other_rows_are_zero(n):
    return chosen_by(n, 3.0)


def read_twice(n):
    scores = n.scores()
    return n.finish(scores, scores)


def scaled_after_a_mask(n):
    return n.finish(n.g.add(Multiply(), n.g.add(Add(), n.scores(), n.g.input("m", "float32", (8,))), n.number(2.0)))


def scaled_by_a_matrix(n):
    return n.finish(n.g.add(Multiply(), n.scores(), n.g.input("m", "float32", (6, 8))))


def along_queries(n):
    p = n.g.add(Softmax(2), n.scores())
    n.g.output(n.g.add(MatMul(), p, n.v))
    return n.g.finish()


def of_no_product(n):
    return n.finish(n.g.input("scores", "float32", (2, 3, 6, 8)))


@pytest.mark.parametrize(
    "graph", [other_rows_are_zero, read_twice, scaled_after_a_mask, scaled_by_a_matrix, along_queries, of_no_product]
)
def test_others_stay(graph):
    before = graph(Network())
    assert fuse_attention(before) is before


def test_strict_numerics_keep_the_sums():
    n = Network()
    graph = n.finish(n.scores())
    kernels = [build(graph, numerics=level).library for level in ("strict", "default")]
    assert kernels[0] != kernels[1]
    random = np.random.default_rng(0)
    given = {v.name: random.standard_normal(v.type.static_shape).astype(np.float32) for v in graph.inputs}
    for level in ("strict", "default"):
        with load(build(graph, numerics=level)) as model:
            np.testing.assert_allclose(
                model.run(given)["y"].numpy(), interpret(graph, given)["y"], rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize(("past", "new"), [(1, 1), (37, 1), (64, 5), (20, 20)])
def test_keys_and_values_of_earlier_steps_come_first_and_go_out_with_the_new_ones(past, new):
    g = GraphBuilder("decoder")
    q = g.input("q", "float32", (1, 3, new, 8))
    kept = {}
    for name in ("k", "v"):
        earlier, added = g.input(f"past_{name}", "float32", (1, 3, past, 8)), g.input(name, "float32", (1, 3, new, 8))
        kept[name] = g.add(Concat(2), earlier, added, name=f"present_{name}")
    scores = g.add(MatMul(), q, g.add(Transpose((0, 1, 3, 2)), kept["k"]))
    scores = g.add(Multiply(), scores, g.parameter("scale", np.float32(0.25)))
    scores = g.add(Add(), scores, g.parameter("mask", causal(new, past + new, past, -np.inf)))
    g.output(g.add(MatMul(), g.add(Softmax(3), scores), kept["v"], name="y"), *kept.values())
    graph = g.finish()
    assert only_attention(graph) == Attention(scale=0.25, reach=past if new > 1 else None)
    random = np.random.default_rng(past)
    given = {v.name: random.standard_normal(v.type.static_shape).astype(np.float32) for v in graph.inputs}
    with load(build(graph)) as model:
        found = model.run(given)
        for name, expected in interpret(graph, given).items():
            np.testing.assert_allclose(found[name].numpy(), expected, rtol=1e-5, atol=1e-6)


def random_graph(seed):
    """Attention with scales, masks and heads drawn at random, behind and before transposes."""
    random = np.random.default_rng(seed)
    g = GraphBuilder("net")
    batch, heads, queries, keys, depth, columns = (int(random.integers(1, high)) for high in (3, 4, 40, 40, 20, 20))
    queries = 1 if random.random() < 0.3 else queries
    if random.random() < 0.5:
        q = g.add(Transpose((0, 2, 1, 3)), g.input("q", "float32", (batch, queries, heads, depth)))
        kt = g.add(Transpose((0, 2, 3, 1)), g.input("k", "float32", (batch, keys, heads, depth)))
        v = g.add(Transpose((0, 2, 1, 3)), g.input("v", "float32", (batch, keys, heads, columns)))
    else:
        q, v = (g.input(n, "float32", (batch, heads, *s)) for n, s in (("q", (queries, depth)), ("v", (keys, columns))))
        kt = g.input("k", "float32", (batch, 1 if random.random() < 0.3 else heads, depth, keys))
    scores = g.add(MatMul(), q, kt)
    if random.random() < 0.7:
        scores = g.add(Multiply(), scores, g.parameter("c", np.float32(random.uniform(0.1, 1))))
    shape = [n if random.random() < 0.6 else 1 for n in (batch, heads, queries, keys)][int(random.integers(0, 3)) :]
    kind = random.integers(0, 4)
    if kind == 1:
        scores = g.add(Add(), scores, g.input("mask", "float32", shape))
    elif kind == 2:
        scores = g.add(Where(), g.input("mask", "bool", shape), scores, g.parameter("c", np.float32(-9)))
    elif kind == 3:
        reach = int(random.integers(0, keys))
        scores = g.add(Add(), scores, g.parameter("mask", causal(queries, keys, reach, -np.inf)))
    y = g.add(MatMul(), g.add(Softmax(3), scores), v)
    g.output(g.add(Transpose((0, 2, 1, 3)), y, name="y"))
    return g.finish()


@pytest.mark.parametrize("seed", range(6))
def test_random_attention_compiles_to_the_values(seed):
    graph = random_graph(seed)
    assert any(isinstance(n.op, Attention) for n in fuse_attention(graph).nodes)
    random = np.random.default_rng(seed)
    given = {v.name: random.standard_normal(v.type.static_shape) > 0 for v in graph.inputs if v.type.dtype.is_bool}
    for v in graph.inputs:
        if v.name not in given:
            given[v.name] = random.standard_normal(v.type.static_shape).astype(np.float32)
    with load(build(graph)) as model:
        np.testing.assert_allclose(model.run(given)["y"].numpy(), interpret(graph, given)["y"], rtol=1e-4, atol=1e-5)


def heads(n, shape=(3, 1, 1), *, computed=False):
    """A number for each head."""
    data = np.linspace(0.5, 1.5, prod(shape)).reshape(shape).astype(n.dtype)
    return n.g.add(Exp(), n.g.input("heads", n.dtype, shape)) if computed else n.g.parameter("heads", data)


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 3, 1, 1), (2, 3, 1, 1)])
@pytest.mark.parametrize("computed", [False, True])
def test_a_number_for_each_matrix_of_scores_is_one_for_its_queries(shape, computed):
    n = Network()
    scores = n.g.add(Multiply(), heads(n, shape, computed=computed), n.scores())
    assert only_attention(n.finish(scores)) == Attention()


def test_numbers_of_heads_with_one_for_all_and_a_mask():
    n = Network()
    scores = n.g.add(Multiply(), n.g.add(Divide(), n.scores(), heads(n)), n.number(0.5))
    assert only_attention(n.finish(n.g.add(Add(), scores, n.g.input("mask", n.dtype, (6, 8))))) == Attention(scale=0.5)


@pytest.mark.parametrize(
    "build_scores",
    [
        lambda n: n.g.add(Multiply(), n.scores(), n.g.input("each", n.dtype, (3, 6, 1))),
        lambda n: n.g.add(Multiply(), n.g.add(Add(), n.scores(), n.g.input("mask", n.dtype, (6, 8))), heads(n)),
        lambda n: n.g.add(Divide(), heads(n), n.scores()),
    ],
    ids=["a number for each query", "a scaled mask", "divided numbers"],
)
def test_other_factors_stay(build_scores):
    n = Network()
    before = n.finish(build_scores(n))
    assert fuse_attention(before) is before


def test_numbers_of_heads_stay_in_half_precision():
    """A query times a number may be too large where the score is not."""
    n = Network("float16")
    before = n.finish(n.g.add(Multiply(), n.scores(), heads(n)))
    assert fuse_attention(before) is before


@pytest.mark.parametrize(
    ("stack", "mask"),
    [
        ((1, 2, 3), (1, 2, 1, 6, 8)),
        ((1, 2, 3), (2, 3, 6, 8)),
        ((1, 2, 3), (6, 8)),
        ((2, 1, 3), (1, 1, 3, 1, 8)),
        ((2, 3, 1), (1, 3, 1, 6, 8)),
        ((6,), (6, 6, 8)),
        ((6,), (1, 6, 8)),
    ],
)
def test_masks_are_added_where_the_stack_has_another_shape(stack, mask):
    n = Network()
    scores = n.g.add(Add(), n.scores(), n.g.input("bias", n.dtype, (1, 3, 6, 8)))
    total = n.g.add(Add(), n.g.add(Reshape((*stack, 6, 8)), scores), n.g.input("mask", n.dtype, mask))
    assert only_attention(n.finish(n.g.add(Reshape((2, 3, 6, 8)), total))) == Attention()


def test_a_mask_of_windows_is_repeated_for_each_picture():
    """Swin: 2 pictures of 3 windows, and 2 heads."""
    g = GraphBuilder("windows")
    q, k, v = (g.input(name, "float32", (6, 2, 4, 5)) for name in "qkv")
    scores = g.add(MatMul(), q, g.add(Transpose((0, 1, 3, 2)), k))
    total = g.add(Add(), g.add(Reshape((2, 3, 2, 4, 4)), scores), g.input("mask", "float32", (1, 3, 1, 4, 4)))
    weights = g.add(Softmax(3), g.add(Reshape((6, 2, 4, 4)), total))
    g.output(g.add(MatMul(), weights, v))
    assert only_attention(g.finish()) == Attention()


def test_one_number_is_added_to_all_scores():
    n = Network()
    graph = n.finish(n.g.add(Add(), n.scores(), n.g.input("mask", n.dtype, ())))
    assert only_attention(graph) == Attention()
    random = np.random.default_rng(0)
    given = {v.name: random.standard_normal(v.type.static_shape).astype(np.float32) for v in graph.inputs}
    found = load(build(graph)).run(given)["y"].numpy()
    np.testing.assert_allclose(found, interpret(graph, given)["y"], rtol=1e-5, atol=1e-5)


def test_an_added_mask_that_is_reshaped_is_no_scores():
    n = Network()
    mask = n.g.add(Reshape((2, 3, 6, 8)), n.g.input("mask", n.dtype, (6, 6, 8)))
    assert only_attention(n.finish(n.g.add(Add(), mask, n.scores()))) == Attention()


@pytest.mark.parametrize(
    "build_scores",
    [
        lambda n: n.g.add(Reshape((2, 3, 6, 8)), n.g.add(Reshape((2, 3, 48)), n.scores())),
        lambda n: n.g.add(
            Reshape((2, 3, 6, 8)),
            n.g.add(Multiply(), n.g.add(Reshape((1, 2, 3, 6, 8)), n.scores()), heads(n, (1, 2, 1, 1, 1))),
        ),
    ],
    ids=["other matrices", "numbers of another stack"],
)
def test_other_reshapes_stay(build_scores):
    n = Network()
    before = n.finish(build_scores(n))
    assert fuse_attention(before) is before
