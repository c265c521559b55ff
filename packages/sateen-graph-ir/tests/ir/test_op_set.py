"""Sets of operators."""

import re
from dataclasses import dataclass

import pytest

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import OPS, Exp, Relu
from sateen.runtime.errors import ArgumentError, TargetError
from sateen.topi import Operator


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    name = "acme.Swish"


@dataclass(frozen=True, slots=True)
class OtherSwish(Operator):
    name = "acme.Swish"


@dataclass(frozen=True, slots=True)
class Unqualified(Operator):
    name = "Swish"


@dataclass
class Mutable(Operator):
    name = "acme.Mutable"


class Nameless(Operator):
    pass


def keep(*_inputs, **_outputs):
    return None


def test_a_set_is_a_value_that_grows_by_making_another():
    one = OpSet.of(Relu)
    more = one.with_ops(Swish, Swish)
    assert list(one.ops) == ["relu"]
    assert more.ops == {"relu": Relu, "acme.Swish": Swish}
    assert more.with_lowering(Relu, "llvm", keep).lowerings == {(Relu, "llvm"): keep}
    assert not more.lowerings


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (dict, "expected a subclass of sateen.topi.Operator, found <class 'dict'>"),
        (Swish(), "expected a subclass of sateen.topi.Operator, found Swish()"),
        (Unqualified, "Unqualified: expected a qualified name such as 'acme.Swish', found 'Swish'"),
        (Nameless, "Nameless: expected a qualified name such as 'acme.Swish', found None"),
        (Mutable, "Mutable: expected a frozen dataclass, whose fields are the attributes"),
        (OtherSwish, "expected one operator 'acme.Swish', found "),
    ],
)
def test_what_is_no_operator_of_a_set_is_refused(op, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        OpSet.of(Swish).with_ops(op)


def test_a_lowering_is_for_an_operator_of_the_set_and_a_kind_that_exists():
    with pytest.raises(ArgumentError, match=re.escape("expected an operator of this set, found ")):
        OpSet.of(Relu).with_lowering(Exp, "llvm", keep)
    with pytest.raises(TargetError, match="'lvm'"):
        OPS.with_lowering(Relu, "lvm", keep)
