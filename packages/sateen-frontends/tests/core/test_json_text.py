"""JSON of files: each key once, bounded nesting, nothing but JSON."""

import pytest

from sateen.frontends.core.json_text import MOST_BYTES, MOST_NESTED, parse_json, parse_object
from sateen.runtime.errors import FrontendError


def nested(levels):
    return b"[" * levels + b"]" * levels


def test_values_are_read():
    assert parse_json(b'{"a": [1, 2.5, null, "\xc3\xa9"]}', "x") == {"a": [1, 2.5, None, "é"]}
    parse_json(nested(MOST_NESTED), "x")
    assert parse_json(b"[-Infinity, 1]", "x", by_python=True) == [float("-inf"), 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 2}', "x: expected each key of a JSON object once, found 'a' twice"),
        (nested(MOST_NESTED + 1), f"x: expected JSON nested at most {MOST_NESTED} deep, found deeper"),
        (nested(10**6), f"x: expected JSON nested at most {MOST_NESTED} deep, found deeper"),
        (b"[NaN]", "x: expected JSON, found what can't be parsed: NaN is no JSON"),
        (b"[" + b"9" * 5000 + b"]", "x: expected JSON, found what can't be parsed"),
        (b'"\xff"', "x: expected JSON, found what can't be parsed"),
        (b"", "x: expected JSON, found what can't be parsed"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(FrontendError, match=message):
        parse_json(text, "x")


def test_long_texts_are_refused():
    with pytest.raises(FrontendError, match=f"x: expected JSON of at most {MOST_BYTES} bytes, found {MOST_BYTES + 2}"):
        parse_json(b"1".ljust(MOST_BYTES + 2), "x")


def test_an_object_is_expected():
    assert parse_object(b'{"a": 1}', "x") == {"a": 1}
    with pytest.raises(FrontendError, match="x: expected an object of JSON, found list"):
        parse_object(b"[1]", "x")
