"""Primitives that reshape loops: split, tile, fuse, reorder."""

import re
from textwrap import dedent

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.interpret import run


class Row:
    """B[i] = 2·A[i]."""

    def __init__(self, extent=10):
        self.A = te.placeholder((extent,), name="A")
        self.B = te.compute((extent,), lambda i: self.A[i] * 2.0, name="B")
        self.s = te.create_schedule(self.B)
        self.stage = self.s[self.B]
        (self.i,) = self.B.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.B]).body)


class Grid:
    """B[i, j] = 2·A[i, j], 4x6."""

    def __init__(self):
        self.A = te.placeholder((4, 6), name="A")
        self.B = te.compute((4, 6), lambda i, j: self.A[i, j] * 2.0, name="B")
        self.s = te.create_schedule(self.B)
        self.stage = self.s[self.B]
        self.i, self.j = self.B.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.B]).body)


class Product:
    """C = A·B, 4x8 of depth 10."""

    def __init__(self):
        self.A, self.B = te.placeholder((4, 10), name="A"), te.placeholder((10, 8), name="B")
        self.k = te.reduce_axis(10, "k")
        self.C = te.compute((4, 8), lambda i, j: te.sum(self.A[i, self.k] * self.B[self.k, j], axis=self.k), name="C")
        self.s = te.create_schedule(self.C)
        self.stage = self.s[self.C]
        self.i, self.j = self.C.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.B, self.C]).body)


def text(block):
    return dedent(block).strip()


def refuses(message, call):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        call()


def test_split_by_a_factor_that_divides_needs_no_guard():
    row = Row(8)
    row.stage.split(row.i, 4)
    assert row.loops() == text("""
        for io in [0, 2):
          for ii in [0, 4):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
    """)


def test_a_guarded_tail_ends_the_last_tile_early():
    row = Row()
    row.stage.split(row.i, 4)
    assert row.loops() == text("""
        for io in [0, 3):
          for ii in [0, min(4, io * -4 + 10)):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
    """)


def test_a_guarded_tail_of_a_vectorized_loop_is_a_condition_per_lane():
    row = Row()
    _, inner = row.stage.split(row.i, 4)
    row.stage.vectorize(inner)
    assert row.loops() == text("""
        for io in [0, 3):
          vectorized ii in [0, 4):
            if io * 4 + ii < 10:
              B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
    """)


def test_a_partitioned_tail_is_a_nest_of_its_own():
    row = Row()
    row.stage.split(row.i, 4, tail="partition")
    assert row.loops() == text("""
        for io in [0, 2):
          for ii in [0, 4):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
        for ii_1 in [0, 2):
          B[ii_1 + 8] = A[ii_1 + 8] * 2.0f
    """)


def test_a_shifted_tail_overlaps_the_tile_before():
    row = Row()
    row.stage.split(row.i, 4, tail="shift")
    assert row.loops() == text("""
        for io in [0, 3):
          for ii in [0, 4):
            B[min(io * 4, 6) + ii] = A[min(io * 4, 6) + ii] * 2.0f
    """)


def test_a_rounded_up_tail_enlarges_the_storage():
    A = te.placeholder((12,), name="A")
    B = te.compute((10,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((10,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].split(B.op.axis[0], 4, tail="round_up")
    assert str(lower(s, [A, C]).body) == text("""
        allocate B: float32[12]
        for io in [0, 3):
          for ii in [0, 4):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
        for i in [0, 10):
          C[i] = B[i] + 1.0f
    """)


def test_a_rounded_up_tail_may_read_what_a_condition_keeps_inside():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: te.select(i < 10, A[i], 0.0), name="B")
    C = te.compute((10,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].split(B.op.axis[0], 4, tail="round_up")
    assert "B[io * 4 + ii] = select(io * 4 + ii < 10, A[io * 4 + ii], 0.0f)" in str(lower(s, [A, C]).body)


def test_split_into_parts_derives_the_factor():
    row = Row()
    row.stage.split(row.i, nparts=3)
    assert row.loops() == text("""
        for io in [0, 3):
          for ii in [0, min(4, io * -4 + 10)):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
    """)


def test_split_of_a_symbolic_extent():
    row = Row(te.var("n"))
    row.stage.split(row.i, 4)
    assert row.loops() == text("""
        for io in [0, (n + 3) // 4):
          for ii in [0, min(4, n - io * 4)):
            B[io * 4 + ii] = A[io * 4 + ii] * 2.0f
    """)


def test_split_of_a_reduction_initialises_once():
    product = Product()
    product.stage.split(product.k, 4)
    assert product.loops() == text("""
        for i in [0, 4):
          for j in [0, 8):
            C[i, j] = 0.0f
            for ko in [0, 3):
              for ki in [0, min(4, ko * -4 + 10)):
                C[i, j] = C[i, j] + A[i, ko * 4 + ki] * B[ko * 4 + ki, j]
    """)


def test_split_refusals():
    row, product = Row(), Product()
    where = "split in stage 'B', axis 'i': "
    refuses(where + "factor expects an integer of at least 1, found 0", lambda: row.stage.split(row.i, 0))
    refuses(where + "nparts expects an integer of at least 1, found 0", lambda: row.stage.split(row.i, nparts=0))
    refuses(where + "factor expects an integer of at least 1, found 2.5", lambda: row.stage.split(row.i, 2.5))
    refuses(where + "give either factor= or nparts=", lambda: row.stage.split(row.i))
    refuses(where + "give either factor= or nparts=", lambda: row.stage.split(row.i, 2, nparts=2))
    refuses(
        where + "tail expects one of guard, partition, shift, round_up, found 'wrap'",
        lambda: row.stage.split(row.i, 4, tail="wrap"),
    )
    refuses(
        where + "a shifted tail needs an extent of at least the factor, found extent 10 and factor 11",
        lambda: row.stage.split(row.i, 11, tail="shift"),
    )
    refuses(
        where + "'B' is an output, whose storage can't be enlarged; use guard, partition or shift",
        lambda: row.stage.split(row.i, 4, tail="round_up"),
    )
    refuses(
        "a shifted tail would add the overlapping terms of the reduction twice",
        lambda: product.stage.split(product.k, 4, tail="shift"),
    )
    refuses(
        "a rounded-up tail would add terms that the reduction does not have",
        lambda: product.stage.split(product.k, 4, tail="round_up"),
    )
    refuses("split in stage 'B': expects an axis, found int", lambda: row.stage.split(0, 4))
    row.stage.split(row.i, 4)
    refuses(where + "it is no loop of this stage, whose loops are io, ii", lambda: row.stage.split(row.i, 4))


def test_a_rounded_up_tail_that_reads_beyond_is_refused():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((10,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].split(B.op.axis[0], 4, tail="round_up")
    refuses(
        "split of 'B' with a rounded-up tail would read 'A' beyond its end: dimension 0 holds 10 elements, index "
        "io * 4 + ii may reach further",
        lambda: lower(s, [A, C]),
    )


def test_a_rounded_up_tail_that_reads_before_the_first_element_is_refused():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[9 - i] * 2.0, name="B")
    C = te.compute((10,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].split(B.op.axis[0], 4, tail="round_up")
    refuses(
        "split of 'B' with a rounded-up tail would read 'A' before its beginning: dimension 0 begins at 0, index "
        "io * -4 - ii + 9 may be below",
        lambda: lower(s, [A, C]),
    )


def test_a_guard_on_tiles_bounds_what_a_rounded_up_tail_beside_it_reads():
    """Seven tiles of four rows, two at a time: the last one has no neighbour, and reads nothing beyond the end."""
    A = te.placeholder((28,), name="A")
    B = te.compute((7, 4, 10), lambda t, i, j: A[4 * t + i] * 2.0, name="B")
    C = te.compute((28, 10), lambda i, j: B[i // 4, i % 4, j] + 1.0, name="C")
    s = te.create_schedule(C)
    outer, _ = s[C].split(C.op.axis[0], 8, tail="partition")
    s[B].compute_at(s[C], outer)
    s[B].split(B.op.axis[2], 4, tail="round_up")
    a = np.arange(28, dtype="float32")
    run(lower(s, [A, C]), [a, c := np.zeros((28, 10), "float32")])
    np.testing.assert_array_equal(c, np.repeat(a[:, None] * 2 + 1, 10, axis=1))


@pytest.mark.parametrize(("option", "tiles"), [({"factor": 3}, "3 tiles of 3"), ({"nparts": 9}, "9 tiles of 1")])
def test_a_rounded_up_tail_inside_a_tile_that_it_does_not_fill_is_refused(option, tiles):
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((16,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    _, inner = s[B].split(B.op.axis[0], 8)
    s[B].split(inner, **option, tail="round_up")
    refuses(
        f"split of 'B' with a rounded-up tail: {tiles} overhang loop 'ii' of extent 8, so they would overlap the "
        "next tile of 'i'",
        lambda: lower(s, [A, C]),
    )


def test_a_shifted_tail_must_not_meet_a_sum_that_is_unfinished():
    product = Product()
    outer, inner = product.stage.split(product.j, 5, tail="shift")
    product.stage.reorder(product.k, outer, inner)
    refuses(
        "split of 'C' with a shifted tail: loop 'jo' over its tiles is inside the reduce loop 'k', so that overlapping "
        "elements would get their terms twice; reorder, or use a guarded or partitioned tail",
        product.loops,
    )


def test_a_shifted_tail_of_a_sum_is_not_shared_among_threads():
    product = Product()
    outer, _ = product.stage.split(product.j, 5, tail="shift")
    product.stage.parallel(outer)
    refuses(
        "loop 'jo' over its tiles is shared among threads, so that two of them would add terms to the overlapping",
        product.loops,
    )


def test_a_shifted_tail_of_a_sum_is_not_shared_among_lanes():
    product = Product()
    outer, inner = product.stage.split(product.j, 5, tail="shift")
    product.stage.reorder(outer, product.k, inner)
    product.stage.vectorize(outer)
    refuses(
        "loop 'jo' over its tiles is shared among lanes, so that two of them would add terms to the overlapping",
        product.loops,
    )


def test_tile_puts_the_loops_of_tiles_outside():
    grid = Grid()
    grid.stage.tile(grid.i, grid.j, 2, 3)
    assert grid.loops() == text("""
        for io in [0, 2):
          for jo in [0, 2):
            for ii in [0, 2):
              for ji in [0, 3):
                B[io * 2 + ii, jo * 3 + ji] = A[io * 2 + ii, jo * 3 + ji] * 2.0f
    """)


def test_a_refused_tile_changes_nothing():
    grid = Grid()
    before = grid.loops()
    refuses("axis 'j': factor expects an integer of at least 1, found 0", lambda: grid.stage.tile(grid.i, grid.j, 2, 0))
    refuses("axis 'i': expects two different loops, found it twice", lambda: grid.stage.tile(grid.i, grid.i, 2, 2))
    assert grid.loops() == before


def test_fuse_makes_one_loop():
    grid = Grid()
    grid.stage.fuse(grid.i, grid.j)
    assert grid.loops() == text("""
        for i_j in [0, 24):
          B[i_j // 6, i_j % 6] = A[i_j // 6, i_j % 6] * 2.0f
    """)


def test_a_fused_loop_that_is_split_where_rows_end_is_two_loops_again():
    grid = Grid()
    grid.stage.split(grid.stage.fuse([grid.i, grid.j]), 6)
    assert grid.loops() == text("""
        for i_jo in [0, 4):
          for i_ji in [0, 6):
            B[i_jo, i_ji] = A[i_jo, i_ji] * 2.0f
    """)


def test_fuse_of_no_loops_makes_one_around_what_has_no_dimensions():
    A, k = te.placeholder((8,), name="A"), te.reduce_axis(8, "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    s = te.create_schedule(S)
    outer = s[S].fuse()
    s[S].bind(outer, te.thread_axis("blockIdx.x"))
    assert str(lower(s, [A, S]).body) == text("""
        thread blockIdx.x single in [0, 1):
          S[] = 0.0f
          for k in [0, 8):
            S[] = S[] + A[k]
    """)


def test_a_refused_fuse_changes_nothing():
    product = Product()
    before = product.loops()
    i, j, k = product.i, product.j, product.k
    refuses("fuse in stage 'C': expects at least one axis, found none", product.stage.fuse)
    refuses("axis 'i': it must be the loop directly inside 'j'; reorder first", lambda: product.stage.fuse(j, i))
    refuses("axis 'i': it must be the loop directly inside 'j'; reorder first", lambda: product.stage.fuse(i, j, i))
    refuses("'i' is a data axis and 'k' a reduce axis", lambda: product.stage.fuse(i, j, k))
    assert product.loops() == before


def test_reorder_gives_the_named_loops_the_places_they_have():
    product = Product()
    product.stage.reorder(product.k, product.i)
    assert product.loops() == text("""
        for j in [0, 8):
          for i in [0, 4):
            C[i, j] = 0.0f
        for k in [0, 10):
          for j_1 in [0, 8):
            for i_1 in [0, 4):
              C[i_1, j_1] = C[i_1, j_1] + A[i_1, k] * B[k, j_1]
    """)


def test_reorder_refusals():
    grid, row = Grid(), Row()
    refuses("reorder in stage 'B': an axis is named twice", lambda: grid.stage.reorder(grid.i, grid.j, grid.i))
    refuses(
        "reorder in stage 'B', axis 'i': it is no loop of this stage, whose loops are i, j",
        lambda: grid.stage.reorder(row.i, grid.j),
    )


def test_a_rounded_up_tail_inside_a_guarded_tile_is_guarded():
    A = te.placeholder((13,), name="A")
    B = te.compute((13,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((13,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C)
    _, inner = s[B].split(B.op.axis[0], 6)
    s[B].split(inner, 3, tail="round_up")
    assert str(lower(s, [A, C]).body).splitlines()[:5] == [
        "allocate B: float32[13]",
        "for io in [0, 3):",
        "  for iio in [0, 2):",
        "    for iii in [0, max(min(3, io * -6 - iio * 3 + 13), 0)):",
        "      B[io * 6 + iio * 3 + iii] = A[io * 6 + iio * 3 + iii] * 2.0f",
    ]


def test_a_rounded_up_tail_of_fused_loops_stays_within_a_stage_that_is_not_enlarged():
    a = te.placeholder((2, 6), name="A")
    b = te.compute((2, 6), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((2, 6), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c)
    outer, _ = s[b].split(b.op.axis[1], 7)
    fused = s[b].fuse(b.op.axis[0], outer)
    s[b].split(fused, nparts=16, tail="round_up")
    x, found = np.arange(12, dtype=np.float32).reshape(2, 6), np.zeros((2, 6), np.float32)
    run(lower(s, [a, c]), [x, found])
    np.testing.assert_array_equal(found, x * 2 + 1)
