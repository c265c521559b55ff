"""Kinds of operation answer for themselves: one that is written here goes through schedule, lowering and oracle."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, ScheduleError
from sateen.tensor_ir import build, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import For, LoopKind, Stmt, Store, sequence
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.te.tensor import NestBuilder, Operation, Oracle, Tensor


class RunningSumOp(Operation):
    """y[i] = x[0] + … + x[i], of a vector: a kind that sateen does not have."""

    __slots__ = ("source",)

    def __init__(self, name: str, source: Tensor) -> None:
        super().__init__(name, [source.shape], [source.dtype])
        self.source = source

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.source,)

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        return (self.source,)

    def nest(self, builder: NestBuilder) -> Stmt:
        x, y = (Buffer(name, self.source.shape, self.source.dtype) for name in ("x", "y"))
        i, zero = Var("i"), ex.const(0)
        total = Load(y, (i,), y.dtype) + Load(x, (i + 1,), x.dtype)
        loop = For(i, zero, self.source.shape[0] - 1, LoopKind.SERIAL, Store(y, (i + 1,), total))
        first = Store(y, (zero,), Load(x, (zero,), x.dtype))
        return builder.program(sequence(first, loop), {x: self.source, y: self.outputs[0]})

    def evaluate(self, oracle: Oracle) -> list[np.ndarray[Any, Any]]:
        (doubled,) = oracle.elements(te.compute(self.source.shape, lambda i: self.source[i] * 2.0).op)
        return [np.cumsum(doubled / 2)]


def chain() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """a → b = a + 1 → c, the running sum of b → d = 3 c."""
    a = te.placeholder((6,), name="a")
    b = te.compute((6,), lambda i: a[i] + 1.0, name="b")
    c = RunningSumOp("c", b).output(0)
    return a, b, c, te.compute((6,), lambda i: c[i] * 3.0, name="d")


def test_a_new_kind_is_lowered_interpreted_and_compiled_by_its_answers() -> None:
    a, _, _, d = chain()
    x = np.arange(6, dtype="float32")
    expected = 3 * np.cumsum(x + 1)
    np.testing.assert_array_equal(evaluate([d], {a: x})[0], expected)
    s = te.create_schedule(d)
    function = lower(s, [a, d], "f")
    assert str(function.body).splitlines() == [
        "allocate b: float32[6]",
        "allocate c: float32[6]",
        "for i in [0, 6):",
        "  b[i] = a[i] + 1.0f",
        "c[0] = b[0]",
        "for i_1 in [0, 5):",
        "  c[i_1 + 1] = c[i_1] + b[i_1 + 1]",
        "for i_2 in [0, 6):",
        "  d[i_2] = c[i_2] * 3.0f",
    ]
    interpreted, compiled = np.zeros(6, "float32"), np.zeros(6, "float32")
    run(function, [x, interpreted])
    build(s, [a, d])(x, compiled)
    np.testing.assert_array_equal(interpreted, expected)
    np.testing.assert_array_equal(compiled, expected)


def test_schedules_refuse_what_it_does_not_answer_for() -> None:
    a, b, c, d = chain()
    s = te.create_schedule(d)

    def refused(message: str, use: Callable[[], object]) -> None:
        with pytest.raises(ScheduleError, match=re.escape(message)):
            use()

    refused("compute_inline: 'c' is not a compute; only an element-wise body can be", s[c].compute_inline)
    refused("cache_write of 'c': it is not computed by te.compute", lambda: s.cache_write(c, "local"))
    refused("cache_read of 'b': 'c' does not read it as a compute", lambda: s.cache_read(b, "local", [c]))
    s[c].compute_at(s[d], d.op.axis[0])
    refused("compute_at: 'c' is computed as a whole, at root", lambda: lower(s, [a, d]))


def test_what_it_reads_as_a_whole_is_not_computed_piece_by_piece() -> None:
    a, b, _, d = chain()
    s = te.create_schedule(d)
    s[b].compute_at(s[d], d.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: 'c' reads 'b', but is not computed inside loop 'i' of 'd'"):
        lower(s, [a, d])


def test_every_kind_says_what_it_is_made_of() -> None:
    a, table = te.placeholder((2,), name="a"), te.constant(np.ones(2, "float32"), "table")
    r = te.reduce_axis(2, "r")
    total = te.compute((1,), lambda i: te.sum(a[r] * table[r], axis=r), name="total")

    def copy(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return Store(outs[0], (ex.const(0),), Load(ins[0], (ex.const(0),), ins[0].dtype))

    copied = te.extern((2,), [a], copy, name="copied")
    facts = [
        (t.op.is_given, t.op.data is not None, len(t.op.body), t.op.inputs, t.op.whole_inputs, t.op.region_axes)
        for t in (a, table, total, copied)
    ]
    assert facts == [
        (True, False, 0, (), (), None),
        (True, True, 0, (), (), None),
        (False, False, 1, (a, table), (), total.op.axis),
        (False, False, 0, (a,), (a,), None),
    ]
    assert total.op.reduce_axis == (r,)


def test_what_is_given_needs_an_array() -> None:
    a = te.placeholder((2,), name="a")
    with pytest.raises(ArgumentError, match="no array is given for placeholder 'a'"):
        evaluate([te.compute((2,), lambda i: a[i], name="b")], {})
