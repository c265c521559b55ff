"""Rewriting of named calls until only native ones are left."""

from __future__ import annotations

import pytest

from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.functions import FUNCTIONS
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import decl_buffer
from sateen.tensor_ir.ir.stmt import Evaluate, Stmt, Store
from sateen.tensor_ir.ir.types import FLOAT32
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules, expand_calls, is_native

X = ex.Var("x", FLOAT32)


def store(value: ex.Expr) -> Store:
    return Store(decl_buffer((8,), value.dtype, name="y"), (ex.const(0),), value)


def value_of(statement: Stmt) -> ex.Expr:
    assert isinstance(statement, Store)
    return statement.value


def called(statement: Stmt) -> set[str]:
    return {node.name for node in walk(statement) if isinstance(node, ex.Call)}


def mish(e: ex.Call) -> ex.Expr | None:
    (x,) = e.args
    return x * ex.call("tanh", [ex.call("log", [1.0 + ex.call("exp", [x])])])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", sorted(DEFAULT_RULES.rules.keys() - {"ldexp"}))
def test_every_function_leads_to_native_calls_in_every_float_type(name: str, dtype: str) -> None:
    x = ex.Var("x", DType.of(dtype))
    lowered = expand_calls(store(ex.call(name, [x, x] if name == "pow" else [x])))
    assert all(is_native(call) for call in called(lowered))
    assert value_of(lowered).dtype == x.dtype


def test_exp_scales_by_a_call_that_targets_may_keep() -> None:
    statement = store(ex.call("exp", [ex.Var("x", FLOAT32)]))
    assert "ldexp" in called(expand_calls(statement, keep=frozenset({"ldexp"})))
    assert "ldexp" not in called(expand_calls(statement))


def test_half_precision_is_computed_in_float32_and_rounded() -> None:
    half = ex.Var("h", DType.of("float16"))
    lowered = value_of(expand_calls(store(ex.call("exp", [half])), keep=frozenset({"exp"})))
    assert str(lowered) == str(ex.call("exp", [half]))
    rounded = value_of(expand_calls(store(ex.call("exp", [half]))))
    assert isinstance(rounded, ex.Cast)
    assert rounded.value.dtype == FLOAT32


def test_float64_calls_the_c_library() -> None:
    x = ex.Var("x", DType.of("float64"))
    assert str(value_of(expand_calls(store(ex.call("erf", [x]))))) == "libm.erf(x)"
    assert called(expand_calls(store(ex.call("sigmoid", [x])))) == {"libm.exp", "fabs"}


def test_kept_names_stay_and_their_operands_are_rewritten() -> None:
    lowered = expand_calls(store(ex.call("exp", [ex.call("sigmoid", [X])])), keep=frozenset({"exp"}))
    result = value_of(lowered)
    assert isinstance(result, ex.Call)
    assert result.name == "exp"
    assert {"exp"} == {name for name in called(lowered) if not is_native(name)}


def test_a_user_s_rule_may_call_other_functions() -> None:
    rules = DEFAULT_RULES.with_rule("mish", mish)
    lowered = expand_calls(store(ex.call("mish", [X])), rules)
    assert all(is_native(name) for name in called(lowered))
    assert "mish" not in DEFAULT_RULES.rules


def test_a_user_s_rule_is_asked_first_and_the_next_one_where_it_declines() -> None:
    def coarse(e: ex.Call) -> ex.Expr | None:
        return 1.0 + e.args[0] if e.dtype == FLOAT32 else None

    rules = DEFAULT_RULES.with_rule("exp", coarse)
    assert str(value_of(expand_calls(store(ex.call("exp", [X])), rules))) == str(1.0 + X)
    double = ex.Var("d", DType.of("float64"))
    assert called(expand_calls(store(ex.call("exp", [double])), rules)) == {"libm.exp"}


def test_a_shared_call_is_expanded_once() -> None:
    shared = ex.call("exp", [X])
    result = value_of(expand_calls(store(shared * shared)))
    assert isinstance(result, ex.Mul)
    assert result.a is result.b


def test_nested_calls_grow_by_their_sum_not_by_their_product() -> None:
    nested: ex.Expr = X
    for _ in range(12):
        nested = ex.call("tanh", [ex.call("erf", [nested])])
    assert sum(1 for _ in walk(expand_calls(store(nested)))) < 12 * 160


def test_a_statement_without_named_calls_is_returned_itself() -> None:
    statement = store(ex.call("sqrt", [X]) + 1.0)
    assert expand_calls(statement) is statement


def test_a_call_for_its_effect_stays_and_its_operands_are_rewritten() -> None:
    effect = Evaluate(ex.Call("launch", (ex.call("exp", [X]),), FLOAT32))
    lowered = expand_calls(effect)
    assert isinstance(lowered, Evaluate)
    assert isinstance(lowered.value, ex.Call)
    assert lowered.value.name == "launch"
    assert "exp" not in called(lowered)


def test_a_call_without_a_rule_names_call_type_place_and_what_is_known() -> None:
    with pytest.raises(CodegenError) as caught:
        expand_calls(store(ex.call("mish", [X])))
    assert str(caught.value) == (
        "no rule serves the call of 'mish' giving float32; "
        f"names with rules are {', '.join(sorted(name for name, f in FUNCTIONS.items() if not f.is_native))}"
    )
    assert caught.value.__notes__ == ['in the value of "y"']


def test_a_call_on_a_type_that_no_rule_serves_is_refused() -> None:
    with pytest.raises(CodegenError, match="no rule serves the call of 'exp' giving int32"):
        expand_calls(store(ex.call("exp", [ex.Var("i", DType.of("int32"))])))


def test_a_native_call_on_types_that_its_function_does_not_take_is_refused() -> None:
    n = ex.Var("n", DType.of("int32"))
    with pytest.raises(CodegenError, match="sqrt expects floating-point operands of one type, found int32"):
        expand_calls(store(ex.call("sqrt", [n])))
    with pytest.raises(CodegenError, match="bitwise_and expects 2 operands, found 1"):
        expand_calls(store(ex.call("bitwise_and", [n])))
    with pytest.raises(CodegenError, match="pow expects floating-point operands of one type, found float32, int32"):
        expand_calls(store(ex.call("pow", [X, n])), keep=frozenset({"pow"}))


def test_a_rule_that_leads_to_itself_is_refused() -> None:
    rules = IntrinsicRules({}).with_rule("loop", lambda e: ex.call("loop", [e.args[0] + 1.0]))
    with pytest.raises(CodegenError, match="the rule of 'loop' on float32 to lead to native calls, found itself"):
        expand_calls(store(ex.call("loop", [X])), rules)


def test_a_rule_that_changes_the_type_is_refused() -> None:
    rules = DEFAULT_RULES.with_rule("wide", lambda e: e.args[0].astype("float64"))
    with pytest.raises(CodegenError, match="expected a rule of 'wide' to give float32, found float64"):
        expand_calls(store(ex.call("wide", [X])), rules)


@pytest.mark.parametrize("name", ["sqrt", "libm.exp"])
def test_a_rule_for_a_native_call_is_refused(name: str) -> None:
    with pytest.raises(CodegenError, match=f"the name of a call that needs a rule, found '{name}', which is native"):
        DEFAULT_RULES.with_rule(name, mish)
