"""cut_expressions, and what makes deeply nested expressions compile: nothing before it recurses."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import decl_buffer
from sateen.tensor_ir.ir.parser import parse_function, parse_stmt
from sateen.tensor_ir.ir.stmt import Let, Store
from sateen.tensor_ir.ir.visit import operands_first, walk
from sateen.tensor_ir.lowering.check_reads import guarded_reads
from sateen.tensor_ir.lowering.cut_expressions import DEEPEST, PIECE, cut_expressions

A = te.placeholder((8,), name="A")


def depth(e):
    heights = {}
    for node in operands_first(e, heights):
        heights[id(node)] = 1 + max((heights[id(c)] for c in walk(node) if id(c) in heights), default=0)
    return heights[id(e)]


def summed(terms):
    """A tensor of so many terms, and its values for A = a."""

    def element(i):
        total = A[i]
        for t in range(1, terms):
            total = total + A[(i + t) % 8] * float(t % 3)
        return total

    def values(a):
        total = a.astype("float64")
        for t in range(1, terms):
            total = total + np.roll(a, -t) * (t % 3)
        return total

    return te.compute((8,), element, name="C"), values


def test_a_shallow_expression_stays_as_it_is():
    names = {name: decl_buffer((8,), name=name) for name in "xy"}
    body = parse_stmt("for i in [0, 8):\n  y[i] = x[i]" + " + x[i]" * (DEEPEST - 2), names)
    assert cut_expressions(body, Analyzer()) is body


def test_a_deep_expression_becomes_parts():
    names = {name: decl_buffer((8,), name=name) for name in "xy"}
    deep = parse_stmt("y[0] = x[0]" + " + x[1]" * 195, names)
    cut = cut_expressions(deep, Analyzer())
    assert isinstance(cut, Let)
    assert isinstance(cut.body, Store)
    assert str(cut) == f"let part = x[0]{' + x[1]' * 98}\ny[0] = part{' + x[1]' * 97}"


def test_a_cut_let_stays_before_what_follows():
    text = "function f(x: float32[8], y: out float32[8])\n  let a = x[0]" + " + x[1]" * 250 + "\n  y[0] = a"
    function = parse_function(text)
    lets = [n for n in walk(cut_expressions(function.body, Analyzer())) if isinstance(n, Let)]
    assert [let.var.name for let in lets] == ["part", "part", "a"]
    assert all(depth(let.value) <= PIECE + 1 for let in lets)


def test_operands_that_may_not_be_evaluated_stay_where_they_are():
    def chosen(i):
        result = te.const(0.0)
        for t in range(DEEPEST):
            result = te.select(A[i] > float(t), A[i + t] * 2.0, result)
        return result

    C = te.compute((8,), chosen, name="C")
    message = (
        f"an expression has more than {DEEPEST} operations within each other in operands that are evaluated only where "
        "they are chosen (select, and, or, piecewise); compute parts of it as tensors of their own"
    )
    with pytest.raises(LoweringError, match=re.escape(message)):
        lower(te.create_schedule(C), [A, C])


def test_choices_between_what_is_there_anyway_may_be_as_many_as_there_are():
    def chosen(i):
        result = A[i]
        for t in range(400):
            result = te.select(i == t, A[t % 8] * 2.0, result)
        return result

    C = te.compute((8,), chosen, name="C")
    a, c = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    build(te.create_schedule(C), [A, C])(a, c)
    assert c.tolist() == (a * 2).tolist()


def test_a_sum_of_many_terms():
    C, values = summed(1000)
    s = te.create_schedule(C)
    s[C].vectorize(C.op.axis[0])
    function = lower(s, [A, C])
    a = np.linspace(-1, 1, 8, dtype="float32")
    interpreted, executed = np.zeros(8, "float32"), np.zeros(8, "float32")
    run(function, [a, interpreted])
    build(s, [A, C])(a, executed)
    np.testing.assert_allclose(interpreted, values(a), rtol=1e-3)
    np.testing.assert_allclose(executed, values(a), rtol=1e-3)
    assert "const float part" in build_functions([function], "c").source


def test_a_chain_of_inlined_stages_is_as_long_as_it_is():
    stages, last = [], A
    for t in range(120):
        last = te.compute((8,), lambda i, x=last: te.tanh(x[i]) + x[i] * 0.5, name=f"t{t}")
        stages.append(last)
    s = te.create_schedule(last)
    for stage in stages[:-1]:
        s[stage].compute_inline()
    function = lower(s, [A, last])
    assert sum(isinstance(n, ex.Call) for n in walk(function.body)) == 120
    a, c = np.linspace(-1, 1, 8, dtype="float32"), np.zeros(8, "float32")
    build(s, [A, last])(a, c)
    for _ in range(120):
        a = np.tanh(a) + a * 0.5
    np.testing.assert_allclose(c, a, rtol=1e-4)


def test_conditions_of_many_terms():
    C = te.compute((8,), lambda i: te.select(te.all(*[A[(i + t) % 8] > -1.0 for t in range(500)]), 1.0, 0.0), name="C")
    a, c = np.zeros(8, "float32"), np.zeros(8, "float32")
    build(te.create_schedule(C), [A, C])(a, c)
    assert c.tolist() == [1] * 8


def test_deep_indices():
    def element(i):
        for _ in range(150):
            i = (i + 3) % 8
        return A[i]

    C = te.compute((8,), element, name="C")
    a, c = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    build(te.create_schedule(C), [A, C])(a, c)
    assert c.tolist() == np.roll(a, -450).tolist()


@pytest.mark.parametrize("extent", [33, 35])
def test_chosen_operands_of_a_guarded_vector_may_be_evaluated_beforehand(extent):
    source = te.placeholder((extent,), name="source")

    def element(i):
        value = source[i]
        for step in range(200):
            value = te.select(source[i] > step / 200, value + source[i], source[i])
        return value

    C = te.compute((extent,), element, name="C")
    s = te.create_schedule(C)
    _, lanes = s[C].split(C.op.axis[0], 8, tail="guard")
    s[C].vectorize(lanes)
    a, found, expected = np.linspace(0, 1, extent, dtype="float32"), *np.zeros((2, extent), "float32")
    build(s, [source, C])(a, found)
    run(lower(te.create_schedule(C), [source, C]), [a, expected])
    assert found.tolist() == expected.tolist()


def test_a_value_that_each_choice_reads_again_is_checked_once():
    source = te.placeholder((8,), name="source")

    def element(i):
        value = source[i]
        for _ in range(20):
            value = te.select(value > 0.5, value * 0.5, value + 0.25)
        return value

    C = te.compute((8,), element, name="C")
    reads = list(guarded_reads(C.op.body[0]))
    assert len(reads) <= 2
