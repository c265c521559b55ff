"""Traversal and rewriting."""

from itertools import pairwise

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import decl_buffer
from sateen.tensor_ir.ir.equal import structural_equal
from sateen.tensor_ir.ir.expr import Add, Const, Var, const
from sateen.tensor_ir.ir.identity import same_nodes
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import For, Let, Stmt, Store, lets
from sateen.tensor_ir.ir.visit import (
    Rewriter,
    children,
    free_vars,
    map_children,
    rename_bound,
    substitute,
    walk,
)

x, y = Var("x"), Var("y")
BODY = parse_function(
    "function f[n](A: out int64[n])\n"
    "  for i in [0, n):\n    let t = i * 2\n    if t < 5:\n      A[i] = t\n    else:\n      pass"
).body


def test_children_are_in_order():
    e = te.select(x < y, x + 1, y)
    assert isinstance(e, ex.Select)
    assert list(children(e)) == [e.condition, e.then, e.otherwise]
    assert list(children(x)) == []
    assert [type(c).__name__ for c in children(BODY)] == ["Const", "Var", "Let"]


def test_walk_is_in_pre_order_and_visits_a_shared_node_once():
    shared = x + y
    e = (shared - x) * shared
    assert list(walk(e)) == [e, e.a, shared, x, y]
    for _ in range(100):
        e = e * e
    assert sum(1 for _ in walk(e)) == 105


def test_nothing_changed_is_the_same_object():
    class Nothing(Rewriter):
        def rewrite_Var(self, e):
            return e

    assert Nothing().rewrite(BODY) is BODY
    assert map_children(BODY, lambda child: child) is BODY
    assert substitute(BODY, {x: y}) is BODY
    assert substitute(BODY, {}) is BODY


def test_a_rule_applies_to_its_class_and_those_below():
    class Rules(Rewriter):
        def rewrite_Binary(self, e):
            return self.descend(e)

        def rewrite_Add(self, e):
            return ex.multiply(self.rewrite(e.a), self.rewrite(e.b))

        def rewrite_Const(self, e):
            return Const(e.value + 1, e.dtype)

    assert str(Rules().rewrite((x + 1) - y * 3)) == "x * 2 - y * 4"


def test_rebuilding_folds():
    assert substitute((x + y) * 2, {x: const(3), y: const(4)}).value == 14
    assert substitute(te.select(x < 2, x, y), {x: const(1)}).value == 1
    assert substitute(te.piecewise([x, y], x), {x: const(1)}) is y


def test_substitution_reaches_statements_and_leaves_bindings():
    loop = For(x, const(0), y, BODY.kind, Store(decl_buffer((4,), "int64", "b"), (x,), y))
    changed = substitute(loop, {y: const(7)})
    assert str(changed) == "for x in [0, 7):\n  b[x] = 7"
    assert changed.var is x


def test_renaming_binds_fresh_variables():
    copy = rename_bound(BODY)
    assert structural_equal(substitute(copy, {}), BODY)
    old, new = ({n.var for n in walk(s) if isinstance(n, (For, Let))} for s in (BODY, copy))
    assert not old & new


def test_renaming_takes_any_number_of_lets_within_each_other():
    variables = [x, *(Var(f"v{i}") for i in range(5000))]
    body: Stmt = Store(decl_buffer((4,), "int64", "b"), (const(0),), variables[-1])
    for value, var in reversed(list(pairwise(variables))):
        body = Let(var, value, body)
    chain, inner = lets(rename_bound(body))
    assert isinstance(inner, Store)
    assert not set(variables[1:]) & {let.var for let in chain}
    assert same_nodes([let.value for let in chain], [x, *(let.var for let in chain[:-1])])
    assert inner.value is chain[-1].var


def test_free_variables():
    assert {v.name for v in free_vars(BODY)} == {"n"}
    assert free_vars(Add(x, Add(x, y))) == {x, y}
