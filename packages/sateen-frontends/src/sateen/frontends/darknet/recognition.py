"""Recognises the two files of a darknet model by content: sections of options, and numbers behind a version."""

from __future__ import annotations

import re
import struct

from sateen.frontends.core.pairs import Half
from sateen.frontends.core.source import Source

_LOOKED_AT = 1 << 16
_NETWORK = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|[#;][^\n]*\n)*\[\s*net(?:work)?\s*\]")
_START = struct.Struct("<iii")
_TRANSPOSED = range(1001, 2000)


def is_network(source: Source) -> bool:
    """Whether a file is text whose first section is [net]."""
    return not source.is_folder and _NETWORK.match(source.data[:_LOOKED_AT]) is not None


def is_weights(source: Source) -> bool:
    """Whether a file begins as weights do: version 0.1 to 0.9 or one that transposes, a count, numbers of that size.

    No message of Protocol Buffers begins with a byte of 0.
    """
    data = source.data
    if source.is_folder or len(data) < _START.size + 24:
        return False
    major, minor, revision = _START.unpack_from(data)
    if major != 0 or not (0 < minor < 10 or minor in _TRANSPOSED) or not 0 <= revision < 10:
        return False
    numbers = struct.unpack_from("<4f", data, _START.size + (8 if minor >= 2 else 4))
    return all(abs(number) < 1e4 for number in numbers)


def is_darknet(source: Source) -> bool:
    """Whether a file is either of the two."""
    return is_network(source) or is_weights(source)


def _names_of_network(other: str) -> list[str]:
    stem = other.rsplit(".", 1)[0]
    short = re.sub(r"_(?:final|best|last|[0-9]+)$", "", stem)
    return list(dict.fromkeys([f"{stem}.cfg", f"{short}.cfg", f"{short}*.cfg", "*.cfg"]))


def _names_of_weights(other: str) -> list[str]:
    stem = other.rsplit(".", 1)[0]
    return [f"{stem}.weights", f"{stem}_final.weights", f"{stem}_best.weights", f"{stem}*.weights", "*.weights"]


NETWORK = Half("a network of darknet (.cfg)", is_network, _names_of_network)
WEIGHTS = Half("weights of darknet (.weights)", is_weights, _names_of_weights)
