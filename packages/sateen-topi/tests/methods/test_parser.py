"""Methods and their text."""

import re
from dataclasses import dataclass

import pytest

from sateen.runtime import ArgumentError
from sateen.topi.computations.convolution import Direct, Winograd
from sateen.topi.computations.products import Packed
from sateen.topi.methods import Method, parse_method

METHODS = (Direct, Winograd)


@pytest.mark.parametrize("method", [Direct(1, 14, 2), Winograd(4, 2, 14, 3)])
def test_methods_are_read_back_from_their_text(method):
    assert parse_method(str(method), METHODS) == method


def test_the_text_has_every_field():
    assert str(Winograd(4, 2, 14, 3)) == "winograd(tile=4, rows=2, columns=14, vectors=3)"


@pytest.mark.parametrize(
    "text",
    [
        "fft(8)",
        "direct",
        "direct(rows=1, columns=2)",
        "direct(columns=2, rows=1, vectors=1)",
        "direct(rows=1, columns=2, vectors=x)",
        "direct(rows=1, columns=2, vectors=1, more=2)",
        "direct(rows=1,, columns=2, vectors=1)",
        "direct(rows=1, rows=1, columns=2, vectors=1)",
        "direct(rows=99999999999, columns=2, vectors=1)",
        str(Packed(6, 4, 1, 768)),
    ],
)
def test_other_text_is_refused(text):
    words = (
        "expected a method of direct(rows=…, columns=…, vectors=…), winograd(tile=…, rows=…, columns=…, vectors=…); "
    )
    with pytest.raises(ArgumentError, match=re.escape(f"{words}found {text!r}")):
        parse_method(text, METHODS)


def test_an_operator_without_methods_has_none():
    with pytest.raises(ArgumentError, match="expected a method of none; found"):
        parse_method("direct(rows=1, columns=2, vectors=1)", ())


def test_numbers_below_1_are_refused():
    with pytest.raises(ArgumentError, match="direct: expected columns of 1 or more, found 0"):
        parse_method("direct(rows=1, columns=0, vectors=1)", METHODS)


def test_a_field_with_a_default_may_be_absent() -> None:
    @dataclass(frozen=True, slots=True)
    class Wide(Method):
        vectors: int
        terms: int = 4

    assert parse_method("wide(vectors=2)", (Wide,)) == Wide(2)
    assert parse_method("wide(vectors=2, terms=8)", (Wide,)) == Wide(2, 8)
    with pytest.raises(
        ArgumentError, match=r"expected a method of wide\(vectors=…, terms=…\); found 'wide\(terms=8\)'"
    ):
        parse_method("wide(terms=8)", (Wide,))
