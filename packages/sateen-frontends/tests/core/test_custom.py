"""Attributes of users' operators, from what files give, and operators that fail."""

from dataclasses import dataclass

import pytest

from sateen.frontends.core.custom import _field_value, custom_operator
from sateen.graph_ir import OPS
from sateen.runtime import DType
from sateen.runtime.errors import FrontendError
from sateen.topi import Operator
from sateen.topi.dimensions import Dim


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, bool, True),
        (2, float, 2.0),
        (True, int, 1),
        ([1, 2.5], tuple[int, float], (1, 2.5)),
        ([[1, 2], [3]], tuple[tuple[int, ...], ...], ((1, 2), (3,))),
        ("12", str | None, "12"),
        (None, str | None, None),
        (3, int | float, 3),
        (2.5, int | float, 2.5),
        (1, bool | int, 1),
        (3, float | int, 3),
        ([1, 2], tuple[int, ...] | None, (1, 2)),
        (4, Dim, 4),
        (DType.of("int8"), DType, DType.of("int8")),
    ],
)
def test_values_take_the_form_of_their_fields(value, kind, expected):
    found = _field_value(value, kind, "a")
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (2, bool, "expected True or False as attribute 'a', found 2"),
        (2.5, int, "expected an integer as attribute 'a', found 2.5"),
        ("x", int | float, "expected an integer or a number as attribute 'a', found 'x'"),
        ("x", Dim, "expected .* as attribute 'a', found 'x'"),
        ([1, 2], tuple[int, int, int], "expected a tuple of integers as attribute 'a'"),
        (3, tuple[int, ...], "expected a tuple of integers as attribute 'a', found 3"),
        (tuple(range(1_000_000)), int, r"expected an integer as attribute 'a', found \(0, 1, .{0,80}$"),
    ],
)
def test_values_that_do_not_fit_are_told_in_a_line(value, kind, expected):
    with pytest.raises(FrontendError, match=expected):
        _field_value(value, kind, "a")


def test_types_are_names_in_domains():
    @dataclass(frozen=True, slots=True)
    class Gate(Operator):
        name = "acme.Gate"

        def infer(self, x):
            return (x,)

    operators = OPS.with_ops(Gate)
    assert custom_operator(operators, "acme>Gate", "keras") is Gate
    assert custom_operator(operators, "Gate", "acme") is Gate
    assert custom_operator(operators, "Gate", "keras") is None
