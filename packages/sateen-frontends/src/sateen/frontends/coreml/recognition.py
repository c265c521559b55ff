"""Recognises CoreML models by their content: the message of a model, or a package with a manifest of its own."""

from __future__ import annotations

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, CutShortError, UnusualError, fields_of
from sateen.frontends.coreml.package import is_package

EXPECTED = "a CoreML model"

_MOST_FIELDS = 4096
"""The most fields of a model to look at."""
_VERSION, _DESCRIPTION, _IS_UPDATABLE = 1, 2, 10
_KINDS = range(200, 3001)
"""The numbers of the kinds of models; each model has one of these fields, and no other message format uses them."""


def is_coreml(source: Source) -> bool:
    """Whether data is a CoreML model, or the beginning of one, or a folder a package with one."""
    if source.path is not None and source.is_folder:
        return is_package(source.path)
    data = source.data
    if format_of_head(data[:HEAD_BYTES]):
        return False
    found: set[int] = set()
    try:
        for field in fields_of(data, 0, len(data), _MOST_FIELDS):
            if not _belongs(field.number, field.wire_type):
                return False
            found.add(field.number)
    except CutShortError as cut:
        found.add(cut.number)
    except UnusualError:  # behind the kind it is for protobuf to judge
        pass
    return _VERSION in found and any(number in _KINDS for number in found)


def _belongs(number: int, wire_type: int) -> bool:
    if number in (_VERSION, _IS_UPDATABLE):
        return wire_type == VARINT
    return (number == _DESCRIPTION or number in _KINDS) and wire_type == LENGTH_DELIMITED
