"""Integer reasoning, against brute force over every point of small domains, and the rules one by one."""

import operator
import random

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.tensor_ir.arith import Analyzer, StructuralKeys
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load, decl_buffer
from sateen.tensor_ir.ir.choices import all_of
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.types import FLOAT32, INT64

OPERATIONS = {
    ex.Add: operator.add, ex.Sub: operator.sub, ex.Mul: operator.mul, ex.FloorDiv: operator.floordiv,
    ex.FloorMod: operator.mod, ex.Min: np.minimum, ex.Max: np.maximum, ex.EQ: operator.eq, ex.NE: operator.ne,
    ex.LT: operator.lt, ex.LE: operator.le, ex.GT: operator.gt, ex.GE: operator.ge, ex.And: operator.and_,
    ex.Or: operator.or_,
}  # fmt: skip
COMPARISONS = (ex.EQ, ex.NE, ex.LT, ex.LE, ex.GT, ex.GE)


def value(e, points):
    """The value of an expression at every point, where `points` gives each variable an array."""
    match e:
        case ex.Const():
            return e.value
        case Var():
            return points[e]
        case ex.Binary():
            return OPERATIONS[type(e)](value(e.a, points), value(e.b, points))
        case ex.Select():
            return np.where(value(e.condition, points), value(e.then, points), value(e.otherwise, points))
        case ex.Not():
            return ~np.asarray(value(e.value, points))
    raise AssertionError(type(e))


class Domain:
    """Three variables in small random ranges; the third may depend on the second, the fourth has no known range."""

    def __init__(self, rng):
        self.analyzer = Analyzer()
        names = [Var(name) for name in "ijk"]
        lows = [rng.choice([0, 0, 0, 1, -3]) for _ in names]
        extents = [rng.choice([1, 2, 3, 4, 5, 6, 8, 12]) for _ in names]
        triangular = rng.random() < 0.3
        free = Var("n")
        grids = np.meshgrid(
            *(np.arange(a, a + n) for a, n in zip(lows, extents, strict=True)), np.arange(-5, 14), indexing="ij"
        )
        inside = np.ones(grids[0].shape, bool)
        for position, (var, low, extent) in enumerate(zip(names, lows, extents, strict=True)):
            if triangular and position == 2:  # k in [low, low + j - low_j + 1)
                self.analyzer.bind(var, low, names[1] - lows[1] + 1)
                inside = grids[2] < low + grids[1] - lows[1] + 1
                inside &= grids[2] < low + extent
                self.reach = min(extent, extents[1])
            else:
                self.analyzer.bind(var, low, extent)
        self.variables = [*names, free]
        self.points = {v: g[inside].ravel() for v, g in zip(self.variables, grids, strict=True)}


def random_index(rng, variables, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(variables) if rng.random() < 0.8 else const(rng.randrange(-6, 20))
    a = random_index(rng, variables, depth - 1)
    kind = rng.randrange(12)
    if kind < 5:
        b = random_index(rng, variables, depth - 1)
        return a + b if kind < 3 else a - b
    if kind < 7:
        return a * rng.choice([2, 3, 4, 6, 8, 12, -1, -2])
    if kind < 9:
        return a // rng.choice([2, 3, 4, 6, 8, 12])
    if kind < 11:
        return a % rng.choice([2, 3, 4, 6, 8, 12])
    b = random_index(rng, variables, depth - 1)
    extremum = rng.choice([ex.minimum, ex.maximum])
    return extremum(a, b) if rng.random() < 0.8 else te.select(a < b, a, b * 2)


def check(domain, e):
    analyzer, points = domain.analyzer, domain.points
    count = len(next(iter(points.values())))
    expected = np.broadcast_to(value(e, points), (count,))
    form = analyzer.form(e)
    assert np.array_equal(np.broadcast_to(value(analyzer.expr(form), points), (count,)), expected), "form"
    simple = analyzer.simplify(e)
    assert np.array_equal(np.broadcast_to(value(simple, points), (count,)), expected), "simplify"
    assert analyzer.simplify(simple) is simple, f"not idempotent: {simple} becomes {analyzer.simplify(simple)}"
    low, high = analyzer.interval(form)
    assert low is None or low <= expected.min(), f"low {low}"
    assert high is None or high >= expected.max(), f"high {high}"
    modulus, remainder = analyzer.modulus(form)
    assert (expected % modulus == remainder).all() if modulus else (expected == remainder).all(), "modulus"


@pytest.mark.parametrize("seed", range(8))
def test_random_indices(seed):
    rng = random.Random(seed)
    for _ in range(60):
        domain = Domain(rng)
        for _ in range(8):
            e = random_index(rng, domain.variables, rng.randrange(1, 5))
            check(domain, e)


@pytest.mark.parametrize("seed", range(4))
def test_random_conditions(seed):
    rng = random.Random(100 + seed)
    decided = 0
    for _ in range(60):
        domain = Domain(rng)
        count = len(next(iter(domain.points.values())))
        for _ in range(8):
            a, b = (random_index(rng, domain.variables[:3], rng.randrange(1, 4)) for _ in range(2))
            condition = rng.choice(COMPARISONS)(a, b)
            expected = np.broadcast_to(value(condition, domain.points), (count,))
            verdict = domain.analyzer.decide(condition)
            assert verdict is None or (expected == verdict).all(), str(condition)
            decided += verdict is not None
            other = rng.choice(COMPARISONS)(b, const(rng.randrange(-4, 9)))
            both = rng.choice([ex.And, ex.Or])(condition, other)
            truth = np.broadcast_to(value(both, domain.points), (count,))
            simple = domain.analyzer.simplify(both)
            assert np.array_equal(np.broadcast_to(value(simple, domain.points), (count,)), truth), str(both)
            assert domain.analyzer.simplify(simple) is simple, f"not idempotent: {simple}"
    assert decided > 60, "the analyzer decides too little to be worth a test"


@pytest.mark.parametrize("seed", range(4))
def test_random_assumptions(seed):
    rng = random.Random(200 + seed)
    for _ in range(60):
        domain = Domain(rng)
        analyzer = domain.analyzer
        condition = all_of(
            [
                rng.choice(COMPARISONS)(random_index(rng, domain.variables, 2), const(rng.randrange(-3, 9)))
                for _ in range(rng.randrange(1, 3))
            ]
        )
        count = len(next(iter(domain.points.values())))
        holds = np.broadcast_to(value(condition, domain.points), (count,))
        before = dict(analyzer.bounds)
        with analyzer.assuming(condition):
            if holds.any():
                kept, domain.points = domain.points, {v: p[holds] for v, p in domain.points.items()}
                for _ in range(4):
                    check(domain, random_index(rng, domain.variables, 3))
                domain.points = kept
        assert analyzer.bounds == before
        check(domain, random_index(rng, domain.variables, 3))


@pytest.fixture
def analyzer():
    return Analyzer()


i, j, n, m = Var("i"), Var("j"), Var("n"), Var("m")


def test_split_axes_recombine(analyzer):
    analyzer.bind(i, 0, 4)
    analyzer.bind(j, 0, 8)
    assert str(analyzer.simplify((i * 8 + j) // 8)) == "i"
    assert str(analyzer.simplify((i * 8 + j) % 8)) == "j"
    assert str(analyzer.simplify((i * 8 + j) // 4)) == "i * 2 + j // 4"
    assert str(analyzer.simplify((i * 8 + j) % 4)) == "j % 4"
    assert str(analyzer.simplify(n // 8 * 8 + n % 8)) == "n"
    assert str(analyzer.simplify(n // 4 // 2)) == "n // 8"
    assert str(analyzer.simplify(n % 8 % 4)) == "n % 4"


def test_a_fused_axis_is_taken_apart(analyzer):
    analyzer.bind(i, 0, 12)
    assert str(analyzer.simplify(i // 4 * 4 + i % 4 - i)) == "0"
    assert str(analyzer.simplify(i // 12)) == "0"
    assert str(analyzer.simplify(i % 12)) == "i"


def test_symbolic_ranges_decide(analyzer):
    analyzer.bind(i, 0, n)
    analyzer.bind(j, 0, i + 1)
    assert analyzer.prove(i < n)
    assert analyzer.prove(j < n)
    assert analyzer.prove(n - 1 - i >= 0)
    assert analyzer.prove(i * 2 - j - i >= 0)
    assert not analyzer.prove(i + 1 < n)
    assert analyzer.decide(j > i) is False
    assert analyzer.decide(ex.EQ(i * 2, j * 2 + 1)) is False


def test_products_are_multiplied_out(analyzer):
    assert analyzer.constant((n + 1) * m - n * m - m) == 0
    assert str(analyzer.simplify((n + 1) * (n + 1) - n * n)) == "n * 2 + 1"


def test_data_is_not_reasoned_about(analyzer):
    held = Load(decl_buffer((4,), "int64", "b"), (const(0),), INT64)
    analyzer.bind(i, 0, 100)
    for e in (held + 1 > held, (held * 8 + 3) // 8, ex.minimum(held + 1, held), held - held, i.astype("int64") < held):
        assert analyzer.simplify(e) is e
    assert analyzer.slack(held > 3) is None
    with analyzer.assuming(i < held):
        assert analyzer.interval(analyzer.form(i)) == (0, 99)


def test_an_index_does_not_overflow_wherever_it_is_from(analyzer):
    place = Load(decl_buffer((4,), "int64", "b"), (const(0),), INT64).astype("index")
    assert analyzer.interval(analyzer.form(place)) == (None, None)
    assert analyzer.decide(place + 1 > place) is True
    assert str(analyzer.simplify((place * 8 + 3) // 8)) == "index(b[0])"
    assert str(analyzer.simplify(place + i - place)) == "i"


def test_the_range_of_an_index_is_that_of_its_data_or_of_a_clamp(analyzer):
    analyzer.bind(i, 0, 16)
    wide = Load(decl_buffer((4,), "int64", "b"), (const(0),), INT64)
    narrow = Load(decl_buffer((4,), "uint8", "c"), (const(0),), ex.DType.of("uint8"))
    x = Var("x", INT64)
    analyzer.bind_value(x, ex.minimum(ex.maximum(wide, 2), 5))
    for data, interval in (
        (narrow, (0, 255)),
        (narrow.astype("int64"), (0, 255)),
        (narrow.astype("int8"), (-128, 127)),
        (narrow > 3, (0, 1)),
        (ex.minimum(narrow, 9), (0, 9)),
        (ex.minimum(ex.maximum(wide, -4), 12), (-4, 12)),
        (ex.maximum(wide, 0), (0, None)),
        (i.astype("int32"), (0, 15)),
        ((i - 5).astype("uint64"), (None, None)),
        (i.astype("float64"), (None, None)),
        (x, (2, 5)),
        (wide + narrow.astype("int64"), (None, None)),
    ):
        assert analyzer.interval(analyzer.form(data.astype("index"))) == interval, str(data)


def test_a_variable_that_is_bound_to_an_index_has_its_range(analyzer):
    y = Var("y")
    analyzer.bind(i, 0, 8)
    analyzer.bind_value(y, i * 4 + 2)
    assert analyzer.interval(analyzer.form(y)) == (2, 30)
    assert analyzer.decide(y + 1 > y) is True
    assert str(analyzer.simplify(y * 4 // 4)) == "y"


def test_ranges_end_with_their_block(analyzer):
    with analyzer.bound(i, 0, 4):
        assert analyzer.prove(i < 4)
        with analyzer.bound(i, 0, 2):
            assert analyzer.prove(i < 2)
        assert not analyzer.prove(i < 2)
    assert not analyzer.prove(i < 4)


def test_the_same_object_where_nothing_changes(analyzer):
    analyzer.bind(i, 0, 4)
    for e in (i, i * 4 + j, i < n, te.select(i < n, i, j), (i < n) & (j < n), const(3), ex.cast("int32", i + j)):
        assert analyzer.simplify(e) is e


@pytest.mark.parametrize("offset", range(-40, 40, 7))
@pytest.mark.parametrize("kind", [ex.LT, ex.LE, ex.GT, ex.GE])
def test_comparisons_keep_their_value_without_the_terms_that_never_decide(analyzer, kind, offset):
    analyzer.bind(i, 0, 5)
    analyzer.bind(j, 0, 8)
    points = dict(zip((i, j), np.mgrid[0:5, 0:8], strict=True))
    for condition in (ex.compare(kind, i * 8 + j, const(offset)), ex.compare(kind, const(offset), j - i * 8)):
        shorter = np.broadcast_to(value(analyzer.simplify(condition), points), (5, 8))
        assert np.array_equal(shorter, value(condition, points))


def test_lanes_that_go_the_same_way_leave_a_comparison(analyzer):
    analyzer.bind(i, 0, 100)
    analyzer.bind(j, 0, 16)
    assert str(analyzer.simplify(i * 16 + j < 256)) == "i < 16"
    assert str(analyzer.simplify(i * 16 + j >= 256)) == "15 < i"
    assert str(analyzer.simplify(n * 16 > i * 16 + j)) == "i < n"
    assert str(analyzer.simplify(i * 32 + j < 264)) == "i * 32 + j < 264"
    assert str(analyzer.simplify(i * 16 + j * 2 < 256)) == "i * 16 + j * 2 < 256"


def test_structural_keys_tell_expressions_apart():
    a, b = decl_buffer((4,), name="a"), decl_buffer((4,), name="b")
    load = [Load(buffer, (e,), FLOAT32) for buffer in (a, b) for e in (i, j)]
    different = [i, j, const(1), const(1.0), const(1, "int32"), const(0.0), const(-0.0), i + j, j + i, i - j, i < j]
    different += [*load, ~(i < j), te.exp(load[0]), te.log(load[0]), te.select(i < j, i, j), te.piecewise([i, j], i)]
    different += [ex.cast("int32", i), ex.cast("int16", i)]
    keys = StructuralKeys()
    assert len({keys.of(e) for e in different}) == len(different)
    assert keys.of(te.exp(load[0] + 1.0)) == keys.of(te.exp(load[0] + 1.0))


def doubled(depth):
    """An expression of depth + 2 nodes that stands for a tree of 2^depth leaves."""
    e = Load(decl_buffer((4,), name="a"), (i,), FLOAT32)
    for _ in range(depth):
        e = e + e
    return e


def test_structural_keys_look_at_a_shared_node_once():
    keys = StructuralKeys()
    one, other = doubled(100), doubled(100)
    assert keys.of(one) != keys.of(other)  # two buffers
    assert len(keys) == 2 * 101 + 1  # they share the index


def test_divisors_of_forms_are_those_of_both_ends_of_a_minimum(analyzer):
    analyzer.bind(i, 0, 9)
    for e, divisor in (
        (i * 8 + 12, 4),
        (ex.minimum(i * 8, 36), 4),
        (ex.minimum(i * 8, 35), 1),
        (ex.maximum(i * 8, 40) * 3 + 48, 24),
    ):
        assert analyzer.divisor(analyzer.form(e)) == divisor
