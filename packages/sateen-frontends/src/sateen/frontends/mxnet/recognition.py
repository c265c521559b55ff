"""Recognises the two files of an MXNet model by their content, whole or cut short."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sateen.frontends.core.pairs import Half
from sateen.frontends.core.source import Source

ARRAYS_MAGIC = b"\x12\x01\0\0\0\0\0\0"
"""The first bytes of a file of arrays: 0x112 in 64 bits (kMXAPINDArrayListMagic of MXNet's src/ndarray/ndarray.cc)."""
_NODES_FIRST = re.compile(rb'\s*\{\s*"nodes"\s*:\s*\[')


def is_symbol(source: Source) -> bool:
    """Whether data is the JSON of a symbol. MXNet writes its nodes first; others may have moved them behind."""
    data = source.data
    if _NODES_FIRST.match(data):
        return True
    is_object = data[:64].lstrip()[:1] == b"{"
    return is_object and all(key in data for key in (b'"nodes"', b'"arg_nodes"', b'"heads"'))


def is_arrays(source: Source) -> bool:
    """Whether data is a list of arrays."""
    return source.data.startswith(ARRAYS_MAGIC)


def is_mxnet(source: Source) -> bool:
    """Whether data is one of the two files of a model."""
    return is_arrays(source) or is_symbol(source)


_SYMBOL_END, _ARRAYS_END = "-symbol.json", ".params"


def _arrays_names(symbol: str) -> Sequence[str]:
    """Files of arrays have a number of four digits, the epoch; other programs leave it out."""
    stem = symbol.removesuffix(_SYMBOL_END).removesuffix(".json")
    return f"{stem}-[0-9][0-9][0-9][0-9]{_ARRAYS_END}", f"{stem}{_ARRAYS_END}"


def _symbol_names(arrays: str) -> Sequence[str]:
    stem = arrays.removesuffix(_ARRAYS_END)
    head, _, epoch = stem.rpartition("-")
    model = head if head and epoch.isdigit() else stem
    return f"{model}{_SYMBOL_END}", f"{model}.json", f"{stem}{_SYMBOL_END}"


SYMBOL = Half(
    "a symbol of MXNet (-symbol.json)",
    is_symbol,
    _symbol_names,
    "Gluon's save_parameters writes none, net.export('NAME') both files (hybridize and run the net before)",
)
ARRAYS = Half("arrays of MXNet (.params)", is_arrays, _arrays_names)
