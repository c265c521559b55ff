"""Recognises the two nets of a Caffe2 model by content, as messages and as text: init only fills blobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.pairs import Half
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, Field, UnusualError, fields_of

_MOST_FIELDS, _MOST_OPERATORS = 1 << 16, 256
"""The most fields of a message, and operators of a net, to look at."""
_LOOKED_AT = 1 << 16
_NET = {1: LENGTH_DELIMITED, 2: LENGTH_DELIMITED, 3: LENGTH_DELIMITED, 4: VARINT, 5: LENGTH_DELIMITED,
        6: LENGTH_DELIMITED, 7: LENGTH_DELIMITED, 8: LENGTH_DELIMITED}  # fmt: skip
_OPERATOR = {1: LENGTH_DELIMITED, 2: LENGTH_DELIMITED, 3: LENGTH_DELIMITED, 4: LENGTH_DELIMITED, 5: LENGTH_DELIMITED,
             6: LENGTH_DELIMITED, 7: LENGTH_DELIMITED, 8: LENGTH_DELIMITED, 9: VARINT}  # fmt: skip
"""Wire types of the fields of a net and of an operator."""
_NAME, _OP, _TYPE = 1, 2, 4
_TEXT_OPERATOR = re.compile(rb"(?:^|[\s;}])op\s*+:?\s*+\{")
_TEXT_TYPE = re.compile(
    rb"[\s{]type:\s*\"(\w+)\"\s*(?:\}|arg|device_option|engine|control_input|name|input|output|is_)"
)
_FILL = re.compile(rb"\w*Fill")


def is_net(source: Source) -> bool:
    """Whether a file is either of the two."""
    return next(_types(source), None) is not None


def is_init(source: Source) -> bool:
    """Whether all operators of a net fill blobs."""
    types = list(_types(source))
    return bool(types) and all(map(_FILL.fullmatch, types))


def is_predict(source: Source) -> bool:
    return not all(map(_FILL.fullmatch, _types(source)))


def _types(source: Source) -> Iterator[bytes]:
    """The types of the first operators; none if the data are no net."""
    data = source.data
    if source.is_folder:
        return iter(())
    head = data[:_LOOKED_AT]
    if b"\0" not in head[:HEAD_BYTES] and _TEXT_OPERATOR.search(head):
        return (match[1] for match in islice(_TEXT_TYPE.finditer(data), _MOST_OPERATORS))
    return iter(()) if format_of_head(data[:HEAD_BYTES]) else iter(_types_of_message(data))


def _types_of_message(data: bytes) -> list[bytes]:
    found: list[bytes] = []
    try:
        for field in fields_of(data, 0, len(data), _MOST_FIELDS):
            if _NET.get(field.number) != field.wire_type or (field.number == _NAME and not _is_text(data, field)):
                return []
            if field.number == _OP and len(found) < _MOST_OPERATORS:
                found.append(_type_of(data, field))
                if not found[-1]:
                    return []
    except UnusualError:  # behind an operator it is for protobuf to judge
        pass
    return found


def _type_of(data: bytes, operator: Field) -> bytes:
    """The type of an operator; empty for another message."""
    found = b""
    try:
        for field in fields_of(data, operator.content, operator.end, _MOST_FIELDS):
            if _OPERATOR.get(field.number) != field.wire_type:
                return b""
            if field.number == _TYPE and _is_text(data, field):
                found = data[field.content : field.end]
    except UnusualError:
        return b""
    return found


def _is_text(data: bytes, field: Field) -> bool:
    content = data[field.content : field.end]
    return content.isascii() and content.decode().isprintable()


def _names_of(mine: str, other: str) -> list[str]:
    """Names of the other net: with the other word in place of its own, or any with that word."""
    own, wanted = ("init", "predict") if other == "predict" else ("predict", "init")
    named = [mine.replace(own, wanted)] if own in mine else []
    return [*named, f"*{wanted}*", "*.pb*"]


INIT = Half("the init net of Caffe2 (weights, such as init_net.pb)", is_init, lambda name: _names_of(name, "init"))
PREDICT = Half("the predict net of Caffe2", is_predict, lambda name: _names_of(name, "predict"))
