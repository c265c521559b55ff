"""Recognises the two files of a Caffe model by content: the network as text, and weights as a message."""

from __future__ import annotations

import re

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.pairs import Half
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, CutShortError, UnusualError, fields_of

_LOOKED_AT = 1 << 16
"""The bytes of a text to look at, and the most fields of a message."""
_LAYER = re.compile(rb"(?:^|[;}\s])layers?\s*+:?\s*+\{")
_NETWORK_FIELDS = {1: LENGTH_DELIMITED, 2: LENGTH_DELIMITED, 3: LENGTH_DELIMITED, 5: VARINT, 6: LENGTH_DELIMITED,
                   7: VARINT, 8: LENGTH_DELIMITED, 100: LENGTH_DELIMITED}  # fmt: skip
"""Wire types of the fields of a network; `input_dim`, 4, may be packed."""
_NAME, _LAYERS, _LAYER_NUMBER = 1, 2, 100
_OLD_TYPE, _OLDEST = 5, 1
"""Fields of a layer of `layers`: its type, a number, or the message of 2013."""


def is_network(source: Source) -> bool:
    """Whether a file is text with a layer in it."""
    head = source.data[:_LOOKED_AT]
    return not source.is_folder and b"\0" not in head and _has_layer(head)


def _has_layer(head: bytes) -> bool:
    """Whether a text begins with a field and has a layer, outside of comments and quotes."""
    plain = re.sub(rb"#[^\n]*+|\"(?:[^\"\\\n]|\\[^\n])*+\"?", b'""', head)
    return re.match(rb"\s*(?:\"\"\s*)*[A-Za-z_]\w*\s*[:{]", plain) is not None and _LAYER.search(plain) is not None


def is_weights(source: Source) -> bool:
    """Whether a file is a message with layers, or the beginning of one."""
    data = source.data
    if source.is_folder or format_of_head(data[:HEAD_BYTES]):
        return False
    has_layers = False
    try:
        for field in fields_of(data, 0, len(data), _LOOKED_AT):
            if _NETWORK_FIELDS.get(field.number, field.wire_type) != field.wire_type:
                return False
            if field.number == _NAME and not _is_text(data[field.content : field.end]):
                return False
            if field.number == _LAYER_NUMBER:
                return True
            if field.number == _LAYERS:
                if not _is_old_layer(data, field.content, field.end):
                    return False
                has_layers = True
    except CutShortError as cut:
        return has_layers or cut.number == _LAYER_NUMBER
    except UnusualError:
        pass
    return has_layers


def _is_text(data: bytes) -> bool:
    """Whether bytes are a name; a TensorFlow graph has messages there."""
    return all(byte >= 32 for byte in data)


def _is_old_layer(data: bytes, start: int, end: int) -> bool:
    """Whether a message is a layer with a number for its type, which tells it from an operator of Caffe2."""
    try:
        for field in fields_of(data, start, end, _LOOKED_AT):
            if field.number == _OLD_TYPE:
                return field.wire_type == VARINT
            if field.number == _OLDEST and field.wire_type == LENGTH_DELIMITED:
                return data[field.content : field.end] != b"" and data[field.content] == 10
    except UnusualError:
        pass
    return False


def is_caffe(source: Source) -> bool:
    """Whether a file is either of the two."""
    return is_network(source) or is_weights(source)


def _names_of_network(other: str) -> list[str]:
    stem = other.rsplit(".", 1)[0]
    return [f"{stem}.prototxt", f"{stem}.pbtxt", f"{stem}*.prototxt", "deploy*.prototxt", "*.prototxt"]


def _names_of_weights(other: str) -> list[str]:
    stem = other.rsplit(".", 1)[0]
    short = re.sub(r"[-_.]?deploy$", "", stem)
    return list(dict.fromkeys([f"{stem}.caffemodel", f"{short}.caffemodel", f"{short}*.caffemodel", "*.caffemodel"]))


NETWORK = Half("a network of Caffe as text (.prototxt)", is_network, _names_of_network)
WEIGHTS = Half("weights of Caffe (.caffemodel)", is_weights, _names_of_weights)
