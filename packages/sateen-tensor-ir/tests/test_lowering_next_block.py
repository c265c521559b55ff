"""`prefetch_next`: the block of a tensor behind the one that is read."""

import re
from itertools import product

import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import For, Prefetch, const, substitute, walk


class Panels:
    """A product whose right operand is in 4 panels of 32 columns, 128 lines each, by tiles of 6 rows and steps of 4
    terms."""

    def __init__(self, rows, terms=64, is_fused=False):
        self.A, self.B = te.placeholder((rows, terms), name="A"), te.placeholder((4, terms, 32), name="B")
        k = te.reduce_axis(terms, "k")
        self.C = te.compute(
            (rows, 128), lambda i, j: te.sum(self.A[i, k] * self.B[j // 32, k, j % 32], axis=k), name="C"
        )
        self.s = te.create_schedule(self.C)
        register = self.s.cache_write(self.C, "register")
        host, self.tile = self.s[self.C], self.s[register]
        (jo, ji), (io, ii) = host.split(self.C.op.axis[1], 32), host.split(self.C.op.axis[0], 6)
        host.reorder(jo, io, ii, ji)
        self.tile.compute_at(host, host.fuse(jo, io) if is_fused else io)
        self.step, term = self.tile.split(self.tile.op.reduce_axis[0], 4)
        self.tile.reorder(self.step, term, *register.op.axis)

    @property
    def body(self):
        return lower(self.s, [self.A, self.B, self.C]).body

    @property
    def prefetches(self):
        return [line.strip() for line in str(self.body).splitlines() if "prefetch" in line]

    def asked(self):
        """The offsets in B of all elements that are asked for, in order."""
        body, analyzer = self.body, Analyzer()
        hints = [n for n in walk(body) if isinstance(n, Prefetch)]
        loops = [n for n in walk(body) if isinstance(n, For) and set(hints) & set(walk(n.body))]
        found = []
        for values in product(*(range(loop.extent.value) for loop in loops)):
            point = {loop.var: const(value) for loop, value in zip(loops, values, strict=True)}
            places = (tuple(substitute(i, point) for i in hint.indices) for hint in hints)
            found += [analyzer.constant(hints[0].buffer.offset(place)) for place in places]
        return found


def refuses(message, call):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("streams", [1, 2, 3, 4])
@pytest.mark.parametrize("is_fused", [False, True])
@pytest.mark.parametrize("rows", [6, 12, 24, 60])
def test_all_lines_of_the_next_block_are_asked_for_while_the_present_one_is_read(rows, is_fused, streams):
    panels = Panels(rows, is_fused=is_fused)
    panels.tile.prefetch_next(panels.B, panels.step, streams=streams, most=9)
    asked = panels.asked()
    share, elements = len(asked) // 4, 64 * 32
    for block in range(4):
        own = asked[share * block : share * (block + 1)]
        assert {*range(elements * (block + 1), elements * (block + 2), 16)} <= {*own}
        assert min(own) == elements * (block + 1)
        assert max(own) < elements * (block + 2) + 16 * 16  # behind it only what rounding up gives


def test_streams_ask_in_as_many_parts_of_the_next_block_in_turn():
    panels = Panels(60)
    panels.tile.prefetch_next(panels.B, panels.step, streams=4)
    lines = [(offset - 64 * 32) // 16 for offset in panels.asked()[:16]]
    assert lines == [first + part for first in range(4) for part in (0, 32, 64, 96)]


def test_a_step_that_would_ask_for_more_than_the_most_lines_asks_for_none():
    counts = {}
    for most in (7, 8):
        panels = Panels(6)
        panels.tile.prefetch_next(panels.B, panels.step, most=most)
        counts[most] = len(panels.prefetches)
    assert counts == {7: 0, 8: 8}


def test_blocks_of_the_sum_ask_for_their_share_of_the_next_panel():
    A, B, k = te.placeholder((12, 64), name="A"), te.placeholder((4, 64, 32), name="B"), te.reduce_axis(64, "k")
    C = te.compute((12, 128), lambda i, j: te.sum(A[i, k] * B[j // 32, k, j % 32], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    (jo, ji), (ko, ki) = s[C].split(j, 32), s[C].split(k, 16)
    s[C].reorder(jo, ko, i, ki, ji)
    s[C].prefetch_next(B, ki)
    assert "prefetch B[jo + 1, 0, ko * 512 + i_1 * 48 + ki * 16]" in str(lower(s, [A, B, C]).body)


def test_what_an_inlined_stage_reads_is_asked_for():
    A, k = te.placeholder((4, 64), name="A"), te.reduce_axis(64, "k")
    B = te.compute((4, 64), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((4,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C)
    s[B].compute_inline()
    s[C].prefetch_next(A, k)
    assert "prefetch A[i + 1, k * 16]" in str(lower(s, [A, C]).body)


def test_refusals():
    panels = Panels(6)
    where = f"prefetch_next in stage 'C.register', axis {panels.step.name!r}: "
    refuses(where + "'C.register' does not read 'C'", lambda: panels.tile.prefetch_next(panels.C, panels.step))
    for name in ("leading", "streams", "most"):
        message = f"expects an integer of at least 1 as {name}, found 0"
        refuses(where + message, lambda name=name: panels.tile.prefetch_next(panels.B, panels.step, **{name: 0}))
    message = "expects leading indices that leave a block of 'B', which has 3 dimensions, found 3"
    refuses(where + message, lambda: panels.tile.prefetch_next(panels.B, panels.step, 3))


def test_blocks_of_unknown_size_are_refused():
    n = te.var("n")
    A, k = te.placeholder((4, n), name="A"), te.reduce_axis(n, "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].prefetch_next(A, k)
    message = "prefetch_next at axis 'k': expects known sizes of 'A' and of the loops k"
    refuses(message, lambda: lower(s, [A, C]))


def test_where_the_block_is_data_it_is_not_asked_for():
    P, A, k = te.placeholder((5,), "int32", name="P"), te.placeholder((9, 16), name="A"), te.reduce_axis(16, "k")
    C = te.compute((5,), lambda i: te.sum(A[P[i], k], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].prefetch_next(A, k)
    refuses("axis 'k': where it reads 'A' is data, which may not exist that far ahead", lambda: lower(s, [P, A, C]))
