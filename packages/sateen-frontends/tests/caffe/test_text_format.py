"""Text of Protocol Buffers becomes fields by name, or an error that names the line."""

import pytest
from google.protobuf import struct_pb2, text_format

from sateen.frontends.caffe.text_format import Message, Word, parsed
from sateen.runtime.errors import FrontendError


def plain(value: object) -> object:
    if isinstance(value, Message):
        return {name: [plain(v) for v in values] for name, values in value.fields.items()}
    return value


def test_all_ways_to_write_a_value():
    text = """
    name: "a" 'b'  # joined
    n: 1 n: -2, n: 0x1F; n: 010
    x: 1.5 x: .5 x: 2. x: 1e-3 x: 3f x: -inf
    m { word: MAX } m < flag: true > m: { list: [1, 2] none: [] }
    escaped: "\\x41\\102\\n\\"\\342\\202\\254"
    [some.extension]: 1
    """
    assert plain(parsed(text, 8)) == {
        "name": ["ab"], "n": [1, -2, 31, 8], "x": [1.5, 0.5, 2.0, 0.001, 3.0, float("-inf")],
        "m": [{"word": ["MAX"]}, {"flag": ["true"]}, {"list": [1, 2], "none": []}],
        "escaped": ['AB\n"€'], "[some.extension]": [1],
    }  # fmt: skip
    assert isinstance(parsed("a: MAX", 1).fields["a"][0], Word)


def test_it_reads_what_protobuf_writes():
    value = struct_pb2.Struct()
    value.update({"plain": 'quotes " and \\ and \n', "euro": "€", "number": -1.25e-30, "flag": True})
    read = parsed(text_format.MessageToString(value), 8)
    fields = {field.text("key"): plain(field.messages("value")[0]) for field in read.messages("fields")}
    assert fields == {
        "plain": {"string_value": ['quotes " and \\ and \n']}, "euro": {"string_value": ["€"]},
        "number": {"number_value": [-1.25e-30]}, "flag": {"bool_value": ["true"]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a { b: 1", "line 1: a message begins there that does not end; the file is cut short"),
        ("a: 1\nb", "line 2: the text ends after 'b'; the file is cut short"),
        ("a: 1\n}", "line 2: expected the name of a field, found '}'"),
        ("a {\n >", "line 2: expected the name of a field, found '>'"),
        ("a 1", "line 1: expected ':' or '{' after 'a', found '1'"),
        ("a: [1 2]", "line 1: expected ',' or ']', found '2'"),
        ("a: 1x", "line 1: expected text of Protocol Buffers, found '1x'"),
        ('a: "\n"', "line 1: expected text in quotes, found one that does not end"),
        ('a: "\\377"', "line 1: expected text in UTF-8"),
        ("a: 09", "line 1: expected a number, found '09'"),
        (f"a: {'9' * 401}", "line 1: expected a number, found one of 401 digits"),
        ("a{" * 9 + "}" * 9, "line 1: expected messages nested at most 8 deep, found more"),
    ],
)
def test_damaged_text_is_refused_with_its_line(text, message):
    with pytest.raises(FrontendError) as caught:
        parsed(text, 8)
    assert str(caught.value).startswith(message)


def test_a_million_levels_are_refused_at_once():
    with pytest.raises(FrontendError, match="nested at most 64 deep"):
        parsed("a{" * 1_000_000, 64)
