"""Primitives that add stages or move reductions between them: cache_read, cache_write, rfactor, K-blocks."""

import re
from textwrap import dedent

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import build, build_functions, lower, te


class Product:
    """C = A·B of 4x8, depth 6, then D = 2·C."""

    def __init__(self, depth=6):
        self.A, self.B = te.placeholder((4, depth), name="A"), te.placeholder((depth, 8), name="B")
        self.k = te.reduce_axis(depth, "k")
        self.C = te.compute((4, 8), lambda i, j: te.sum(self.A[i, self.k] * self.B[self.k, j], axis=self.k), name="C")
        self.D = te.compute((4, 8), lambda i, j: self.C[i, j] * 2.0, name="D")
        self.s = te.create_schedule(self.D)
        self.c, self.d = self.s[self.C], self.s[self.D]
        self.x, self.y = self.D.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.B, self.D]).body)


def total(extent=10):
    A, k = te.placeholder((extent,), name="A"), te.reduce_axis(extent, "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    return A, S, te.create_schedule(S), k


def text(block):
    return dedent(block).strip()


def refuses(message, call):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        call()


def test_cache_read_puts_a_copy_between():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B)
    copy = s.cache_read(A, "local", [B])
    outer, _ = s[B].split(B.op.axis[0], 4)
    s[copy].compute_at(s[B], outer)
    assert str(lower(s, [A, B]).body) == text("""
        for io in [0, 2):
          allocate A.local: local float32[4]
          for ax0 in [0, 4):
            A.local[ax0] = A[io * 4 + ax0]
          for ii in [0, 4):
            B[io * 4 + ii] = A.local[ii] * 2.0f
    """)


def test_cache_read_leaves_other_readers_alone():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    s.cache_read(A, "local", C)
    loops = str(lower(s, [A, C]).body)
    assert "B[i] = A[i] * 2.0f" in loops
    assert "C[i_1] = A.local[i_1] + B[i_1]" in loops


def test_cache_write_computes_elsewhere_first():
    product = Product()
    copy = product.s.cache_write(product.C, "register")
    product.s[copy].compute_at(product.c, product.C.op.axis[1])
    assert product.loops() == text("""
        allocate C: float32[4, 8]
        for i in [0, 4):
          for j in [0, 8):
            allocate C.register: register float32[1, 1]
            C.register[0, 0] = 0.0f
            for k in [0, 6):
              C.register[0, 0] = C.register[0, 0] + A[i, k] * B[k, j]
            C[i, j] = C.register[0, 0]
        for i_1 in [0, 4):
          for j_1 in [0, 8):
            D[i_1, j_1] = C[i_1, j_1] * 2.0f
    """)


def test_the_reduce_axes_of_a_tensor_name_the_loops_of_what_is_computed_elsewhere():
    product = Product()
    k = product.C.op.reduce_axis[0]
    copy = product.s.cache_write(product.C, "local")
    assert copy.op.reduce_axis == (k,)
    outer, inner = product.s[copy].split(k, 2)
    product.s[copy].reorder(outer, inner, *copy.op.axis)
    assert [leaf.name for leaf in product.s[copy].leaves] == ["ko", "ki", "i", "j"]


def test_computations_share_a_reduce_axis_in_loops_of_their_own():
    A, k = te.placeholder((6, 6), name="A"), te.reduce_axis(6, "k")
    R = te.compute((6, 6), lambda i, j: te.sum(A[i, k] * A[k, j], axis=k), name="R")
    C = te.compute((6, 6), lambda i, j: te.sum(R[i, k] * A[k, j], axis=k), name="C")
    a, c = np.random.default_rng(0).uniform(-1, 1, (6, 6)).astype("float32"), np.zeros((6, 6), "float32")
    s = te.create_schedule(C)
    s[C].unroll(k)
    assert str(lower(s, [A, C]).body).count("\n    unrolled k_1 in [0, 6):") == 1
    build(s, [A, C])(a, c)
    np.testing.assert_allclose(c, a @ a @ a, rtol=1e-4, atol=1e-5)
    s[R].compute_at(s[C], C.op.axis[1])
    build(s, [A, C])(a, c)
    np.testing.assert_allclose(c, a @ a @ a, rtol=1e-4, atol=1e-5)
    s[R].compute_at(s[C], k)
    with pytest.raises(ScheduleError, match="'R' is computed at axis 'k' of 'C', over which it reduces itself; make a"):
        lower(s, [A, C])
    s[R].split(k, factor=4)
    build(s, [A, C])(a, c)
    np.testing.assert_allclose(c, a @ a @ a, rtol=1e-4, atol=1e-5)


def test_cache_write_of_a_tuple_gives_all_its_tensors():
    A = te.placeholder((8,), name="A")
    low, high = te.compute((8,), lambda i: (A[i] - 1.0, A[i] + 1.0), name="B")
    s = te.create_schedule([low, high])
    assert [t.name for t in s.cache_write(low, "local")] == ["B.local.0", "B.local.1"]


def test_rfactor_makes_a_reduce_loop_a_data_axis():
    A, S, s, k = total()
    _, inner = s[S].split(k, 5)
    s.rfactor(S, inner)
    assert str(lower(s, [A, S]).body) == text("""
        allocate S.rf: float32[5]
        for ki in [0, 5):
          S.rf[ki] = 0.0f
          for ko in [0, 2):
            S.rf[ki] = S.rf[ki] + A[ko * 5 + ki]
        S[] = 0.0f
        for ki_1 in [0, 5):
          S[] = S[] + S.rf[ki_1]
    """)


@pytest.mark.parametrize("split", [{"factor": 4}, {"nparts": 3}, {"factor": 7}, {"nparts": 7}])
@pytest.mark.parametrize("part", [0, 1])
def test_rfactor_of_a_split_that_does_not_divide_adds_each_term_once(split, part):
    A, S, s, k = total()
    s.rfactor(S, s[S].split(k, **split)[part])
    result = np.zeros((), "float32")
    build_functions([lower(s, [A, S])])(np.arange(1, 11, dtype="float32"), result)
    assert result == 55


def test_rfactor_places_its_axis():
    product = Product()
    partial = product.s.rfactor(product.C, product.k, factor_axis=2)
    assert [str(e) for e in partial.shape] == ["4", "8", "6"]


def test_a_block_of_a_reduction_moves_around_its_consumer():
    product = Product()
    outer, _ = product.c.split(product.k, 3)
    product.c.compute_at(product.d, product.x)
    product.d.reorder(outer, product.x)
    assert product.loops() == text("""
        for ko in [0, 2):
          for i in [0, 4):
            allocate C: float32[1, 8]
            for j in [0, 8):
              if ko == 0:
                C[0, j] = 0.0f
              else:
                C[0, j] = D[i, j]
              for ki in [0, 3):
                C[0, j] = C[0, j] + A[i, ko * 3 + ki] * B[ko * 3 + ki, j]
            for j_1 in [0, 8):
              if ko == 1:
                D[i, j_1] = C[0, j_1] * 2.0f
              else:
                D[i, j_1] = C[0, j_1]
    """)


def test_blocks_of_a_copy_need_no_epilogue():
    product = Product()
    copy = product.s.cache_write(product.C, "local")
    i, _ = product.C.op.axis
    product.s[copy].compute_at(product.c, i)
    product.c.reorder(copy.op.reduce_axis[0], i)
    assert "if k == 5" not in product.loops()
    assert "C[i, j_1] = C.local[0, j_1]" in product.loops()


def test_blocks_of_a_symbolic_depth_initialise_even_where_there_are_none():
    n = te.var("n")
    product = Product(n)
    outer, _ = product.c.split(product.k, 4)
    product.c.compute_at(product.d, product.x)
    product.d.reorder(outer, product.x)
    kernel = build_functions([lower(product.s, [product.A, product.B, product.D])])
    for depth in (0, 1, 4, 6):
        a, b = np.ones((4, depth), "float32"), np.full((depth, 8), 2.0, "float32")
        result = np.full((4, 8), np.nan, "float32")
        kernel(a, b, result)
        assert (result == 4 * depth).all()


def test_cache_refusals():
    product = Product()
    A, C, s = product.A, product.C, product.s
    refuses("cache_read of 'A': expects at least one reader, found none", lambda: s.cache_read(A, "local", []))
    refuses("cache_read of 'A': expects a reader or a list of them, found int", lambda: s.cache_read(A, "local", 3))
    refuses("cache_read of 'A': 'D' does not read it as a compute", lambda: s.cache_read(A, "local", [product.D]))
    refuses("cache_write of 'A': it is not computed by te.compute", lambda: s.cache_write(A, "local"))
    product.c.split(product.k, 2)
    refuses(
        "cache_write of 'C': its reduce axes are already split; call cache_write first",
        lambda: s.cache_write(C, "local"),
    )
    stranger = te.placeholder((4,), name="X")
    refuses("'X' is no tensor of this schedule", lambda: s.cache_read(stranger, "local", [C]))


def test_rfactor_refusals():
    product = Product()
    i, _ = product.C.op.axis
    where = "rfactor of 'C', axis "
    refuses(
        where + "'i': expects a reduce loop of the stage, whose loops are i, j, k",
        lambda: product.s.rfactor(product.C, i),
    )
    refuses(
        where + "'k': factor_axis expects 0 to 2, found 3",
        lambda: product.s.rfactor(product.C, product.k, factor_axis=3),
    )
    X = te.placeholder((8,), name="X")
    prefixes = te.compute((8,), lambda i: te.sum(X[r := te.reduce_axis(i + 1, "r")], axis=r), name="C")
    s = te.create_schedule(prefixes)
    refuses(
        where + "'r': expects an extent that is the same everywhere, found i + 1",
        lambda: s.rfactor(prefixes, prefixes.op.reduce_axis[0]),
    )


@pytest.mark.parametrize("cached", [False, True])
def test_the_extent_of_a_reduction_may_depend_on_a_data_axis(cached):
    X = te.placeholder((8,), name="X")
    Y = te.compute((8,), lambda i: te.sum(X[r := te.reduce_axis(i + 1, "r")], axis=r), name="Y")
    s = te.create_schedule(Y)
    if cached:
        s.cache_write(Y, "local")
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    build(s, [X, Y])(x, y)
    assert y.tolist() == np.cumsum(x).tolist()


def test_rfactor_of_an_inner_loop_whose_extent_depends_on_a_data_axis():
    X = te.placeholder((8, 3), name="X")
    k = te.reduce_axis(3, "k")

    def total(i):
        r = te.reduce_axis(i + 1, "r")
        return te.sum(X[r, k], axis=[k, r])

    Y = te.compute((8,), total, name="Y")
    s = te.create_schedule(Y)
    s.rfactor(Y, k)
    x, y = np.arange(24, dtype="float32").reshape(8, 3), np.zeros(8, "float32")
    build(s, [X, Y])(x, y)
    assert y.tolist() == np.cumsum(x.sum(axis=1)).tolist()


@pytest.mark.parametrize("factor", [None, 4])
def test_rfactor_over_loops_of_symbolic_extent(factor):
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis(n, "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    s.rfactor(B, k if factor is None else s[B].split(k, factor)[0])
    f = build(s, [A, B])
    for size in (1, 5, 8):
        a, b = np.arange(size * size, dtype="float32").reshape(size, size), np.zeros(size, "float32")
        f(a, b)
        assert b.tolist() == a.sum(axis=1).tolist()


def test_a_block_is_the_outermost_reduce_loop_of_a_stage_computed_here():
    product = Product()
    outer, inner = product.c.split(product.k, 3)
    where = "reorder in stage 'D', axis "
    refuses(
        where + "'ko': it is a loop of 'C'; only a reduce loop of a stage computed at this one may move here",
        lambda: product.d.reorder(outer, product.x),
    )
    product.c.compute_at(product.d, product.x)
    refuses(
        where + "'ki': only the outermost reduce loop of 'C' ('ko') may move out of it",
        lambda: product.d.reorder(inner, product.x),
    )
    refuses(
        "reorder in stage 'D': expects a loop of this stage to move around, found none",
        lambda: product.d.reorder(outer),
    )


def test_partial_results_need_a_place_of_their_type():
    A, k = te.placeholder((4, 6), "int8", name="A"), te.reduce_axis(6, "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k].astype("int32"), axis=k), name="C")
    D = te.compute((4,), lambda i: C[i].astype("int8"), name="D")
    s = te.create_schedule(D)
    s[C].compute_at(s[D], D.op.axis[0])
    refuses(
        "axis 'k': the partial results of 'C' can't be kept in 'D': both need one output of one type",
        lambda: s[D].reorder(k, D.op.axis[0]),
    )


def test_a_reduction_has_no_place_for_partial_results_of_another():
    product = Product()
    r = te.reduce_axis(8, "r")
    E = te.compute((4,), lambda i: te.sum(product.C[i, r], axis=r), name="E")
    s = te.create_schedule(E)
    s[product.C].compute_at(s[E], E.op.axis[0])
    refuses("reorder in stage 'E', axis 'k': 'E' is a reduction itself", lambda: s[E].reorder(product.k, E.op.axis[0]))


def test_there_is_place_for_one_reduction():
    A, k, r = te.placeholder((4, 6), name="A"), te.reduce_axis(6, "k"), te.reduce_axis(6, "r")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((4,), lambda i: te.sum(A[i, r], axis=r), name="C")
    D = te.compute((4,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D)
    (x,) = D.op.axis
    s[B].compute_at(s[D], x)
    s[C].compute_at(s[D], x)
    s[D].reorder(k, x)
    refuses(
        "reorder in stage 'D', axis 'r': 'D' keeps the partial results of 'B' already, and has place for one",
        lambda: s[D].reorder(r, x),
    )


def _blocked(product):
    product.c.compute_at(product.d, product.x)
    product.d.reorder(product.k, product.x)


def _inside(product):
    _blocked(product)
    product.d.reorder(product.x, product.k)


def _left(product):
    _blocked(product)
    product.c.compute_root()


def _at_the_block(product):
    _blocked(product)
    copy = product.s.cache_read(product.A, "local", [product.C])
    product.s[copy].compute_at(product.c, product.k)


def _tail_inside(product):
    outer, inner = product.d.split(product.y, 5)
    middle, _ = product.d.split(inner, 2)
    product.c.compute_at(product.d, middle)
    product.d.reorder(product.k, product.x, outer, middle)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_inside, "loop 'k' of 'C' must be outside of 'i', where 'C' is computed"),
        (
            _left,
            "it is no loop of 'C' any more that is computed here; reorder after cache_write, rfactor and compute_at",
        ),
        (_at_the_block, "which reorder has moved into 'D'; compute it at that stage's loop"),
        (_tail_inside, "tiles of 'D' end where jio * 2 + jii < 5 fails, inside the tensor"),
    ],
)
def test_a_block_that_later_primitives_misplace_is_refused(change, message):
    product = Product()
    change(product)
    refuses(message, product.loops)


def test_a_block_is_split_and_fused_before_it_moves():
    product = Product()
    _blocked(product)
    refuses(
        "split in stage 'D', axis 'k': it is a loop of 'C', moved here by reorder; split it there before",
        lambda: product.d.split(product.k, 2),
    )
    refuses(
        "split in stage 'C', axis 'k': reorder has moved it into 'D', whose loop it is now",
        lambda: product.c.split(product.k, 2),
    )


def test_a_block_takes_along_how_it_runs():
    product = Product()
    product.c.unroll(product.k)
    _blocked(product)
    assert product.loops().startswith("unrolled k in [0, 6):")


def test_how_a_block_runs_is_then_said_where_it_is():
    product = Product()
    _blocked(product)
    product.d.unroll(product.k)
    assert product.loops().startswith("unrolled k in [0, 6):")
    refuses("unroll in stage 'C', axis 'k': reorder has moved it into 'D'", lambda: product.c.unroll(product.k))


def test_partial_results_are_kept_element_by_element():
    A, k = te.placeholder((4, 4, 6), name="A"), te.reduce_axis(6, "k")
    C = te.compute((4, 4), lambda i, j: te.sum(A[i, j, k], axis=k), name="C")
    D = te.compute((4, 4), lambda i, j: C[j, i] * 2.0, name="D")
    s = te.create_schedule(D)
    s[C].compute_at(s[D], D.op.axis[0])
    s[D].reorder(k, D.op.axis[0])
    refuses(
        "results of 'C' can be kept in 'D' only where that alone reads it, element by element; 'D' reads C[j, i]",
        lambda: lower(s, [A, D]),
    )


def test_a_block_of_another_rank_than_its_reader_is_refused():
    A, B = te.placeholder((4, 6), name="A"), te.placeholder((8,), name="B")
    k = te.reduce_axis(6, "k")
    S = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="S")
    D = te.compute((4, 8), lambda i, j: S[i] * B[j], name="D")
    s = te.create_schedule(D)
    s[S].compute_at(s[D], D.op.axis[0])
    s[D].reorder(k, D.op.axis[0])
    message = "partial results of 'S' can be kept in 'D' only where that alone reads it, element by element"
    refuses(message, lambda: lower(s, [A, B, D]))


def test_all_results_of_an_operation_are_cached_at_once():
    A = te.placeholder((6,), name="A")
    low, high = te.compute((6,), lambda i: (A[i] - 1.0, A[i] + 1.0), name="T")
    s = te.create_schedule([low, high])
    up, down = s.cache_write([high, low], "local")
    s[up].compute_at(s[low], low.op.axis[0])
    loops = str(lower(s, [A, low, high]).body)
    values = f"let value0_1 = {down.name}[0]\n  let value1_1 = {up.name}[0]"
    assert loops.endswith(f"{values}\n  T.0[i] = value0_1\n  T.1[i] = value1_1")
    assert "let value0 = A[i] - 1.0f\n" in loops
    other = te.compute((6,), lambda i: low[i], name="other")
    s = te.create_schedule([high, other])
    message = "expects all results of one operation, which are "
    refuses(message, lambda: s.cache_write([low], "local"))
    refuses(message, lambda: s.cache_write([low, low], "local"))
    refuses(message, lambda: s.cache_write([low, other], "local"))
    refuses("cache_write: expects at least one tensor, found none", lambda: s.cache_write([], "local"))
    assert len(s.cache_write([other], "local")) == 1
